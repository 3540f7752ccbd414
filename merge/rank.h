/* SPDX-License-Identifier: BSD-3-Clause */
/* All that the inputs have of one rank, as one collect would have had it. */
#ifndef LSC_RANK_H
#define LSC_RANK_H

#include "calls.h"
#include "run.h"

/*
 * The calls of a rank: those of all parts once, numbered anew by (start, depth) where there are several parts, on the
 * run's clock. A call that is open in one part and goes on in a later one is taken from there.
 *
 * lost: receives the number of calls that are open in some part but the last, and in no later one: an input is missing.
 * Nothing is known of their ends, and they are left out.
 *
 * LSC_OK; LSC_INVALID: two inputs hold the same call; LSC_LIMIT; LSC_HDF5; LSC_NO_MEMORY. On failure *calls is empty.
 */
lsc_status lsc_rank_calls(struct lsc_run *run, int rank, struct lsc_calls *calls, uint64_t *lost);

/* Numbers of the completed calls in the order of /events: regions as the rank's inputs have them, then by number. */
struct lsc_rank_order {
  uint32_t *call;    /* [completed] */
  uint32_t *region;  /* [regions] ids, in order */
  uint64_t *count;   /* [regions] */
  size_t regions;
};
lsc_status lsc_rank_sort(const struct lsc_run *run, int rank, const struct lsc_calls *calls,
                         struct lsc_rank_order *order);
void lsc_rank_order_free(struct lsc_rank_order *order);

#endif
