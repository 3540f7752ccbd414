/* SPDX-License-Identifier: BSD-3-Clause */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"
#include "unit.h"
#include "unite.h"

#define TAG 3
#define DEADLINE 1000000
#define LONGEST 4096

/* Who knows which names. A name has a number. In EMPTY most ranks know none, in SKEWED one rank knows most. */
enum knowledge { SAME, DISJOINT, MIXED, SKEWED, EMPTY, NOTHING, KNOWLEDGES };

static const int sizes[] = {1, 2, 3, 4, 5, 7, 8, 16, 31, 64, 1000, 10000};
#define SIZES ((int)(sizeof sizes / sizeof *sizes))
#define MOST 300 /* names of a rank */

/* Text of a name: several are beginnings of others, one is empty, one as long as a name may be, one holds a NUL. */
static size_t text_of(int number, char *text) {
  if (number == 0) return 0;
  if (number == 1) return memset(text, 'x', LONGEST), LONGEST;
  if (number == 2) return memcpy(text, "a\0b", 3), 3;
  if (number < 8) return memset(text, 'a', (size_t)number), (size_t)number;
  return (size_t)snprintf(text, LONGEST, "region-%d", number);
}

static unsigned mixed(int rank, int i) {
  uint32_t x = (uint32_t)rank * 2654435761u + (uint32_t)i * 2246822519u;
  x ^= x >> 15;
  return x * 2246822519u >> 7;
}

/* The numbers of the names that a rank knows, all different. */
static int numbers_of(enum knowledge knowledge, int rank, int size, int *number) {
  int count = 0;
  if (knowledge == SAME) {
    for (int i = 0; i < 20; i++) number[count++] = 19 - i;
  } else if (knowledge == DISJOINT) {
    for (int i = 0; i < 3; i++) number[count++] = rank * 3 + i;
  } else if (knowledge == MIXED || (knowledge == EMPTY && rank % 3 == 1)) {
    for (int i = 0; i < 6; i++) {
      int next = (int)(mixed(rank, i) % 60), known = 0;
      for (int k = 0; k < count; k++) known |= number[k] == next;
      if (!known) number[count++] = next;
    }
  } else if (knowledge == SKEWED) {
    int most = rank == size / 2 ? MOST : rank % 3;
    for (int i = 0; i < most; i++) number[count++] = rank == size / 2 ? MOST - i : i;
  }
  return count;
}

/* The union by the definition: ranks in order, each name where it first appears. position[number], or -1. */
struct reference {
  enum knowledge knowledge;
  int size, count, numbers;
  int *position, *number;
  size_t text;
};

static void refer(struct reference *ref, enum knowledge knowledge, int size) {
  int number[MOST];
  char text[LONGEST];
  *ref = (struct reference){.knowledge = knowledge, .size = size, .numbers = 3 * size + MOST + 1};
  ref->position = malloc((size_t)ref->numbers * sizeof *ref->position);
  ref->number = malloc((size_t)ref->numbers * sizeof *ref->number);
  for (int i = 0; i < ref->numbers; i++) ref->position[i] = -1;
  for (int rank = 0; rank < size; rank++) {
    int count = numbers_of(knowledge, rank, size, number);
    for (int i = 0; i < count; i++) {
      if (ref->position[number[i]] >= 0) continue;
      ref->number[ref->count] = number[i];
      ref->position[number[i]] = ref->count++;
      ref->text += text_of(number[i], text);
    }
  }
}

static void forget(struct reference *ref) {
  free(ref->position);
  free(ref->number);
}

struct outcome {
  const struct reference *ref;
  lsc_status *status;
  int *right;
};

static int is_reference(const struct reference *ref, const struct lsc_names *all) {
  static char text[LONGEST];
  if (all->count != (size_t)ref->count) return 0;
  for (int i = 0; i < ref->count; i++) {
    size_t length, wanted = text_of(ref->number[i], text);
    const char *name = lsc_names_get(all, (size_t)i, &length);
    if (length != wanted || memcmp(name, text, length) != 0) return 0;
  }
  return 1;
}

