/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rows of one rank, written while its calls are read in the order of their ids: each goes to the bucket of its
 * region, and a bucket that is full is written where the region's rows go on. What was recorded is then read as it lies
 * in memory, which is several times faster than region by region. Where the buckets of all regions would need too much
 * memory, the calls are read several times, each time for as many regions as there is room for.
 */
#ifndef LSC_BUCKETS_H
#define LSC_BUCKETS_H

#include "fill.h"
#include "h5.h"

/* One row of every column: 8 bytes at most of each. */
struct lsc_events_row {
  unsigned char value[LSC_EVENT_COLUMNS][8];
};

struct lsc_buckets;

/* LSC_OK, LSC_NO_MEMORY. The rank has completed calls. On failure there is nothing to free. */
lsc_status lsc_buckets_new(const struct lsc_fill *fill, struct lsc_buckets **buckets);
void lsc_buckets_free(struct lsc_buckets *buckets);

/*
 * Writes all rows of this rank into the selected columns of h5. first, last: receive the first and the last of them.
 * LSC_OK, LSC_HDF5.
 */
lsc_status lsc_buckets_write(struct lsc_buckets *buckets, struct lsc_h5 *h5, struct lsc_events_row *first,
                             struct lsc_events_row *last);

#endif
