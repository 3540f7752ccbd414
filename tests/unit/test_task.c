/* SPDX-License-Identifier: BSD-3-Clause */
/* Tasks: a program of ucontext fibers that move over three threads, against what the fibers noted themselves; and the
 * rules of steps. */
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>

#include "lanescope_binding.h"
#include "session.h"
#include "snapshots.h"
#include "task.h"
#include "unit.h"

#if UNIT_THREAD_SANITIZED
#include <sanitizer/tsan_interface.h>
#define sanitizer_fiber() __tsan_create_fiber(0)
#define sanitizer_fiber_here() __tsan_get_current_fiber()
#define sanitizer_switch(fiber) __tsan_switch_to_fiber(fiber, 0)
#define sanitizer_forget(fiber) __tsan_destroy_fiber(fiber)
#else
#define sanitizer_fiber() NULL
#define sanitizer_fiber_here() NULL
#define sanitizer_switch(fiber) ((void)(fiber))
#define sanitizer_forget(fiber) ((void)(fiber))
#endif

#define FIBERS 24
#define WORKERS 3
#define CALLS 60 /* a fiber; each is left open over a switch */
#define STACK 65536

static lsc_session session;
static lsc_region_id outer, inner;

struct fiber {
  lsc_task task;
  ucontext_t context, *worker;
  void *sanitizers, *sanitizers_worker; /* what ThreadSanitizer knows them as */
  char stack[STACK];
  int number, finished, steps, last_worker;
  unsigned threads; /* bit k: worker k ran a step */
  int64_t ended_step, suspended, calls;
  /* Of each outer call: times around it, and bounds of the time that the fiber was switched away meanwhile. */
  int64_t start[CALLS], end[CALLS], away_least[CALLS], away_most[CALLS];
};

static struct fiber fiber[FIBERS];
static struct {
  pthread_mutex_t lock;
  int queue[FIBERS], count;
  _Atomic int left;
} ready = {.lock = PTHREAD_MUTEX_INITIALIZER, .left = FIBERS};

/* Gives the thread back; another worker may go on. */
static void switch_away(struct fiber *f) {
  sanitizer_switch(f->sanitizers_worker);
  swapcontext(&f->context, f->worker);
}

static void run_fiber(unsigned low, unsigned high) {
  struct fiber *f = (struct fiber *)((uintptr_t)low | (uintptr_t)high << 32);
  for (int i = 0; i < CALLS; i++) {
    f->start[i] = lsc_now_ns();
    if (lsc_begin(session, outer) != LSC_OK) abort();
    if (lsc_begin(session, inner) != LSC_OK || lsc_end(session, inner) != LSC_OK) abort();
    f->away_least[i] = f->away_most[i] = 0;
    for (int k = 0; k < i % 3; k++) {
      int64_t before = lsc_now_ns();
      f->ended_step = 0;
      switch_away(f);
      f->away_most[i] += lsc_now_ns() - before;
      f->away_least[i] += f->suspended;
    }
    if (lsc_begin(session, inner) != LSC_OK || lsc_end(session, inner) != LSC_OK) abort();
    if (lsc_end(session, outer) != LSC_OK) abort();
    f->end[i] = lsc_now_ns();
  }
  f->finished = 1;
  switch_away(f);
}

/* A fiber whose last step another worker ran, so that each step is on another thread than the one before; or -1. */
static int take_ready(int worker) {
  int number = -1;
  pthread_mutex_lock(&ready.lock);
  for (int i = 0; i < ready.count && number < 0; i++) {
    if (fiber[ready.queue[i]].last_worker == worker) continue;
    number = ready.queue[i];
    ready.queue[i] = ready.queue[--ready.count];
  }
  pthread_mutex_unlock(&ready.lock);
  return number;
}

static void put_ready(struct fiber *f) {
  pthread_mutex_lock(&ready.lock);
  if (f->finished) ready.left--;
  else ready.queue[ready.count++] = f->number;
  pthread_mutex_unlock(&ready.lock);
}

static void run_step(struct fiber *f, int worker, ucontext_t *back) {
  int64_t before = lsc_now_ns();
  if (lsc_task_enter(f->task) != LSC_OK) abort();
  f->suspended = f->ended_step ? before - f->ended_step : 0;
  f->worker = back;
  f->threads |= 1u << worker;
  f->last_worker = worker;
  f->steps++;
  f->sanitizers_worker = sanitizer_fiber_here();
  sanitizer_switch(f->sanitizers);
  swapcontext(back, &f->context);
  if (lsc_task_leave(f->task) != LSC_OK) abort();
  f->ended_step = lsc_now_ns();
  if (f->finished && lsc_task_finish(f->task) != LSC_OK) abort();
}

