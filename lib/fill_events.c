/* SPDX-License-Identifier: BSD-3-Clause */
#include "fill.h"

/* So many rows lie in the first-level cache while one column after the other is taken from them. */
#define BLOCK_ROWS 256

struct block {
  const struct lsc_fill *fill;
  size_t first, count;  /* rows of this rank's events */
  const uint32_t *call; /* [count] their call ids */
  const struct lsc_row *row[BLOCK_ROWS];
};

/* The rows may lie apart: all are asked for before the first one is waited for. */
static void find_rows(struct block *block) {
  const struct lsc_snapshot *s = block->fill->snapshot;
  for (size_t i = 0; i < block->count; i++) {
    block->row[i] = s->row[block->call[i]];
    __builtin_prefetch(block->row[i]);
  }
}

static void fill_parents(const struct block *block, int64_t *out) {
  const uint32_t *parent = block->fill->snapshot->parent;
  for (size_t i = 0; i < block->count; i++) {
    uint32_t call = parent[block->call[i]];
    out[i] = call == LSC_NO_CALL ? -1 : (int64_t)call;
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
  for (size_t done = 0; done < count; span++) {
    size_t rows = s->region[span].offset + s->region[span].count - first - done;
    if (rows > count - done) rows = count - done;
    lsc_fill_same(LSC_EVENT_REGION_IDS, fill->region_ids[span], rows, out + done);
    done += rows;
  }
}

int lsc_fill_has_event_column(const struct lsc_fill *fill, int column) {
  if (column == LSC_EVENT_THREADS) return fill->threads;
  if (column == LSC_EVENT_TASKS || column == LSC_EVENT_AWAIT) return fill->tasks;
  if (column == LSC_EVENT_APIS) return (fill->apis & (fill->apis - 1)) != 0;
  return 1;
}

int lsc_fill_is_constant(const struct lsc_fill *fill, int column, int64_t *value) {
  const struct lsc_snapshot *s = fill->snapshot;
  int64_t lane = s->lanes ? s->last_lane : -1; /* tasks come last */
  switch (column) {
    case LSC_EVENT_RANKS: *value = fill->rank; return 1;
    case LSC_EVENT_THREADS: *value = lane == -1 ? -1 : -2 - lane; return s->lanes <= 1 && lane < 0;
    case LSC_EVENT_TASKS: *value = -1; return lane < 0;
    case LSC_EVENT_AWAIT: *value = 0; return lane < 0;
    default: return 0;
  }
}

int lsc_fill_is_even(const struct lsc_fill *fill, int column) {
  int64_t value;
  return column == LSC_EVENT_REGION_IDS || lsc_fill_is_constant(fill, column, &value);
}

void lsc_fill_same(int column, int64_t value, size_t count, void *out) {
  if (lsc_type_size(lsc_events_desc.column[column].type) == sizeof(uint32_t))
    for (size_t i = 0; i < count; i++) ((uint32_t *)out)[i] = (uint32_t)value;
  else
    for (size_t i = 0; i < count; i++) ((int64_t *)out)[i] = value;
}

void lsc_fill_even(const struct lsc_fill *fill, int column, size_t first, size_t count, void *out) {
  int64_t value;
  if (lsc_fill_is_constant(fill, column, &value)) lsc_fill_same(column, value, count, out);
  else fill_region_ids(fill, first, count, out);
}

int lsc_fill_has_open_column(const struct lsc_fill *fill, int column) {
  if (column == LSC_OPEN_THREADS) return fill->threads;
  if (column == LSC_OPEN_TASKS || column == LSC_OPEN_AWAIT) return fill->tasks;
  if (column == LSC_OPEN_APIS) return (fill->apis & (fill->apis - 1)) != 0;
  return 1;
}

static void fill_numbers(const struct block *block, int column, int64_t *out) {
  switch (column) {
    case LSC_EVENT_THREADS:
      for (size_t i = 0; i < block->count; i++) out[i] = lsc_row_thread(block->row[i]);
      break;
    case LSC_EVENT_TASKS:
      for (size_t i = 0; i < block->count; i++) out[i] = lsc_row_task(block->row[i]);
      break;
    case LSC_EVENT_CALL_IDS:
      for (size_t i = 0; i < block->count; i++) out[i] = block->call[i];
      break;
    default:
      for (size_t i = 0; i < block->count; i++) out[i] = lsc_call_await_ns(block->fill->snapshot, block->row[i]);
  }
}

static void fill_column(const struct block *block, int column, void *out) {
  switch (column) {
    case LSC_EVENT_START:
      lsc_row_times(&block->fill->snapshot->map, block->row, block->count, 0, out);
      break;
    case LSC_EVENT_END:
      lsc_row_times(&block->fill->snapshot->map, block->row, block->count, 1, out);
      break;
    case LSC_EVENT_RANKS:
      for (size_t i = 0; i < block->count; i++) ((uint32_t *)out)[i] = block->fill->rank;
      break;
    case LSC_EVENT_REGION_IDS:
      fill_region_ids(block->fill, block->first, block->count, out);
      break;
    case LSC_EVENT_PARENT_IDS:
      fill_parents(block, out);
      break;
    case LSC_EVENT_APIS:
      for (size_t i = 0; i < block->count; i++) ((uint8_t *)out)[i] = (uint8_t)lsc_row_api(block->row[i]);
      break;
    default:
      fill_numbers(block, column, out);
  }
}

void lsc_fill_events(const struct lsc_fill *fill, size_t first, size_t count, void *const *column) {
  struct block block;
  block.fill = fill;
  for (size_t at = 0; at < count; at += BLOCK_ROWS) {
    block.first = first + at;
    block.call = fill->snapshot->event + first + at;
    block.count = count - at < BLOCK_ROWS ? count - at : BLOCK_ROWS;
    find_rows(&block);
    for (int k = 0; k < LSC_EVENT_COLUMNS; k++) {
      if (column[k]) fill_column(&block, k, (char *)column[k] + at * lsc_type_size(lsc_events_desc.column[k].type));
    }
  }
}

void lsc_fill_rest(const struct lsc_fill *fill, const struct lsc_block_call *call, void *const *column, size_t at) {
  const struct lsc_row *row = call->row;
  if (column[LSC_EVENT_THREADS]) ((int64_t *)column[LSC_EVENT_THREADS])[at] = lsc_row_thread(row);
  if (column[LSC_EVENT_TASKS]) ((int64_t *)column[LSC_EVENT_TASKS])[at] = lsc_row_task(row);
  if (column[LSC_EVENT_AWAIT]) ((int64_t *)column[LSC_EVENT_AWAIT])[at] = lsc_call_await_ns(fill->snapshot, row);
  if (column[LSC_EVENT_APIS]) ((uint8_t *)column[LSC_EVENT_APIS])[at] = (uint8_t)lsc_row_api(row);
}
