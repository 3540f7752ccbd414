/* SPDX-License-Identifier: BSD-3-Clause */
#include "fill.h"

/* The rows of one piece of /events. */
struct piece {
  const struct lsc_fill *fill;
  const uint32_t *event; /* [count] call ids */
  size_t count;
};

static const struct lsc_row *row_at(const struct piece *piece, size_t i) {
  return piece->fill->snapshot->row[piece->event[i]];
}

static void fill_times(const struct piece *piece, int column, int64_t *out) {
  struct lsc_clock_map *map = &piece->fill->snapshot->map;
  int64_t shift = piece->fill->shift_ns;
  for (size_t i = 0; i < piece->count; i++) {
    const struct lsc_row *row = row_at(piece, i);
    uint64_t ticks = atomic_load_explicit(column == LSC_EVENT_START ? &row->start : &row->end, memory_order_relaxed);
    out[i] = lsc_clock_map_ns(map, ticks) + shift;
  }
}

static int64_t number_at(const struct piece *piece, int column, size_t i) {
  const struct lsc_snapshot *s = piece->fill->snapshot;
  switch (column) {
    case LSC_EVENT_THREADS:
      return lsc_row_thread(row_at(piece, i));
    case LSC_EVENT_TASKS:
      return lsc_row_task(row_at(piece, i));
    case LSC_EVENT_CALL_IDS:
      return piece->event[i];
    case LSC_EVENT_PARENT_IDS:
      return s->parent[piece->event[i]] == LSC_NO_CALL ? -1 : (int64_t)s->parent[piece->event[i]];
    default:
      return lsc_call_await_ns(piece->fill->snapshot, row_at(piece, i));
  }
}

static void fill_region_ids(const struct lsc_fill *fill, size_t first, size_t count, uint32_t *out) {
  const struct lsc_snapshot *s = fill->snapshot;
  size_t span = 0, last = s->regions;
  while (span + 1 < last) {
    size_t middle = span + (last - span) / 2;
    if (s->region[middle].offset <= first) span = middle;
    else last = middle;
  }
  for (size_t i = 0; i < count; i++) {
    while (first + i >= s->region[span].offset + s->region[span].count) span++;
    out[i] = fill->region_ids[span];
  }
}

int lsc_fill_has_event_column(const struct lsc_fill *fill, int column) {
  if (column == LSC_EVENT_THREADS) return fill->threads;
  if (column == LSC_EVENT_TASKS || column == LSC_EVENT_AWAIT) return fill->tasks;
  if (column == LSC_EVENT_APIS) return (fill->apis & (fill->apis - 1)) != 0;
  return 1;
}

int lsc_fill_has_open_column(const struct lsc_fill *fill, int column) {
  if (column == LSC_OPEN_THREADS) return fill->threads;
  if (column == LSC_OPEN_TASKS || column == LSC_OPEN_AWAIT) return fill->tasks;
  if (column == LSC_OPEN_APIS) return (fill->apis & (fill->apis - 1)) != 0;
  return 1;
}

void lsc_fill_events(const struct lsc_fill *fill, int column, size_t first, size_t count, void *out) {
  struct piece piece = {fill, fill->snapshot->event + first, count};
  switch (column) {
    case LSC_EVENT_START:
    case LSC_EVENT_END:
      fill_times(&piece, column, out);
      break;
    case LSC_EVENT_RANKS:
      for (size_t i = 0; i < count; i++) ((uint32_t *)out)[i] = fill->rank;
      break;
    case LSC_EVENT_REGION_IDS:
      fill_region_ids(fill, first, count, out);
      break;
    case LSC_EVENT_APIS:
      for (size_t i = 0; i < count; i++) ((uint8_t *)out)[i] = (uint8_t)lsc_row_api(row_at(&piece, i));
      break;
    default:
      for (size_t i = 0; i < count; i++) ((int64_t *)out)[i] = number_at(&piece, column, i);
  }
}
