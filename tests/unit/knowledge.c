/* SPDX-License-Identifier: BSD-3-Clause */
#include "knowledge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHARED_NAMES 60 /* of which a rank knows a few in MIXED */

const char *const knowledge_names[KNOWLEDGES] = {"same", "disjoint", "mixed", "skewed", "empty", "nothing"};

size_t knowledge_text(int number, char *text) {
  if (number == 0) return 0;
  if (number == 1) return memset(text, 'x', KNOWLEDGE_LONGEST), KNOWLEDGE_LONGEST;
  if (number == 2) return memcpy(text, "a\0b", 3), 3;
  if (number < 8) return memset(text, 'a', (size_t)number), (size_t)number;
  return (size_t)snprintf(text, KNOWLEDGE_LONGEST, "region-%d", number);
}

static unsigned draw(int rank, int i) {
  uint32_t x = (uint32_t)rank * 2654435761u + (uint32_t)i * 2246822519u;
  x ^= x >> 15;
  return x * 2246822519u >> 7;
}

static int draw_few(int rank, int *number) {
  int count = 0;
  for (int i = 0; i < 6; i++) {
    int next = (int)(draw(rank, i) % SHARED_NAMES), known = 0;
    for (int k = 0; k < count; k++) known |= number[k] == next;
    if (!known) number[count++] = next;
  }
  return count;
}

int knowledge_of(enum knowledge knowledge, int rank, int size, int *number) {
  int count = 0;
  if (knowledge == SAME) {
    for (int i = 0; i < 20; i++) number[count++] = 19 - i;
  } else if (knowledge == DISJOINT) {
    for (int i = 0; i < 3; i++) number[count++] = rank * 3 + i;
  } else if (knowledge == MIXED || (knowledge == EMPTY && rank % 3 == 1)) {
    count = draw_few(rank, number);
  } else if (knowledge == SKEWED) {
    int most = rank == size / 2 ? KNOWLEDGE_MOST : rank % 3;
    for (int i = 0; i < most; i++) number[count++] = rank == size / 2 ? KNOWLEDGE_MOST - i : i;
  }
  return count;
}

static int numbers_of(int size) { return 3 * size + KNOWLEDGE_MOST + 1; }

/* The ranks of the subtree of `rank` are those up to before this one. */
static int end_of_subtree(int rank, int size) {
  long end = rank ? (long)rank + (rank & -rank) : size;
  return end < size ? (int)end : size;
}

/* Counts each subtree on its own. counted[number]: the last subtree in which the name was seen. */
static void count_subtrees(struct reference *ref) {
  int number[KNOWLEDGE_MOST], numbers = numbers_of(ref->size);
  int *counted = malloc((size_t)numbers * sizeof *counted);
  static char text[KNOWLEDGE_LONGEST];
  for (int i = 0; i < numbers; i++) counted[i] = -1;
  for (int first = 0; first < ref->size; first++) {
    for (int rank = first; rank < end_of_subtree(first, ref->size); rank++) {
      int count = knowledge_of(ref->knowledge, rank, ref->size, number);
      for (int i = 0; i < count; i++) {
        if (counted[number[i]] == first) continue;
        counted[number[i]] = first;
        ref->subtree[first].names++;
        ref->subtree[first].text += knowledge_text(number[i], text);
      }
    }
  }
  free(counted);
}

void refer(struct reference *ref, enum knowledge knowledge, int size, int with_subtrees) {
  int number[KNOWLEDGE_MOST], numbers = numbers_of(size);
  *ref = (struct reference){.knowledge = knowledge, .size = size};
  ref->position = malloc((size_t)numbers * sizeof *ref->position);
  ref->number = malloc((size_t)numbers * sizeof *ref->number);
  for (int i = 0; i < numbers; i++) ref->position[i] = -1;
  for (int rank = 0; rank < size; rank++) {
    int count = knowledge_of(knowledge, rank, size, number);
    for (int i = 0; i < count; i++) {
      if (ref->position[number[i]] >= 0) continue;
      ref->number[ref->count] = number[i];
      ref->position[number[i]] = ref->count++;
    }
  }
  if (!with_subtrees) return;
  ref->subtree = calloc((size_t)size, sizeof *ref->subtree);
  count_subtrees(ref);
}

void forget(struct reference *ref) {
  free(ref->position);
  free(ref->number);
  free(ref->subtree);
}

int children_of(int rank, int size, int *child) {
  int count = 0;
  for (long step = 1; (!rank || step < (rank & -rank)) && rank + step < size; step *= 2) {
    child[count++] = (int)(rank + step);
  }
  return count;
}

uint64_t bytes_of_union(const struct reference *ref, int rank) {
  const struct subtree *own = &ref->subtree[rank];
  uint64_t status = 4, bytes = rank ? 8 + 8 * own->names + own->text + status : 0;
  int child[31], children = children_of(rank, ref->size, child);
  for (int i = 0; i < children; i++) bytes += 4 * ref->subtree[child[i]].names + status;
  return bytes;
}
