/* SPDX-License-Identifier: BSD-3-Clause */
/* Recording: statuses, stacks, sessions, threads that outlive them. What was recorded is read by snapshot. */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lanescope_binding.h"
#include "session.h"
#include "snapshots.h"
#include "track.h"
#include "unit.h"

static lsc_region_id A, B;

static void name_regions(void) {
  ck_assert_int_eq(lsc_region("A", &A), LSC_OK);
  ck_assert_int_eq(lsc_region("B", &B), LSC_OK);
}

static lsc_session open_session(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  lsc_session session;
  pthread_once(&once, name_regions);
  ck_assert_int_eq(lsc_session_open(NULL, &session), LSC_OK);
  return session;
}

START_TEST(ends_that_do_not_fit_change_nothing) {
  lsc_session s = open_session();
  ck_assert_int_eq(lsc_end(s, A), LSC_NO_BEGIN);
  ck_assert_int_eq(lsc_begin(s, A), LSC_OK);
  ck_assert_int_eq(lsc_begin(s, B), LSC_OK);
  ck_assert_int_eq(lsc_end(s, A), LSC_CROSSED);
  ck_assert_int_eq(lsc_end(s, B), LSC_OK);
  ck_assert_int_eq(lsc_end(s, B), LSC_CROSSED);
  ck_assert_int_eq(lsc_end(s, A), LSC_OK);
  ck_assert_int_eq(lsc_end(s, A), LSC_NO_BEGIN);
  struct lsc_snapshot snapshot = must_take(s);
  ck_assert_uint_eq(snapshot.calls, 2);
  ck_assert_uint_eq(snapshot.completed, 2);
  ck_assert_uint_eq(snapshot.parent[0], LSC_NO_CALL);
  ck_assert_uint_eq(snapshot.parent[1], 0);
  ck_assert_uint_eq(lsc_row_region(snapshot.row[1]), B);
  lsc_snapshot_commit(&snapshot);
  ck_assert_int_eq(lsc_session_close(s), LSC_OK);
}
END_TEST

START_TEST(what_is_not_open_records_nothing) {
  lsc_session s = open_session(), none = 0;
  const lsc_session bad[] = {0, 1, 3, UINT64_MAX, s + 1, s + 4, s + 256, s ^ ((uint64_t)1 << 63)};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    struct lsc_snapshot snapshot;
    ck_assert_int_eq(lsc_begin(bad[i], A), LSC_INACTIVE);
    ck_assert_int_eq(lsc_end(bad[i], A), LSC_INACTIVE);
    ck_assert_int_eq(lsc_thread_register(bad[i]), LSC_INACTIVE);
    ck_assert_int_eq(lsc_thread_describe(bad[i], "x", 0, 0), LSC_INACTIVE);
    ck_assert_int_eq(lsc_session_close(bad[i]), LSC_INACTIVE);
    ck_assert_int_eq(take_snapshot(bad[i], &snapshot), LSC_INACTIVE);
    ck_assert_int_eq(lsc_session_is_open(bad[i]), 0);
  }
  ck_assert_int_eq(lsc_begin(s, B + 1), LSC_INVALID);
  ck_assert_int_eq(lsc_begin_as(s, (lsc_api)4, A), LSC_INVALID);
  ck_assert_int_eq(lsc_end_as(s, (lsc_api)-1, A), LSC_INVALID);
  ck_assert_int_eq(lsc_thread_describe(s, NULL, 0, 0), LSC_INVALID);
  ck_assert_int_eq(lsc_thread_describe(s, "\xFF", 0, 0), LSC_BAD_NAME);
  ck_assert_int_eq(lsc_session_open(NULL, NULL), LSC_INVALID);
  ck_assert_int_eq(lsc_session_open(&(lsc_session_options){.size = 1}, &none), LSC_INVALID);
  ck_assert_int_eq(
      lsc_session_open(&(lsc_session_options){.size = sizeof(lsc_session_options), .label = "\xFF"}, &none),
      LSC_BAD_NAME);
  ck_assert_uint_eq(none, 0);
  ck_assert_int_eq(lsc_session_close(s), LSC_OK);
  ck_assert_int_eq(lsc_session_close(s), LSC_INACTIVE);
  ck_assert_int_eq(lsc_begin(s, A), LSC_INACTIVE);
}
END_TEST

