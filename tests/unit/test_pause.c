/* SPDX-License-Identifier: BSD-3-Clause */
/* Sessions that are paused, and sessions without lanes: what is recorded, on what, and under which parent. */
#include "fill.h"
#include "lanescope_binding.h"
#include "session.h"
#include "snapshots.h"
#include "unit.h"

static lsc_region_id A, B, C;

static lsc_session open_session(int no_lanes) {
  lsc_session_options options = {.size = sizeof options, .no_lanes = no_lanes};
  lsc_session session;
  ck_assert_int_eq(lsc_region("A", &A), LSC_OK);
  ck_assert_int_eq(lsc_region("B", &B), LSC_OK);
  ck_assert_int_eq(lsc_region("C", &C), LSC_OK);
  ck_assert_int_eq(lsc_session_open(&options, &session), LSC_OK);
  return session;
}

/* The snapshot's calls are of these regions, with these parents (-1: none), all completed. */
static void check_calls(lsc_session session, size_t count, const lsc_region_id *region, const int *parent) {
  struct lsc_snapshot s = must_take(session);
  ck_assert_uint_eq(s.calls, count);
  ck_assert_uint_eq(s.completed, count);
  for (size_t i = 0; i < count; i++) {
    ck_assert_uint_eq(lsc_row_region(s.row[i]), region[i]);
    ck_assert_int_eq(s.parent[i] == LSC_NO_CALL ? -1 : (int)s.parent[i], parent[i]);
  }
  lsc_snapshot_commit(&s);
}

#define MUST(call) ck_assert_int_eq((call), LSC_OK)

static void pair(lsc_session s, lsc_region_id region) {
  MUST(lsc_begin(s, region));
  MUST(lsc_end(s, region));
}

START_TEST(a_pause_hides_what_begins_in_it_and_nothing_else) {
  lsc_session s = open_session(0);
  MUST(lsc_begin(s, A));
  MUST(lsc_session_pause(s));
  MUST(lsc_session_pause(s));
  MUST(lsc_begin(s, A)); /* the same region: its end must not be taken for the outer one's */
  pair(s, B);
  MUST(lsc_end(s, A));
  MUST(lsc_begin(s, B)); /* ends after the resume */
  MUST(lsc_session_resume(s));
  MUST(lsc_session_resume(s));
  pair(s, C);
  MUST(lsc_end(s, B));
  MUST(lsc_end(s, A));
  ck_assert_int_eq(lsc_end(s, A), LSC_NO_BEGIN);
  check_calls(s, 2, (lsc_region_id[]){A, C}, (int[]){-1, 0});
  MUST(lsc_session_close(s));
}
END_TEST

START_TEST(a_call_that_began_before_ends_in_the_pause) {
  lsc_session s = open_session(0);
  MUST(lsc_begin(s, A));
  MUST(lsc_begin(s, B));
  MUST(lsc_session_pause(s));
  MUST(lsc_end(s, B));
  MUST(lsc_begin(s, C));
  ck_assert_int_eq(lsc_end(s, A), LSC_CROSSED);
  MUST(lsc_session_resume(s));
  MUST(lsc_end(s, C));
  MUST(lsc_end(s, A));
  check_calls(s, 2, (lsc_region_id[]){A, B}, (int[]){-1, 0});
  MUST(lsc_session_close(s));
}
END_TEST

/* A call within a hidden one belongs to the recorded call around both, also after that one's sibling has ended. */
START_TEST(parents_skip_hidden_calls) {
  lsc_session s = open_session(0);
  MUST(lsc_begin(s, A));
  pair(s, B);
  MUST(lsc_session_pause(s));
  MUST(lsc_begin(s, C));
  MUST(lsc_session_resume(s));
  pair(s, B);
  MUST(lsc_end(s, C));
  MUST(lsc_end(s, A));
  pair(s, C);
  check_calls(s, 4, (lsc_region_id[]){A, B, B, C}, (int[]){-1, 0, 0, -1});
  MUST(lsc_session_close(s));
}
END_TEST