static void *work(void *number) {
  ucontext_t back;
  char name[32];
  snprintf(name, sizeof name, "worker %d", (int)(intptr_t)number);
  if (lsc_thread_describe(session, name, (intptr_t)number, 0) != LSC_OK) abort();
  while (ready.left) {
    int next = take_ready((int)(intptr_t)number);
    if (next < 0) {
      sched_yield();
      continue;
    }
    run_step(&fiber[next], (int)(intptr_t)number, &back);
    put_ready(&fiber[next]);
  }
  return NULL;
}

/* Not inlined, since getcontext comes back once more with what was in registers then. */
static __attribute__((noinline)) void make_context(struct fiber *f) {
  getcontext(&f->context);
  f->context.uc_stack.ss_sp = f->stack;
  f->context.uc_stack.ss_size = STACK;
  makecontext(&f->context, (void (*)(void))run_fiber, 2, (unsigned)(uintptr_t)f, (unsigned)((uintptr_t)f >> 32));
  f->sanitizers = sanitizer_fiber();
}

static void make_fibers(void) {
  for (struct fiber *f = fiber; f < fiber + FIBERS; f++) {
    char name[32];
    f->number = (int)(f - fiber);
    f->last_worker = -1;
    snprintf(name, sizeof name, "fiber %d", f->number);
    ck_assert_int_eq(lsc_task_open(session, "fiber", name, "run_fiber", &f->task), LSC_OK);
    make_context(f);
    ready.queue[ready.count++] = f->number;
  }
}

static void check_task_row(struct lsc_snapshot *s, const struct fiber *f) {
  const struct lsc_task_info info = lsc_snapshot_task(s, (size_t)f->number), *task = &info;
  char name[32];
  snprintf(name, sizeof name, "fiber %d", f->number);
  ck_assert_str_eq(task->name, name);
  ck_assert_str_eq(task->kind, "fiber");
  ck_assert_str_eq(task->coro_name, "run_fiber");
  ck_assert_int_eq(task->steps, f->steps);
  ck_assert(task->done_ns != LSC_NEVER);
  ck_assert_int_ge(task->done_ns, task->created_ns);
  ck_assert_int_ge(task->thread_index, 0);
  ck_assert(f->threads >> atoi(lsc_snapshot_thread(s, (size_t)task->thread_index).name + strlen("worker ")) & 1);
  ck_assert_int_le(task->running_ns + task->suspended_ns, task->done_ns - task->created_ns + 2000);
}

/* The calls of one fiber in order: outer, inner, inner, outer, … */
static void check_call(struct lsc_snapshot *s, struct fiber *f, uint32_t call, uint32_t *open_outer) {
  const struct lsc_row *row = s->row[call];
  int i = (int)(f->calls / 3);
  int64_t start = lsc_clock_map_ns(&s->map, row->start), end = lsc_clock_map_ns(&s->map, row->end);
  if (f->calls++ % 3 == 0) {
    ck_assert_uint_eq(lsc_row_region(row), outer);
    ck_assert_uint_eq(s->parent[call], LSC_NO_CALL);
    ck_assert_int_ge(start, f->start[i] - 1000);
    ck_assert_int_le(end, f->end[i] + 1000);
    int64_t await = lsc_call_await_ns(s, row);
    ck_assert_int_ge(await, f->away_least[i] - 3000);
    ck_assert_int_le(await, f->away_most[i] + 3000);
    *open_outer = call;
  } else {
    ck_assert_uint_eq(lsc_row_region(row), inner);
    ck_assert_uint_eq(s->parent[call], *open_outer);
    ck_assert_int_eq(lsc_call_await_ns(s, row), 0);
  }
}

