/* SPDX-License-Identifier: BSD-3-Clause */
/* Each race of a snapshot, forced: beside threads that end, give memory back, or go on in the middle of a call. */
#include <sys/prctl.h>

#include "races.h"

/* Fills what another thread has given back, and goes on elsewhere. */
#define MANY 20
static void *record_many(void *unused) {
  for (int i = 0; i < MANY; i++) record(B);
  return unused;
}

static void *end_thread_kept(void *unused) {
  prctl(PR_SET_NAME, "leaving");
  for (int i = 0; i < 3; i++) record(A);
  begin(B);
  may_be_kept = 1;
  return unused;
}

/* The chunk of the first thread was cut, and its end is the second one's chunk. */
static void check_shares_memory(const struct lsc_snapshot *s, uint32_t first, uint32_t second) {
  const char *a = (const char *)s->row[first], *b = (const char *)s->row[second];
  ck_assert_int_ne(lsc_row_thread(s->row[first]), lsc_row_thread(s->row[second]));
  ck_assert(b > a && b - a < LSC_CHUNK_SMALL);
}

START_TEST(a_thread_that_gave_its_memory_back_still_counts_right) {
  open_session();
  pthread_t thread = keep("thread shrunk", end_thread_kept, NULL);
  pthread_join(unit_start(record_many, NULL), NULL);
  struct lsc_snapshot s = take(2, 3 + MANY, 1);
  check_shares_memory(&s, 0, 4);
  ck_assert(lsc_snapshot_thread(&s, 0).end_ns == LSC_NEVER);
  ck_assert_str_eq(lsc_snapshot_thread(&s, 0).name, "leaving");
  ck_assert_uint_eq(s.lane[0].calls, 3);
  ck_assert_uint_eq(s.lane[1].calls, MANY);
  lsc_snapshot_commit(&s);
  commit(2, 0, 1);
  let_go(thread);
  s = take(2, 0, 1);
  ck_assert(lsc_snapshot_thread(&s, 0).end_ns != LSC_NEVER);
  ck_assert_str_eq(lsc_snapshot_thread(&s, 0).name, "leaving");
  lsc_snapshot_commit(&s);
  close_session();
}
END_TEST

/* A thread that does one thing at a time: stage n when step is n. */
static void *work_in_stages(void *stages) {
  void (**stage)(void) = stages;
  for (int n = 1; *stage; n++) {
    await(&step, 2 * n - 1);
    (*stage++)();
    set(&step, 2 * n);
  }
  return NULL;
}

static void do_stage(int n) {
  set(&step, 2 * n - 1);
  await(&step, 2 * n);
}

static pthread_t start_stages(void (**stages)(void)) {
  set(&step, 0);
  pthread_t thread = unit_start(work_in_stages, stages);
  do_stage(1);
  return thread;
}

static void *take_kept(void *snapshot) {
  may_be_kept = 1;
  unit_must(take_snapshot(session, snapshot) == LSC_OK);
  return NULL;
}

static void record_three(void) {
  for (int i = 0; i < 3; i++) record(A);
}
static void rename_thread(void) { prctl(PR_SET_NAME, "renamed"); }
static void do_nothing(void) {}

START_TEST(memory_that_was_given_back_is_no_row) {
  void (*stages[])(void) = {record_three, do_nothing, NULL};
  struct lsc_snapshot s;
  open_session();
  pthread_t thread = start_stages(stages);
  pthread_t collector = keep("capacity read", take_kept, &s);
  do_stage(2);
  pthread_join(thread, NULL);
  pthread_join(unit_start(record_many, NULL), NULL);
  let_go(collector);
  ck_assert_uint_eq(s.calls, 3);
  ck_assert_uint_eq(s.completed, 3);
  lsc_snapshot_drop(&s);
  s = take(2, 3 + MANY, 0);
  check_shares_memory(&s, 0, 3);
  lsc_snapshot_commit(&s);
  close_session();
}
END_TEST

static void record_nine(void) {
  for (int i = 0; i < 9; i++) record(A);
}

static void *open_tasks(void *unused) {
  lsc_task task;
  for (int i = 0; i < MANY; i++) unit_must(lsc_task_open(session, "fiber", "", "", &task) == LSC_OK);
  return unused;
}

static void *hand_out_token(void *unused) {
  lsc_token token;
  unit_must(lsc_scope_begin(session, B, &token) == LSC_OK && lsc_scope_end(token) == LSC_OK);
  return unused;
}