static void unite_body(struct lsc_coll *coll, void *arg) {
  struct outcome *o = arg;
  static char text[LONGEST];
  int number[MOST], count = numbers_of(o->ref->knowledge, coll->rank, coll->size, number);
  struct lsc_names mine = {0}, all = {0};
  uint32_t ids[MOST];
  int right = 1;
  for (int i = 0; i < count; i++) {
    size_t length = text_of(number[i], text);
    if (lsc_names_add(&mine, text, length)) abort();
  }
  o->status[coll->rank] = lsc_unite_names(coll, TAG, &mine, &all, ids, DEADLINE);
  for (int i = 0; !o->status[coll->rank] && i < count; i++) right &= (int)ids[i] == o->ref->position[number[i]];
  o->right[coll->rank] = right && is_reference(o->ref, &all);
  lsc_names_free(&mine);
  lsc_names_free(&all);
}

/* Bytes of a union on the wire at most: no sweep may carry more than it over any edge of the tree. */
static uint64_t most_bytes(const struct reference *ref) { return 16 + 8 * (uint64_t)ref->count + ref->text; }

static void check_union(enum knowledge knowledge, int size, const struct sim_options *manner) {
  struct sim_stats stats;
  struct sim_options options = *manner;
  struct reference ref;
  struct outcome o = {&ref, malloc((size_t)size * sizeof *o.status), calloc((size_t)size, sizeof *o.right)};
  refer(&ref, knowledge, size);
  options.stats = &stats;
  for (int r = 0; r < size; r++) o.status[r] = LSC_IO;
  ck_assert_int_eq(sim_run(size, unite_body, &o, &options), 0);
  for (int r = 0; r < size; r++) {
    ck_assert_msg(o.status[r] == LSC_OK && o.right[r], "rank %d of %d, names %d: %s", r, size, (int)knowledge,
                  lsc_strerror(o.status[r]));
  }
  ck_assert_uint_eq(stats.messages, 2 * (uint64_t)(size - 1));
  ck_assert_uint_le(stats.most_sent, 1 + sim_log2(size));
  ck_assert_uint_le(stats.bytes, stats.messages * most_bytes(&ref));
  if (!options.seed) ck_assert_uint_eq(stats.rounds, 2 * sim_log2(size));
  forget(&ref);
  free(o.status);
  free(o.right);
}

START_TEST(test_union) {
  static const struct sim_options manners[] = {{0}, {.seed = 5, .latency = 20}, {.synchronous = 1}};
  int size = sizes[_i];
  for (int k = 0; k < KNOWLEDGES; k++) {
    if (k == DISJOINT && size > 1000) continue;
    for (int m = 0; m < (size > 1000 ? 1 : 3); m++) check_union((enum knowledge)k, size, &manners[m]);
  }
}
END_TEST

/* Rank 0 knows {A, B}, rank 1 {C, A}, rank 2 {D}: A, B, C, D. */
struct example {
  char text[3][16];
  uint32_t ids[3][2];
  lsc_status status[3];
};

static void example_body(struct lsc_coll *coll, void *arg) {
  static const char *const known[3] = {"AB", "CA", "D"};
  struct example *example = arg;
  struct lsc_names mine = {0}, all = {0};
  for (const char *c = known[coll->rank]; *c; c++) {
    if (lsc_names_add(&mine, c, 1)) abort();
  }
  example->status[coll->rank] = lsc_unite_names(coll, TAG, &mine, &all, example->ids[coll->rank], DEADLINE);
  for (size_t i = 0; i < all.count && i < 15; i++) {
    size_t length;
    example->text[coll->rank][i] = *lsc_names_get(&all, i, &length);
  }
  lsc_names_free(&mine);
  lsc_names_free(&all);
}

