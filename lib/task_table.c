/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "message.h"
#include "order.h"
#include "task.h"

/* A sum of raw ticks in ns, by the rate of the whole map. */
static int64_t ticks_to_ns(const struct lsc_clock_map *map, uint64_t ticks) {
  if (map->pairs < 2) return (int64_t)ticks;
  struct lsc_clock_pair first = map->pair[0], last = map->pair[map->pairs - 1];
  return (int64_t)((__int128)ticks * (last.ns - first.ns) / (int64_t)(last.ticks - first.ticks));
}

/* The part that `ticks` are of the time from `start` to `end`, in ns; never more than all of it. */
static int64_t part_of(struct lsc_clock_map *map, uint64_t ticks, uint64_t start, uint64_t end) {
  int64_t whole = lsc_clock_map_ns(map, end) - lsc_clock_map_ns(map, start);
  if (end <= start || ticks >= end - start) return ticks ? whole : 0;
  return (int64_t)((__int128)whole * ticks / (end - start));
}

int64_t lsc_call_await_ns(struct lsc_snapshot *s, const struct lsc_row *row) {
  if (!row->task) return 0;
  uint64_t start = atomic_load_explicit(&row->start, memory_order_relaxed),
           end = atomic_load_explicit(&row->end, memory_order_relaxed);
  return part_of(&s->map, atomic_load_explicit(&row[-1].start, memory_order_relaxed) - 1, start, end);
}

static int64_t open_await_ns(struct lsc_snapshot *s, struct lsc_streams *streams, const struct lsc_row *row,
                             uint64_t now) {
  if (!row->task) return 0;
  struct lsc_task_record *task = lsc_registry_get(&streams->state->tasks, row->task - 1);
  uint64_t at_begin = atomic_load_explicit(&row[-1].end, memory_order_relaxed);
  return part_of(&s->map, lsc_task_suspended(task, now) - at_begin,
                 atomic_load_explicit(&row->start, memory_order_relaxed), now);
}

struct lsc_task_state lsc_read_task(struct lsc_task_record *task, uint32_t threads) {
  const struct lsc_task_label *label = atomic_load_explicit(&task->label, memory_order_acquire);
  struct lsc_task_times times = lsc_task_read(task);
  uint64_t done = atomic_load_explicit(&task->done, memory_order_relaxed);
  uint32_t thread = atomic_load_explicit(&task->thread, memory_order_relaxed);
  return (struct lsc_task_state){.label = label,
                                 .done = done,
                                 .steps = times.steps,
                                 .running = times.running,
                                 .suspended = times.suspended,
                                 .thread = thread < threads ? thread : LSC_TASK_NO_THREAD};
}

struct lsc_task_info lsc_describe_task(struct lsc_clock_map *map, const struct lsc_task_record *task,
                                       const struct lsc_task_state *state) {
  return (struct lsc_task_info){.index = task->index,
                                .kind = task->kind,
                                .name = state->label->name,
                                .coro_name = state->label->coro_name,
                                .thread_index = state->thread == LSC_TASK_NO_THREAD ? -1 : (int64_t)state->thread,
                                .created_ns = lsc_clock_map_ns(map, task->created),
                                .done_ns = state->done ? lsc_clock_map_ns(map, state->done) : LSC_NEVER,
                                .steps = (int64_t)state->steps,
                                .running_ns = ticks_to_ns(map, state->running),
                                .suspended_ns = ticks_to_ns(map, state->suspended)};
}

struct lsc_task_info lsc_snapshot_task(struct lsc_snapshot *s, size_t index) {
  const struct lsc_task_record *task = lsc_registry_get(&s->streams->state->tasks, (uint32_t)index);
  return lsc_describe_task(&s->map, task, &s->task[index]);
}

lsc_status lsc_describe_tasks(struct lsc_snapshot *s, struct lsc_streams *streams) {
  uint64_t now = lsc_ticks();
  s->tasks = streams->tasks;
  s->task = malloc((s->tasks + 1) * sizeof *s->task);
  if (!s->task) return lsc_fail(LSC_NO_MEMORY, "no memory for the table of %zu tasks", s->tasks);
  for (uint32_t i = 0; i < s->tasks; i++)
    s->task[i] = lsc_read_task(lsc_registry_get(&streams->state->tasks, i), streams->threads);
  for (size_t i = 0; i < s->open; i++) s->open_call[i].await_ns = open_await_ns(s, streams, s->open_call[i].row, now);
  return LSC_OK;
}
