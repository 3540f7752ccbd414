/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "array.h"
#include "message.h"
#include "order.h"

static int64_t start_ns(struct lsc_snapshot *s, size_t call) {
  return lsc_clock_map_ns(&s->map, atomic_load_explicit(&s->row[call]->start, memory_order_relaxed));
}

/* Stable insertion of calls first .. end - 1 by depth; place[i] is which of them comes i-th. 1 if anything moved. */
static int sort_run(const struct lsc_snapshot *s, uint32_t *place, uint32_t first, uint32_t end) {
  int moved = 0;
  for (uint32_t i = first + 1; i < end; i++) {
    uint32_t call = place[i], k = i;
    for (; k > first && lsc_row_depth(s->row[place[k - 1]]) > lsc_row_depth(s->row[call]); k--) place[k] = place[k - 1];
    place[k] = call;
    moved |= k != i;
  }
  return moved;
}

/* Renumbers calls: the one that was place[i] becomes i. */
static lsc_status renumber(struct lsc_snapshot *s, const uint32_t *place) {
  const struct lsc_row **row = lsc_array_new(s->calls, sizeof *row);
  uint32_t *parent = lsc_array_new(s->calls, sizeof *parent), *now = lsc_array_new(s->calls, sizeof *now);
  if (!row || !parent || !now) {
    free(row);
    free(parent);
    free(now);
    return lsc_fail(LSC_NO_MEMORY, "no memory to order %zu calls", s->calls);
  }
  for (uint32_t i = 0; i < s->calls; i++) now[place[i]] = i;
  for (uint32_t i = 0; i < s->calls; i++) {
    uint32_t old = s->parent[place[i]];
    row[i] = s->row[place[i]];
    parent[i] = old == LSC_NO_CALL ? old : now[old];
  }
  for (size_t i = 0; i < s->open; i++) s->open_call[i] = now[s->open_call[i]];
  free(s->row);
  free(s->parent);
  free(now);
  s->row = row;
  s->parent = parent;
  return LSC_OK;
}

static int by_number(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

lsc_status lsc_order_ties(struct lsc_snapshot *s) {
  uint32_t *place = NULL;
  int moved = 0;
  int64_t now = s->calls ? start_ns(s, 0) : 0;
  for (uint32_t first = 0, end; first < s->calls; first = end) {
    int64_t start = now;
    for (end = first + 1; end < s->calls && (now = start_ns(s, end)) == start; end++) continue;
    if (end - first < 2) continue;
    if (!place) {
      place = lsc_array_new(s->calls, sizeof *place);
      if (!place) return lsc_fail(LSC_NO_MEMORY, "no memory to order %zu calls", s->calls);
      for (uint32_t i = 0; i < s->calls; i++) place[i] = i;
    }
    moved |= sort_run(s, place, first, end);
  }
  lsc_status status = moved ? renumber(s, place) : LSC_OK;
  if (moved && s->open) qsort(s->open_call, s->open, sizeof *s->open_call, by_number);
  free(place);
  return status;
}
