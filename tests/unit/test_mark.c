/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls that are ended by mark: from other threads, out of order, late, and beside commits. */
#include <sched.h>

#include "lanescope_binding.h"
#include "session.h"
#include "snapshots.h"
#include "unit.h"

static lsc_region_id A, B;
static lsc_session s;

static void open_session(void) {
  ck_assert_int_eq(lsc_region("A", &A), LSC_OK);
  ck_assert_int_eq(lsc_region("B", &B), LSC_OK);
  ck_assert_int_eq(lsc_session_open(NULL, &s), LSC_OK);
}

static size_t collect(size_t *open) {
  struct lsc_snapshot snapshot;
  ck_assert_int_eq(lsc_snapshot_take(s, &snapshot), LSC_OK);
  size_t completed = snapshot.completed;
  if (open) *open = snapshot.open;
  lsc_snapshot_commit(&snapshot);
  return completed;
}

#define MUST(call) ck_assert_int_eq((call), LSC_OK)

static void *begin_marked(void *mark) {
  unit_must(lsc_begin_marked(s, LSC_API_PYTHON, A, mark) == LSC_OK);
  return NULL;
}

START_TEST(it_stays_on_the_lane_that_began_it) {
  lsc_mark mark;
  open_session();
  MUST(lsc_thread_register(s));
  pthread_join(unit_start(begin_marked, &mark), NULL); /* the thread is gone, the call is not */
  ck_assert_int_eq(lsc_end_as(s, LSC_API_PYTHON, A), LSC_NO_BEGIN);
  MUST(lsc_end_marked(mark));
  ck_assert_int_eq(lsc_end_marked(mark), LSC_STALE);
  struct lsc_snapshot snapshot = must_take(s);
  ck_assert_uint_eq(snapshot.completed, 1);
  ck_assert_int_eq(lsc_row_thread(snapshot.row[0]), 1);
  lsc_snapshot_commit(&snapshot);
  ck_assert_int_eq(lsc_end_marked(mark), LSC_STALE);
  MUST(lsc_session_close(s));
  ck_assert_int_eq(lsc_end_marked(mark), LSC_INACTIVE);
  ck_assert_int_eq(lsc_end_marked((lsc_mark){0}), LSC_INACTIVE);
}
END_TEST

START_TEST(it_may_end_out_of_order) {
  lsc_mark a, b;
  open_session();
  MUST(lsc_begin(s, B));
  MUST(lsc_begin_marked(s, LSC_API_PYTHON, A, &a));
  MUST(lsc_begin_marked(s, LSC_API_PYTHON, B, &b));
  ck_assert_int_eq(lsc_end_as(s, LSC_API_PYTHON, A), LSC_CROSSED);
  MUST(lsc_end_marked(a));
  MUST(lsc_end_as(s, LSC_API_PYTHON, B));
  ck_assert_int_eq(lsc_end_as(s, LSC_API_PYTHON, A), LSC_CROSSED);
  MUST(lsc_begin(s, A));
  MUST(lsc_end(s, A));
  MUST(lsc_end(s, B));
  ck_assert_int_eq(lsc_end(s, B), LSC_NO_BEGIN);
  struct lsc_snapshot snapshot = must_take(s);
  ck_assert_uint_eq(snapshot.completed, 4);
  const uint32_t parent[] = {LSC_NO_CALL, 0, 0, 0};
  for (int i = 0; i < 4; i++) ck_assert_uint_eq(snapshot.parent[i], parent[i]);
  lsc_snapshot_drop(&snapshot);
  MUST(lsc_session_close(s));
}
END_TEST

/* The frame of the ended call is still on the stack when its row is reported, and its chunk must outlast it. */
START_TEST(the_row_outlasts_the_frame) {
  open_session();
  for (int round = 0; round < 3; round++) {
    lsc_mark mark;
    size_t open;
    MUST(lsc_begin_marked(s, LSC_API_PYTHON, A, &mark));
    for (int i = 0; i < 1000; i++) {
      MUST(lsc_begin(s, B));
      MUST(lsc_end(s, B));
    }
    MUST(lsc_end_marked(mark));
    ck_assert_uint_eq(collect(&open), 1001);
    ck_assert_uint_eq(open, 0);
    if (round == 1) {
      MUST(lsc_begin(s, B));
      MUST(lsc_end(s, B));
    }
    ck_assert_int_eq(lsc_end_as(s, LSC_API_PYTHON, A), LSC_NO_BEGIN);
    ck_assert_uint_eq(collect(&open), round == 1);
  }
  MUST(lsc_session_close(s));
}
END_TEST

