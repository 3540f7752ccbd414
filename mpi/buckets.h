/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rows of one rank, made while its calls are read in the order of their ids: each goes to the bucket of its region,
 * and a bucket that is full is given away, for the place where the region's rows go on. What was recorded is then read
 * as it lies in memory, which is several times faster than region by region. Where the buckets of all regions would
 * need too much memory, the calls are read several times, each time for as many regions as there is room for.
 */
#ifndef LSC_BUCKETS_H
#define LSC_BUCKETS_H

#include "fill.h"

struct lsc_buckets;

/*
 * without_even: 1: leaves the columns out that lsc_fill_even makes. LSC_OK, LSC_NO_MEMORY. The rank has completed
 * calls. On failure there is nothing to free.
 */
lsc_status lsc_buckets_new(const struct lsc_fill *fill, int without_even, struct lsc_buckets **buckets);
void lsc_buckets_free(struct lsc_buckets *buckets);

/*
 * For who keeps the rows until a chunk of them is complete: calls are read together of no more than `most` regions, or
 * of regions that have no more than `most` chunks of so many rows of /events, or of one region. So fewer than 2 * most
 * chunks are begun at a time: one a region, and one at the border of two, which waits for the last rows of the first.
 */
void lsc_buckets_limit(struct lsc_buckets *buckets, uint64_t rows, size_t most);

/*
 * Where the rows go, on the thread that reads. take: rows row … row + rows - 1 of this rank's events,
 * column[LSC_EVENT_…] in their file type, NULL: not in this file, or left out. idle: NULL, or what may be done while
 * there are no rows yet: a small piece of it; *done: receives 1 when nothing is left. Anything but LSC_OK ends the
 * reading.
 */
struct lsc_rows_sink {
  lsc_status (*take)(void *ctx, uint64_t row, size_t rows, void *const *column);
  lsc_status (*idle)(void *ctx, int *done);
  void *ctx;
};

/* Reads the calls and gives every row of this rank away once, those of one region in order. The status of the sink. */
lsc_status lsc_buckets_read(struct lsc_buckets *buckets, const struct lsc_rows_sink *sink);

#endif
