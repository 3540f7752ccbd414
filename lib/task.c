/* SPDX-License-Identifier: BSD-3-Clause */
#include "task.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

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

static void show_task(struct lsc_track *track, uint32_t number) {
  track->task = number;
  atomic_store_explicit(&track->shown_task, number, memory_order_relaxed);
}

/* By the runner, who alone changes the times, between both. */
static inline void begin_change(struct lsc_task_record *task) {
  uint32_t version = atomic_load_explicit(&task->version, memory_order_relaxed);
  atomic_store_explicit(&task->version, version + 1, memory_order_relaxed);
}

static inline void end_change(struct lsc_task_record *task) {
  uint32_t version = atomic_load_explicit(&task->version, memory_order_relaxed);
  atomic_store_explicit(&task->version, version + 1, memory_order_release);
}

static inline uint64_t own(_Atomic uint64_t *time) { return atomic_load_explicit(time, memory_order_relaxed); }
static inline void set(_Atomic uint64_t *time, uint64_t value) {
  atomic_store_explicit(time, value, memory_order_release);
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

static inline void begin_step(struct lsc_task_record *task, struct lsc_track *track, uint64_t now) {
  uint64_t left = own(&task->left);
  begin_change(task);
  if (left && now > left) set(&task->suspended, own(&task->suspended) + (now - left));
  set(&task->left, 0);
  set(&task->steps, own(&task->steps) + 1);
  end_change(task);
  atomic_store_explicit(&task->entered, now, memory_order_relaxed);
  task->outer = track->running;
  task->outer_stack = track->stack;
  atomic_store_explicit(&task->thread, track->thread - 1, memory_order_relaxed);
  track->running = task;
  track->stack = &task->stack;
  show_task(track, task->index + 1);
}

/* If the session was closed meanwhile, the stack has nobody else to free it. */
static inline void end_step(struct lsc_task_record *task, struct lsc_track *track, uint64_t now) {
  uintptr_t me = (uintptr_t)track;
  begin_change(task);
  set(&task->running, own(&task->running) + (now - own(&task->entered)));
  set(&task->left, now);
  end_change(task);
  track->running = task->outer;
  track->stack = task->outer_stack;
  show_task(track, task->outer ? task->outer->index + 1 : 0);
  if (!atomic_compare_exchange_strong_explicit(&task->runner, &me, 0, memory_order_release, memory_order_relaxed))
    lsc_stack_free(&task->stack);
}

static int claim(struct lsc_task_record *task, struct lsc_track *track) {
  uintptr_t nobody = 0;
  return atomic_compare_exchange_strong_explicit(&task->runner, &nobody, (uintptr_t)track, memory_order_acquire,
                                                 memory_order_relaxed);
}

/* The steps that were nested in this one go on, but for a task that somebody else has entered meanwhile. */
static __attribute__((noinline)) void go_on_with_nested(struct lsc_task_record *task, struct lsc_track *track,
                                                        uint64_t now) {
  struct lsc_task_record *nested = task->parked, *next;
  for (task->parked = NULL; nested && claim(nested, track); nested = next) {
    next = nested->parked;
    nested->parked = NULL;
    begin_step(nested, track, now);
  }
}

static inline lsc_status enter(struct lsc_task_record *task, struct lsc_track *track, uint64_t now) {
  if (atomic_load_explicit(&task->done, memory_order_relaxed) || !claim(task, track)) return LSC_TASK_STATE;
  begin_step(task, track, now);
  if (LSC_UNLIKELY(task->parked)) go_on_with_nested(task, track, now);
  return LSC_OK;
}

static inline lsc_status leave(struct lsc_task_record *task, struct lsc_track *track, uint64_t now) {
  uintptr_t runner = atomic_load_explicit(&task->runner, memory_order_relaxed) & ~LSC_TASK_CLOSED;
  if (!track || runner != (uintptr_t)track) return LSC_TASK_STATE;
  if (track->running != task) return LSC_CROSSED;
  end_step(task, track, now);
  return LSC_OK;
}

/* Leaves the step and those nested in it, which go on when the task is entered again. */
static __attribute__((noinline)) void leave_nested(struct lsc_task_record *task, struct lsc_track *track,
                                                   uint64_t now) {
  struct lsc_task_record *nested = NULL;
  while (track->running != task) {
    struct lsc_task_record *innermost = track->running;
    innermost->parked = nested;
    nested = innermost;
    end_step(innermost, track, now);
  }
  task->parked = nested;
  end_step(task, track, now);
}

static inline lsc_status leave_with_nested(struct lsc_task_record *task, struct lsc_track *track, uint64_t now) {
  lsc_status status = leave(task, track, now);
  if (LSC_LIKELY(status != LSC_CROSSED)) return status;
  leave_nested(task, track, now);
  return LSC_OK;
}

static lsc_status finish(struct lsc_task_record *task, struct lsc_track *track, uint64_t now) {
  (void)track;
  uint64_t open = 0;
  atomic_compare_exchange_strong_explicit(&task->done, &open, now, memory_order_relaxed, memory_order_relaxed);
  return LSC_OK;
}

/* Acts on the task while its session is pinned. */
static lsc_status with_task(lsc_task handle, struct lsc_track *track,
                            lsc_status (*action)(struct lsc_task_record *, struct lsc_track *, uint64_t)) {
  struct lsc_session_state *state = lsc_session_pin(handle.session);
  if (!state) return LSC_INACTIVE;
  struct lsc_task_record *task = lsc_task_of(state, handle);
  lsc_status status = task ? action(task, track, lsc_ticks()) : LSC_INVALID;
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

/*
 * Without a pin. The check of the handle is relaxed: it only decides whether to record. A record lies in the memory of
 * its session's chunks, which the calling thread's track keeps, also after the close; and the close and the step agree
 * by `runner` on who frees the stack.
 */
lsc_status lsc_task_switch_at(lsc_session session, lsc_api api, struct lsc_task_record *from,
                              struct lsc_task_record *to) {
  if (!lsc_handle_is_open(session)) return LSC_INACTIVE;
  if (LSC_UNLIKELY((unsigned)api > LSC_API_FORTRAN_THREADS)) return LSC_INVALID;
  struct lsc_track *track = lsc_thread_track(lsc_self, session | (uint64_t)api);
  if (LSC_UNLIKELY(!track)) {
    if (!to) return LSC_TASK_STATE;
    lsc_status registered = lsc_thread_enter(session, api, &track);
    if (registered != LSC_OK) return registered;
  }
  uint64_t now = lsc_ticks();
  lsc_status status = from ? leave_with_nested(from, track, now) : LSC_OK;
  return status == LSC_OK && to ? enter(to, track, now) : status;
}

void lsc_task_leave_all(struct lsc_track *track) {
  while (track->running) end_step(track->running, track, lsc_ticks());
}

void lsc_task_free_running(struct lsc_track *track) {
  for (struct lsc_task_record *task = track->running; task; task = task->outer) lsc_stack_free(&task->stack);
}

void lsc_task_free_labels(struct lsc_task_record *task) {
  struct lsc_task_label *label = atomic_load_explicit(&task->label, memory_order_acquire), *older;
  for (; label; label = older) {
    older = label->older;
    if (label != lsc_task_own_label(task)) free(label);
  }
}

void lsc_task_close(struct lsc_task_record *task) {
  lsc_task_free_labels(task);
  if (!atomic_fetch_or_explicit(&task->runner, LSC_TASK_CLOSED, memory_order_acquire)) lsc_stack_free(&task->stack);
}
