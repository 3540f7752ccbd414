/* SPDX-License-Identifier: BSD-3-Clause */
#include "names.h"

#include <stdlib.h>
#include <string.h>

#include "message.h"

#define FIRST_SLOTS 16

size_t lsc_most_names = UINT32_MAX;

lsc_status lsc_names_add(struct lsc_names *names, const char *text, size_t length) {
  uint64_t end = names->text.size + length;
  size_t before = names->ends.size;
  if (lsc_buffer_append(&names->ends, &end, sizeof end) || lsc_buffer_append(&names->text, text, length)) {
    names->ends.size = before;
    return LSC_NO_MEMORY;
  }
  names->count++;
  return LSC_OK;
}

const char *lsc_names_get(const struct lsc_names *names, size_t index, size_t *length) {
  const uint64_t *ends = (const uint64_t *)(const void *)names->ends.data;
  uint64_t start = index ? ends[index - 1] : 0;
  *length = (size_t)(ends[index] - start);
  return *length ? (const char *)names->text.data + start : "";
}

void lsc_names_free(struct lsc_names *names) {
  lsc_buffer_free(&names->ends);
  lsc_buffer_free(&names->text);
  names->count = 0;
}

/* FNV-1a, 64 bits. */
static uint64_t hash_of(const char *text, size_t length) {
  uint64_t hash = 14695981039346656037u;
  for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)text[i]) * 1099511628211u;
  return hash ^ (hash >> 32);
}

/* The slot that holds the name, or the empty one where it belongs. There is always an empty one. */
static uint32_t *slot_of(const struct lsc_name_index *index, const char *text, size_t length) {
  size_t at = (size_t)hash_of(text, length) & (index->slots - 1);
  for (;; at = (at + 1) & (index->slots - 1)) {
    size_t other;
    const char *name;
    if (!index->slot[at]) return &index->slot[at];
    name = lsc_names_get(index->names, index->slot[at] - 1, &other);
    if (other == length && !memcmp(name, text, length)) return &index->slot[at];
  }
}

static lsc_status resize(struct lsc_name_index *index, size_t slots) {
  struct lsc_name_index larger = {index->names, calloc(slots, sizeof *larger.slot), slots};
  if (!larger.slot) return lsc_fail(LSC_NO_MEMORY, "no memory to look up %zu names", index->names->count);
  for (size_t i = 0; i < index->names->count; i++) {
    size_t length;
    const char *name = lsc_names_get(index->names, i, &length);
    uint32_t *slot = slot_of(&larger, name, length);
    if (!*slot) *slot = (uint32_t)(i + 1);
  }
  free(index->slot);
  *index = larger;
  return LSC_OK;
}

lsc_status lsc_name_index_init(struct lsc_name_index *index, const struct lsc_names *names) {
  size_t slots = FIRST_SLOTS;
  while (slots / 2 < names->count) slots *= 2;
  *index = (struct lsc_name_index){.names = names};
  return resize(index, slots);
}

uint32_t lsc_name_index_find(const struct lsc_name_index *index, const char *text, size_t length) {
  uint32_t held = index->slots ? *slot_of(index, text, length) : 0;
  return held ? held - 1 : LSC_NO_NAME;
}

lsc_status lsc_name_index_add(struct lsc_name_index *index, struct lsc_names *names, const char *text, size_t length,
                              uint32_t *position) {
  uint32_t *slot;
  if (names->count >= index->slots / 2 && resize(index, index->slots ? index->slots * 2 : FIRST_SLOTS)) {
    return LSC_NO_MEMORY;
  }
  slot = slot_of(index, text, length);
  if (!*slot) {
    if (names->count >= lsc_most_names) {
      return lsc_fail(LSC_LIMIT, "the ranks have more than %zu distinct names; use fewer", lsc_most_names);
    }
    if (lsc_names_add(names, text, length)) return LSC_NO_MEMORY;
    *slot = (uint32_t)names->count;
  }
  *position = *slot - 1;
  return LSC_OK;
}

void lsc_name_index_free(struct lsc_name_index *index) {
  free(index->slot);
  *index = (struct lsc_name_index){0};
}
