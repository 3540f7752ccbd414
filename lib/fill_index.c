/* SPDX-License-Identifier: BSD-3-Clause */
#include "fill.h"
#include "fill_row.h"
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

static void put_source(struct lsc_writer *w, uint32_t id) {
  struct lsc_region_view region = lsc_region_get(id);
  lsc_writer_int(w, LSC_INDEX_LINES, region.source_line);
  lsc_writer_text(w, LSC_INDEX_FILES, region.source_file);
  lsc_writer_text(w, LSC_INDEX_TEXTS, region.source_text);
  lsc_writer_text(w, LSC_INDEX_TAGS, region.tags ? region.tags : "[]");
}

void lsc_put_region(struct lsc_writer *w, const struct lsc_fill *fill, size_t i) {
  const struct lsc_region_span *span = &fill->snapshot->region[i];
  const lsc_stats stats = stats_of(&span->sums);
  lsc_writer_int(w, LSC_INDEX_REGION_IDS, fill->region_ids[i]);
  lsc_writer_int(w, LSC_INDEX_RANKS, fill->rank);
  lsc_writer_int(w, LSC_INDEX_OFFSETS, (int64_t)(fill->event_offset + span->offset));
  lsc_writer_int(w, LSC_INDEX_COUNTS, (int64_t)span->count);
  put_source(w, span->region);
  lsc_writer_int(w, LSC_INDEX_EXCLUSIVE, span->sums.exclusive);
  lsc_writer_value(w, LSC_INDEX_STATS, &stats);
}
