/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rows of one rank, written while its calls are read once, in the order of their ids: each goes to the bucket of
 * its region, and a bucket that is full is written where the region's rows go on. What was recorded is then read as it
 * lies in memory, which is several times faster than region by region; a few regions only, since each needs memory.
 */
#ifndef LSC_BUCKETS_H
#define LSC_BUCKETS_H

#include "fill.h"
#include "h5.h"

#define LSC_MOST_BUCKETS 12

/* Whether the rank's calls are of so few regions. */
int lsc_buckets_suit(const struct lsc_fill *fill);

/* Writes all rows of this rank into the selected columns of h5. LSC_OK, LSC_HDF5, LSC_NO_MEMORY. */
lsc_status lsc_buckets_write(struct lsc_h5 *h5, const struct lsc_fill *fill);

#endif
