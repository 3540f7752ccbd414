/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each race of the recorder, forced: one thread is kept at a test point of the library while the others do what they
 * might do there. The gate's own atomics are relaxed, so that it orders nothing that the library does not.
 */
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "region.h"
#include "session.h"
#include "snapshots.h"
#include "test_point.h"
#include "unit.h"

static _Atomic(const char *) wanted; /* where the next thread that may be kept is kept */
static _Atomic int kept, go;
static _Thread_local int may_be_kept;

static int get(_Atomic int *value) { return atomic_load_explicit(value, memory_order_relaxed); }
static void set(_Atomic int *value, int to) { atomic_store_explicit(value, to, memory_order_relaxed); }
static void await(_Atomic int *value, int least) {
  while (get(value) < least) sched_yield();
}

void lsc_test_point(const char *name) {
  const char *point = may_be_kept ? atomic_load_explicit(&wanted, memory_order_relaxed) : NULL;
  if (!point || strcmp(point, name) != 0) return;
  atomic_store_explicit(&wanted, NULL, memory_order_relaxed);
  set(&kept, 1);
  await(&go, 1);
}

/* Starts a thread and waits until it is kept at the point. */
static pthread_t keep(const char *point, void *(*body)(void *), void *argument) {
  set(&kept, 0);
  set(&go, 0);
  atomic_store_explicit(&wanted, point, memory_order_relaxed);
  pthread_t thread = unit_start(body, argument);
  await(&kept, 1);
  return thread;
}

static void let_go(pthread_t thread) {
  set(&go, 1);
  pthread_join(thread, NULL);
}

static lsc_session session;
static lsc_region_id A, B;
static _Atomic int step; /* what a second thread has done, or may do */

static void open_session(void) {
  ck_assert_int_eq(lsc_region("A", &A), LSC_OK);
  ck_assert_int_eq(lsc_region("B", &B), LSC_OK);
  ck_assert_int_eq(lsc_session_open(NULL, &session), LSC_OK);
}

static void begin(lsc_region_id region) { unit_must(lsc_begin(session, region) == LSC_OK); }
static void end(lsc_region_id region) { unit_must(lsc_end(session, region) == LSC_OK); }
static void record(lsc_region_id region) {
  begin(region);
  end(region);
}

/* Takes a snapshot, once to drop it and once more to keep it; both hold this. */
static struct lsc_snapshot take(size_t threads, size_t completed, size_t open) {
  struct lsc_snapshot s;
  for (int dropped = 0;; dropped = 1) {
    ck_assert_int_eq(take_snapshot(session, &s), LSC_OK);
    ck_assert_uint_eq(s.threads, threads);
    ck_assert_uint_eq(s.completed, completed);
    ck_assert_uint_eq(s.open, open);
    ck_assert_uint_eq(s.dropped, 0);
    if (dropped) return s;
    lsc_snapshot_drop(&s);
  }
}

static void commit(size_t threads, size_t completed, size_t open) {
  struct lsc_snapshot s = take(threads, completed, open);
  lsc_snapshot_commit(&s);
}

static void close_session(void) { ck_assert_int_eq(lsc_session_close(session), LSC_OK); }

static void *record_kept(void *unused) {
  may_be_kept = 1;
  record(A);
  return unused;
}

static void *record_freely(void *unused) {
  record(B);
  return unused;
}

/* Fills what another thread has given back, and goes on elsewhere. */
#define MANY 20
static void *record_many(void *unused) {
  for (int i = 0; i < MANY; i++) record(B);
  return unused;
}

START_TEST(a_thread_without_its_place_is_seen_next_time) {
  open_session();
  record(A);
  pthread_t thread = keep("thread taken", record_kept, NULL);
  pthread_join(unit_start(record_freely, NULL), NULL);
  commit(1, 1, 0);
  record(A);
  commit(1, 1, 0);
  let_go(thread);
  commit(3, 2, 0);
  close_session();
}
END_TEST

static void *begin_kept(void *status) {
  may_be_kept = 1;
  *(lsc_status *)status = lsc_begin(session, A);
  unit_must(lsc_end(session, A) == LSC_INACTIVE);
  return NULL;
}

static void *close_and_tell(void *unused) {
  unit_must(lsc_session_close(session) == LSC_OK);
  set(&step, 1);
  return unused;
}

