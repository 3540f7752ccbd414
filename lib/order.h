/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of a snapshot, in the order in which they are made. All work on memory of the collector alone. */
#ifndef LSC_ORDER_H
#define LSC_ORDER_H

#include "snapshot.h"
#include "streams.h"
#include "task.h"

/* The first walk over the calls: s->open_call, s->region, s->lane and the counts. LSC_OK, LSC_NO_MEMORY, LSC_LIMIT. */
lsc_status lsc_order_calls(struct lsc_snapshot *s, struct lsc_streams *streams);

/*
 * What may change of a thread, as it was at one moment, and of a task; what does not is in the track and the record.
 * Most threads have ended where there are many: then all is in the track.
 */
struct lsc_thread_now {
  int64_t end_ns, cpu_ns; /* as in lsc_thread_info */
  char name[LSC_OS_NAME]; /* the system's; UTF-8 */
};
struct lsc_thread_state {
  const struct lsc_thread_label *label; /* or NULL: its name is the system's */
  struct lsc_thread_now *now;           /* or NULL: as the thread left it at its end; the snapshot's */
};
struct lsc_task_state {
  const struct lsc_task_label *label;
  uint64_t done; /* raw; 0: not finished */
  uint64_t steps, running, suspended;
  uint32_t thread; /* of the last step; LSC_TASK_NO_THREAD: none that the tables have */
};

/* state: receives the label, and `now`, which is filled, or NULL where it is not needed. */
void lsc_read_thread(struct lsc_clock_map *map, struct lsc_track *track, struct lsc_thread_now *now,
                     struct lsc_thread_state *state);
/* The name is the label's, the track's, or in state->now. */
struct lsc_thread_info lsc_describe_thread(struct lsc_clock_map *map, const struct lsc_track *track, int64_t index,
                                           const struct lsc_thread_state *state);
/* threads: how many of the session's threads the tables have. */
struct lsc_task_state lsc_read_task(struct lsc_task_record *task, uint32_t threads);
struct lsc_task_info lsc_describe_task(struct lsc_clock_map *map, const struct lsc_task_record *task,
                                       const struct lsc_task_state *state);
/* s->thread. LSC_OK, LSC_NO_MEMORY. */
lsc_status lsc_describe_threads(struct lsc_snapshot *s, struct lsc_streams *streams);

/* s->task, and await_ns of s->open_call. LSC_OK, LSC_NO_MEMORY. */
lsc_status lsc_describe_tasks(struct lsc_snapshot *s, struct lsc_streams *streams);

#endif
