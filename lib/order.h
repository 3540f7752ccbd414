/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of a snapshot, in the order in which they are made. All work on memory of the collector alone. */
#ifndef LSC_ORDER_H
#define LSC_ORDER_H

#include "snapshot.h"
#include "streams.h"

/* Merges the streams by start into s->row, with s->parent, s->open_call, s->region, s->lane and the counts; calls of
 * one nanosecond are ordered by depth. LSC_OK, LSC_NO_MEMORY, LSC_LIMIT. */
lsc_status lsc_order_calls(struct lsc_snapshot *s, struct lsc_streams *streams);
/* Renumbers calls of one nanosecond by depth; their parents stay who they were. LSC_OK, LSC_NO_MEMORY. */
lsc_status lsc_order_ties(struct lsc_snapshot *s);
/* One row of the thread table; its name is to be freed. LSC_OK, LSC_NO_MEMORY. */
lsc_status lsc_describe_thread(struct lsc_clock_map *map, struct lsc_track *track, int64_t index,
                               struct lsc_thread_info *info);
/* One row of the task table. threads: how many of the session's threads the tables have. */
struct lsc_task_info lsc_describe_task(struct lsc_clock_map *map, struct lsc_task_record *task, uint32_t threads);
/* s->thread. LSC_OK, LSC_NO_MEMORY. */
lsc_status lsc_describe_threads(struct lsc_snapshot *s, struct lsc_streams *streams);

/* s->task, and s->open_await. LSC_OK, LSC_NO_MEMORY. */
lsc_status lsc_describe_tasks(struct lsc_snapshot *s, struct lsc_streams *streams);

#endif
