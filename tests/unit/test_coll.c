/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "coll.h"
#include "message.h"
#include "sim.h"
#include "unit.h"

#define TAG 7
#define DEADLINE 1000000
#define COUNT 3

static const int sizes[] = {1, 2, 3, 4, 5, 7, 8, 16, 31, 64, 1000};
#define SIZES ((int)(sizeof sizes / sizeof *sizes))

/* The same operation in order, in two shuffled orders with messages under way for a while, and with sends that wait. */
static const struct sim_options manners[] = {
    {0}, {.seed = 1, .latency = 9}, {.seed = 2, .latency = 9}, {.synchronous = 1}};
#define MANNERS ((int)(sizeof manners / sizeof *manners))

struct outcome {
  int size, dead;       /* dead: this rank is not there; -1: all are */
  size_t length;
  lsc_status *status;   /* [size] */
  int *right;           /* [size] */
  int visits;
  struct sim_stats stats;
};

static void run(struct outcome *o, int size, void (*body)(struct lsc_coll *, void *),
                const struct sim_options *manner) {
  struct sim_options options = *manner;
  struct sim_rank *rank = calloc((size_t)size, sizeof *rank);
  o->size = size;
  o->visits = 0;
  o->status = malloc((size_t)size * sizeof *o->status);
  o->right = calloc((size_t)size, sizeof *o->right);
  for (int r = 0; r < size; r++) o->status[r] = LSC_IO;
  if (o->dead >= 0) rank[o->dead].dead = 1;
  options.rank = rank;
  options.stats = &o->stats;
  ck_assert_int_eq(sim_run(size, body, o, &options), 0);
  free(rank);
}

static void release(struct outcome *o) {
  free(o->status);
  free(o->right);
}

static void check_all(struct outcome *o, uint64_t sweeps) {
  for (int r = 0; r < o->size; r++) {
    ck_assert_msg(o->status[r] == LSC_OK, "rank %d of %d: %s", r, o->size, lsc_strerror(o->status[r]));
    ck_assert_msg(o->right[r], "rank %d of %d has other values", r, o->size);
  }
  ck_assert_uint_eq(o->stats.messages, sweeps * (uint64_t)(o->size - 1));
  ck_assert_uint_le(o->stats.most_sent, sweeps * sim_log2(o->size));
}

static void every_manner(int size, void (*body)(struct lsc_coll *, void *), size_t length, uint64_t sweeps) {
  for (int m = 0; m < MANNERS; m++) {
    struct outcome o = {.dead = -1, .length = length};
    run(&o, size, body, &manners[m]);
    check_all(&o, sweeps);
    if (!manners[m].seed) ck_assert_uint_eq(o.stats.rounds, sweeps * sim_log2(size));
    release(&o);
  }
}

static unsigned char byte_of(int rank, size_t i) { return (unsigned char)((unsigned)rank * 31u + i * 7u + 1u); }

static void fill(struct lsc_buffer *buffer, int rank, size_t length) {
  for (size_t i = 0; i < length; i++) {
    unsigned char byte = byte_of(rank, i);
    if (lsc_buffer_append(buffer, &byte, 1)) abort();
  }
}

static int holds(const unsigned char *data, size_t size, int rank, size_t length) {
  if (size != length) return 0;
  for (size_t i = 0; i < length; i++) {
    if (data[i] != byte_of(rank, i)) return 0;
  }
  return 1;
}

static void broadcast_body(struct lsc_coll *coll, void *arg) {
  struct outcome *o = arg;
  struct lsc_buffer data = {0};
  if (coll->rank == 0) fill(&data, 0, o->length);
  o->status[coll->rank] = lsc_coll_broadcast(coll, TAG, &data, DEADLINE);
  o->right[coll->rank] = holds(data.data, data.size, 0, o->length);
  lsc_buffer_free(&data);
}

START_TEST(test_broadcast) {
  every_manner(sizes[_i], broadcast_body, 0, 1);
  every_manner(sizes[_i], broadcast_body, 1, 1);
  every_manner(sizes[_i], broadcast_body, 5000, 1);
}
END_TEST

static size_t part_length(int rank) { return (size_t)(rank % 5) * 11; }

