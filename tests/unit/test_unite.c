/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "knowledge.h"
#include "meter.h"
#include "sim.h"
#include "unit.h"
#include "unite.h"

#define TAG 3
#define DEADLINE 1000000
#define LARGE 100000 /* ranks: in full under `make stress` */

static const int sizes[] = {1, 2, 3, 4, 5, 7, 8, 16, 31, 64, 1000, 10000, LARGE};
#define SIZES ((int)(sizeof sizes / sizeof *sizes))

struct outcome {
  const struct reference *ref;
  lsc_status *status;
  int *right;
};

/* Rank 0 has the union, in its order; the others have none. */
static int is_union(const struct reference *ref, int rank, const struct lsc_names *all) {
  static char text[KNOWLEDGE_LONGEST];
  if (rank) return !all->count && !all->ends.data && !all->text.data;
  if (all->count != (size_t)ref->count) return 0;
  for (int i = 0; i < ref->count; i++) {
    size_t length, wanted = knowledge_text(ref->number[i], text);
    const char *name = lsc_names_get(all, (size_t)i, &length);
    if (length != wanted || memcmp(name, text, length) != 0) return 0;
  }
  return 1;
}

static void unite_body(struct lsc_coll *coll, void *arg) {
  struct outcome *o = arg;
  static char text[KNOWLEDGE_LONGEST];
  int number[KNOWLEDGE_MOST], count = knowledge_of(o->ref->knowledge, coll->rank, coll->size, number);
  struct lsc_names mine = {0}, all = {0};
  uint32_t ids[KNOWLEDGE_MOST];
  int right = 1;
  for (int i = 0; i < count; i++) {
    size_t length = knowledge_text(number[i], text);
    if (lsc_names_add(&mine, text, length)) abort();
  }
  o->status[coll->rank] = lsc_unite_names(coll, TAG, &mine, &all, ids, DEADLINE);
  for (int i = 0; !o->status[coll->rank] && i < count; i++) right &= (int)ids[i] == o->ref->position[number[i]];
  o->right[coll->rank] = right && is_union(o->ref, coll->rank, &all);
  lsc_names_free(&mine);
  lsc_names_free(&all);
}

/*
 * Heap of a rank at most, by what its subtree knows: its names, and a child's beside them, in buffers that double (3 of
 * each for a moment); 24 bytes a name to find it; its place, and in the end its id, for each part that it came from.
 */
static int64_t most_memory(const struct reference *ref, int rank) {
  const struct subtree *own = &ref->subtree[rank];
  int child[31], parts = 1 + children_of(rank, ref->size, child);
  return (int64_t)(4096 + own->names * (6 * 8 + 24 + 12 * (uint64_t)parts) + 6 * own->text);
}

static void check_costs(const struct reference *ref, const uint64_t *bytes, const struct meter *meter) {
  for (int rank = 0; rank < ref->size; rank++) {
    uint64_t wanted = bytes_of_union(ref, rank);
    int64_t most = most_memory(ref, rank), peak = meter[rank].peak;
    if (bytes[rank] == wanted && peak <= most && !meter[rank].now) continue;
    ck_abort_msg("rank %d of %d, names %s: sent %llu bytes, not %llu; had %lld bytes on the heap, with %lld allowed, "
                 "and %lld at the end",
                 rank, ref->size, knowledge_names[ref->knowledge], (unsigned long long)bytes[rank],
                 (unsigned long long)wanted, (long long)peak, (long long)most, (long long)meter[rank].now);
  }
}

static void check_union(enum knowledge knowledge, int size, const struct sim_options *manner) {
  struct sim_stats stats;
  struct sim_options options = *manner;
  struct reference ref;
  struct outcome o = {&ref, malloc((size_t)size * sizeof *o.status), calloc((size_t)size, sizeof *o.right)};
  struct meter *meter = calloc((size_t)size, sizeof *meter);
  refer(&ref, knowledge, size, 1);
  options.stats = &stats;
  options.bytes = calloc((size_t)size, sizeof *options.bytes);
  for (int r = 0; r < size; r++) o.status[r] = LSC_IO;
  meter_start(meter);
  ck_assert_int_eq(sim_run(size, unite_body, &o, &options), 0);
  meter_start(NULL);
  for (int r = 0; r < size; r++) {
    if (o.status[r] == LSC_OK && o.right[r]) continue;
    ck_abort_msg("rank %d of %d, names %s: %s", r, size, knowledge_names[knowledge], lsc_strerror(o.status[r]));
  }
  ck_assert_uint_eq(stats.messages, 2 * (uint64_t)(size - 1));
  ck_assert_uint_le(stats.most_sent, 1 + sim_log2(size));
  if (!options.seed) ck_assert_uint_eq(stats.rounds, 2 * sim_log2(size));
  check_costs(&ref, options.bytes, meter);
  forget(&ref);
  free(options.bytes);
  free(meter);
  free(o.status);
  free(o.right);
}

