/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "fill.h"
#include "region.h"
#include "sums.h"

static lsc_stats stats_of(const struct lsc_call_sums *sums) {
  return (lsc_stats){.total = sums->total,
                     .minimum = sums->minimum,
                     .maximum = sums->maximum,
                     .first = sums->first,
                     .last = sums->last,
                     .start_minimum = sums->start_minimum,
                     .end_maximum = sums->end_maximum,
                     .mean = (double)sums->total / (double)sums->calls,
                     .m2 = lsc_deviations(sums->total, sums->squares, sums->calls)};
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

static lsc_status put_region(const struct lsc_fill *fill, struct lsc_table *table, size_t i) {
  const struct lsc_region_span *span = &fill->snapshot->region[i];
  const lsc_stats stats = stats_of(&span->sums);
  lsc_status status = lsc_table_put_int(table, LSC_INDEX_REGION_IDS, fill->region_ids[i]);
  if (status == LSC_OK) status = lsc_table_put_int(table, LSC_INDEX_RANKS, fill->rank);
  if (status == LSC_OK)
    status = lsc_table_put_int(table, LSC_INDEX_OFFSETS, (int64_t)(fill->event_offset + span->offset));
  if (status == LSC_OK) status = lsc_table_put_int(table, LSC_INDEX_COUNTS, (int64_t)span->count);
  if (status == LSC_OK) status = put_source(table, span->region);
  if (status == LSC_OK) status = lsc_table_put_int(table, LSC_INDEX_EXCLUSIVE, span->sums.exclusive);
  if (status == LSC_OK) status = lsc_table_put(table, LSC_INDEX_STATS, &stats);
  if (status == LSC_OK) lsc_table_end_row(table);
  return status;
}

lsc_status lsc_fill_index(const struct lsc_fill *fill, struct lsc_table *table) {
  lsc_status status = LSC_OK;
  for (size_t i = 0; status == LSC_OK && i < fill->snapshot->regions; i++) status = put_region(fill, table, i);
  return status;
}