static lsc_status visit(void *ctx, int rank, struct lsc_reader *bytes) {
  struct outcome *o = ctx;
  if (rank == o->visits && holds(bytes->next, (size_t)(bytes->end - bytes->next), rank, part_length(rank))) o->visits++;
  return LSC_OK;
}

static void gather_body(struct lsc_coll *coll, void *arg) {
  struct outcome *o = arg;
  struct lsc_buffer mine = {0};
  fill(&mine, coll->rank, part_length(coll->rank));
  o->status[coll->rank] = lsc_coll_gather(coll, TAG, &mine, visit, o, DEADLINE);
  o->right[coll->rank] = coll->rank || o->visits == coll->size;
  lsc_buffer_free(&mine);
}

START_TEST(test_gather) { every_manner(sizes[_i], gather_body, 0, 1); }
END_TEST

static lsc_status refuse_second(void *ctx, int rank, struct lsc_reader *bytes) {
  (void)bytes;
  ++*(int *)ctx;
  return rank == 1 ? LSC_LIMIT : LSC_OK;
}

static void refused_body(struct lsc_coll *coll, void *arg) {
  struct outcome *o = arg;
  struct lsc_buffer none = {0};
  o->status[coll->rank] = lsc_coll_gather(coll, TAG, &none, refuse_second, &o->visits, DEADLINE);
}

START_TEST(test_visit_ends_gather) {
  struct outcome o = {.dead = -1};
  run(&o, 5, refused_body, &manners[0]);
  ck_assert_int_eq(o.status[0], LSC_LIMIT);
  for (int r = 1; r < 5; r++) ck_assert_int_eq(o.status[r], LSC_OK);
  ck_assert_int_eq(o.visits, 2);
  release(&o);
}
END_TEST

static uint64_t value_of(int rank, int i) { return ((uint64_t)rank * 2654435761u + (uint64_t)i * 40503u) % 100000u; }

static void scan_body(struct lsc_coll *coll, void *arg) {
  struct outcome *o = arg;
  uint64_t values[COUNT], prefix[COUNT] = {9, 9, 9}, totals[COUNT] = {9, 9, 9};
  int right = 1;
  for (int i = 0; i < COUNT; i++) values[i] = value_of(coll->rank, i);
  o->status[coll->rank] = lsc_coll_scan(coll, TAG, COUNT, values, prefix, totals, DEADLINE);
  for (int i = 0; i < COUNT; i++) {
    uint64_t below = 0, all = 0;
    for (int r = 0; r < coll->size; r++) {
      if (r < coll->rank) below += value_of(r, i);
      all += value_of(r, i);
    }
    right &= prefix[i] == below && totals[i] == all && values[i] == value_of(coll->rank, i);
  }
  o->right[coll->rank] = right;
}

START_TEST(test_scan) { every_manner(sizes[_i], scan_body, 0, 2); }
END_TEST

static void empty_scan_body(struct lsc_coll *coll, void *arg) {
  struct outcome *o = arg;
  o->status[coll->rank] = lsc_coll_scan(coll, TAG, 0, NULL, NULL, NULL, DEADLINE);
  o->right[coll->rank] = 1;
}

START_TEST(test_scan_of_nothing) { every_manner(sizes[_i], empty_scan_body, 0, 2); }
END_TEST

static void or_body(struct lsc_coll *coll, void *arg) {
  struct outcome *o = arg;
  uint64_t values[2] = {1ull << (coll->rank % 60), coll->rank == coll->size / 2 ? 1ull << 63 : 0}, low = 0;
  o->status[coll->rank] = lsc_coll_or(coll, TAG, 2, values, DEADLINE);
  for (int r = 0; r < coll->size; r++) low |= 1ull << (r % 60);
  o->right[coll->rank] = values[0] == low && values[1] == 1ull << 63;
}

START_TEST(test_or) { every_manner(sizes[_i], or_body, 0, 2); }
END_TEST

/* Several operations one after the other, all with one tag: no message of one is taken for another's. */
static void sequence_body(struct lsc_coll *coll, void *arg) {
  struct outcome *o = arg;
  int right = 1;
  for (int i = 0; i < 3; i++) {
    gather_body(coll, arg);
    right &= !o->status[coll->rank] && o->right[coll->rank];
    if (coll->rank == 0) o->visits = 0;
    scan_body(coll, arg);
    right &= !o->status[coll->rank] && o->right[coll->rank];
    broadcast_body(coll, arg);
    right &= !o->status[coll->rank] && o->right[coll->rank];
  }
  o->right[coll->rank] = right;
}

