/* SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "clock.h"
#include "hidden.h"
#include "message.h"

#define TRIES 8
#define COST_READS 256

LSC_HIDDEN int lsc_clock_uses_counter;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Under the lock. */
static struct lsc_clock_pair *list;
static size_t used, capacity;
static double read_cost_ns;

/* Whether the counter runs at one rate in every power state. Source: Intel SDM 17.17.1, AMD APM 3 E.4.7 (CPUID
 * 80000007H, EDX bit 8); the generic timer of ARMv8 always does. */
static int counter_is_invariant(void) {
  const char *choice = getenv("LANESCOPE_CLOCK");
  if (choice && strcmp(choice, "monotonic") == 0) return 0;
#if defined(__x86_64__)
  unsigned a, b, c, d;
  return __get_cpuid(0x80000007u, &a, &b, &c, &d) && (d & (1u << 8));
#elif defined(__aarch64__)
  return 1;
#else
  return 0;
#endif
}

/* Both clocks at one moment: of several tries the one with the shortest stretch between two counter readings. */
static struct lsc_clock_pair read_pair(void) {
  struct lsc_clock_pair best = {0, 0};
  uint64_t shortest = UINT64_MAX;
  for (int i = 0; i < TRIES; i++) {
    uint64_t before = lsc_counter();
    int64_t ns = lsc_monotonic_ns();
    uint64_t after = lsc_counter();
    if (after - before < shortest) {
      shortest = after - before;
      best = (struct lsc_clock_pair){before + (after - before) / 2, ns};
    }
  }
  return best;
}

static lsc_status append_pair(void) {
  if (used == capacity) {
    size_t wanted = capacity ? 2 * capacity : 64;
    struct lsc_clock_pair *larger = realloc(list, wanted * sizeof *larger);
    if (!larger) return LSC_NO_MEMORY;
    list = larger;
    capacity = wanted;
  }
  struct lsc_clock_pair pair = read_pair();
  if (used && (pair.ticks <= list[used - 1].ticks || pair.ns <= list[used - 1].ns)) return LSC_OK;
  list[used++] = pair;
  return LSC_OK;
}

static void measure_read_cost(void) {
  int64_t begin = lsc_monotonic_ns();
  for (int i = 0; i < COST_READS; i++) (void)*(volatile uint64_t *)&(uint64_t){lsc_ticks()};
  read_cost_ns = (double)(lsc_monotonic_ns() - begin) / COST_READS;
}

lsc_status lsc_clock_start(void) {
  lsc_status status = LSC_OK;
  pthread_mutex_lock(&lock);
  if (read_cost_ns == 0) {
    lsc_clock_uses_counter = counter_is_invariant();
    measure_read_cost();
  }
  if (lsc_clock_uses_counter) status = append_pair();
  pthread_mutex_unlock(&lock);
  return status == LSC_OK ? status : lsc_fail(status, "no memory for the clock's list of pairs (%zu)", used);
}

void lsc_clock_touch(void) {
  if (!lsc_clock_uses_counter) return;
  pthread_mutex_lock(&lock);
  if (lsc_monotonic_ns() - list[used - 1].ns >= LSC_CLOCK_SPACING_NS) (void)append_pair();
  pthread_mutex_unlock(&lock);
}

/* A copy of the list, after one more pair if `wanted` says so under the lock. */
static lsc_status copy_list(struct lsc_clock_map *map, int (*wanted)(void)) {
  memset(map, 0, sizeof *map);
  if (!lsc_clock_uses_counter) return LSC_OK;
  pthread_mutex_lock(&lock);
  lsc_status status = wanted() ? append_pair() : LSC_OK;
  size_t pairs = used;
  map->pair = status == LSC_OK ? malloc(pairs * sizeof *map->pair) : NULL;
  if (map->pair) memcpy(map->pair, list, pairs * sizeof *map->pair);
  pthread_mutex_unlock(&lock);
  if (!map->pair) return lsc_fail(LSC_NO_MEMORY, "no memory for %zu pairs of the clock map", pairs);
  map->pairs = pairs;
  status = lsc_clock_map_prepare(map);
  if (status != LSC_OK) lsc_clock_map_free(map);
  return status;
}

static int always(void) { return 1; }
static int last_is_old(void) { return used < 2 || lsc_monotonic_ns() - list[used - 1].ns >= LSC_CLOCK_SPACING_NS; }

lsc_status lsc_clock_map_take(struct lsc_clock_map *map) { return copy_list(map, always); }
lsc_status lsc_clock_map_look(struct lsc_clock_map *map) { return copy_list(map, last_is_old); }

lsc_status lsc_clock_map_prepare(struct lsc_clock_map *map) {
  map->slope = malloc(map->pairs * sizeof *map->slope);
  if (!map->slope) return lsc_fail(LSC_NO_MEMORY, "no memory for %zu pairs of the clock map", map->pairs);
  for (size_t i = 0; i + 1 < map->pairs; i++) {
    uint64_t width = map->pair[i + 1].ticks - map->pair[i].ticks;
    unsigned __int128 rise = (unsigned __int128)(map->pair[i + 1].ns - map->pair[i].ns) << LSC_CLOCK_SHIFT;
    map->slope[i] = (uint64_t)((rise + width - 1) / width);
  }
  return LSC_OK;
}

void lsc_clock_map_free(struct lsc_clock_map *map) {
  free(map->pair);
  free(map->slope);
  memset(map, 0, sizeof *map);
}

/* The segment whose line carries the stamp: the first and the last one go on beyond their ends. */
static size_t find_segment(const struct lsc_clock_map *map, uint64_t ticks) {
  size_t low = 0, high = map->pairs - 2;
  while (low < high) {
    size_t middle = low + (high - low + 1) / 2;
    if (map->pair[middle].ticks <= ticks) low = middle;
    else high = middle - 1;
  }
  return low;
}

/* A stamp before the first pair is behind no line's beginning, and none is remembered for it. */
int64_t lsc_clock_map_seek(struct lsc_clock_map *map, uint64_t ticks) {
  if (map->pairs == 0) return (int64_t)ticks;
  if (map->pairs == 1) return map->pair[0].ns;
  size_t segment = find_segment(map, ticks);
  const struct lsc_clock_pair *p = &map->pair[segment];
  if (ticks >= p->ticks) {
    map->from = p->ticks;
    map->width = segment + 2 < map->pairs ? p[1].ticks - p->ticks : UINT64_MAX - p->ticks;
    if (map->width > UINT64_C(1) << LSC_CLOCK_SHIFT) map->width = UINT64_C(1) << LSC_CLOCK_SHIFT;
    map->rise = map->slope[segment];
    map->ns = p->ns;
  }
  return p->ns + (int64_t)((__int128)(int64_t)(ticks - p->ticks) * map->slope[segment] >> LSC_CLOCK_SHIFT);
}

double lsc_clock_read_cost_ns(void) { return read_cost_ns; }

int64_t lsc_now_ns(void) { return lsc_monotonic_ns(); }

void lsc_clock_lock(void) { pthread_mutex_lock(&lock); }
void lsc_clock_unlock(void) { pthread_mutex_unlock(&lock); }
