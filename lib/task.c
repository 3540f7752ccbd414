/* SPDX-License-Identifier: BSD-3-Clause */
#include "task.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "record.h"

static uint64_t load(_Atomic uint64_t *value) { return atomic_load_explicit(value, memory_order_acquire); }

struct lsc_task_times lsc_task_read(struct lsc_task_record *task) {
  for (;;) {
    uint32_t before = atomic_load_explicit(&task->version, memory_order_acquire);
    struct lsc_task_times times = {load(&task->steps), load(&task->running), load(&task->suspended), load(&task->left)};
    if (!(before & 1) && atomic_load_explicit(&task->version, memory_order_relaxed) == before) return times;
    sched_yield();
  }
}

static void store(struct lsc_task_record *task, struct lsc_task_times times) {
  uint32_t version = atomic_load_explicit(&task->version, memory_order_relaxed);
  atomic_store_explicit(&task->version, version + 1, memory_order_relaxed);
  atomic_store_explicit(&task->steps, times.steps, memory_order_release);
  atomic_store_explicit(&task->running, times.running, memory_order_release);
  atomic_store_explicit(&task->suspended, times.suspended, memory_order_release);
  atomic_store_explicit(&task->left, times.left, memory_order_release);
  atomic_store_explicit(&task->version, version + 2, memory_order_release);
}

uint64_t lsc_task_suspended(struct lsc_task_record *task, uint64_t now) {
  struct lsc_task_times times = lsc_task_read(task);
  return times.suspended + (times.left && now > times.left ? now - times.left : 0);
}

void lsc_push_note(struct lsc_track *track) {
  struct lsc_row *note = track->next++;
  note->region = LSC_ROW_NOTE;
  note->task = track->task;
  note->thread = track->thread;
  atomic_store_explicit(&note->end, atomic_load_explicit(&track->running->suspended, memory_order_relaxed),
                        memory_order_relaxed);
  atomic_store_explicit(&note->start, 1, memory_order_release);
}

void lsc_end_note(struct lsc_row *row, struct lsc_task_record *task, uint64_t now) {
  struct lsc_row *note = row - 1;
  uint64_t at_begin = atomic_load_explicit(&note->end, memory_order_relaxed), at_end = lsc_task_suspended(task, now);
  atomic_store_explicit(&note->start, 1 + (at_end - at_begin), memory_order_relaxed);
}

static char *put_text(char **at, const char *text) {
  char *begin = *at;
  size_t length = strlen(text) + 1;
  memcpy(begin, text, length);
  *at += length;
  return begin;
}

static struct lsc_task_record *new_record(struct lsc_chunk_source *source, const char *kind, const char *name,
                                          const char *coro_name) {
  char *text = malloc(strlen(kind) + strlen(name) + strlen(coro_name) + 3);
  struct lsc_task_record *task = text ? lsc_slab_keep(source, sizeof *task) : NULL;
  if (!task) {
    free(text);
    return NULL;
  }
  char *at = text;
  task->kind = put_text(&at, kind);
  task->name = put_text(&at, name);
  task->coro_name = put_text(&at, coro_name);
  task->created = lsc_ticks();
  atomic_init(&task->thread, LSC_TASK_NO_THREAD);
  return task;
}

static lsc_status check_name(const char *what, const char *text) {
  if (!text) return lsc_fail(LSC_INVALID, "lsc_task_open: %s is NULL", what);
  if (lsc_name_is_valid(text, strlen(text))) return LSC_OK;
  return lsc_fail(LSC_BAD_NAME, "the %s of a task is not valid UTF-8 of at most %d bytes", what, LSC_MAX_NAME);
}

static lsc_status add_task(struct lsc_session_state *state, const char *kind, const char *name, const char *coro_name,
                           uint32_t *number) {
  struct lsc_task_record *task = new_record(state->source, kind, name, coro_name);
  if (!task) return lsc_fail(LSC_NO_MEMORY, "no memory for a task");
  lsc_status status = lsc_registry_take(&state->tasks, &task->index);
  if (status != LSC_OK) {
    free(task->kind);
    return lsc_fail(status, "%u tasks: %s", lsc_registry_count(&state->tasks), lsc_strerror(status));
  }
  *number = task->index + 1;
  lsc_registry_publish(&state->tasks, task->index, task);
  return LSC_OK;
}