START_TEST(recursion_is_exact_to_a_depth_of_100000) {
  enum { DEEP = 100000 };
  lsc_session s = open_session();
  for (int i = 0; i < DEEP; i++) ck_assert_int_eq(lsc_begin(s, i % 2 ? B : A), LSC_OK);
  for (int i = DEEP; i-- > 0;) ck_assert_int_eq(lsc_end(s, i % 2 ? B : A), LSC_OK);
  struct lsc_snapshot snapshot = must_take(s);
  ck_assert_uint_eq(snapshot.completed, DEEP);
  for (uint32_t i = 0; i < DEEP; i++) {
    ck_assert_uint_eq(lsc_row_depth(snapshot.row[i]), i);
    ck_assert_uint_eq(snapshot.parent[i], i ? i - 1 : LSC_NO_CALL);
  }
  lsc_snapshot_commit(&snapshot);
  lsc_session_close(s);
}
END_TEST

START_TEST(python_and_c_nest_on_one_lane_and_fortran_on_none) {
  lsc_session s = open_session();
  ck_assert_int_eq(lsc_begin_as(s, LSC_API_PYTHON, A), LSC_OK);
  ck_assert_int_eq(lsc_begin_as(s, LSC_API_FORTRAN, A), LSC_OK);
  ck_assert_int_eq(lsc_begin(s, B), LSC_OK);
  ck_assert_int_eq(lsc_begin_as(s, LSC_API_FORTRAN, B), LSC_OK);
  ck_assert_int_eq(lsc_begin_as(s, LSC_API_FORTRAN_THREADS, A), LSC_OK);
  ck_assert_int_eq(lsc_end_as(s, LSC_API_FORTRAN_THREADS, A), LSC_OK);
  ck_assert_int_eq(lsc_end_as(s, LSC_API_PYTHON, B), LSC_OK);
  ck_assert_int_eq(lsc_end_as(s, LSC_API_FORTRAN, A), LSC_CROSSED);
  ck_assert_int_eq(lsc_end_as(s, LSC_API_FORTRAN, B), LSC_OK);
  ck_assert_int_eq(lsc_end_as(s, LSC_API_FORTRAN, A), LSC_OK);
  ck_assert_int_eq(lsc_end(s, A), LSC_OK);
  struct lsc_snapshot snapshot = must_take(s);
  static const uint32_t parent[] = {LSC_NO_CALL, LSC_NO_CALL, 0, 1, 2};
  static const unsigned api[] = {0, 2, 1, 2, 2};
  static const int thread[] = {0, -1, 0, -1, 0};
  ck_assert_uint_eq(snapshot.completed, 5);
  for (int i = 0; i < 5; i++) {
    ck_assert_uint_eq(snapshot.parent[i], parent[i]);
    ck_assert_uint_eq(lsc_row_api(snapshot.row[i]), api[i]);
    ck_assert_int_eq(lsc_row_thread(snapshot.row[i]), thread[i]);
  }
  ck_assert_uint_eq(snapshot.apis, 7);
  ck_assert_uint_eq(snapshot.threads, 1);
  ck_assert_uint_eq(snapshot.lanes, 2);
  ck_assert_int_eq(snapshot.lane[0].lane, -1);
  ck_assert_uint_eq(snapshot.lane[0].apis, 1u << LSC_API_FORTRAN);
  ck_assert_uint_eq(snapshot.lane[0].calls, 2);
  ck_assert_int_eq(snapshot.lane[1].lane, -2);
  ck_assert_uint_eq(snapshot.lane[1].calls, 3);
  lsc_snapshot_commit(&snapshot);
  lsc_session_close(s);
}
END_TEST

