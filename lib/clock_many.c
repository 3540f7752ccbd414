/* SPDX-License-Identifier: BSD-3-Clause */
#include "clock.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define SOME 32 /* stamps that are looked at before they are converted */
#define WORD 32 /* bits of a factor */

/*
 * A line from `base` on, for stamps less than 2^32 ticks behind it, in products of 32 bits by 32, of which AVX2 has
 * four at a time: with the rise in two words, ns + (rest + ticks * rise) / 2^LSC_CLOCK_SHIFT. Nothing is lost by it.
 */
struct near_line {
  uint64_t base, rise, rest;
  int64_t ns;
};

/* 1 if there is such a line for stamps near this one: it lies on the map's line of the last stamp. */
static int find_near_line(const struct lsc_clock_map *map, uint64_t stamp, struct near_line *line) {
  uint64_t past = (stamp - map->from) >> (WORD - 1) << (WORD - 1);
  if (stamp - map->from >= map->width || map->rise >> 63) return 0;
  unsigned __int128 product = (unsigned __int128)past * map->rise;
  uint64_t rest = (uint64_t)product & ((UINT64_C(1) << LSC_CLOCK_SHIFT) - 1);
  *line = (struct near_line){map->from + past, map->rise, rest, map->ns + (int64_t)(product >> LSC_CLOCK_SHIFT)};
  return 1;
}

__attribute__((target("avx2"))) static inline __m256i four_of(uint64_t value) {
  return _mm256_set1_epi64x((long long)value);
}

/* 1 if each of SOME stamps is less than `width` and 2^32 behind the base, as far as their highest bits tell. */
__attribute__((target("avx2"))) static int are_near(const int64_t *stamp, uint64_t base, uint64_t width) {
  __m256i from = four_of(base), bits = _mm256_setzero_si256();
  for (size_t i = 0; i < SOME; i += 4)
    bits = _mm256_or_si256(bits, _mm256_sub_epi64(_mm256_loadu_si256((const void *)(stamp + i)), from));
  uint64_t of[4];
  _mm256_storeu_si256((void *)of, bits);
  uint64_t any = of[0] | of[1] | of[2] | of[3];
  return any >> WORD == 0 && any < width;
}

__attribute__((target("avx2"))) static void convert_near(const struct near_line *line, int64_t *stamp) {
  const __m256i base = four_of(line->base), ns = four_of((uint64_t)line->ns);
  const __m256i low = four_of((uint32_t)line->rise), high = four_of(line->rise >> WORD);
  const __m256i rest_low = four_of((uint32_t)line->rest), rest_high = four_of(line->rest >> WORD);
  for (size_t i = 0; i < SOME; i += 4) {
    __m256i ticks = _mm256_sub_epi64(_mm256_loadu_si256((const void *)(stamp + i)), base);
    __m256i part = _mm256_srli_epi64(_mm256_add_epi64(_mm256_mul_epu32(ticks, low), rest_low), WORD);
    part = _mm256_add_epi64(part, _mm256_add_epi64(_mm256_mul_epu32(ticks, high), rest_high));
    part = _mm256_add_epi64(_mm256_srli_epi64(part, LSC_CLOCK_SHIFT - WORD), ns);
    _mm256_storeu_si256((void *)(stamp + i), part);
  }
}

/* How many stamps from the first on were converted: SOME or none. */
static size_t convert_some(const struct lsc_clock_map *map, size_t count, int64_t *stamp) {
  struct near_line line;
  if (count < SOME || !__builtin_cpu_supports("avx2") || !find_near_line(map, (uint64_t)stamp[0], &line)) return 0;
  if (!are_near(stamp, line.base, map->width - (line.base - map->from))) return 0;
  convert_near(&line, stamp);
  return SOME;
}
#else
static size_t convert_some(const struct lsc_clock_map *map, size_t count, int64_t *stamp) {
  (void)map, (void)count, (void)stamp;
  return 0;
}
#endif

#define SINGLY 32 /* stamps until it is tried again to convert several at once */

void lsc_clock_map_many(struct lsc_clock_map *map, size_t count, int64_t *stamp) {
  for (size_t i = 0, some; i < count;) {
    i += some = convert_some(map, count - i, stamp + i);
    if (some) continue;
    for (size_t end = count - i < SINGLY ? count : i + SINGLY; i < end; i++)
      stamp[i] = (uint64_t)stamp[i] == LSC_NO_STAMP ? LSC_NO_TIME : lsc_clock_map_ns(map, (uint64_t)stamp[i]);
  }
}
