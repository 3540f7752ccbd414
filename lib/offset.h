/* SPDX-License-Identifier: BSD-3-Clause */
/* How far this rank's clock is from rank 0's. */
#ifndef LSC_OFFSET_H
#define LSC_OFFSET_H

#include "coll.h"

#define LSC_PLACE_SIZE 256

/* A clock to be compared. place: processes with the same text read the same clock. */
struct lsc_offset_clock {
  char place[LSC_PLACE_SIZE];
  int64_t (*now)(void *ctx);
  void *ctx;
};

/* CLOCK_MONOTONIC of this process: the same wherever the boot of the machine and the time namespace are. */
void lsc_offset_own_clock(struct lsc_offset_clock *clock);

/*
 * offset_ns: to be added to this rank's clock to put it on rank 0's; error_ns: bound of its error. Both 0 where the
 * clock is the same; else from the fastest of some round trips. Collective. LSC_OK, LSC_TIMEOUT, LSC_NO_MEMORY, and
 * what the group gives.
 */
lsc_status lsc_offset_measure(struct lsc_coll *coll, int tag, const struct lsc_offset_clock *clock, int64_t *offset_ns,
                              int64_t *error_ns, int64_t deadline);

#endif