START_TEST(sessions_do_not_see_each_other) {
  lsc_session session[LSC_MAX_SESSIONS + 1];
  for (int i = 0; i < LSC_MAX_SESSIONS; i++) session[i] = open_session();
  ck_assert_int_eq(lsc_session_open(NULL, &session[LSC_MAX_SESSIONS]), LSC_LIMIT);
  ck_assert_uint_eq(session[LSC_MAX_SESSIONS], 0);
  for (int i = 0; i < LSC_MAX_SESSIONS; i++)
    for (int k = 0; k <= i; k++) ck_assert_int_eq(lsc_begin(session[i], A), LSC_OK);
  for (int i = LSC_MAX_SESSIONS; i-- > 0;)
    for (int k = 0; k <= i; k++) ck_assert_int_eq(lsc_end(session[i], A), LSC_OK);
  for (int i = 0; i < LSC_MAX_SESSIONS; i += 2) ck_assert_int_eq(lsc_session_close(session[i]), LSC_OK);
  for (int i = 1; i < LSC_MAX_SESSIONS; i += 2) {
    struct lsc_snapshot snapshot = must_take(session[i]);
    ck_assert_uint_eq(snapshot.completed, (size_t)i + 1);
    ck_assert_uint_eq(snapshot.threads, 1);
    lsc_snapshot_commit(&snapshot);
  }
  lsc_session again = open_session();
  ck_assert_uint_eq(lsc_slot_of(again), lsc_slot_of(session[0]));
  ck_assert_int_eq(lsc_begin(session[0], A), LSC_INACTIVE);
  ck_assert_int_eq(lsc_begin(again, A), LSC_OK);
  for (int i = 1; i < LSC_MAX_SESSIONS; i += 2) lsc_session_close(session[i]);
  lsc_session_close(again);
}
END_TEST

/* A thread that records until its session is closed, and then in the next one. */
static _Atomic lsc_session current;
static _Atomic int stop;
static void *record_until_stopped(void *calls) {
  while (!stop) {
    lsc_session s = current;
    if (lsc_begin(s, A) == LSC_OK) ++*(_Atomic long *)calls;
    lsc_end(s, A);
  }
  return NULL;
}

START_TEST(sessions_open_and_close_beside_recording_threads) {
  static _Atomic long calls[4];
  pthread_t thread[4];
  current = open_session();
  for (int t = 0; t < 4; t++) thread[t] = unit_start(record_until_stopped, (void *)&calls[t]);
  for (int i = 0; i < 2000; i++) {
    lsc_session next = open_session(), old = current;
    current = next;
    ck_assert_int_eq(lsc_session_close(old), LSC_OK);
  }
  stop = 1;
  for (int t = 0; t < 4; t++) {
    pthread_join(thread[t], NULL);
    ck_assert_int_gt(calls[t], 0);
  }
  ck_assert_int_eq(lsc_session_close(current), LSC_OK);
}
END_TEST

START_TEST(ten_thousand_sessions_keep_memory_level) {
  long after_some = 0;
  for (int i = 0; i < 10000; i++) {
    if (i == 1000) after_some = unit_resident_kib();
    lsc_session s = open_session();
    for (int k = 0; k < 100; k++) {
      lsc_begin(s, A);
      lsc_end(s, A);
    }
    if (i % 2) {
      struct lsc_snapshot snapshot = must_take(s);
      lsc_snapshot_commit(&snapshot);
    }
    ck_assert_int_eq(lsc_session_close(s), LSC_OK);
  }
  if (!UNIT_SANITIZED) ck_assert_int_lt(unit_resident_kib() - after_some, 1024);
}
END_TEST

static void *no_chunk(struct lsc_chunk_source *source, size_t *bytes) {
  (void)source;
  (void)bytes;
  return NULL;
}

/* Runs the thread's chunk out with memory refused, and gives how the calls before and after fared. */
START_TEST(a_call_without_memory_is_counted_and_takes_no_other_end) {
  lsc_session s = open_session();
  ck_assert_int_eq(lsc_begin(s, A), LSC_OK);
  struct lsc_session_state *state = lsc_session_pin(s);
  void *(*get)(struct lsc_chunk_source *, size_t *) = state->source->get;
  state->source->get = no_chunk;
  size_t recorded = 1, dropped = 0;
  while (dropped == 0) {
    lsc_status status = lsc_begin(s, B);
    recorded += status == LSC_OK;
    dropped += status == LSC_NO_MEMORY;
    if (status == LSC_OK) ck_assert_int_eq(lsc_end(s, B), LSC_OK);
  }
  ck_assert_int_eq(lsc_begin(s, A), LSC_NO_MEMORY);
  state->source->get = get;
  ck_assert_int_eq(lsc_begin(s, A), LSC_NO_MEMORY);
  for (int i = 0; i < 2; i++) ck_assert_int_eq(lsc_end(s, A), LSC_NO_MEMORY);
  ck_assert_int_eq(lsc_end(s, B), LSC_NO_MEMORY);
  dropped += 2;
  ck_assert_int_eq(lsc_begin(s, B), LSC_OK);
  ck_assert_int_eq(lsc_end(s, B), LSC_OK);
  ck_assert_int_eq(lsc_end(s, A), LSC_OK);
  lsc_session_unpin(s);
  struct lsc_snapshot snapshot = must_take(s);
  ck_assert_uint_eq(snapshot.completed, recorded + 1);
  ck_assert_uint_eq(snapshot.dropped, dropped);
  lsc_snapshot_commit(&snapshot);
  snapshot = must_take(s);
  ck_assert_uint_eq(snapshot.dropped, 0);
  lsc_snapshot_drop(&snapshot);
  lsc_session_close(s);
}
END_TEST

