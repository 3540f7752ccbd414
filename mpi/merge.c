/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "collection.h"
#include "message.h"

/* The origin of the run's times, rank 0's. */
static void share_origin(struct lsc_collection *c) {
  struct lsc_buffer bytes = {0};
  lsc_status status = LSC_OK;
  int64_t origin = c->snapshot.open_ns;
  lsc_collection_enter(c, LSC_STEP_ORIGIN);
  if (!c->coll->rank) status = lsc_buffer_append(&bytes, &origin, sizeof origin);
  status = lsc_collection_came(c, lsc_coll_down(c->coll, LSC_TAG_ORIGIN, status, &bytes, lsc_collection_deadline(c)));
  if (!status) {
    struct lsc_reader reader = {bytes.data, bytes.data + bytes.size, 0};
    lsc_read(&reader, &c->fill.origin_ns, sizeof origin);
  }
  lsc_buffer_free(&bytes);
}

static int has_tasks(const struct lsc_snapshot *snapshot) {
  return snapshot->lanes && snapshot->last_lane >= 0;
}

/* What any rank has decides which columns there are. */
static void unite_flags(struct lsc_collection *c) {
  uint64_t flags[3] = {c->snapshot.apis, (uint64_t)has_tasks(&c->snapshot), !c->snapshot.no_lanes};
  lsc_collection_enter(c, LSC_STEP_FLAGS);
  lsc_collection_came(c, lsc_coll_or(c->coll, LSC_TAG_FLAGS, 3, flags, lsc_collection_deadline(c)));
  c->fill.apis = (unsigned)flags[0];
  c->fill.tasks = flags[1] != 0;
  c->fill.threads = flags[2] != 0;
}

static void unite_names(struct lsc_collection *c) {
  struct lsc_names mine = {0};
  lsc_collection_enter(c, LSC_STEP_NAMES);
  lsc_status status = lsc_fill_names(&c->snapshot, &mine);
  c->ids = malloc((mine.count + 1) * sizeof *c->ids);
  if (status || !c->ids) {
    lsc_collection_note(c, lsc_fail(LSC_NO_MEMORY, "no memory for the names of the regions"));
    lsc_names_free(&mine);
  }
  lsc_collection_came(c, lsc_unite_names(c->coll, LSC_TAG_NAMES, &mine, &c->names, c->ids, lsc_collection_deadline(c)));
  c->fill.region_ids = c->ids;
  lsc_names_free(&mine);
}

static void share_offsets(struct lsc_collection *c) {
  uint64_t completed = c->snapshot.completed;
  lsc_collection_enter(c, LSC_STEP_PLACES);
  lsc_collection_came(c, lsc_coll_scan(c->coll, LSC_TAG_OFFSETS, 1, &completed, &c->fill.event_offset, &c->events,
                                       lsc_collection_deadline(c)));
}

static lsc_status put_names(struct lsc_collection *c) {
  struct lsc_table *table = &c->merged[LSC_TABLE_REGION];
  for (size_t i = 0; i < c->names.count; i++) {
    size_t length;
    const char *name = lsc_names_get(&c->names, i, &length);
    lsc_status status = lsc_table_put_text(table, LSC_REGION_NAMES, name, length);
    if (status) return lsc_fail(status, "no memory for the names of %zu regions", c->names.count);
    lsc_table_end_row(table);
  }
  return LSC_OK;
}

/* /region_table, which no rank has a part of. */
static void take_names(struct lsc_collection *c) {
  struct lsc_table *table = &c->merged[LSC_TABLE_REGION];
  if (c->coll->rank || lsc_collection_note(c, put_names(c))) return;
  c->sizes[LSC_TABLE_REGION] = (struct lsc_table_size){table->rows, lsc_table_text_bytes(table)};
}

void lsc_collection_merge(struct lsc_collection *c) {
  static void (*const parts[])(struct lsc_collection *) = {
      share_origin, unite_flags, unite_names, share_offsets, lsc_collection_count_tables};
  for (size_t i = 0; i < sizeof parts / sizeof *parts && !c->broken; i++) parts[i](c);
  if (!c->status) take_names(c);
}
