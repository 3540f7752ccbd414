/* SPDX-License-Identifier: BSD-3-Clause */
/* From a snapshot to what the file holds: one rank's rows of the small tables, and the columns of its events piece by
 * piece. */
#ifndef LSC_FILL_H
#define LSC_FILL_H

#include "snapshot.h"
#include "table.h"
#include "unite.h"

/* What a rank knows about itself and the run when it fills its tables. */
struct lsc_fill {
  struct lsc_snapshot *snapshot;
  uint32_t rank;
  const char *hostname;
  int64_t pid;
  int64_t origin_ns; /* start_time_ns of the run, on rank 0's clock */
  uint64_t event_offset;         /* rows of /events before this rank's */
  const uint32_t *region_ids;    /* [snapshot->regions] id in /region_table of each region of the snapshot */
  const struct lsc_names *names; /* of /region_table */
  unsigned apis;                 /* of all ranks: the column `apis` is left out when one bit is set */
  int threads;                   /* some rank has lanes: /thread_table and thread_ids are there */
  int tasks;                     /* some rank has tasks: task_ids and await_ns are there */
};

/* The names of the snapshot's regions, in the order of snapshot->region: what the ranks unite. */
lsc_status lsc_fill_names(const struct lsc_snapshot *snapshot, struct lsc_names *names);

/*
 * Fills this rank's rows of every table but /region_table. tables: [LSC_TABLE_COUNT], initialized here; the caller
 * frees them also on failure. LSC_OK, LSC_NO_MEMORY.
 */
lsc_status lsc_fill_tables(const struct lsc_fill *fill, struct lsc_table *tables);
/* The snapshot's threads and tasks alone, whatever else it has. LSC_OK, LSC_NO_MEMORY. */
lsc_status lsc_fill_threads(const struct lsc_fill *fill, struct lsc_table *table);
lsc_status lsc_fill_tasks(const struct lsc_fill *fill, struct lsc_table *table);
/* This rank's rows of /rank_region_index alone. LSC_OK, LSC_NO_MEMORY. */
lsc_status lsc_fill_index(const struct lsc_fill *fill, struct lsc_table *table);

/* The name of the unknown lane: the APIs (bit k: API k) that made its calls, in alphabetical order, in text. */
const char *lsc_fill_api_names(unsigned apis, char *text, size_t size);

/* 1 if the column (LSC_EVENT_…) is in this run's /events; likewise for LSC_OPEN_… of /open_calls. */
int lsc_fill_has_event_column(const struct lsc_fill *fill, int column);
int lsc_fill_has_open_column(const struct lsc_fill *fill, int column);

/* Rows first .. first + count - 1 of this rank's events, in the order of the file: column[LSC_EVENT_…] receives them in
 * its file type, and is NULL where that column is not wanted. After lsc_snapshot_events. */
void lsc_fill_events(const struct lsc_fill *fill, size_t first, size_t count, void *const *column);
/* The same for who knows which calls stand in these rows, and needs no lsc_snapshot_events. */
void lsc_fill_calls(const struct lsc_fill *fill, size_t first, const uint32_t *call, size_t count, void *const *column);

#endif
