/* SPDX-License-Identifier: BSD-3-Clause */
/* Looking at a session, and emptying it, without a file. */
#include <stdlib.h>

#include "fill.h"
#include "message.h"
#include "region.h"
#include "snapshot.h"

static const void *value_of(const struct lsc_table *table, int column, size_t row) {
  lsc_column_view view = lsc_table_view(table, column);
  return (const char *)view.data + row * lsc_type_size(view.type);
}

/* The region's row of the index that a file would have; left as it is where the region has no completed call. */
static void find_row(const struct lsc_snapshot *snapshot, const struct lsc_table *index, lsc_region_id region,
                     lsc_region_summary *summary) {
  for (size_t i = 0; i < snapshot->regions; i++) {
    if (snapshot->region[i].region != region) continue;
    summary->calls = snapshot->region[i].count;
    summary->exclusive_total = *(const int64_t *)value_of(index, LSC_INDEX_EXCLUSIVE, i);
    summary->stats = *(const lsc_stats *)value_of(index, LSC_INDEX_STATS, i);
  }
}

lsc_status lsc_region_stats(lsc_session session, lsc_region_id region, lsc_region_summary *summary) {
  if (!summary) return lsc_fail(LSC_INVALID, "lsc_region_stats: summary is NULL; pass where the numbers go");
  *summary = (lsc_region_summary){.calls = 0};
  if (region >= lsc_region_count()) return lsc_fail(LSC_INVALID, "no region has the handle %u", (unsigned)region);
  struct lsc_snapshot snapshot;
  lsc_status status = lsc_snapshot_take(session, &snapshot);
  if (status != LSC_OK) return status;
  struct lsc_table index;
  lsc_table_init(&index, &lsc_table_descs[LSC_TABLE_INDEX]);
  uint32_t *ids = calloc(snapshot.regions + 1, sizeof *ids);
  struct lsc_fill fill = {.snapshot = &snapshot, .region_ids = ids};
  status = ids ? lsc_fill_rows(&fill, LSC_TABLE_INDEX, 0, snapshot.regions, &index) : LSC_NO_MEMORY;
  if (status == LSC_OK) find_row(&snapshot, &index, region, summary);
  else lsc_fail(status, "no memory for the statistics of %zu regions", snapshot.regions);
  free(ids);
  lsc_table_free(&index);
  lsc_snapshot_drop(&snapshot);
  return status;
}

lsc_status lsc_reset(lsc_session session) {
  struct lsc_snapshot snapshot;
  lsc_status status = lsc_snapshot_take(session, &snapshot);
  if (status == LSC_OK) lsc_snapshot_commit(&snapshot);
  return status;
}