lsc_status lsc_task_open(lsc_session session, const char *kind, const char *name, const char *coro_name,
                         lsc_task *task) {
  if (!task) return lsc_fail(LSC_INVALID, "lsc_task_open: task is NULL; pass where the handle goes");
  *task = (lsc_task){session, 0};
  lsc_status status = check_name("kind", kind);
  if (status == LSC_OK) status = check_name("name", name);
  if (status == LSC_OK && coro_name) status = check_name("coro_name", coro_name);
  struct lsc_session_state *state = status == LSC_OK ? lsc_session_pin(session) : NULL;
  if (status == LSC_OK && !state)
    status = lsc_fail(LSC_INACTIVE, "session %#llx is not open", (unsigned long long)session);
  if (state && state->no_lanes) {
    status = lsc_fail(LSC_INVALID, "session %#llx was opened without lanes, so it has no tasks",
                      (unsigned long long)session);
    lsc_session_unpin(session);
  } else if (state) {
    status = add_task(state, kind, name, coro_name ? coro_name : "", &task->number);
    lsc_session_unpin(session);
  }
  if (status != LSC_OK) memset(task, 0, sizeof *task);
  return status;
}

static void begin_step(struct lsc_task_record *task, struct lsc_track *track) {
  struct lsc_task_times times = lsc_task_read(task);
  uint64_t now = lsc_ticks();
  if (times.left) times.suspended += now > times.left ? now - times.left : 0;
  times.left = 0;
  times.steps++;
  store(task, times);
  task->entered = now;
  task->outer = track->running;
  task->outer_stack = track->stack;
  atomic_store_explicit(&task->thread, track->thread - 1, memory_order_relaxed);
  track->running = task;
  track->stack = &task->stack;
  track->task = task->index + 1;
}

static void end_step(struct lsc_task_record *task, struct lsc_track *track) {
  struct lsc_task_times times = lsc_task_read(task);
  uint64_t now = lsc_ticks();
  times.running += now - task->entered;
  times.left = now;
  store(task, times);
  track->running = task->outer;
  track->stack = task->outer_stack;
  track->task = task->outer ? task->outer->index + 1 : 0;
  atomic_store_explicit(&task->runner, NULL, memory_order_release);
}

static lsc_status enter(struct lsc_task_record *task, struct lsc_track *track) {
  struct lsc_track *nobody = NULL;
  if (atomic_load_explicit(&task->done, memory_order_relaxed)) return LSC_TASK_STATE;
  if (!atomic_compare_exchange_strong_explicit(&task->runner, &nobody, track, memory_order_acquire,
                                               memory_order_relaxed))
    return LSC_TASK_STATE;
  begin_step(task, track);
  return LSC_OK;
}

static lsc_status leave(struct lsc_task_record *task, struct lsc_track *track) {
  if (!track || atomic_load_explicit(&task->runner, memory_order_relaxed) != track) return LSC_TASK_STATE;
  if (track->running != task) return LSC_CROSSED;
  end_step(task, track);
  return LSC_OK;
}

static lsc_status finish(struct lsc_task_record *task, struct lsc_track *track) {
  (void)track;
  uint64_t open = 0;
  atomic_compare_exchange_strong_explicit(&task->done, &open, lsc_ticks(), memory_order_relaxed, memory_order_relaxed);
  return LSC_OK;
}

/* Acts on the task while its session is pinned. */
static lsc_status with_task(lsc_task handle, struct lsc_track *track,
                            lsc_status (*action)(struct lsc_task_record *, struct lsc_track *)) {
  struct lsc_session_state *state = lsc_session_pin(handle.session);
  if (!state) return LSC_INACTIVE;
  uint32_t count = lsc_registry_count(&state->tasks);
  struct lsc_task_record *task =
      handle.number && handle.number <= count ? lsc_registry_get(&state->tasks, handle.number - 1) : NULL;
  lsc_status status = task ? action(task, track) : LSC_INVALID;
  lsc_session_unpin(handle.session);
  return status;
}

/* The thread is registered before the session is pinned: a binding's hook may take its time. */
lsc_status lsc_task_enter(lsc_task task) {
  struct lsc_track *track;
  lsc_status status = lsc_thread_enter(task.session, LSC_API_C, &track);
  return status == LSC_OK ? with_task(task, track, enter) : status;
}

lsc_status lsc_task_leave(lsc_task task) {
  return with_task(task, lsc_thread_track(lsc_self, task.session | LSC_API_C), leave);
}

lsc_status lsc_task_finish(lsc_task task) { return with_task(task, NULL, finish); }

void lsc_task_leave_all(struct lsc_track *track) {
  while (track->running) end_step(track->running, track);
}

void lsc_task_free_running(struct lsc_track *track) {
  for (struct lsc_task_record *task = track->running; task; task = task->outer) lsc_stack_free(&task->stack);
}

void lsc_task_close(struct lsc_task_record *task) {
  free(task->kind);
  if (!atomic_load_explicit(&task->runner, memory_order_acquire)) lsc_stack_free(&task->stack);
}
