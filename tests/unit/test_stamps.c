/* SPDX-License-Identifier: BSD-3-Clause */
/* Many raw readings become times at once, by the line between two pairs, worked out here in 128 bits for each alone. */
#include <stdlib.h>

#include "clock.h"
#include "unit.h"

#define PAIRS 6
#define MOST 300
#define TRIALS 20000

static uint64_t state = 88172645463325252u;

/* xorshift64, by Marsaglia, "Xorshift RNGs", 2003. */
static uint64_t any(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

static uint64_t below(uint64_t limit) { return any() % limit; }

/* Between 2^low and 2^high, each power of two as likely. */
static uint64_t between(unsigned low, unsigned high) {
  uint64_t power = UINT64_C(1) << (low + below(high - low));
  return power + below(power);
}

/* From 0.25 to 250 ns a tick; two pairs are from 16 µs to 20 hours apart. */
static void make_map(struct lsc_clock_map *map, struct lsc_clock_pair *pair) {
  double rate = 0.25 * (double)(1 + below(1000));
  pair[0] = (struct lsc_clock_pair){between(20, 50), (int64_t)below(UINT64_C(1) << 40) - (INT64_C(1) << 39)};
  for (size_t i = 1; i < PAIRS; i++) {
    uint64_t ticks = between(16, 46);
    double drift = 1 + 1e-4 * ((double)below(200) - 100) / 100;
    pair[i] = (struct lsc_clock_pair){pair[i - 1].ticks + ticks,
                                      pair[i - 1].ns + (int64_t)((double)ticks * rate * drift) + 1};
  }
  *map = (struct lsc_clock_map){.pairs = 1 + below(PAIRS), .pair = pair};
  unit_must(lsc_clock_map_prepare(map) == LSC_OK);
}

static int64_t expected(const struct lsc_clock_map *map, uint64_t ticks) {
  size_t i = 0;
  if (ticks == LSC_NO_STAMP) return LSC_NO_TIME;
  if (map->pairs == 1) return map->pair[0].ns;
  while (i + 2 < map->pairs && map->pair[i + 1].ticks <= ticks) i++;
  __int128 past = (__int128)ticks - map->pair[i].ticks;
  return map->pair[i].ns + (int64_t)(past * (__int128)map->slope[i] >> LSC_CLOCK_SHIFT);
}

/* In the order in which calls begin, with ends in between that lie behind; now and then none, or one far away. */
static void make_stamps(const struct lsc_clock_pair *pair, int64_t *stamp, size_t count) {
  size_t near = below(PAIRS);
  uint64_t ticks = pair[near].ticks + (below(2) ? 0 : between(4, 44)) - below(64), step = between(2, 26);
  for (size_t i = 0; i < count; i++) {
    ticks += below(step);
    stamp[i] = (int64_t)(i % 2 ? ticks + below(16 * step) : ticks);
    if (below(600) == 0) stamp[i] = (int64_t)LSC_NO_STAMP;
    if (below(600) == 0) stamp[i] = (int64_t)(pair[below(PAIRS)].ticks - 1 + below(3));
  }
}

START_TEST(many_stamps_become_what_each_of_them_does) {
  struct lsc_clock_map map;
  struct lsc_clock_pair pair[PAIRS];
  int64_t stamp[MOST], wanted[MOST];
  for (int trial = 0; trial < TRIALS; trial++) {
    size_t count = below(MOST + 1);
    make_map(&map, pair);
    for (int again = 0; again < 2; again++) {
      make_stamps(pair, stamp, count);
      for (size_t i = 0; i < count; i++) wanted[i] = expected(&map, (uint64_t)stamp[i]);
      lsc_clock_map_many(&map, count, stamp);
      for (size_t i = 0; i < count; i++) ck_assert_int_eq(stamp[i], wanted[i]);
    }
    free(map.slope);
  }
}
END_TEST

START_TEST(without_a_counter_times_stay) {
  struct lsc_clock_map map = {0};
  int64_t stamp[100];
  for (int i = 0; i < 100; i++) stamp[i] = 1000 + i;
  stamp[60] = (int64_t)LSC_NO_STAMP;
  lsc_clock_map_many(&map, 100, stamp);
  for (int i = 0; i < 100; i++) ck_assert_int_eq(stamp[i], i == 60 ? LSC_NO_TIME : 1000 + i);
}
END_TEST

UNIT_MAIN("stamps", many_stamps_become_what_each_of_them_does, without_a_counter_times_stay)