START_TEST(test_sequence) {
  for (int m = 0; m < MANNERS; m++) {
    struct outcome o = {.dead = -1, .length = 100};
    run(&o, sizes[_i], sequence_body, &manners[m]);
    check_all(&o, 12);
    release(&o);
  }
}
END_TEST

/* Who depends on a rank that is not there comes back at the deadline, nobody later, and nobody with wrong values. */
static void check_dead(int size, int dead, void (*body)(struct lsc_coll *, void *), int everyone) {
  struct outcome o = {.dead = dead, .length = 10};
  int timed_out = 0;
  run(&o, size, body, &manners[0]);
  for (int r = 0; r < size; r++) {
    if (r == dead) continue;
    if (o.status[r] == LSC_TIMEOUT) timed_out++;
    else ck_assert_msg(o.status[r] == LSC_OK && o.right[r], "rank %d of %d without %d", r, size, dead);
  }
  if (everyone) ck_assert_int_eq(timed_out, size - 1);
  ck_assert_int_le(o.stats.ended, DEADLINE);
  release(&o);
}

START_TEST(test_dead_rank) {
  for (int dead = 0; dead < 16; dead++) {
    check_dead(16, dead, scan_body, 1);
    check_dead(16, dead, or_body, 1);
    check_dead(16, dead, gather_body, 0);
    check_dead(16, dead, broadcast_body, dead == 0);
  }
}
END_TEST

/* One rank fails for itself before the sweep: all come back with its status, and none waits. */
struct failing {
  int rank;
  lsc_status status[16];
};

static lsc_status nothing_merge(void *ctx, struct lsc_reader *bytes) { return (void)ctx, (void)bytes, LSC_OK; }
static lsc_status nothing_encode(void *ctx, struct lsc_buffer *out) { return (void)ctx, (void)out, LSC_OK; }

static void failing_body(struct lsc_coll *coll, void *arg) {
  struct failing *f = arg;
  const struct lsc_sweep sweep = {nothing_merge, nothing_encode, NULL};
  struct lsc_buffer data = {0};
  lsc_status status = lsc_coll_up(coll, TAG, coll->rank == f->rank ? LSC_NO_MEMORY : LSC_OK, &sweep, DEADLINE);
  f->status[coll->rank] = lsc_coll_down(coll, TAG, status, &data, DEADLINE);
  lsc_buffer_free(&data);
}

START_TEST(test_failing_rank) {
  for (int rank = 0; rank < 16; rank++) {
    struct failing f = {.rank = rank};
    struct sim_stats stats;
    struct sim_options options = {.stats = &stats};
    ck_assert_int_eq(sim_run(16, failing_body, &f, &options), 0);
    for (int r = 0; r < 16; r++) ck_assert_int_eq(f.status[r], LSC_NO_MEMORY);
    ck_assert_int_eq(stats.ended, 0);
  }
}
END_TEST

static void mismatch_body(struct lsc_coll *coll, void *arg) {
  struct outcome *o = arg;
  uint64_t values[2] = {1, 1}, prefix[2], totals[2];
  o->status[coll->rank] = lsc_coll_scan(coll, TAG, coll->rank == 3 ? 2 : 1, values, prefix, totals, DEADLINE);
}

START_TEST(test_other_count) {
  struct outcome o = {.dead = -1};
  run(&o, 5, mismatch_body, &manners[0]);
  for (int r = 0; r < 5; r++) ck_assert_int_eq(o.status[r], LSC_INVALID);
  release(&o);
}
END_TEST

/* Rank 1's part of a gather as it must be, of another rank, cut off, and longer than its message. */
struct part {
  uint32_t rank;
  uint64_t length;
  size_t cut;
  lsc_status wanted, came;
};

static lsc_status any_visit(void *ctx, int rank, struct lsc_reader *bytes) {
  return (void)ctx, (void)rank, (void)bytes, LSC_OK;
}

