/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls that are ended by token: out of order, on another thread, twice, late, beside everybody else. */
#include <sched.h>

#include "lanescope_binding.h"
#include "session.h"
#include "snapshots.h"
#include "unit.h"

static lsc_region_id A, B;

static lsc_session open_session(void) {
  lsc_session session;
  ck_assert_int_eq(lsc_region("A", &A), LSC_OK);
  ck_assert_int_eq(lsc_region("B", &B), LSC_OK);
  ck_assert_int_eq(lsc_session_open(NULL, &session), LSC_OK);
  return session;
}

START_TEST(a_token_names_one_call_and_ends_it_once) {
  lsc_session s = open_session();
  lsc_token first, second, none = {0, 0, 0};
  ck_assert_int_eq(lsc_scope_begin(s, A, &first), LSC_OK);
  ck_assert_int_eq(lsc_scope_begin(s, A, &second), LSC_OK);
  ck_assert_int_eq(lsc_scope_end(second), LSC_OK);
  ck_assert_int_eq(lsc_scope_end(second), LSC_STALE);
  ck_assert_int_eq(lsc_end(s, A), LSC_OK);
  ck_assert_int_eq(lsc_scope_end(first), LSC_STALE);
  ck_assert_int_eq(lsc_end(s, A), LSC_NO_BEGIN);
  ck_assert_int_eq(lsc_scope_end(none), LSC_INACTIVE);
  ck_assert_int_eq(lsc_scope_end((lsc_token){s, 1, 4000000}), LSC_STALE);
  ck_assert_int_eq(lsc_scope_end((lsc_token){s, 77, first.place}), LSC_STALE);
  ck_assert_int_eq(lsc_scope_begin(s, A, NULL), LSC_INVALID);
  ck_assert_int_eq(lsc_scope_begin(s, 1000000, &first), LSC_INVALID);
  ck_assert_int_eq(lsc_scope_begin_as(s, (lsc_api)4, A, &first), LSC_INVALID);
  ck_assert_int_eq(lsc_scope_begin(0, A, &first), LSC_INACTIVE);
  ck_assert(first.session == 0 && first.generation == 0);
  struct lsc_snapshot snapshot = must_take(s);
  ck_assert_uint_eq(snapshot.completed, 2);
  ck_assert_uint_eq(snapshot.parent[1], 0);
  lsc_snapshot_commit(&snapshot);
  ck_assert_int_eq(lsc_scope_begin(s, A, &first), LSC_OK);
  ck_assert_int_eq(lsc_session_close(s), LSC_OK);
  ck_assert_int_eq(lsc_scope_end(first), LSC_INACTIVE);
}
END_TEST

/* a( b( a ends ) c( ) b ends ): c is b's child, and b is not a's, since a did not last as long. */
START_TEST(crossed_ends_leave_parents_that_enclose) {
  lsc_session s = open_session();
  lsc_token a, b;
  ck_assert_int_eq(lsc_scope_begin(s, A, &a), LSC_OK);
  ck_assert_int_eq(lsc_scope_begin(s, B, &b), LSC_OK);
  ck_assert_int_eq(lsc_scope_end(a), LSC_OK);
  ck_assert_int_eq(lsc_begin(s, A), LSC_OK);
  ck_assert_int_eq(lsc_end(s, A), LSC_OK);
  ck_assert_int_eq(lsc_scope_end(b), LSC_OK);
  ck_assert_int_eq(lsc_begin(s, B), LSC_OK);
  ck_assert_int_eq(lsc_end(s, B), LSC_OK);
  struct lsc_snapshot snapshot = must_take(s);
  static const uint32_t parent[] = {LSC_NO_CALL, LSC_NO_CALL, 1, LSC_NO_CALL};
  ck_assert_uint_eq(snapshot.completed, 4);
  for (int i = 0; i < 4; i++) ck_assert_uint_eq(snapshot.parent[i], parent[i]);
  ck_assert_uint_eq(lsc_row_depth(snapshot.row[3]), 0);
  lsc_snapshot_commit(&snapshot);
  lsc_session_close(s);
}
END_TEST

struct job {
  lsc_token token;
  lsc_status status;
};
static void *end_elsewhere(void *job) {
  ((struct job *)job)->status = lsc_scope_end(((struct job *)job)->token);
  return NULL;
}

START_TEST(a_call_ended_elsewhere_stays_on_its_lane) {
  lsc_session s = open_session();
  struct job job;
  ck_assert_int_eq(lsc_begin(s, B), LSC_OK);
  ck_assert_int_eq(lsc_scope_begin(s, A, &job.token), LSC_OK);
  pthread_join(unit_start(end_elsewhere, &job), NULL);
  ck_assert_int_eq(job.status, LSC_OK);
  ck_assert_int_eq(lsc_end(s, A), LSC_CROSSED);
  ck_assert_int_eq(lsc_end(s, B), LSC_OK);
  struct lsc_snapshot snapshot = must_take(s);
  ck_assert_uint_eq(snapshot.completed, 2);
  ck_assert_uint_eq(snapshot.threads, 1);
  ck_assert_uint_eq(snapshot.parent[1], 0);
  lsc_snapshot_commit(&snapshot);
  lsc_session_close(s);
}
END_TEST

