/* SPDX-License-Identifier: BSD-3-Clause */
/* The thread and task tables of a session that goes on: what a file would say of its lanes at this moment. */
#include <stdlib.h>
#include <string.h>

#include "fill.h"
#include "lanescope_binding.h"
#include "message.h"
#include "order.h"
#include "session.h"
#include "task.h"

struct lsc_lanes {
  struct lsc_table threads, tasks;
};

/* Up to the last that is published: an index that was taken a moment ago may still be empty. */
static uint32_t published(struct lsc_registry *registry) {
  uint32_t count = lsc_registry_count(registry);
  while (count && !lsc_registry_get(registry, count - 1)) count--;
  return count;
}

/* Cuts a range of rows to those that are there. */
static uint32_t rows_of(uint32_t first, uint32_t wanted, uint32_t count) {
  if (first >= count) return 0;
  return wanted < count - first ? wanted : count - first;
}

static lsc_status read_threads(struct lsc_session_state *state, uint32_t first, uint32_t count,
                               const struct lsc_fill *fill, struct lsc_table *table) {
  lsc_status status = LSC_OK;
  for (uint32_t index = first; index - first < count && status == LSC_OK; index++) {
    struct lsc_track *track = lsc_registry_get(&state->threads, index);
    struct lsc_thread_now now;
    struct lsc_thread_state seen;
    if (!track) break;
    lsc_read_thread(&fill->snapshot->map, track, &now, &seen);
    struct lsc_thread_info info = lsc_describe_thread(&fill->snapshot->map, track, index, &seen);
    status = lsc_fill_thread(fill, &info, table);
  }
  return status;
}

static lsc_status read_tasks(struct lsc_session_state *state, uint32_t first, uint32_t count, uint32_t threads,
                             const struct lsc_fill *fill, struct lsc_table *table) {
  lsc_status status = LSC_OK;
  for (uint32_t index = first; index - first < count && status == LSC_OK; index++) {
    struct lsc_task_record *task = lsc_registry_get(&state->tasks, index);
    if (!task) break;
    struct lsc_task_state now = lsc_read_task(task, threads);
    struct lsc_task_info info = lsc_describe_task(&fill->snapshot->map, task, &now);
    status = lsc_fill_task(fill, &info, table);
  }
  return status;
}

/* Threads are counted after the tasks: the thread of a task's last step is then among them. */
static lsc_status read_rows(struct lsc_session_state *state, const lsc_lane_range *range, const struct lsc_fill *fill,
                            lsc_lanes *lanes) {
  uint32_t tasks = published(&state->tasks), threads = published(&state->threads);
  lsc_status status = read_threads(state, range->first_thread,
                                   rows_of(range->first_thread, range->threads, threads), fill, &lanes->threads);
  if (status != LSC_OK) return status;
  return read_tasks(state, range->first_task, rows_of(range->first_task, range->tasks, tasks), threads, fill,
                    &lanes->tasks);
}

static lsc_status fill(struct lsc_session_state *state, const lsc_lane_range *range, int64_t origin_ns,
                       lsc_lanes *lanes) {
  struct lsc_snapshot s = {.session = state->handle};
  struct lsc_fill what = {.snapshot = &s, .origin_ns = origin_ns};
  lsc_table_init(&lanes->threads, &lsc_table_descs[LSC_TABLE_THREAD]);
  lsc_table_init(&lanes->tasks, &lsc_table_descs[LSC_TABLE_TASK]);
  lsc_status status = lsc_clock_map_look(&s.map);
  if (status == LSC_OK) status = read_rows(state, range, &what, lanes);
  lsc_clock_map_free(&s.map);
  return status;
}

