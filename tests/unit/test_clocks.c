/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One clock out of many, among simulated ranks on hosts whose clocks are wrong and drift, over messages whose delays
 * differ by direction and jump. What the ranks work out is compared with rank 0's clock, which the simulation knows.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "correction.h"
#include "sim.h"
#include "unit.h"

#define TAG_OPEN 1
#define TAG_NOW 2
#define TAG_MESSAGE 3
#define TRIALS 1000
#define GOOD_TRIALS 999
#define MOST_RANKS 24
#define CHECKPOINTS 3
#define MESSAGES 8 /* of each rank between two checkpoints */
#define STEEPEST_PPB 50000
#define NEVER INT64_MAX

/* What the own clock showed at a moment of the simulation's time. */
struct stamp {
  int64_t own, true_time;
};

struct received {
  int from;
  struct stamp sent, came;
};

struct member {
  struct received message[CHECKPOINTS * MESSAGES];
  int messages;
  struct stamp open;
  lsc_status status;
  struct lsc_correction correction;
};

struct host {
  int64_t ahead, drift_ppb;
};

static struct trial {
  int size, hosts, late; /* late: nothing is compared at open */
  uint64_t seed;
  int64_t uneven, longest_work; /* ns */
  struct host host[MOST_RANKS];
  struct member member[MOST_RANKS];
} trial;