static void damaged_body(struct lsc_coll *coll, void *arg) {
  struct part *part = arg;
  struct lsc_buffer bytes = {0};
  uint32_t fared = LSC_OK;
  if (coll->rank == 0) {
    part->came = lsc_coll_gather(coll, TAG, &bytes, any_visit, NULL, DEADLINE);
  } else {
    if (lsc_buffer_append(&bytes, &part->rank, 4) || lsc_buffer_append(&bytes, &part->length, 8)) abort();
    if (lsc_buffer_append(&bytes, "abc", 3)) abort();
    bytes.size -= part->cut;
    if (lsc_buffer_append(&bytes, &fared, sizeof fared)) abort();
    coll->send(coll, 0, TAG, bytes.data, bytes.size, DEADLINE);
  }
  lsc_buffer_free(&bytes);
}

START_TEST(test_damaged_gather) {
  struct part parts[] = {{1, 3, 0, LSC_OK, LSC_IO},      {2, 3, 0, LSC_INVALID, LSC_IO},
                         {1, 3, 1, LSC_INVALID, LSC_IO}, {1, 3, 15, LSC_INVALID, LSC_IO},
                         {1, 3, 8, LSC_INVALID, LSC_IO}, {1, UINT64_MAX, 0, LSC_INVALID, LSC_IO}};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    ck_assert_int_eq(sim_run(2, damaged_body, &parts[i], NULL), 0);
    ck_assert_msg(parts[i].came == parts[i].wanted, "part %zu", i);
  }
}
END_TEST

START_TEST(test_self) {
  struct lsc_coll self;
  struct lsc_buffer data = {0};
  uint64_t values[1] = {5}, prefix[1] = {9}, totals[1] = {9};
  int64_t before = lsc_now_ns();
  lsc_coll_self(&self);
  ck_assert_int_eq(self.rank, 0);
  ck_assert_int_eq(self.size, 1);
  ck_assert_int_ge(self.now(&self), before);
  ck_assert_int_eq(lsc_coll_scan(&self, TAG, 1, values, prefix, totals, 0), LSC_OK);
  ck_assert_uint_eq(prefix[0], 0);
  ck_assert_uint_eq(totals[0], 5);
  ck_assert_int_eq(lsc_coll_broadcast(&self, TAG, &data, 0), LSC_OK);
  ck_assert_int_eq(self.send(&self, 1, TAG, "x", 1, 0), LSC_INVALID);
  ck_assert_int_eq(self.recv(&self, 1, TAG, &data, 0), LSC_INVALID);
  lsc_buffer_free(&data);
}
END_TEST

/* The simulation itself: a wait without an end is found, and the ranks in it are let go. */
static void deadlock_body(struct lsc_coll *coll, void *arg) {
  struct lsc_buffer data = {0};
  lsc_status status = coll->recv(coll, 1 - coll->rank, TAG, &data, INT64_MAX);
  ((lsc_status *)arg)[coll->rank] = status;
  lsc_buffer_free(&data);
}

START_TEST(test_deadlock_is_found) {
  lsc_status status[2] = {LSC_OK, LSC_OK};
  ck_assert_int_eq(sim_run(2, deadlock_body, status, NULL), -1);
  ck_assert_int_eq(status[0], LSC_TIMEOUT);
  ck_assert_int_eq(status[1], LSC_TIMEOUT);
}
END_TEST

int main(void) {
  TCase *tcase = tcase_create("coll");
  tcase_set_timeout(tcase, 120);
  tcase_add_loop_test(tcase, test_broadcast, 0, SIZES);
  tcase_add_loop_test(tcase, test_gather, 0, SIZES);
  tcase_add_test(tcase, test_visit_ends_gather);
  tcase_add_loop_test(tcase, test_scan, 0, SIZES);
  tcase_add_loop_test(tcase, test_scan_of_nothing, 0, SIZES);
  tcase_add_loop_test(tcase, test_or, 0, SIZES);
  tcase_add_loop_test(tcase, test_sequence, 0, SIZES);
  tcase_add_test(tcase, test_dead_rank);
  tcase_add_test(tcase, test_failing_rank);
  tcase_add_test(tcase, test_other_count);
  tcase_add_test(tcase, test_damaged_gather);
  tcase_add_test(tcase, test_self);
  tcase_add_test(tcase, test_deadlock_is_found);
  return unit_run("coll", tcase);
}