START_TEST(tokens_and_tasks_pause_too) {
  lsc_session s = open_session(0);
  lsc_token before, within;
  lsc_task task;
  MUST(lsc_task_open(s, "fiber", "f", NULL, &task));
  MUST(lsc_scope_begin(s, A, &before));
  MUST(lsc_session_pause(s));
  MUST(lsc_scope_begin(s, B, &within));
  ck_assert_uint_eq(within.session, 0);
  MUST(lsc_task_enter(task));
  MUST(lsc_begin(s, C));
  MUST(lsc_session_resume(s));
  pair(s, B);
  MUST(lsc_end(s, C));
  MUST(lsc_task_leave(task));
  ck_assert_int_eq(lsc_scope_end(within), LSC_INACTIVE);
  MUST(lsc_scope_end(before));
  struct lsc_snapshot snapshot = must_take(s);
  ck_assert_uint_eq(snapshot.completed, 2);
  ck_assert_int_eq(lsc_row_task(snapshot.row[1]), 0);
  ck_assert_uint_eq(snapshot.parent[1], LSC_NO_CALL);
  lsc_snapshot_commit(&snapshot);
  MUST(lsc_session_close(s));
}
END_TEST

START_TEST(long_pauses_take_no_memory) {
  lsc_session s = open_session(0);
  MUST(lsc_session_pause(s));
  for (int depth = 1; depth <= 300; depth += 299) {
    long before = 0;
    for (int round = 0; round < 200000 / depth; round++) {
      if (round == 10) before = unit_resident_kib();
      for (int i = 0; i < depth; i++) unit_must(lsc_begin(s, A) == LSC_OK);
      for (int i = 0; i < depth; i++) unit_must(lsc_end(s, A) == LSC_OK);
    }
    if (!UNIT_SANITIZED) ck_assert_int_le(unit_resident_kib() - before, 1024);
  }
  ck_assert_int_eq(lsc_end(s, A), LSC_NO_BEGIN);
  MUST(lsc_session_resume(s));
  check_calls(s, 0, NULL, NULL);
  MUST(lsc_session_close(s));
  ck_assert_int_eq(lsc_session_pause(s), LSC_INACTIVE);
  ck_assert_int_eq(lsc_session_resume(s), LSC_INACTIVE);
}
END_TEST

static void *hundred(void *session) {
  for (int i = 0; i < 100; i++) {
    lsc_begin_as(*(lsc_session *)session, LSC_API_PYTHON, A);
    pair(*(lsc_session *)session, B);
    lsc_end_as(*(lsc_session *)session, LSC_API_PYTHON, A);
  }
  return NULL;
}

START_TEST(without_lanes_calls_have_no_thread_and_nest_all_the_same) {
  lsc_session s = open_session(1);
  lsc_task task;
  pthread_t thread[3];
  for (int i = 0; i < 3; i++) thread[i] = unit_start(hundred, &s);
  for (int i = 0; i < 3; i++) pthread_join(thread[i], NULL);
  ck_assert_int_eq(lsc_task_open(s, "fiber", "f", NULL, &task), LSC_INVALID);
  MUST(lsc_thread_describe(s, "main", 1, 0));
  struct lsc_snapshot snapshot = must_take(s);
  ck_assert_uint_eq(snapshot.threads, 0);
  ck_assert_uint_eq(snapshot.tasks, 0);
  ck_assert_uint_eq(snapshot.completed, 600);
  ck_assert_uint_eq(snapshot.lanes, 1);
  ck_assert_int_eq(snapshot.lane[0].lane, -1);
  for (size_t i = 0; i < snapshot.calls; i++) {
    ck_assert_int_eq(lsc_row_thread(snapshot.row[i]), -1);
    uint32_t parent = snapshot.parent[i];
    if (lsc_row_region(snapshot.row[i]) == A) ck_assert_uint_eq(parent, LSC_NO_CALL);
    else ck_assert_uint_eq(lsc_row_region(snapshot.row[parent]), A);
  }
  const struct lsc_fill fill = {.snapshot = &snapshot, .threads = 0};
  ck_assert_int_eq(lsc_fill_has_event_column(&fill, LSC_EVENT_THREADS), 0);
  ck_assert_int_eq(lsc_fill_has_open_column(&fill, LSC_OPEN_THREADS), 0);
  lsc_snapshot_commit(&snapshot);
  MUST(lsc_session_close(s));
}
END_TEST

UNIT_MAIN("pause", a_pause_hides_what_begins_in_it_and_nothing_else, a_call_that_began_before_ends_in_the_pause,
          parents_skip_hidden_calls, tokens_and_tasks_pause_too, long_pauses_take_no_memory,
          without_lanes_calls_have_no_thread_and_nest_all_the_same)