lsc_status lsc_lanes_read(lsc_session session, const lsc_lane_range *range, int64_t origin_ns, lsc_lanes **lanes) {
  static const lsc_lane_range all = {0, UINT32_MAX, 0, UINT32_MAX};
  if (!lanes) return lsc_fail(LSC_INVALID, "lsc_lanes_read: lanes is NULL; pass where they go");
  *lanes = calloc(1, sizeof **lanes);
  if (!*lanes) return lsc_fail(LSC_NO_MEMORY, "no memory for the lane tables");
  struct lsc_session_state *state = lsc_session_pin(session);
  lsc_status status = LSC_INACTIVE;
  if (state) {
    status = fill(state, range ? range : &all, origin_ns, *lanes);
    lsc_session_unpin(session);
  } else {
    lsc_fail(status, "lsc_lanes_read: session %#llx is not open", (unsigned long long)session);
  }
  if (status == LSC_OK) return status;
  lsc_lanes_free(*lanes);
  *lanes = NULL;
  return status;
}

static int column_number(const struct lsc_table *table, const char *name) {
  for (int i = 0; table->desc && i < table->desc->columns; i++)
    if (strcmp(table->desc->column[i].name, name) == 0) return i;
  return -1;
}

lsc_status lsc_lanes_column(const lsc_lanes *lanes, const char *table, const char *column, lsc_column_view *view) {
  if (!lanes || !table || !column || !view) return lsc_fail(LSC_INVALID, "lsc_lanes_column: an argument is NULL");
  const struct lsc_table *chosen = strcmp(table, "thread_table") == 0 ? &lanes->threads
                                   : strcmp(table, "task_table") == 0 ? &lanes->tasks
                                                                      : NULL;
  int number = chosen ? column_number(chosen, column) : -1;
  if (number < 0) return lsc_fail(LSC_INVALID, "the lane tables have no column %s/%s", table, column);
  *view = lsc_table_view(chosen, number);
  return LSC_OK;
}

void lsc_lanes_free(lsc_lanes *lanes) {
  if (!lanes) return;
  lsc_table_free(&lanes->threads);
  lsc_table_free(&lanes->tasks);
  free(lanes);
}

lsc_status lsc_lanes_count(lsc_session session, uint32_t *threads, uint32_t *tasks) {
  struct lsc_session_state *state = lsc_session_pin(session);
  if (!state) return LSC_INACTIVE;
  *threads = published(&state->threads);
  *tasks = published(&state->tasks);
  lsc_session_unpin(session);
  return LSC_OK;
}

lsc_status lsc_thread_task(lsc_session session, uint32_t thread, int64_t *task) {
  struct lsc_session_state *state = lsc_session_pin(session);
  if (!state) return LSC_INACTIVE;
  struct lsc_track *track = thread < published(&state->threads) ? lsc_registry_get(&state->threads, thread) : NULL;
  if (track) *task = (int64_t)atomic_load_explicit(&track->shown_task, memory_order_relaxed) - 1;
  lsc_session_unpin(session);
  return track ? LSC_OK : LSC_INVALID;
}

static int64_t ns_or_zero(struct lsc_clock_map *map, uint64_t ticks) {
  return ticks ? lsc_clock_map_ns(map, ticks) : 0;
}

static lsc_status read_step(struct lsc_task_record *task, int64_t *started_ns, int64_t *ended_ns) {
  struct lsc_clock_map map;
  lsc_status status = lsc_clock_map_look(&map);
  if (status != LSC_OK) return status;
  *started_ns = ns_or_zero(&map, atomic_load_explicit(&task->entered, memory_order_relaxed));
  *ended_ns = ns_or_zero(&map, lsc_task_read(task).left);
  lsc_clock_map_free(&map);
  return LSC_OK;
}

lsc_status lsc_task_step(lsc_session session, uint32_t task, int64_t *started_ns, int64_t *ended_ns) {
  struct lsc_session_state *state = lsc_session_pin(session);
  if (!state) return LSC_INACTIVE;
  struct lsc_task_record *record = task < published(&state->tasks) ? lsc_registry_get(&state->tasks, task) : NULL;
  lsc_status status = record ? read_step(record, started_ns, ended_ns) : LSC_INVALID;
  lsc_session_unpin(session);
  return status;
}