static uint64_t draw(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

static int64_t between(uint64_t *state, int64_t low, int64_t high) {
  return low + (int64_t)(draw(state) % (uint64_t)(high - low + 1));
}

static int64_t clock_of(int rank, int64_t true_time) {
  const struct host *host = &trial.host[rank % trial.hosts];
  return host->ahead + true_time + (int64_t)((__int128)true_time * host->drift_ppb / 1000000000);
}

/* 1 to 5 µs, more of it in one direction, and one in eight up to 500 µs. */
static int64_t delay(int from, int to, uint64_t drawn) {
  int64_t ns = 1000 + (int64_t)(drawn % 4000);
  if (from < to) ns += trial.uneven;
  if ((drawn >> 32) % 8 == 0) ns += (int64_t)((drawn >> 40) % 500000);
  return ns;
}

static int64_t rank_now(void *ctx) {
  struct lsc_coll *coll = ctx;
  return clock_of(coll->rank, coll->now(coll));
}

static struct stamp stamp(struct lsc_coll *coll) { return (struct stamp){rank_now(coll), coll->now(coll)}; }

static lsc_status compare(struct lsc_coll *coll, int tag, struct lsc_moment *moment) {
  struct lsc_offset_clock clock = {.now = rank_now, .ctx = coll};
  snprintf(clock.place, sizeof clock.place, "host %d", coll->rank % trial.hosts);
  return lsc_offset_measure(coll, tag, &clock, moment, NEVER);
}

/* Each sends to another one, farther away every time, and takes what comes. */
static lsc_status exchange(struct lsc_coll *coll, struct member *me, uint64_t *random) {
  struct lsc_buffer bytes = {0};
  lsc_status status = LSC_OK;
  for (int i = 0; i < MESSAGES && !status; i++) {
    int step = 1 + i % (coll->size - 1), from = (coll->rank + coll->size - step) % coll->size;
    sim_sleep(coll, between(random, 0, trial.longest_work / MESSAGES));
    struct stamp sent = stamp(coll);
    status = coll->send(coll, (coll->rank + step) % coll->size, TAG_MESSAGE, &sent, sizeof sent, NEVER);
    if (!status) status = coll->recv(coll, from, TAG_MESSAGE, &bytes, NEVER);
    if (status) break;
    struct received *received = &me->message[me->messages++];
    *received = (struct received){.from = from, .came = stamp(coll)};
    memcpy(&received->sent, bytes.data, sizeof sent);
  }
  lsc_buffer_free(&bytes);
  return status;
}

static lsc_status checkpoint(struct lsc_coll *coll, struct member *me, const struct lsc_moment *open) {
  struct lsc_comparison clocks = {.group = 7, .open = *open};
  struct lsc_correction next;
  lsc_status status = compare(coll, TAG_NOW, &clocks.now);
  if (status) return status;
  status = lsc_correction_extend(&me->correction, &clocks, me->open.own, rank_now(coll) + 1000, &next);
  if (status) return status;
  lsc_correction_free(&me->correction);
  me->correction = next;
  return LSC_OK;
}

static void take_part(struct lsc_coll *coll, void *arg) {
  (void)arg;
  struct member *me = &trial.member[coll->rank];
  uint64_t random = trial.seed + (uint64_t)coll->rank * 0x9e3779b97f4a7c15u;
  struct lsc_moment open = {0};
  sim_sleep(coll, between(&random, 0, 1000000));
  me->open = stamp(coll);
  sim_sleep(coll, between(&random, 0, 3000000));
  lsc_status status = trial.late ? LSC_OK : compare(coll, TAG_OPEN, &open);
  for (int i = 0; i < CHECKPOINTS && !status; i++) {
    status = exchange(coll, me, &random);
    if (!status) status = checkpoint(coll, me, &open);
  }
  me->status = status;
}

static void set_up(unsigned number) {
  uint64_t random = 0x2545f4914f6cdd1du * (number + 1);
  for (int i = 0; i < 8; i++) draw(&random);
  memset(&trial, 0, sizeof trial);
  trial.seed = random;
  trial.size = (int)between(&random, 2, MOST_RANKS);
  trial.hosts = (int)between(&random, 1, trial.size);
  trial.late = draw(&random) % 5 == 0;
  trial.uneven = between(&random, 0, 20000);
  trial.longest_work = between(&random, 1, 10);
  for (int64_t tens = between(&random, 3, 10); tens > 0; tens--) trial.longest_work *= 10;
  for (int i = 0; i < MOST_RANKS; i++) {
    trial.host[i].ahead = between(&random, 1, INT64_C(1) << 52);
    trial.host[i].drift_ppb = between(&random, -STEEPEST_PPB, STEEPEST_PPB);
  }
}

static int64_t corrected(const struct member *member, int64_t own) {
  return own + member->correction.constant_ns + lsc_correction_at(&member->correction, own);
}

/* How far a time of a rank is from what rank 0's clock showed then. */
static int64_t off_by(const struct member *member, struct stamp at) {
  return llabs(corrected(member, at.own) - clock_of(0, at.true_time));
}

/* 1: every time is right within its rank's bound. */
static int is_bounded(const struct member *member) {
  int64_t worst = off_by(member, member->open);
  for (int i = 0; i < member->messages; i++) {
    int64_t off = off_by(member, member->message[i].came);
    if (off > worst) worst = off;
  }
  return worst <= member->correction.error_ns;
}

/* 1: no message came before it was sent by more than both bounds. */
static int is_causal(const struct member *member) {
  for (int i = 0; i < member->messages; i++) {
    const struct received *received = &member->message[i];
    const struct member *sender = &trial.member[received->from];
    int64_t took = corrected(member, received->came.own) - corrected(sender, received->sent.own);
    if (took < -(member->correction.error_ns + sender->correction.error_ns)) return 0;
  }
  return 1;
}

/* 1: bounded. */
static int run_trial(unsigned number) {
  const struct sim_options options = {.seed = number + 1, .delay = delay};
  int bounded = 1;
  set_up(number);
  ck_assert_int_eq(sim_run(trial.size, take_part, NULL, &options), 0);
  for (int rank = 0; rank < trial.size; rank++) {
    struct member *member = &trial.member[rank];
    ck_assert_int_eq(member->status, LSC_OK);
    ck_assert_int_eq(member->messages, CHECKPOINTS * MESSAGES);
    ck_assert_msg(is_causal(member), "trial %u: a message came to rank %d before it was sent", number, rank);
    bounded &= is_bounded(member);
    if (rank % trial.hosts == 0) ck_assert_int_eq(member->correction.error_ns, 0);
  }
  for (int rank = 0; rank < trial.size; rank++) lsc_correction_free(&trial.member[rank].correction);
  return bounded;
}

START_TEST(no_message_comes_before_it_is_sent_and_bounds_hold) {
  int good = 0;
  for (unsigned number = 0; number < TRIALS; number++) good += run_trial(number);
  ck_assert_int_ge(good, GOOD_TRIALS);
}
END_TEST

/* With the clocks compared at open and a long run: the bound is that of a few messages, not of the drift. */
START_TEST(bounds_are_those_of_the_messages) {
  for (unsigned number = 0; number < 100; number++) {
    const struct sim_options options = {.seed = number + 1, .delay = delay};
    set_up(number);
    trial.late = 0;
    trial.longest_work = 1000000000;
    ck_assert_int_eq(sim_run(trial.size, take_part, NULL, &options), 0);
    for (int rank = 0; rank < trial.size; rank++) {
      ck_assert_int_le(trial.member[rank].correction.error_ns, 2 * sim_log2(trial.hosts) * 40000);
      lsc_correction_free(&trial.member[rank].correction);
    }
  }
}
END_TEST

UNIT_MAIN("clocks", no_message_comes_before_it_is_sent_and_bounds_hold, bounds_are_those_of_the_messages)