START_TEST(a_close_waits_for_a_thread_that_registers) {
  lsc_status status;
  open_session();
  pthread_t thread = keep("thread taken", begin_kept, &status);
  pthread_t closing = unit_start(close_and_tell, NULL);
  while (lsc_session_is_open(session)) sched_yield();
  ck_assert_int_eq(lsc_begin(session, A), LSC_INACTIVE);
  usleep(20000);
  ck_assert_int_eq(get(&step), 0);
  let_go(thread);
  pthread_join(closing, NULL);
  ck_assert(status == LSC_OK || status == LSC_INACTIVE);
}
END_TEST

static void *close_kept(void *unused) {
  may_be_kept = 1;
  return close_and_tell(unused);
}

static void *find_it_closed(void *unused) {
  unit_must(lsc_begin(session, A) == LSC_INACTIVE);
  unit_must(lsc_thread_register(session) == LSC_INACTIVE);
  return unused;
}

START_TEST(a_session_that_is_being_closed_is_closed) {
  struct lsc_snapshot s;
  open_session();
  begin(A);
  pthread_t thread = keep("session closing", close_kept, NULL);
  lsc_session closed = session, other;
  ck_assert_int_eq(lsc_end(session, A), LSC_INACTIVE);
  ck_assert_int_eq(take_snapshot(session, &s), LSC_INACTIVE);
  ck_assert_int_eq(lsc_session_close(session), LSC_INACTIVE);
  pthread_join(unit_start(find_it_closed, NULL), NULL);
  ck_assert_int_eq(lsc_session_open(NULL, &other), LSC_OK);
  ck_assert_uint_ne(lsc_slot_of(other), lsc_slot_of(closed));
  session = other;
  record(A);
  commit(1, 1, 0);
  session = closed;
  let_go(thread);
  session = other;
  record(A);
  commit(1, 1, 0);
  close_session();
}
END_TEST

static void *begin_row_kept(void *before) {
  for (intptr_t i = 0; i < (intptr_t)before; i++) record(A);
  begin(A);
  may_be_kept = 1;
  record(B);
  end(A);
  return NULL;
}

/* Also where the row is the last of its chunk, or the first of the next. */
START_TEST(a_row_that_is_not_published_is_seen_next_time) {
  for (intptr_t before = 0; before < 40; before++) {
    open_session();
    pthread_t thread = keep("row written", begin_row_kept, (void *)before);
    commit(1, (size_t)before, 1);
    commit(1, 0, 1);
    let_go(thread);
    struct lsc_snapshot s = take(1, 2, 0);
    ck_assert_uint_eq(lsc_row_region(s.row[1]), B);
    ck_assert_uint_eq(s.parent[1], 0);
    lsc_snapshot_commit(&s);
    close_session();
  }
}
END_TEST

static void *end_row_kept(void *unused) {
  begin(A);
  record(B);
  may_be_kept = 1;
  end(A);
  return unused;
}

START_TEST(a_call_is_open_until_its_end_is_stored) {
  open_session();
  pthread_t thread = keep("end read", end_row_kept, NULL);
  struct lsc_snapshot s = take(1, 1, 1);
  ck_assert_uint_eq(lsc_row_region(s.row[s.open_call[0].call]), A);
  ck_assert_uint_eq(s.parent[1], 0);
  lsc_snapshot_commit(&s);
  commit(1, 0, 1);
  let_go(thread);
  commit(1, 1, 0);
  close_session();
}
END_TEST

static void *record_many_kept(void *first_too) {
  if (first_too) may_be_kept = 1;
  begin(A);
  may_be_kept = 1;
  for (int i = 0; i < 100; i++) {
    record(B);
    set(&step, i + 1);
  }
  end(A);
  return NULL;
}

static void check_between_chunks(const char *point, int first_too) {
  open_session();
  set(&step, 0);
  pthread_t thread = keep(point, record_many_kept, (void *)(intptr_t)first_too);
  size_t done = (size_t)get(&step), open = !first_too;
  commit(1, done, open);
  commit(1, 0, open);
  let_go(thread);
  struct lsc_snapshot s = take(1, 101 - done, 0);
  for (uint32_t call = 1; call < s.calls; call++) ck_assert_uint_eq(s.parent[call], 0);
  lsc_snapshot_commit(&s);
  close_session();
}

