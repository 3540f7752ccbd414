/* SPDX-License-Identifier: BSD-3-Clause */
/* Each race of a thread that records, forced: it registers, writes a row or a chunk, adds a region, ends a token. */
#include <unistd.h>

#include "races.h"

static void *record_kept(void *unused) {
  may_be_kept = 1;
  record(A);
  return unused;
}

static void *record_freely(void *unused) {
  record(B);
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
          a_region_that_is_being_added_is_found_once, a_token_is_taken_once, a_late_token_ends_no_other_call)
