/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "fill.h"
#include "region.h"
#include "sums.h"

/* Calls by id, and so those of a region in the order in which they began; a completed call's parent gives its time
 * away. */
static void add_calls(const struct lsc_fill *fill, struct lsc_region_sums *sums, const uint32_t *span_of) {
  struct lsc_snapshot *s = fill->snapshot;
  size_t open = 0;
  for (uint32_t call = 0; call < s->calls; call++) {
    if (open < s->open && s->open_call[open] == call) {
      open++;
      continue;
    }
    const struct lsc_row *row = s->row[call];
    int64_t start = lsc_clock_map_ns(&s->map, atomic_load_explicit(&row->start, memory_order_relaxed)) + fill->shift_ns;
    int64_t end = lsc_clock_map_ns(&s->map, atomic_load_explicit(&row->end, memory_order_relaxed)) + fill->shift_ns;
    lsc_region_sums_add(&sums[span_of[lsc_row_region(row)]], start, end);
    uint32_t parent = s->parent[call];
    if (parent != LSC_NO_CALL && lsc_call_is_completed(s, parent))
      sums[span_of[lsc_row_region(s->row[parent])]].exclusive -= end - start;
  }
}

static lsc_status put_text(struct lsc_table *table, int column, const char *text, const char *otherwise) {
  if (!text) text = otherwise;
  return lsc_table_put_text(table, column, text, strlen(text));
}

static lsc_status put_source(struct lsc_table *table, uint32_t id) {
  struct lsc_region_view region = lsc_region_get(id);
  lsc_status status = lsc_table_put_int(table, LSC_INDEX_LINES, region.source_line);
  if (status == LSC_OK) status = put_text(table, LSC_INDEX_FILES, region.source_file, "");
  if (status == LSC_OK) status = put_text(table, LSC_INDEX_TEXTS, region.source_text, "");
  if (status == LSC_OK) status = put_text(table, LSC_INDEX_TAGS, region.tags, "[]");
  return status;
}

static lsc_status put_region(const struct lsc_fill *fill, struct lsc_table *table, size_t i, const struct lsc_region_sums *sums) {
  const struct lsc_region_span *span = &fill->snapshot->region[i];
  lsc_status status = lsc_table_put_int(table, LSC_INDEX_REGION_IDS, fill->region_ids[i]);
  if (status == LSC_OK) status = lsc_table_put_int(table, LSC_INDEX_RANKS, fill->rank);
  if (status == LSC_OK)
    status = lsc_table_put_int(table, LSC_INDEX_OFFSETS, (int64_t)(fill->event_offset + span->offset));
  if (status == LSC_OK) status = lsc_table_put_int(table, LSC_INDEX_COUNTS, (int64_t)span->count);
  if (status == LSC_OK) status = put_source(table, span->region);
  if (status == LSC_OK) status = lsc_table_put_int(table, LSC_INDEX_EXCLUSIVE, sums->exclusive);
  if (status == LSC_OK) status = lsc_table_put(table, LSC_INDEX_STATS, &sums->stats);
  if (status == LSC_OK) lsc_table_end_row(table);
  return status;
}

lsc_status lsc_fill_index(const struct lsc_fill *fill, struct lsc_table *table) {
  const struct lsc_snapshot *s = fill->snapshot;
  if (!s->regions) return LSC_OK;
  uint32_t highest = s->region[s->regions - 1].region;
  struct lsc_region_sums *sums = calloc(s->regions, sizeof *sums);
  uint32_t *span_of = calloc((size_t)highest + 1, sizeof *span_of);
  lsc_status status = sums && span_of ? LSC_OK : LSC_NO_MEMORY;
  if (status == LSC_OK) {
    for (size_t i = 0; i < s->regions; i++) span_of[s->region[i].region] = (uint32_t)i;
    add_calls(fill, sums, span_of);
  }
  for (size_t i = 0; status == LSC_OK && i < s->regions; i++) status = put_region(fill, table, i, &sums[i]);
  free(sums);
  free(span_of);
  return status;
}
