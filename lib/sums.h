/* SPDX-License-Identifier: BSD-3-Clause */
/* What is summed up of regions and lanes while calls go by in the order of their numbers. All zeros: no call yet. */
#ifndef LSC_SUMS_H
#define LSC_SUMS_H

#include "lanescope_types.h"
#include "snapshot.h"

/* Of one region on one rank. */
struct lsc_region_sums {
  lsc_stats stats;
  uint64_t count;
  int64_t exclusive; /* the caller takes off what lies in calls directly inside */
};

/* m2 by Welford's update. Source: B. P. Welford, Technometrics 4 (1962) 419. */
static inline void lsc_region_sums_add(struct lsc_region_sums *sums, int64_t start, int64_t end) {
  lsc_stats *stats = &sums->stats;
  int64_t duration = end - start;
  if (sums->count++ == 0) {
    *stats = (lsc_stats){
        .minimum = duration, .maximum = duration, .first = duration, .start_minimum = start, .end_maximum = end};
  }
  if (duration < stats->minimum) stats->minimum = duration;
  if (duration > stats->maximum) stats->maximum = duration;
  if (start < stats->start_minimum) stats->start_minimum = start;
  if (end > stats->end_maximum) stats->end_maximum = end;
  stats->total += duration;
  stats->last = duration;
  double delta = (double)duration - stats->mean;
  stats->mean += delta / (double)sums->count;
  stats->m2 += delta * ((double)duration - stats->mean);
  sums->exclusive += duration;
}

/* Of one lane. info.lane is the caller's. */
struct lsc_lane_sums {
  struct lsc_lane_info info;
  int64_t covered_to; /* the latest end of a completed call */
};

/* open: 1 for a call that has not ended; end is not looked at then. */
static inline void lsc_lane_sums_add(struct lsc_lane_sums *sums, unsigned api, int64_t start, int64_t end, int open) {
  struct lsc_lane_info *info = &sums->info;
  if (!info->calls && !info->open_calls) info->first_ns = start;
  info->apis |= 1u << api;
  if (open) {
    info->open_calls++;
    if (!info->calls) info->last_ns = start;
    return;
  }
  if (!info->calls || end > info->last_ns) info->last_ns = end;
  if (!info->calls || start >= sums->covered_to) {
    info->busy_ns += end - start;
    sums->covered_to = end;
  } else if (end > sums->covered_to) {
    info->busy_ns += end - sums->covered_to;
    sums->covered_to = end;
  }
  info->calls++;
}

#endif