/* The chunk of a call that is reported is freed; its token must not reach it. The open one keeps its chunk. */
START_TEST(tokens_outlive_their_chunks) {
  enum { MANY = 200000 };
  lsc_session s = open_session();
  lsc_token open, ended;
  ck_assert_int_eq(lsc_scope_begin(s, A, &open), LSC_OK);
  ck_assert_int_eq(lsc_scope_begin(s, B, &ended), LSC_OK);
  ck_assert_int_eq(lsc_scope_end(ended), LSC_OK);
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < MANY; i++) {
      lsc_begin(s, B);
      lsc_end(s, B);
    }
    struct lsc_snapshot snapshot = must_take(s);
    ck_assert_uint_eq(snapshot.completed, MANY + (round == 0));
    ck_assert_uint_eq(snapshot.open, 1);
    ck_assert_int_eq(lsc_snapshot_events(&snapshot), LSC_OK);
    for (size_t i = 0; i < snapshot.completed; i += 1000)
      ck_assert_uint_eq(snapshot.parent[snapshot.event[i]], snapshot.open_call[0].call);
    lsc_snapshot_commit(&snapshot);
    ck_assert_int_eq(lsc_scope_end(ended), LSC_STALE);
  }
  ck_assert_int_eq(lsc_scope_end(open), LSC_OK);
  struct lsc_snapshot snapshot = must_take(s);
  ck_assert_uint_eq(snapshot.completed, 1);
  ck_assert_uint_eq(lsc_row_region(snapshot.row[0]), A);
  lsc_snapshot_commit(&snapshot);
  lsc_session_close(s);
}
END_TEST

/* Openers hand tokens round; for each two enders and the opener's own lsc_end race, and exactly one must win. */
#define RACERS 3
#define RACES 20000
static struct {
  lsc_session session;
  _Atomic uint64_t turn;
  lsc_token token;
  _Atomic int wins, stales, done;
} shared;

static void *race_to_end(void *unused) {
  for (uint64_t turn = 1; turn <= RACES; turn++) {
    while (shared.turn < turn) sched_yield();
    lsc_status status = lsc_scope_end(shared.token);
    shared.wins += status == LSC_OK;
    shared.stales += status == LSC_STALE;
    shared.done++;
  }
  return unused;
}

START_TEST(of_those_who_race_one_ends_the_call) {
  lsc_session s = shared.session = open_session();
  pthread_t thread[RACERS - 1];
  for (int t = 0; t < RACERS - 1; t++) thread[t] = unit_start(race_to_end, NULL);
  int own_wins = 0, reported = 0;
  for (int turn = 1; turn <= RACES; turn++) {
    ck_assert_int_eq(lsc_scope_begin(s, A, &shared.token), LSC_OK);
    shared.turn = (uint64_t)turn;
    lsc_status status = lsc_end(s, A);
    own_wins += status == LSC_OK;
    ck_assert(status == LSC_OK || status == LSC_STALE || status == LSC_NO_BEGIN);
    while (shared.done < turn * (RACERS - 1)) sched_yield();
    ck_assert_int_eq(shared.wins + own_wins, turn);
    if (turn % 1000 == 0) {
      struct lsc_snapshot snapshot = must_take(s);
      ck_assert_uint_eq(snapshot.open, 0);
      reported += (int)snapshot.completed;
      lsc_snapshot_commit(&snapshot);
    }
  }
  for (int t = 0; t < RACERS - 1; t++) pthread_join(thread[t], NULL);
  ck_assert_int_eq(reported, RACES);
  struct lsc_session_state *state = lsc_session_pin(s);
  ck_assert_uint_le(lsc_registry_count(&state->tokens), 64);
  lsc_session_unpin(s);
  lsc_session_close(s);
}
END_TEST

static void *open_and_leave(void *argument) {
  struct job *job = argument;
  job->status = lsc_scope_begin(job->token.session, A, &job->token);
  return NULL;
}

START_TEST(a_call_left_open_by_a_thread_that_ended_can_still_be_ended) {
  lsc_session s = open_session();
  struct lsc_snapshot snapshot;
  lsc_token token;
  ck_assert_int_eq(lsc_scope_begin(s, A, &token), LSC_OK);
  ck_assert_int_eq(lsc_scope_end(token), LSC_OK);
  snapshot = must_take(s);
  lsc_snapshot_commit(&snapshot);
  struct job job = {.status = LSC_OK};
  job.token.session = s;
  pthread_join(unit_start(open_and_leave, &job), NULL);
  snapshot = must_take(s);
  ck_assert_uint_eq(snapshot.open, 1);
  lsc_snapshot_commit(&snapshot);
  ck_assert_int_eq(lsc_scope_end(job.token), LSC_OK);
  snapshot = must_take(s);
  ck_assert_uint_eq(snapshot.completed, 1);
  ck_assert_int_eq(lsc_row_thread(snapshot.row[0]), 1);
  lsc_snapshot_commit(&snapshot);
  lsc_session_close(s);
}
END_TEST

UNIT_MAIN("scope", a_token_names_one_call_and_ends_it_once, crossed_ends_leave_parents_that_enclose,
          a_call_ended_elsewhere_stays_on_its_lane, tokens_outlive_their_chunks, of_those_who_race_one_ends_the_call,
          a_call_left_open_by_a_thread_that_ended_can_still_be_ended)
