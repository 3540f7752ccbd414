/* SPDX-License-Identifier: BSD-3-Clause */
/* What is summed up of regions and lanes while calls go by in the order of their numbers. All zeros: no call yet. */
#ifndef LSC_SUMS_H
#define LSC_SUMS_H

#include "lanescope_types.h"
#include "snapshot.h"

/*
 * The sum of the squared deviations of so many durations from their mean: squares - total² / count, which is exact but
 * for the last rounding.
 */
static inline double lsc_deviations(int64_t total, unsigned __int128 squares, uint64_t count) {
  unsigned __int128 square = (unsigned __int128)total * (uint64_t)total;
  return (double)(squares - square / count) - (double)(square % count) / (double)count;
}

/* Of one region on one rank. mean and m2 of the statistics are there after lsc_region_sums_end. */
struct lsc_region_sums {
  lsc_stats stats;
  uint64_t count;
  int64_t exclusive; /* the caller takes off what lies in calls directly inside */
  unsigned __int128 squares; /* of the durations */
};

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
  sums->squares += (unsigned __int128)(uint64_t)duration * (uint64_t)duration;
  sums->exclusive += duration;
}

/* Of at least one call. */
static inline void lsc_region_sums_end(struct lsc_region_sums *sums) {
  sums->stats.mean = (double)sums->stats.total / (double)sums->count;
  sums->stats.m2 = lsc_deviations(sums->stats.total, sums->squares, sums->count);
}

/* Of one lane, as in lsc_lane_info, over any number of snapshots. */
struct lsc_lane_sums {
  unsigned apis;
  uint64_t calls, open_calls;
  int64_t first_ns, last_ns, busy_ns;
  int64_t covered_to; /* the latest end of a completed call */
};

/* open: 1 for a call that has not ended; end is not looked at then. */
static inline void lsc_lane_sums_add(struct lsc_lane_sums *sums, unsigned api, int64_t start, int64_t end, int open) {
  if (!sums->calls && !sums->open_calls) sums->first_ns = start;
  sums->apis |= 1u << api;
  if (open) {
    sums->open_calls++;
    if (!sums->calls) sums->last_ns = start;
    return;
  }
  if (!sums->calls || end > sums->last_ns) sums->last_ns = end;
  if (!sums->calls || start >= sums->covered_to) {
    sums->busy_ns += end - start;
    sums->covered_to = end;
  } else if (end > sums->covered_to) {
    sums->busy_ns += end - sums->covered_to;
    sums->covered_to = end;
  }
  sums->calls++;
}

#endif
