/* SPDX-License-Identifier: BSD-3-Clause */
/* The offset between clocks, measured among simulated ranks whose clocks are set wrong by a known time. */
#include <stdio.h>
#include <string.h>

#include "offset.h"
#include "sim.h"
#include "unit.h"

#define TAG 3
#define MOST_RANKS 64
#define LATENCY 2000
#define DEADLINE 1000000000

struct run {
  int hosts; /* rank r is on host r % hosts, each of which has a clock */
  lsc_status status[MOST_RANKS];
  int64_t offset[MOST_RANKS], error[MOST_RANKS];
};

/* How far the clock of a host is ahead. */
static int64_t ahead(int host) { return host * 1000000007LL - 3000000000LL; }

struct face {
  struct lsc_coll *coll;
  int host;
};

static int64_t host_now(void *ctx) {
  struct face *face = ctx;
  return face->coll->now(face->coll) + ahead(face->host);
}

static void measure(struct lsc_coll *coll, void *arg) {
  struct run *run = arg;
  struct face face = {coll, coll->rank % run->hosts};
  struct lsc_offset_clock clock = {.now = host_now, .ctx = &face};
  snprintf(clock.place, sizeof clock.place, "host %d", face.host);
  int me = coll->rank;
  run->status[me] = lsc_offset_measure(coll, TAG, &clock, &run->offset[me], &run->error[me], DEADLINE);
}

static void check_run(int size, int hosts, const struct sim_options *options) {
  struct run run = {.hosts = hosts};
  ck_assert_int_eq(sim_run(size, measure, &run, options), 0);
  for (int rank = 0; rank < size; rank++) {
    int64_t true_offset = ahead(0) - ahead(rank % hosts);
    ck_assert_int_eq(run.status[rank], LSC_OK);
    if (rank % hosts == 0) {
      ck_assert_int_eq(run.offset[rank], 0);
      ck_assert_int_eq(run.error[rank], 0);
      continue;
    }
    ck_assert_int_le(run.error[rank], LATENCY);
    ck_assert_int_le(llabs(run.offset[rank] - true_offset), run.error[rank]);
  }
}

START_TEST(the_true_offset_is_within_the_bound) {
  const int sizes[] = {1, 2, 3, 7, MOST_RANKS};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    for (int hosts = 1; hosts <= 4; hosts++) {
      check_run(sizes[i], hosts, &(struct sim_options){.latency = LATENCY});
      for (unsigned seed = 1; seed < 20; seed++) {
        check_run(sizes[i], hosts, &(struct sim_options){.seed = seed, .latency = LATENCY});
      }
    }
  }
}
END_TEST

START_TEST(a_rank_that_is_not_there_is_not_waited_for) {
  for (int dead = 0; dead < 4; dead++) {
    struct run run = {.hosts = 2};
    struct sim_rank lot[4] = {{0}};
    struct sim_stats stats;
    lot[dead].dead = 1;
    const struct sim_options options = {.rank = lot, .latency = LATENCY, .stats = &stats};
    ck_assert_int_eq(sim_run(4, measure, &run, &options), 0);
    ck_assert_int_le(stats.ended, DEADLINE + 10 * LATENCY);
    int timed_out = 0;
    for (int rank = 0; rank < 4; rank++) timed_out += rank != dead && run.status[rank] == LSC_TIMEOUT;
    ck_assert_int_ge(timed_out, 1);
  }
}
END_TEST

START_TEST(this_process_has_the_clock_of_the_machine) {
  struct lsc_offset_clock clock, again;
  lsc_offset_own_clock(&clock);
  lsc_offset_own_clock(&again);
  ck_assert_str_eq(clock.place, again.place);
  ck_assert_uint_gt(strlen(clock.place), 10);
  int64_t before = lsc_now_ns(), now = clock.now(clock.ctx), after = lsc_now_ns();
  ck_assert_int_ge(now, before);
  ck_assert_int_le(now, after);
}
END_TEST

UNIT_MAIN("offset", the_true_offset_is_within_the_bound, a_rank_that_is_not_there_is_not_waited_for,
          this_process_has_the_clock_of_the_machine)
