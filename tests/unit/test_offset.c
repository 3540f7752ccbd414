/* SPDX-License-Identifier: BSD-3-Clause */
/* The offset between clocks, measured among simulated ranks whose clocks are set wrong by a known time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "offset.h"
#include "sim.h"
#include "unit.h"

#define TAG 3
#define LATENCY 2000
#define DEADLINE 1000000000
#define ROUNDING 8 /* ns a step down the tree */

struct run {
  int hosts; /* rank r is on host r % hosts, or on r / `together` */
  int together;
  int64_t added_ns; /* rank 0's */
  lsc_status *status;
  struct lsc_moment *moment;
};

static struct run new_run(int size, int hosts) {
  struct run run = {.hosts = hosts};
  run.status = calloc((size_t)size, sizeof *run.status);
  run.moment = calloc((size_t)size, sizeof *run.moment);
  ck_assert(run.status && run.moment);
  return run;
}

static void free_run(struct run *run) {
  free(run->status);
  free(run->moment);
}

static int host_of(const struct run *run, int rank) {
  return run->together ? rank / run->together : rank % run->hosts;
}

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
  int me = coll->rank;
  struct face face = {coll, host_of(run, me)};
  struct lsc_offset_clock clock = {.now = host_now, .ctx = &face, .added_ns = me ? -5 : run->added_ns};
  snprintf(clock.place, sizeof clock.place, "host %d", face.host);
  run->status[me] = lsc_offset_measure(coll, TAG, &clock, &run->moment[me], DEADLINE);
}

static void check_run(int size, struct run run, int hosts, int64_t most_latency, const struct sim_options *options) {
  ck_assert_int_eq(sim_run(size, measure, &run, options), 0);
  int64_t most_error = sim_log2(hosts) * (most_latency + ROUNDING + lsc_clock_drift(64 * 4 * most_latency));
  for (int rank = 0; rank < size; rank++) {
    const struct lsc_moment *moment = &run.moment[rank];
    int host = host_of(&run, rank);
    ck_assert_int_eq(run.status[rank], LSC_OK);
    ck_assert_int_eq(moment->known, 1);
    ck_assert_int_eq(moment->same, host == 0);
    if (host == 0) {
      ck_assert_int_eq(moment->offset_ns, run.added_ns);
      ck_assert_int_eq(moment->error_ns, 0);
      continue;
    }
    ck_assert_int_le(moment->error_ns, most_error);
    ck_assert_int_le(llabs(moment->offset_ns - (ahead(0) + run.added_ns - ahead(host))), moment->error_ns);
  }
  free_run(&run);
}

START_TEST(the_true_offset_is_within_the_bound) {
  const int sizes[] = {1, 2, 3, 7, 64};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    for (int hosts = 1; hosts <= 9; hosts += hosts < 5 ? 1 : 4) {
      check_run(sizes[i], new_run(sizes[i], hosts), hosts, LATENCY, &(struct sim_options){.latency = LATENCY});
      for (unsigned seed = 1; seed < 20; seed++) {
        struct run run = new_run(sizes[i], hosts);
        run.added_ns = seed % 3 * 1000;
        check_run(sizes[i], run, hosts, LATENCY, &(struct sim_options){.seed = seed, .latency = LATENCY});
      }
    }
  }
}
END_TEST

/* Rounds of one tree over all ranks, a few times, and of so many trips for each level of places. */
static void check_rounds(int size, int together) {
  struct sim_stats stats;
  struct run run = new_run(size, 0);
  int hosts = (size + together - 1) / together;
  run.together = together;
  check_run(size, run, hosts, LATENCY, &(struct sim_options){.latency = LATENCY, .stats = &stats});
  ck_assert_uint_le(stats.rounds, 20u * sim_log2(size) + 2u * 70u * sim_log2(hosts) + 10u);
  ck_assert_uint_le(stats.most_sent, 20u * sim_log2(size) + 70u * sim_log2(hosts) + 10u);
}

START_TEST(rounds_grow_with_the_logarithm) {
  const int sizes[] = {1, 16, 128, 1000, 4096};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    check_rounds(sizes[i], 16);
    check_rounds(sizes[i], sizes[i]);
  }
  check_rounds(600, 1);
  check_rounds(3000, 7);
}
END_TEST

static void check_one_dead(int dead, int hosts) {
  struct run run = new_run(6, hosts);
  struct sim_rank lot[6] = {{0}};
  struct sim_stats stats;
  lot[dead].dead = 1;
  const struct sim_options options = {.rank = lot, .latency = LATENCY, .stats = &stats};
  ck_assert_int_eq(sim_run(6, measure, &run, &options), 0);
  ck_assert_int_le(stats.ended, DEADLINE + 10 * LATENCY);
  int timed_out = 0;
  for (int rank = 0; rank < 6; rank++) {
    timed_out += rank != dead && run.status[rank] == LSC_TIMEOUT;
    ck_assert_int_eq(run.moment[rank].known, rank != dead && run.status[rank] == LSC_OK);
  }
  ck_assert_int_ge(timed_out, 1);
  free_run(&run);
}

START_TEST(a_rank_that_is_not_there_is_not_waited_for) {
  for (int hosts = 1; hosts < 6; hosts++) {
    for (int dead = 0; dead < 6; dead++) check_one_dead(dead, hosts);
  }
}
END_TEST

/* It goes after so many messages: in each of the rounds once. */
START_TEST(a_rank_that_goes_is_not_waited_for) {
  for (uint64_t after = 1; after < 60; after++) {
    for (int rank = 0; rank < 5; rank++) {
      struct run run = new_run(5, 3);
      struct sim_rank lot[5] = {{0}};
      struct sim_stats stats;
      lot[rank].dies_after = after;
      const struct sim_options options = {.rank = lot, .latency = LATENCY, .stats = &stats};
      ck_assert_int_eq(sim_run(5, measure, &run, &options), 0);
      ck_assert_int_le(stats.ended, DEADLINE + 10 * LATENCY);
      for (int i = 0; i < 5; i++) ck_assert(i == rank || run.moment[i].known == (run.status[i] == LSC_OK));
      free_run(&run);
    }
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

UNIT_MAIN("offset", the_true_offset_is_within_the_bound, rounds_grow_with_the_logarithm,
          a_rank_that_is_not_there_is_not_waited_for, a_rank_that_goes_is_not_waited_for,
          this_process_has_the_clock_of_the_machine)
