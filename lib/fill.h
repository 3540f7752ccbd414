/* SPDX-License-Identifier: BSD-3-Clause */
/* From a snapshot to what the file holds: one rank's rows of the small tables, and the columns of its events piece by
 * piece. */
#ifndef LSC_FILL_H
#define LSC_FILL_H

#include "names.h"
#include "snapshot.h"
#include "table.h"

/* What a rank knows about itself and the run when it fills its tables. */
struct lsc_fill {
  struct lsc_snapshot *snapshot;
  uint32_t rank;
  const char *hostname;
  int64_t pid;
  int64_t origin_ns; /* start_time_ns of the run, on rank 0's clock */
  uint64_t event_offset;         /* rows of /events before this rank's */
  const uint32_t *region_ids;    /* [snapshot->regions] id in /region_table of each region of the snapshot */
  unsigned apis;                 /* of all ranks: the column `apis` is left out when one bit is set */
  int threads;                   /* some rank has lanes: /thread_table and thread_ids are there */
  int tasks;                     /* some rank has tasks: task_ids and await_ns are there */
};

/* The names of the snapshot's regions, in the order of snapshot->region: what the ranks unite. */
lsc_status lsc_fill_names(const struct lsc_snapshot *snapshot, struct lsc_names *names);

/*
 * How many rows this rank has of a table, and how much text. They are made piece by piece, so that they need little
 * memory beside what they are made of: appends rows first .. first + count - 1, which it has, to a table of that kind.
 * /region_table is not a rank's. LSC_OK, LSC_NO_MEMORY.
 */
struct lsc_table_size lsc_fill_size(const struct lsc_fill *fill, enum lsc_table_id id);
lsc_status lsc_fill_rows(const struct lsc_fill *fill, enum lsc_table_id id, size_t first, size_t count,
                         struct lsc_table *table);
/* In rows `first` and up of the merged /open_calls: the ids of those regions that their own rank has not completed a
 * call of. names: an index of /region_table's names, which is made here once there is something to look up. LSC_OK,
 * LSC_NO_MEMORY. */
lsc_status lsc_fill_open_regions(struct lsc_table *open_calls, size_t first, struct lsc_name_index *names);
/* Appends the row of a thread, or of a task, that need not be of the snapshot. LSC_OK, LSC_NO_MEMORY. */
lsc_status lsc_fill_thread(const struct lsc_fill *fill, const struct lsc_thread_info *thread, struct lsc_table *table);
lsc_status lsc_fill_task(const struct lsc_fill *fill, const struct lsc_task_info *task, struct lsc_table *table);

/* The name of the unknown lane: the APIs (bit k: API k) that made its calls, in alphabetical order, in text. */
const char *lsc_fill_api_names(unsigned apis, char *text, size_t size);

/* 1 if the column (LSC_EVENT_…) is in this run's /events; likewise for LSC_OPEN_… of /open_calls. */
int lsc_fill_has_event_column(const struct lsc_fill *fill, int column);
int lsc_fill_has_open_column(const struct lsc_fill *fill, int column);

/* 1 if the column has one value in all rows of this rank. */
int lsc_fill_is_constant(const struct lsc_fill *fill, int column, int64_t *value);
/* 1 if it has one value in all rows of each region of this rank. */
int lsc_fill_is_even(const struct lsc_fill *fill, int column);
/* Rows first .. first + count - 1 of such a column, in its file type. */
void lsc_fill_even(const struct lsc_fill *fill, int column, size_t first, size_t count, void *out);
/* The same value `count` times, in the file type of the column (of 4 or 8 bytes). */
void lsc_fill_same(int column, int64_t value, size_t count, void *out);
/* The i-th call of a block, a completed one, at row `at` of the columns that are different in every row. Columns as in
 * lsc_fill_events. */
static inline void lsc_fill_row(const struct lsc_block *block, uint32_t i, void *const *column, size_t at) {
  int64_t parent = (int64_t)lsc_parent_call(block->call[i].parent);
  ((int64_t *)column[LSC_EVENT_START])[at] = block->time[i].start;
  ((int64_t *)column[LSC_EVENT_END])[at] = block->time[i].end;
  ((int64_t *)column[LSC_EVENT_CALL_IDS])[at] = (int64_t)block->first + i;
  ((int64_t *)column[LSC_EVENT_PARENT_IDS])[at] = parent == LSC_NO_CALL ? -1 : parent;
}
/* The same for threads, tasks, await_ns and apis, where not NULL. */
void lsc_fill_rest(const struct lsc_fill *fill, const struct lsc_block_call *call, void *const *column, size_t at);

/* Rows first .. first + count - 1 of this rank's events, in the order of the file: column[LSC_EVENT_…] receives them in
 * its file type, and is NULL where that column is not wanted. After lsc_snapshot_events. */
void lsc_fill_events(const struct lsc_fill *fill, size_t first, size_t count, void *const *column);

#endif
