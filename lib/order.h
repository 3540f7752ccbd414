/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of a snapshot, in the order in which they are made. All work on memory of the collector alone. */
#ifndef LSC_ORDER_H
#define LSC_ORDER_H

#include "snapshot.h"
#include "streams.h"

/* The first walk over the calls: s->open_call, s->region, s->lane and the counts. LSC_OK, LSC_NO_MEMORY, LSC_LIMIT. */
lsc_status lsc_order_calls(struct lsc_snapshot *s, struct lsc_streams *streams);
/* One row of the thread table; its name is to be freed. LSC_OK, LSC_NO_MEMORY. */
lsc_status lsc_describe_thread(struct lsc_clock_map *map, struct lsc_track *track, int64_t index,
                               struct lsc_thread_info *info);
/* One row of the task table. threads: how many of the session's threads the tables have. */
struct lsc_task_info lsc_describe_task(struct lsc_clock_map *map, struct lsc_task_record *task, uint32_t threads);
/* s->thread. LSC_OK, LSC_NO_MEMORY. */
lsc_status lsc_describe_threads(struct lsc_snapshot *s, struct lsc_streams *streams);

/* s->task, and await_ns of s->open_call. LSC_OK, LSC_NO_MEMORY. */
lsc_status lsc_describe_tasks(struct lsc_snapshot *s, struct lsc_streams *streams);

#endif