START_TEST(test_union) {
  static const struct sim_options manners[] = {{0}, {.seed = 5, .latency = 20}, {.synchronous = 1}};
  int size = sizes[_i];
  for (int k = 0; k < KNOWLEDGES; k++) {
    if (size == LARGE && !unit_amount(1, k == DISJOINT || k == SKEWED, 0)) continue;
    for (int m = 0; m < (size > 1000 ? 1 : 3); m++) check_union((enum knowledge)k, size, &manners[m]);
  }
}
END_TEST

/* A hundred times the ranks, with the same names: no rank sends or holds more than a constant for each round. */
START_TEST(test_ranks_cost_nothing) {
  static const struct sim_options manner = {0};
  uint64_t most[2];
  int64_t peak[2] = {0, 0};
  for (int i = 0; i < 2; i++) {
    int size = i ? 12800 : 128;
    struct sim_stats stats;
    struct sim_options options = manner;
    struct reference ref;
    struct outcome o = {&ref, calloc((size_t)size, sizeof *o.status), calloc((size_t)size, sizeof *o.right)};
    struct meter *meter = calloc((size_t)size, sizeof *meter);
    refer(&ref, SAME, size, 0);
    options.stats = &stats;
    meter_start(meter);
    ck_assert_int_eq(sim_run(size, unite_body, &o, &options), 0);
    meter_start(NULL);
    most[i] = stats.most_bytes;
    for (int r = 0; r < size; r++) peak[i] = meter[r].peak > peak[i] ? meter[r].peak : peak[i];
    forget(&ref);
    free(meter);
    free(o.status);
    free(o.right);
  }
  ck_assert_uint_le(most[1], most[0] + 7 * (20 * 4 + 4));
  ck_assert_int_le(peak[1], peak[0] + 7 * 20 * 12);
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
    ck_assert_str_eq(example.text[r], r ? "" : "ABCD");
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

/* Rank 0 sends down the ids of another number of names than rank 1 sent up. */
static void cut_body(struct lsc_coll *coll, void *arg) {
  struct lsc_names mine = {0}, all = {0};
  struct lsc_buffer bytes = {0};
  uint32_t words[3] = {0, 0, LSC_OK}, ids[2];
  if (lsc_names_add(&mine, "a", 1) || lsc_names_add(&mine, "b", 1)) abort();
  if (coll->rank) {
    *(lsc_status *)arg = lsc_unite_names(coll, TAG, &mine, &all, ids, DEADLINE);
  } else {
    if (coll->recv(coll, 1, TAG, &bytes, DEADLINE)) abort();
    coll->send(coll, 1, TAG, words + 1, 2 * sizeof *words, DEADLINE);
  }
  lsc_buffer_free(&bytes);
  lsc_names_free(&mine);
}

START_TEST(test_damaged_ids) {
  lsc_status status = LSC_OK;
  ck_assert_int_eq(sim_run(2, cut_body, &status, NULL), 0);
  ck_assert_int_eq(status, LSC_INVALID);
}
END_TEST

/* One name more than there may be, in all: every rank says so, and then, with room for it, has its ids. */
static void full_body(struct lsc_coll *coll, void *arg) {
  char name[2] = {'x', (char)('a' + coll->rank)};
  struct lsc_names mine = {0}, all = {0};
  uint32_t ids[2];
  if (lsc_names_add(&mine, "shared", 6) || lsc_names_add(&mine, name, 2)) abort();
  ((lsc_status *)arg)[coll->rank] = lsc_unite_names(coll, TAG, &mine, &all, ids, DEADLINE);
  if (all.count && lsc_most_names == 6) abort();
  lsc_names_free(&mine);
  lsc_names_free(&all);
}

START_TEST(test_too_many_names) {
  size_t before = lsc_most_names;
  for (int room = 0; room < 2; room++) {
    lsc_status status[6];
    lsc_most_names = 6u + (unsigned)room;
    ck_assert_int_eq(sim_run(6, full_body, status, NULL), 0);
    for (int r = 0; r < 6; r++) ck_assert_int_eq(status[r], room ? LSC_OK : LSC_LIMIT);
  }
  lsc_most_names = before;
}
END_TEST

int main(void) {
  TCase *tcase = tcase_create("unite");
  tcase_set_timeout(tcase, 240);
  tcase_add_loop_test(tcase, test_union, 0, SIZES);
  tcase_add_test(tcase, test_ranks_cost_nothing);
  tcase_add_test(tcase, test_example);
  tcase_add_test(tcase, test_silent_rank);
  tcase_add_test(tcase, test_damaged_bytes);
  tcase_add_test(tcase, test_damaged_ids);
  tcase_add_test(tcase, test_too_many_names);
  return unit_run("unite", tcase);
}