/* What is no row lies elsewhere than where a snapshot may still look for one. */
static void use_memory_that_a_snapshot_looks_at(void *(*use)(void *), size_t calls) {
  void (*stages[])(void) = {record_nine, do_nothing, NULL};
  struct lsc_snapshot s;
  open_session();
  pthread_t thread = start_stages(stages);
  pthread_t collector = keep("capacity read", take_kept, &s);
  do_stage(2);
  pthread_join(thread, NULL);
  pthread_join(unit_start(use, NULL), NULL);
  let_go(collector);
  ck_assert_uint_eq(s.calls, 9);
  lsc_snapshot_drop(&s);
  ck_assert_int_eq(take_snapshot(session, &s), LSC_OK);
  ck_assert_uint_eq(s.calls, 9 + calls);
  lsc_snapshot_commit(&s);
  close_session();
}

START_TEST(memory_that_was_given_back_is_no_task) { use_memory_that_a_snapshot_looks_at(open_tasks, 0); }
END_TEST

START_TEST(memory_that_was_given_back_is_no_token) { use_memory_that_a_snapshot_looks_at(hand_out_token, 1); }
END_TEST

START_TEST(what_was_read_of_a_thread_that_ended_meanwhile_is_dropped) {
  void (*stages[])(void) = {record_three, rename_thread, NULL};
  struct lsc_snapshot s;
  open_session();
  pthread_t thread = start_stages(stages);
  pthread_t collector = keep("thread read", take_kept, &s);
  do_stage(2);
  pthread_join(thread, NULL);
  let_go(collector);
  ck_assert_str_eq(lsc_snapshot_thread(&s, 0).name, "renamed");
  ck_assert(lsc_snapshot_thread(&s, 0).end_ns != LSC_NEVER);
  ck_assert_int_gt(lsc_snapshot_thread(&s, 0).cpu_ns, 0);
  lsc_snapshot_commit(&s);
  close_session();
}
END_TEST

#define INSIDE 3000 /* calls: over several chunks */
static void begin_outer(void) { begin(A); }
static void end_outer(void) {
  for (int i = 0; i < INSIDE; i++) record(B);
  end(A);
  record(A);
}

/* A call that ends while a snapshot is being taken brings all that began in it with it. */
START_TEST(no_parent_is_reported_before_its_children) {
  void (*stages[])(void) = {begin_outer, end_outer, NULL};
  struct lsc_snapshot s;
  open_session();
  pthread_t thread = start_stages(stages);
  pthread_t collector = keep("rows counted", take_kept, &s);
  do_stage(2);
  let_go(collector);
  pthread_join(thread, NULL);
  ck_assert_uint_eq(s.completed, 1 + INSIDE);
  ck_assert_uint_eq(s.open, 0);
  for (uint32_t call = 1; call < s.calls; call++) ck_assert_uint_eq(s.parent[call], 0);
  lsc_snapshot_commit(&s);
  commit(1, 1, 0);
  close_session();
}
END_TEST

static lsc_task task;

static void begin_in_task(void) {
  unit_must(lsc_task_enter(task) == LSC_OK);
  begin(A);
  unit_must(lsc_task_leave(task) == LSC_OK);
}

static void *go_on_in_task(void *unused) {
  unit_must(lsc_task_enter(task) == LSC_OK);
  record(B);
  end(A);
  unit_must(lsc_task_leave(task) == LSC_OK);
  return unused;
}

START_TEST(a_task_that_goes_on_in_a_new_thread_is_whole) {
  void (*stages[])(void) = {begin_in_task, do_nothing, NULL};
  struct lsc_snapshot s;
  open_session();
  ck_assert_int_eq(lsc_task_open(session, "task", "it", NULL, &task), LSC_OK);
  pthread_t thread = start_stages(stages);
  pthread_t collector = keep("rows counted", take_kept, &s);
  pthread_join(unit_start(go_on_in_task, NULL), NULL);
  let_go(collector);
  ck_assert_uint_eq(s.threads, 2);
  ck_assert_uint_eq(s.completed, 2);
  ck_assert_uint_eq(s.parent[1], 0);
  ck_assert_int_eq(lsc_row_thread(s.row[1]), 1);
  lsc_snapshot_commit(&s);
  do_stage(2);
  pthread_join(thread, NULL);
  close_session();
}
END_TEST

UNIT_MAIN("races of a snapshot", a_thread_that_gave_its_memory_back_still_counts_right,
          memory_that_was_given_back_is_no_row, memory_that_was_given_back_is_no_task,
          memory_that_was_given_back_is_no_token, what_was_read_of_a_thread_that_ended_meanwhile_is_dropped,
          no_parent_is_reported_before_its_children, a_task_that_goes_on_in_a_new_thread_is_whole)