static _Atomic int hook_calls;
static void name_thread(lsc_session session) {
  char name[32];
  snprintf(name, sizeof name, "hooked %d", ++hook_calls);
  ck_assert_int_eq(lsc_thread_describe(session, name, 4711, 1), LSC_OK);
}

START_TEST(the_hook_runs_once_a_thread_and_session) {
  lsc_session s = open_session(), other = open_session();
  ck_assert_int_eq(lsc_on_first_use(LSC_API_PYTHON, name_thread), LSC_OK);
  ck_assert_int_eq(lsc_on_first_use((lsc_api)4, name_thread), LSC_INVALID);
  ck_assert_int_eq(lsc_begin(s, A), LSC_OK);
  ck_assert_int_eq(hook_calls, 0);
  for (int i = 0; i < 3; i++) {
    ck_assert_int_eq(lsc_begin_as(s, LSC_API_PYTHON, B), LSC_OK);
    ck_assert_int_eq(lsc_end_as(s, LSC_API_PYTHON, B), LSC_OK);
  }
  ck_assert_int_eq(hook_calls, 1);
  ck_assert_int_eq(lsc_begin_as(other, LSC_API_PYTHON, B), LSC_OK);
  ck_assert_int_eq(hook_calls, 2);
  struct lsc_snapshot snapshot = must_take(s);
  ck_assert_uint_eq(snapshot.threads, 1);
  ck_assert_str_eq(lsc_snapshot_thread(&snapshot, 0).name, "hooked 1");
  ck_assert_int_eq(lsc_snapshot_thread(&snapshot, 0).ident, 4711);
  ck_assert_int_eq(lsc_snapshot_thread(&snapshot, 0).daemon, 1);
  ck_assert_int_eq(lsc_snapshot_thread(&snapshot, 0).native_id, getpid());
  lsc_snapshot_drop(&snapshot);
  lsc_session_close(s);
  lsc_session_close(other);
}
END_TEST

static pthread_key_t late_key;
static lsc_session late_session;
static void record_late(void *unused) {
  (void)unused;
  lsc_begin(late_session, B);
  lsc_end(late_session, B);
}
static void *leave_late(void *unused) {
  pthread_setspecific(late_key, &late_key);
  lsc_begin(late_session, A);
  lsc_end(late_session, A);
  return unused;
}

START_TEST(destructors_of_the_thread_still_record_on_its_lane) {
  late_session = open_session();
  ck_assert_int_eq(pthread_key_create(&late_key, record_late), 0);
  pthread_join(unit_start(leave_late, NULL), NULL);
  struct lsc_snapshot snapshot = must_take(late_session);
  ck_assert_uint_eq(snapshot.threads, 1);
  ck_assert_uint_eq(snapshot.completed, 2);
  ck_assert(lsc_snapshot_thread(&snapshot, 0).end_ns != LSC_NEVER);
  lsc_snapshot_drop(&snapshot);
  lsc_session_close(late_session);
}
END_TEST

UNIT_MAIN("record", ends_that_do_not_fit_change_nothing, what_is_not_open_records_nothing,
          recursion_is_exact_to_a_depth_of_100000, python_and_c_nest_on_one_lane_and_fortran_on_none,
          sessions_do_not_see_each_other, sessions_open_and_close_beside_recording_threads,
          ten_thousand_sessions_keep_memory_level, a_call_without_memory_is_counted_and_takes_no_other_end,
          the_hook_runs_once_a_thread_and_session, destructors_of_the_thread_still_record_on_its_lane)
