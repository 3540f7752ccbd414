/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two clocks: the raw one that rows hold (the processor's cycle counter where it is invariant, else CLOCK_MONOTONIC),
 * and CLOCK_MONOTONIC in nanoseconds, in which files are written. One list of pairs of both, for the whole process,
 * only ever appended to, makes the map between them: increasing, piecewise linear, the same for every stamp of the
 * process.
 */
#ifndef LSC_CLOCK_H
#define LSC_CLOCK_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "hidden.h"
#include "lanescope.h"

#if defined(__x86_64__)
#include <x86intrin.h>
static inline uint64_t lsc_counter(void) { return __rdtsc(); }
#elif defined(__aarch64__)
static inline uint64_t lsc_counter(void) {
  uint64_t value;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value;
}
#else
static inline uint64_t lsc_counter(void) { return 0; }
#endif

static inline int64_t lsc_monotonic_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* 1 where rows hold the counter. Set by lsc_clock_start, constant afterwards. */
extern LSC_HIDDEN int lsc_clock_uses_counter;

/* A raw reading, never 0. */
static inline uint64_t lsc_ticks(void) {
  if (__builtin_expect(lsc_clock_uses_counter, 1)) return lsc_counter();
  return (uint64_t)lsc_monotonic_ns();
}

/* Chooses the clock and takes the first pair; again: takes a pair. Before the first row. LANESCOPE_CLOCK=monotonic
 * forbids the counter. */
lsc_status lsc_clock_start(void);
/* Takes a pair if the last one is older than LSC_CLOCK_SPACING_NS. Cheap; for chunk changes. */
void lsc_clock_touch(void);
#define LSC_CLOCK_SPACING_NS 100000000

struct lsc_clock_pair {
  uint64_t ticks;
  int64_t ns;
};

/* A frozen copy of the map. */
struct lsc_clock_map {
  size_t pairs;
  struct lsc_clock_pair *pair; /* strictly increasing in both */
  uint64_t *slope; /* [pairs - 1] nanoseconds a tick from each pair to the next, times 2^LSC_CLOCK_SHIFT, rounded up */
  /* The line of the last stamp, which most of the next ones lie on: ns + (ticks - from) * rise / 2^LSC_CLOCK_SHIFT. No
   * wider than 2^LSC_CLOCK_SHIFT; width 0: none yet. */
  uint64_t from, width, rise;
  int64_t ns;
};
#define LSC_CLOCK_SHIFT 56 /* up to 256 ns a tick; the rounding adds less than one ns to a segment below 2^56 ticks */

/* Takes a pair and copies the list, so that every stamp taken before lies inside it. LSC_OK, LSC_NO_MEMORY. */
lsc_status lsc_clock_map_take(struct lsc_clock_map *map);
/* The same with a new pair only where the last one is old, for looking often: the newest stamps may lie behind the last
 * pair, on the line that leads to it. LSC_OK, LSC_NO_MEMORY. */
lsc_status lsc_clock_map_look(struct lsc_clock_map *map);
/* Computes the slopes of a map whose pairs are there. LSC_OK, LSC_NO_MEMORY. */
lsc_status lsc_clock_map_prepare(struct lsc_clock_map *map);
void lsc_clock_map_free(struct lsc_clock_map *map);
/* What a line rises over so many ticks below its greatest width: the upper half of a product of 128 bits. */
static inline int64_t lsc_clock_rise(uint64_t ticks, uint64_t rise) {
  return (int64_t)((unsigned __int128)(ticks << (64 - LSC_CLOCK_SHIFT)) * rise >> 64);
}
/* The same as lsc_clock_map_ns for a stamp beside the line of the last one. */
int64_t lsc_clock_map_seek(struct lsc_clock_map *map, uint64_t ticks);
/* CLOCK_MONOTONIC of a raw reading. Increasing. Not thread-safe: it remembers the line. */
static inline int64_t lsc_clock_map_ns(struct lsc_clock_map *map, uint64_t ticks) {
  uint64_t past = ticks - map->from;
  if (__builtin_expect(past >= map->width, 0)) return lsc_clock_map_seek(map, ticks);
  return map->ns + lsc_clock_rise(past, map->rise);
}

/*
 * The same for many raw readings, each of which is replaced by its time; several at once where they lie near one
 * another. LSC_NO_STAMP becomes LSC_NO_TIME.
 */
void lsc_clock_map_many(struct lsc_clock_map *map, size_t count, int64_t *stamp);
#define LSC_NO_STAMP UINT64_MAX
#define LSC_NO_TIME INT64_MIN

/* Nanoseconds of one raw reading on this machine, measured at lsc_clock_start: for estimates of overhead. */
double lsc_clock_read_cost_ns(void);

/* Held over fork(). */
void lsc_clock_lock(void);
void lsc_clock_unlock(void);

#endif