START_TEST(fibers_that_move_over_threads_are_lanes) {
  ck_assert_int_eq(lsc_region("outer", &outer), LSC_OK);
  ck_assert_int_eq(lsc_region("inner", &inner), LSC_OK);
  ck_assert_int_eq(lsc_session_open(NULL, &session), LSC_OK);
  make_fibers();
  pthread_t thread[WORKERS];
  for (intptr_t t = 0; t < WORKERS; t++) thread[t] = unit_start(work, (void *)t);
  for (int t = 0; t < WORKERS; t++) pthread_join(thread[t], NULL);
  struct lsc_snapshot s;
  ck_assert_int_eq(take_snapshot(session, &s), LSC_OK);
  ck_assert_uint_eq(s.completed, FIBERS * CALLS * 3);
  ck_assert_uint_eq(s.open, 0);
  ck_assert_uint_eq(s.tasks, FIBERS);
  ck_assert_uint_eq(s.lanes, FIBERS);
  uint32_t open_outer[FIBERS];
  for (uint32_t call = 0; call < s.calls; call++) {
    int64_t task = lsc_row_task(s.row[call]);
    ck_assert_int_ge(task, 0);
    check_call(&s, &fiber[task], call, &open_outer[task]);
  }
  for (int i = 0; i < FIBERS; i++) {
    check_task_row(&s, &fiber[i]);
    ck_assert_int_eq(s.lane[i].lane, i);
    ck_assert_uint_eq(s.lane[i].calls, 3 * CALLS);
    ck_assert(fiber[i].threads & (fiber[i].threads - 1));
    sanitizer_forget(fiber[i].sanitizers);
  }
  lsc_snapshot_commit(&s);
  ck_assert_int_eq(lsc_session_close(session), LSC_OK);
}
END_TEST

static lsc_status status_elsewhere;
static void *enter_elsewhere(void *task) {
  status_elsewhere = lsc_task_enter(*(lsc_task *)task);
  return NULL;
}
static void *leave_elsewhere(void *task) {
  status_elsewhere = lsc_task_leave(*(lsc_task *)task);
  return NULL;
}
static void *enter_and_end(void *task) {
  if (lsc_task_enter(*(lsc_task *)task) != LSC_OK || lsc_begin(session, outer) != LSC_OK) abort();
  return NULL;
}

START_TEST(steps_follow_their_rules) {
  lsc_task a, b, none = {0, 0};
  ck_assert_int_eq(lsc_region("outer", &outer), LSC_OK);
  ck_assert_int_eq(lsc_session_open(NULL, &session), LSC_OK);
  ck_assert_int_eq(lsc_task_open(session, "fiber", "a", NULL, &a), LSC_OK);
  ck_assert_int_eq(lsc_task_open(session, "fiber", "b", NULL, &b), LSC_OK);
  ck_assert_int_eq(lsc_task_leave(a), LSC_TASK_STATE);
  ck_assert_int_eq(lsc_task_enter(a), LSC_OK);
  ck_assert_int_eq(lsc_task_enter(a), LSC_TASK_STATE);
  pthread_join(unit_start(enter_elsewhere, &a), NULL);
  ck_assert_int_eq(status_elsewhere, LSC_TASK_STATE);
  pthread_join(unit_start(leave_elsewhere, &a), NULL);
  ck_assert_int_eq(status_elsewhere, LSC_TASK_STATE);
  ck_assert_int_eq(lsc_begin(session, outer), LSC_OK);
  ck_assert_int_eq(lsc_task_enter(b), LSC_OK);
  ck_assert_int_eq(lsc_end(session, outer), LSC_NO_BEGIN);
  ck_assert_int_eq(lsc_task_leave(a), LSC_CROSSED);
  ck_assert_int_eq(lsc_task_leave(b), LSC_OK);
  ck_assert_int_eq(lsc_end(session, outer), LSC_OK);
  ck_assert_int_eq(lsc_task_finish(a), LSC_OK);
  ck_assert_int_eq(lsc_task_leave(a), LSC_OK);
  ck_assert_int_eq(lsc_task_enter(a), LSC_TASK_STATE);
  ck_assert_int_eq(lsc_task_finish(a), LSC_OK);
  pthread_join(unit_start(enter_and_end, &b), NULL);
  ck_assert_int_eq(lsc_task_enter(b), LSC_OK);
  ck_assert_int_eq(lsc_end(session, outer), LSC_OK);
  ck_assert_int_eq(lsc_task_open(session, NULL, "x", NULL, &a), LSC_INVALID);
  ck_assert(a.session == 0 && a.number == 0);
  ck_assert_int_eq(lsc_task_open(session, "x", "\xFF", NULL, &a), LSC_BAD_NAME);
  ck_assert_int_eq(lsc_task_open(session, "x", "x", NULL, NULL), LSC_INVALID);
  ck_assert_int_eq(lsc_task_open(0, "x", "x", NULL, &a), LSC_INACTIVE);
  ck_assert_int_eq(lsc_task_enter((lsc_task){session, 99}), LSC_INVALID);
  ck_assert_int_eq(lsc_task_enter(none), LSC_INACTIVE);
  ck_assert_int_eq(lsc_session_close(session), LSC_OK);
  ck_assert_int_eq(lsc_task_leave(b), LSC_INACTIVE);
  ck_assert_int_eq(lsc_task_finish(b), LSC_INACTIVE);
}
END_TEST

