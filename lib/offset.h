/* SPDX-License-Identifier: BSD-3-Clause */
/* How far this rank's clock is from rank 0's. */
#ifndef LSC_OFFSET_H
#define LSC_OFFSET_H

#include "coll.h"
#include "places.h"

/*
 * By how much two clocks are taken to drift apart at most, where that was not measured: two quartz oscillators of the
 * usual tolerance of 50 parts per million, each off to another side. (RFC 5905, 7.1, takes 15 for a clock that is
 * steered.)
 */
#define LSC_CLOCK_DRIFT_PPM 100

/* How much the clocks may drift apart within so many ns. */
static inline int64_t lsc_clock_drift(int64_t ns) { return (ns < 0 ? -ns : ns) / (1000000 / LSC_CLOCK_DRIFT_PPM); }

/* A clock to be compared. */
struct lsc_offset_clock {
  char place[LSC_PLACE_SIZE]; /* processes with the same text read the same clock */
  int64_t (*now)(void *ctx);
  void *ctx;
  int64_t added_ns; /* on rank 0: what it adds to this clock itself to have its own times */
};

/* CLOCK_MONOTONIC of this process: the same wherever the boot of the machine and the time namespace are. */
void lsc_offset_own_clock(struct lsc_offset_clock *clock);

/* One comparison with rank 0's clock. */
struct lsc_moment {
  int known; /* 0: it was not made, or failed */
  int same;  /* 1: this rank reads rank 0's clock: there is no error and no drift */
  int64_t at_ns;     /* when, on this rank's clock */
  int64_t offset_ns; /* to be added to this rank's clock at that moment to have rank 0's */
  int64_t error_ns;  /* the offset is off by no more */
};

/*
 * The lowest rank of each place measures for all of it, by the fastest of some round trips with one that has done so,
 * place by place down a binomial tree from rank 0's: rounds grow with the logarithm of the ranks, and error_ns is the
 * sum of half of the fastest trips on the way, and of what the clocks may drift meanwhile. Collective. LSC_OK,
 * LSC_TIMEOUT, LSC_NO_MEMORY, and what the group gives: `moment` is not known then.
 */
lsc_status lsc_offset_measure(struct lsc_coll *coll, int tag, const struct lsc_offset_clock *clock,
                              struct lsc_moment *moment, int64_t deadline);

#endif