START_TEST(test_example) {
  struct example example = {.status = {LSC_IO, LSC_IO, LSC_IO}};
  ck_assert_int_eq(sim_run(3, example_body, &example, NULL), 0);
  for (int r = 0; r < 3; r++) {
    ck_assert_int_eq(example.status[r], LSC_OK);
    ck_assert_str_eq(example.text[r], "ABCD");
  }
  ck_assert_uint_eq(example.ids[0][0], 0);
  ck_assert_uint_eq(example.ids[0][1], 1);
  ck_assert_uint_eq(example.ids[1][0], 2);
  ck_assert_uint_eq(example.ids[1][1], 0);
  ck_assert_uint_eq(example.ids[2][0], 3);
}
END_TEST

/* Without one rank nobody has a union, and nobody waits beyond the deadline. */
static void silent_body(struct lsc_coll *coll, void *arg) {
  struct lsc_names mine = {0}, all = {0};
  uint32_t id;
  if (lsc_names_add(&mine, "solve", 5)) abort();
  ((lsc_status *)arg)[coll->rank] = lsc_unite_names(coll, TAG, &mine, &all, &id, DEADLINE);
  if (all.count) ((lsc_status *)arg)[coll->rank] = LSC_INVALID;
  lsc_names_free(&mine);
  lsc_names_free(&all);
}

START_TEST(test_silent_rank) {
  for (int dead = 0; dead < 8; dead++) {
    lsc_status status[8] = {LSC_OK};
    struct sim_rank rank[8] = {0};
    struct sim_stats stats;
    struct sim_options options = {.rank = rank, .stats = &stats};
    rank[dead].dead = 1;
    ck_assert_int_eq(sim_run(8, silent_body, status, &options), 0);
    for (int r = 0; r < 8; r++) ck_assert_int_eq(status[r], r == dead ? LSC_OK : LSC_TIMEOUT);
    ck_assert_int_eq(stats.ended, DEADLINE);
  }
}
END_TEST

/* Rank 1 sends what is no union: cut off, or with an end outside of the text. Rank 0 says so, and so does everybody. */
struct damage {
  uint64_t words[3];
  size_t size;
  lsc_status status[2];
};

static void damaged_body(struct lsc_coll *coll, void *arg) {
  struct damage *damage = arg;
  struct lsc_names mine = {0}, all = {0};
  struct lsc_buffer bytes = {0};
  uint32_t status = LSC_OK;
  if (coll->rank == 0) {
    damage->status[0] = lsc_unite_names(coll, TAG, &mine, &all, NULL, DEADLINE);
  } else {
    if (lsc_buffer_append(&bytes, damage->words, damage->size) || lsc_buffer_append(&bytes, &status, 4)) abort();
    coll->send(coll, 0, TAG, bytes.data, bytes.size, DEADLINE);
    damage->status[1] = lsc_coll_broadcast(coll, TAG, &bytes, DEADLINE);
  }
  lsc_buffer_free(&bytes);
  lsc_names_free(&all);
}

START_TEST(test_damaged_bytes) {
  struct damage damage[] = {
      {.size = 0}, {.size = 7}, {.words = {1}, .size = 8}, {.words = {2, 0}, .size = 16},
      {.words = {UINT64_MAX}, .size = 24},
      {.words = {1, 9, 0}, .size = 24}, {.words = {2, 5, 4}, .size = 24},
      {.words = {1ull << 61, 0, 0}, .size = 24}};
  for (size_t i = 0; i < sizeof damage / sizeof *damage; i++) {
    ck_assert_int_eq(sim_run(2, damaged_body, &damage[i], NULL), 0);
    ck_assert_msg(damage[i].status[0] == LSC_INVALID, "damage %zu", i);
    ck_assert_msg(damage[i].status[1] == LSC_INVALID, "damage %zu", i);
  }
}
END_TEST

static Suite *unite_suite(void) {
  Suite *suite = suite_create("unite");
  TCase *tcase = tcase_create("unite");
  tcase_set_timeout(tcase, 240);
  tcase_add_loop_test(tcase, test_union, 0, SIZES);
  tcase_add_test(tcase, test_example);
  tcase_add_test(tcase, test_silent_rank);
  tcase_add_test(tcase, test_damaged_bytes);
  suite_add_tcase(suite, tcase);
  return suite;
}

int main(void) {
  SRunner *runner = srunner_create(unite_suite());
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