static void nap(void) { nanosleep(&(struct timespec){0, 2000000}, NULL); }

START_TEST(the_wait_between_steps_is_suspended_time_of_the_call) {
  lsc_task task;
  lsc_token token;
  ck_assert_int_eq(lsc_region("outer", &outer), LSC_OK);
  ck_assert_int_eq(lsc_session_open(NULL, &session), LSC_OK);
  ck_assert_int_eq(lsc_task_open(session, "fiber", "a", "f", &task), LSC_OK);
  nap();
  lsc_task_enter(task);
  lsc_scope_begin(session, outer, &token);
  lsc_begin(session, outer);
  int64_t leaving = lsc_now_ns();
  lsc_task_leave(task);
  int64_t left = lsc_now_ns();
  nap();
  int64_t ended = lsc_now_ns();
  ck_assert_int_eq(lsc_scope_end(token), LSC_OK);
  struct lsc_snapshot s;
  ck_assert_int_eq(take_snapshot(session, &s), LSC_OK);
  ck_assert_uint_eq(s.completed, 1);
  ck_assert_int_eq(lsc_snapshot_events(&s), LSC_OK);
  ck_assert_int_ge(lsc_call_await_ns(&s, s.row[s.event[0]]), ended - left - 3000);
  ck_assert_int_le(lsc_call_await_ns(&s, s.row[s.event[0]]), lsc_clock_map_ns(&s.map, s.row[0]->end) - leaving + 3000);
  ck_assert_uint_eq(s.open, 1);
  ck_assert_int_ge(s.open_call[0].await_ns, ended - left - 3000);
  ck_assert_int_le(s.open_call[0].await_ns, s.taken_ns - leaving + 3000);
  ck_assert_int_eq(lsc_snapshot_task(&s, 0).steps, 1);
  ck_assert_int_eq(lsc_snapshot_task(&s, 0).suspended_ns, 0);
  ck_assert_int_eq(lsc_snapshot_task(&s, 0).done_ns, LSC_NEVER);
  lsc_snapshot_commit(&s);
  lsc_task_enter(task);
  ck_assert_int_eq(lsc_end(session, outer), LSC_OK);
  lsc_task_leave(task);
  ck_assert_int_eq(take_snapshot(session, &s), LSC_OK);
  ck_assert_uint_eq(s.completed, 1);
  ck_assert_int_ge(lsc_call_await_ns(&s, s.row[0]), ended - left);
  ck_assert_int_ge(lsc_snapshot_task(&s, 0).suspended_ns, ended - left);
  ck_assert_int_eq(lsc_snapshot_task(&s, 0).steps, 2);
  lsc_snapshot_drop(&s);
  lsc_session_close(session);
}
END_TEST

START_TEST(calls_of_a_task_fill_chunks_to_the_last_row) {
  enum { MANY = 30000 };
  lsc_task task;
  ck_assert_int_eq(lsc_region("outer", &outer), LSC_OK);
  ck_assert_int_eq(lsc_session_open(NULL, &session), LSC_OK);
  ck_assert_int_eq(lsc_task_open(session, "fiber", "a", "f", &task), LSC_OK);
  size_t reported = 0;
  for (int i = 0; i < MANY; i++) {
    if (i % 3 == 0) ck_assert_int_eq(lsc_task_enter(task), LSC_OK);
    lsc_begin(session, outer);
    lsc_end(session, outer);
    if (i % 3 == 1) ck_assert_int_eq(lsc_task_leave(task), LSC_OK);
    if (i % 7777 == 0) {
      struct lsc_snapshot s;
      ck_assert_int_eq(take_snapshot(session, &s), LSC_OK);
      reported += s.completed;
      lsc_snapshot_commit(&s);
    }
  }
  struct lsc_snapshot s;
  ck_assert_int_eq(take_snapshot(session, &s), LSC_OK);
  ck_assert_uint_eq(s.completed + reported, MANY);
  lsc_snapshot_commit(&s);
  lsc_session_close(session);
}
END_TEST

UNIT_MAIN("task", fibers_that_move_over_threads_are_lanes, steps_follow_their_rules,
          the_wait_between_steps_is_suspended_time_of_the_call, calls_of_a_task_fill_chunks_to_the_last_row)