START_TEST(nothing_is_lost_between_two_chunks) {
  check_between_chunks("chunk made", 1);
  check_between_chunks("chunk published", 1);
  check_between_chunks("chunk made", 0);
  check_between_chunks("chunk published", 0);
}
END_TEST

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
  ck_assert(s.thread[0].end_ns == LSC_NEVER);
  ck_assert_str_eq(s.thread[0].name, "leaving");
  ck_assert_uint_eq(s.lane[0].calls, 3);
  ck_assert_uint_eq(s.lane[1].calls, MANY);
  lsc_snapshot_commit(&s);
  commit(2, 0, 1);
  let_go(thread);
  s = take(2, 0, 1);
  ck_assert(s.thread[0].end_ns != LSC_NEVER);
  ck_assert_str_eq(s.thread[0].name, "leaving");
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
  ck_assert_str_eq(s.thread[0].name, "renamed");
  ck_assert(s.thread[0].end_ns != LSC_NEVER);
  ck_assert_int_gt(s.thread[0].cpu_ns, 0);
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

static void *define_kept(void *id) {
  may_be_kept = 1;
  unit_must(lsc_region("new", id) == LSC_OK);
  return NULL;
}

static void *define_too(void *id) {
  unit_must(lsc_region("new", id) == LSC_OK);
  set(&step, 1);
  return NULL;
}

START_TEST(a_region_that_is_being_added_is_found_once) {
  lsc_region_id first, second, known;
  open_session();
  pthread_t thread = keep("region published", define_kept, &first);
  ck_assert_int_eq(lsc_region("A", &known), LSC_OK);
  ck_assert_uint_eq(known, A);
  record(A);
  pthread_t other = unit_start(define_too, &second);
  usleep(20000);
  ck_assert_int_eq(get(&step), 0);
  let_go(thread);
  pthread_join(other, NULL);
  ck_assert_uint_eq(first, second);
  ck_assert_uint_eq(lsc_region_count(), 3);
  close_session();
}
END_TEST

static void *end_token_kept(void *token) {
  may_be_kept = 1;
  unit_must(lsc_scope_end(*(lsc_token *)token) == LSC_OK);
  return NULL;
}

START_TEST(a_token_is_taken_once) {
  lsc_token token;
  open_session();
  ck_assert_int_eq(lsc_scope_begin(session, A, &token), LSC_OK);
  pthread_t thread = keep("token claimed", end_token_kept, &token);
  ck_assert_int_eq(lsc_scope_end(token), LSC_STALE);
  ck_assert_int_eq(lsc_end(session, A), LSC_NO_BEGIN);
  record(B);
  commit(1, 1, 1);
  let_go(thread);
  commit(1, 1, 0);
  close_session();
}
END_TEST

static void *end_token_late(void *token) {
  may_be_kept = 1;
  unit_must(lsc_scope_end(*(lsc_token *)token) == LSC_STALE);
  return NULL;
}

START_TEST(a_late_token_ends_no_other_call) {
  lsc_token token, next;
  open_session();
  ck_assert_int_eq(lsc_scope_begin(session, A, &token), LSC_OK);
  pthread_t thread = keep("token read", end_token_late, &token);
  ck_assert_int_eq(lsc_scope_end(token), LSC_OK);
  commit(1, 1, 0);
  ck_assert_int_eq(lsc_scope_begin(session, B, &next), LSC_OK);
  ck_assert_uint_eq(next.place, token.place);
  let_go(thread);
  commit(1, 0, 1);
  ck_assert_int_eq(lsc_end(session, B), LSC_OK);
  commit(1, 1, 0);
  close_session();
}
END_TEST

UNIT_MAIN("races", a_thread_without_its_place_is_seen_next_time, a_close_waits_for_a_thread_that_registers,
          a_session_that_is_being_closed_is_closed, a_row_that_is_not_published_is_seen_next_time,
          a_call_is_open_until_its_end_is_stored, nothing_is_lost_between_two_chunks,
          a_thread_that_gave_its_memory_back_still_counts_right, memory_that_was_given_back_is_no_row,
          memory_that_was_given_back_is_no_task, memory_that_was_given_back_is_no_token,
          what_was_read_of_a_thread_that_ended_meanwhile_is_dropped, no_parent_is_reported_before_its_children,
          a_task_that_goes_on_in_a_new_thread_is_whole, a_region_that_is_being_added_is_found_once,
          a_token_is_taken_once, a_late_token_ends_no_other_call)