START_TEST(what_is_never_looked_at_takes_no_memory) {
  lsc_mark mark;
  long before = 0;
  open_session();
  long calls = unit_amount(400000, 400000, 150000);
  for (int i = 0; i < calls; i++) {
    unit_must(lsc_begin_marked(s, LSC_API_PYTHON, A, &mark) == LSC_OK);
    unit_must(lsc_end_marked(mark) == LSC_OK);
    if (i % 10000) continue;
    unit_must(collect(NULL) == (i ? 10000 : 1));
    if (i == 100000) before = unit_resident_kib();
  }
  if (!UNIT_SANITIZED) ck_assert_int_le(unit_resident_kib() - before, 1024);
  MUST(lsc_session_close(s));
}
END_TEST

START_TEST(within_tasks) {
  lsc_task task;
  lsc_mark mark;
  open_session();
  MUST(lsc_task_open(s, "fiber", "f", NULL, &task));
  MUST(lsc_task_enter(task));
  MUST(lsc_begin_marked(s, LSC_API_PYTHON, A, &mark));
  MUST(lsc_task_leave(task));
  usleep(2000);
  MUST(lsc_end_marked(mark));
  struct lsc_snapshot snapshot = must_take(s);
  ck_assert_uint_eq(snapshot.completed, 1);
  ck_assert_int_eq(lsc_row_task(snapshot.row[0]), 0);
  ck_assert_int_ge(lsc_call_await_ns(&snapshot, snapshot.row[0]), 2000000);
  lsc_snapshot_commit(&snapshot);
  MUST(lsc_task_enter(task));
  ck_assert_int_eq(lsc_end_as(s, LSC_API_PYTHON, A), LSC_NO_BEGIN);
  MUST(lsc_task_leave(task));
  MUST(lsc_session_close(s));
}
END_TEST

START_TEST(what_is_not_recorded_has_no_mark) {
  lsc_mark mark;
  open_session();
  ck_assert_int_eq(lsc_begin_marked(0, LSC_API_PYTHON, A, &mark), LSC_INACTIVE);
  ck_assert_ptr_null(mark.row);
  ck_assert_int_eq(lsc_begin_marked(s, (lsc_api)4, A, &mark), LSC_INVALID);
  ck_assert_ptr_null(mark.row);
  MUST(lsc_begin(s, A));
  MUST(lsc_session_pause(s));
  MUST(lsc_begin_marked(s, LSC_API_PYTHON, A, &mark));
  ck_assert_int_eq(lsc_end_marked(mark), LSC_STALE);
  MUST(lsc_end(s, A));
  MUST(lsc_session_resume(s));
  MUST(lsc_end(s, A));
  ck_assert_uint_eq(collect(NULL), 1);
  MUST(lsc_session_close(s));
}
END_TEST

#define CALLS (UNIT_SANITIZED ? 2000 : 20000)

/* What a binding's lock does: the mark goes from the one thread to the other under it. */
static pthread_mutex_t binding = PTHREAD_MUTEX_INITIALIZER;
static lsc_mark passed;
static int finished;

static void *begin_and_go_on(void *unused) {
  for (int i = 0; i < CALLS;) {
    pthread_mutex_lock(&binding);
    if (!passed.row) {
      unit_must(lsc_begin_marked(s, LSC_API_PYTHON, A, &passed) == LSC_OK);
      i++;
    }
    pthread_mutex_unlock(&binding);
    unit_must(lsc_begin(s, B) == LSC_OK);
    unit_must(lsc_end(s, B) == LSC_OK);
    sched_yield();
  }
  return unused;
}

static void *end_elsewhere(void *unused) {
  for (int done = 0; done < CALLS;) {
    pthread_mutex_lock(&binding);
    if (passed.row) {
      unit_must(lsc_end_marked(passed) == LSC_OK);
      passed.row = NULL;
      done++;
    }
    pthread_mutex_unlock(&binding);
    sched_yield();
  }
  __atomic_store_n(&finished, 1, __ATOMIC_RELEASE);
  return unused;
}

/* One thread begins calls and records others meanwhile, one ends them, and commits free what was reported. */
START_TEST(beside_recording_and_commits) {
  size_t of_a = 0;
  open_session();
  passed.row = NULL;
  finished = 0;
  pthread_t begins = unit_start(begin_and_go_on, NULL), ends = unit_start(end_elsewhere, NULL);
  for (int last = 0; !last;) {
    last = __atomic_load_n(&finished, __ATOMIC_ACQUIRE);
    struct lsc_snapshot snapshot = must_take(s);
    ck_assert_int_eq(lsc_snapshot_events(&snapshot), LSC_OK);
    for (size_t i = 0; i < snapshot.completed; i++)
      of_a += lsc_row_region(snapshot.row[snapshot.event[i]]) == A;
    lsc_snapshot_commit(&snapshot);
  }
  pthread_join(begins, NULL);
  pthread_join(ends, NULL);
  ck_assert_uint_eq(of_a, CALLS);
  MUST(lsc_session_close(s));
}
END_TEST

UNIT_MAIN("mark", it_stays_on_the_lane_that_began_it, it_may_end_out_of_order, the_row_outlasts_the_frame,
          what_is_never_looked_at_takes_no_memory, within_tasks, what_is_not_recorded_has_no_mark,
          beside_recording_and_commits)
