/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "correction.h"
#include "message.h"

/*
 * Of rows that hold the own clock: the knots, and on their level sides one more each, 1 ns beyond: a line of slope 1,
 * on which nothing is rounded.
 */
static size_t pairs_of_knots(const struct lsc_correction *c, int64_t end_ns, struct lsc_clock_pair *pair) {
  size_t n = 0;
  int64_t first = c->knots ? c->knot[0].at_ns : end_ns;
  if (c->knots < 2 || c->flat) pair[n++] = (struct lsc_clock_pair){(uint64_t)first - 1, first - 1};
  for (size_t i = 0; i < c->knots; i++)
    pair[n++] = (struct lsc_clock_pair){(uint64_t)c->knot[i].at_ns, c->knot[i].at_ns};
  if (!c->knots) pair[n++] = (struct lsc_clock_pair){(uint64_t)end_ns, end_ns};
  return n;
}

/* Where a knot lies between two pairs. Always the same, since both stand in the list ever after. */
static uint64_t ticks_between(const struct lsc_clock_pair *a, const struct lsc_clock_pair *b, int64_t ns) {
  return a->ticks + (uint64_t)((unsigned __int128)(ns - a->ns) * (b->ticks - a->ticks) / (uint64_t)(b->ns - a->ns));
}

/* The map's pairs, and one for each knot inside it. */
static size_t pairs_with_knots(const struct lsc_correction *c, const struct lsc_clock_map *map,
                               struct lsc_clock_pair *pair) {
  size_t n = 0, k = 0;
  for (size_t i = 0; i < map->pairs; i++) {
    const struct lsc_clock_pair *next = &map->pair[i];
    for (; k < c->knots && c->knot[k].at_ns < next->ns; k++) {
      if (!i || c->knot[k].at_ns <= next[-1].ns) continue;
      uint64_t ticks = ticks_between(&next[-1], next, c->knot[k].at_ns);
      if (ticks > pair[n - 1].ticks && ticks < next->ticks)
        pair[n++] = (struct lsc_clock_pair){ticks, c->knot[k].at_ns};
    }
    pair[n++] = *next;
  }
  return n;
}

lsc_status lsc_correction_apply(const struct lsc_correction *c, int64_t constant_ns, int64_t end_ns,
                                struct lsc_clock_map *map) {
  if (!c->knots && !constant_ns) return LSC_OK;
  size_t most = map->pairs + c->knots + 2;
  struct lsc_clock_map corrected = {.pair = malloc(most * sizeof *corrected.pair)};
  if (!corrected.pair) return lsc_fail(LSC_NO_MEMORY, "no memory for %zu pairs of the clock map", most);
  corrected.pairs =
      map->pairs ? pairs_with_knots(c, map, corrected.pair) : pairs_of_knots(c, end_ns, corrected.pair);
  for (size_t i = 0; i < corrected.pairs; i++)
    corrected.pair[i].ns += constant_ns + lsc_correction_at(c, corrected.pair[i].ns);
  lsc_status status = lsc_clock_map_prepare(&corrected);
  if (status != LSC_OK) {
    lsc_clock_map_free(&corrected);
    return status;
  }
  lsc_clock_map_free(map);
  *map = corrected;
  return LSC_OK;
}
