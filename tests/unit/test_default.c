/* SPDX-License-Identifier: BSD-3-Clause */
/* The default session, the places that record into it, and looking at what a session holds. */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lanescope_binding.h"
#include "region.h"
#include "session.h"
#include "snapshots.h"
#include "track.h"
#include "unit.h"

static lsc_session open_session(void) {
  lsc_session session;
  ck_assert_int_eq(lsc_session_open(NULL, &session), LSC_OK);
  return session;
}

static lsc_session open_default(void) {
  lsc_session session = open_session();
  ck_assert_int_eq(lsc_session_set_default(session), LSC_OK);
  return session;
}

static lsc_region_id id_of(const char *name) {
  lsc_region_id id;
  ck_assert_int_eq(lsc_region(name, &id), LSC_OK);
  return id;
}

START_TEST(the_default_lives_as_long_as_its_session) {
  ck_assert_uint_eq(lsc_session_default(), 0);
  ck_assert_int_eq(lsc_session_set_default(0), LSC_OK);
  lsc_session first = open_default(), second = open_session();
  ck_assert_uint_eq(lsc_session_default(), first);
  ck_assert_int_eq(lsc_session_set_default(first), LSC_OK);
  ck_assert_int_eq(lsc_session_set_default(second), LSC_LIMIT);
  ck_assert_int_eq(lsc_session_set_default(first + 1), LSC_INACTIVE);
  ck_assert_uint_eq(lsc_session_default(), first);
  ck_assert_int_eq(lsc_session_close(first), LSC_OK);
  ck_assert_uint_eq(lsc_session_default(), 0);
  ck_assert_int_eq(lsc_session_set_default(first), LSC_INACTIVE);
  ck_assert_int_eq(lsc_session_set_default(second), LSC_OK);
  ck_assert_uint_eq(lsc_session_default(), second);
  ck_assert_int_eq(lsc_session_set_default(0), LSC_OK);
  ck_assert_uint_eq(lsc_session_default(), 0);
  ck_assert_int_eq(lsc_session_is_open(second), 1);
  ck_assert_int_eq(lsc_session_close(second), LSC_OK);
}
END_TEST

START_TEST(a_new_session_in_the_same_slot_is_not_the_default) {
  lsc_session old = open_default();
  ck_assert_int_eq(lsc_session_close(old), LSC_OK);
  lsc_session other = open_session();
  ck_assert_uint_eq(lsc_slot_of(old), lsc_slot_of(other));
  ck_assert_uint_eq(lsc_session_default(), 0);
  ck_assert_int_eq(lsc_enter(id_of("A")), LSC_INACTIVE);
  ck_assert_int_eq(lsc_session_close(other), LSC_OK);
}
END_TEST

static int child_is_without(lsc_session session) {
  if (lsc_session_default() || lsc_enter(id_of("A")) != LSC_INACTIVE) return 1;
  if (lsc_session_set_default(session) != LSC_INACTIVE) return 2;
  lsc_session own;
  if (lsc_session_open(NULL, &own) != LSC_OK || lsc_session_default()) return 3;
  if (lsc_session_set_default(own) != LSC_OK || lsc_session_default() != own) return 4;
  return lsc_enter(id_of("A")) == LSC_OK && lsc_leave(id_of("A")) == LSC_OK ? 0 : 5;
}

START_TEST(a_child_of_fork_has_no_default) {
  lsc_session session = open_default();
  int status;
  pid_t child = fork();
  if (!child) {
    alarm(20);
    _exit(child_is_without(session));
  }
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert_int_eq(status, 0);
  ck_assert_uint_eq(lsc_session_default(), session);
  ck_assert_int_eq(lsc_session_close(session), LSC_OK);
}
END_TEST

enum { RACERS = 8, ROUNDS = 300 };
static pthread_barrier_t barrier;
static lsc_session won[RACERS];

static void *race(void *number) {
  lsc_session *mine = number;
  for (int round = 0; round < ROUNDS; round++) {
    lsc_session session;
    unit_must(lsc_session_open(NULL, &session) == LSC_OK);
    pthread_barrier_wait(&barrier);
    lsc_status status = lsc_session_set_default(session);
    unit_must(status == LSC_OK || status == LSC_LIMIT);
    *mine = status == LSC_OK ? session : 0;
    pthread_barrier_wait(&barrier);
    int winners = 0;
    for (int i = 0; i < RACERS; i++) winners += won[i] != 0 && won[i] == lsc_session_default();
    unit_must(winners == 1);
    pthread_barrier_wait(&barrier);
    unit_must(lsc_session_close(session) == LSC_OK);
    pthread_barrier_wait(&barrier);
  }
  return NULL;
}

START_TEST(of_many_at_once_one_becomes_the_default) {
  pthread_t thread[RACERS];
  pthread_barrier_init(&barrier, NULL, RACERS);
  for (int i = 0; i < RACERS; i++) thread[i] = unit_start(race, &won[i]);
  for (int i = 0; i < RACERS; i++) pthread_join(thread[i], NULL);
  pthread_barrier_destroy(&barrier);
}
END_TEST

static void work(int times) {
  LSC_REGION("work");
  for (int i = 0; i < times; i++) {
    LSC_REGION("step");
    if (i % 3 == 0) continue;
    LSC_BEGIN("odd");
    LSC_END("odd");
    if (i == 7) return;
  }
}
enum { LINE_OF_WORK = __LINE__ - 9 };

static uint64_t calls_of(lsc_session session, const char *name) {
  lsc_region_summary summary;
  ck_assert_int_eq(lsc_region_stats(session, id_of(name), &summary), LSC_OK);
  return summary.calls;
}

START_TEST(a_scope_ends_however_it_is_left) {
  work(5);
  lsc_session session = open_default();
  work(5);
  work(100);
  ck_assert_uint_eq(calls_of(session, "work"), 2);
  ck_assert_uint_eq(calls_of(session, "step"), 5 + 8);
  ck_assert_uint_eq(calls_of(session, "odd"), 3 + 5);
  struct lsc_snapshot snapshot = must_take(session);
  ck_assert_uint_eq(snapshot.open, 0);
  for (size_t i = 0; i < snapshot.calls; i++) {
    uint32_t region = lsc_row_region(snapshot.row[i]), parent = snapshot.parent[i];
    ck_assert_int_eq(parent == LSC_NO_CALL, region == id_of("work"));
    if (region == id_of("odd")) ck_assert_uint_eq(lsc_row_region(snapshot.row[parent]), id_of("step"));
  }
  lsc_snapshot_drop(&snapshot);
  struct lsc_region_view view = lsc_region_get(id_of("work"));
  ck_assert_int_eq(view.source_line, LINE_OF_WORK);
  ck_assert_str_eq(view.source_file, __FILE__);
  ck_assert_int_eq(lsc_session_close(session), LSC_OK);
}
END_TEST

START_TEST(a_scope_belongs_to_the_session_in_which_it_began) {
  lsc_session first, second;
  {
    LSC_REGION("outer");
    first = open_default();
    ck_assert_int_eq(lsc_enter(id_of("outer")), LSC_OK);
  }
  struct lsc_snapshot snapshot = must_take(first);
  ck_assert_uint_eq(snapshot.open, 1);
  lsc_snapshot_drop(&snapshot);
  {
    LSC_REGION("inner");
    ck_assert_int_eq(lsc_session_set_default(0), LSC_OK);
    second = open_default();
    ck_assert_int_eq(lsc_enter(id_of("inner")), LSC_OK);
  }
  ck_assert_uint_eq(calls_of(first, "inner"), 1);
  ck_assert_uint_eq(calls_of(second, "inner"), 0);
  ck_assert_int_eq(lsc_session_close(first), LSC_OK);
  ck_assert_int_eq(lsc_session_close(second), LSC_OK);
}
END_TEST

static void *work_often(void *unused) {
  (void)unused;
  for (int i = 0; i < 1000; i++) work(4);
  return NULL;
}

START_TEST(threads_share_a_place) {
  pthread_t thread[4];
  lsc_session session = open_default();
  for (int i = 0; i < 4; i++) thread[i] = unit_start(work_often, NULL);
  for (int i = 0; i < 4; i++) pthread_join(thread[i], NULL);
  ck_assert_uint_eq(calls_of(session, "work"), 4000);
  ck_assert_uint_eq(calls_of(session, "step"), 16000);
  ck_assert_uint_eq(calls_of(session, "odd"), 8000);
  ck_assert_int_eq(lsc_session_close(session), LSC_OK);
}
END_TEST

START_TEST(what_is_wrong_has_its_status) {
  static lsc_site no_name = {"\xFF", NULL, 0, 0};
  lsc_region_id bad = 0;
  ck_assert_int_eq(lsc_region("\xFF", &bad), LSC_BAD_NAME);
  ck_assert_uint_eq(bad, LSC_NO_REGION);
  ck_assert_int_eq(lsc_site_begin(&no_name), LSC_INACTIVE);
  lsc_session session = open_default();
  ck_assert_int_eq(lsc_site_begin(&no_name), LSC_BAD_NAME);
  ck_assert_int_eq(lsc_site_end(&no_name), LSC_BAD_NAME);
  lsc_entered entered = lsc_site_enter(&no_name);
  ck_assert_uint_eq(entered.session, 0);
  lsc_site_leave(&entered);
  ck_assert_int_eq(lsc_enter(LSC_NO_REGION), LSC_INVALID);
  ck_assert_int_eq(lsc_leave(LSC_NO_REGION), LSC_NO_BEGIN);
  ck_assert_int_eq(lsc_enter(id_of("A")), LSC_OK);
  ck_assert_int_eq(lsc_leave(LSC_NO_REGION), LSC_CROSSED);
  ck_assert_int_eq(lsc_leave(id_of("A")), LSC_OK);
  lsc_region_summary summary;
  ck_assert_int_eq(lsc_region_stats(session, LSC_NO_REGION, &summary), LSC_INVALID);
  ck_assert_int_eq(lsc_region_stats(session, id_of("A"), NULL), LSC_INVALID);
  ck_assert_int_eq(lsc_session_close(session), LSC_OK);
  ck_assert_int_eq(lsc_region_stats(session, id_of("A"), &summary), LSC_INACTIVE);
  ck_assert_int_eq(lsc_reset(session), LSC_INACTIVE);
}
END_TEST

START_TEST(statistics_are_those_of_the_calls) {
  lsc_session session = open_default();
  lsc_region_id outer = id_of("outer"), inner = id_of("inner");
  for (int i = 0; i < 10; i++) {
    lsc_enter(outer);
    for (int k = 0; k < i; k++) lsc_enter(inner), lsc_leave(inner);
    lsc_leave(outer);
  }
  lsc_enter(inner);
  lsc_region_summary of_outer, of_inner;
  ck_assert_int_eq(lsc_region_stats(session, outer, &of_outer), LSC_OK);
  ck_assert_int_eq(lsc_region_stats(session, inner, &of_inner), LSC_OK);
  ck_assert_uint_eq(of_outer.calls, 10);
  ck_assert_uint_eq(of_inner.calls, 45);
  struct lsc_snapshot snapshot = must_take(session);
  int64_t total[2] = {0}, shortest = INT64_MAX;
  ck_assert_int_eq(lsc_snapshot_events(&snapshot), LSC_OK);
  for (size_t i = 0; i < snapshot.completed; i++) {
    const struct lsc_row *row = snapshot.row[snapshot.event[i]];
    int64_t ns = lsc_clock_map_ns(&snapshot.map, row->end) - lsc_clock_map_ns(&snapshot.map, row->start);
    int is_inner = lsc_row_region(row) == inner;
    total[is_inner] += ns;
    if (is_inner && ns < shortest) shortest = ns;
  }
  lsc_snapshot_drop(&snapshot);
  ck_assert_int_le(llabs(of_outer.stats.total - total[0]), 10);
  ck_assert_int_le(llabs(of_inner.stats.total - total[1]), 45);
  ck_assert_int_le(llabs(of_inner.stats.minimum - shortest), 1);
  ck_assert_int_eq(of_outer.exclusive_total, of_outer.stats.total - of_inner.stats.total);
  ck_assert_int_eq(lsc_session_close(session), LSC_OK);
}
END_TEST

START_TEST(a_reset_drops_what_is_completed_and_keeps_what_is_open) {
  lsc_session session = open_default();
  work(3);
  lsc_enter(id_of("open"));
  work(3);
  ck_assert_int_eq(lsc_reset(session), LSC_OK);
  ck_assert_uint_eq(calls_of(session, "work"), 0);
  ck_assert_uint_eq(calls_of(session, "open"), 0);
  work(3);
  ck_assert_int_eq(lsc_leave(id_of("open")), LSC_OK);
  ck_assert_uint_eq(calls_of(session, "work"), 1);
  ck_assert_uint_eq(calls_of(session, "open"), 1);
  struct lsc_snapshot snapshot = must_take(session);
  ck_assert_uint_eq(snapshot.completed, 1 + 1 + 3 + 2);
  lsc_snapshot_drop(&snapshot);
  ck_assert_int_eq(lsc_session_close(session), LSC_OK);
}
END_TEST

static int fortran(void (*act)(lsc_region_id, int *), lsc_region_id region) {
  int stat = -1;
  act(region, &stat);
  return stat;
}

static int fortran_name(void (*act)(const char *, size_t, int *), const char *name, size_t length) {
  int stat = -1;
  act(name, length, &stat);
  return stat;
}

START_TEST(calls_of_fortran_have_the_lane_that_was_asked_for) {
  lsc_region_id a = id_of("A"), c = id_of("C");
  ck_assert_int_eq(fortran(lsc_fortran_begin, a), LSC_INACTIVE);
  ck_assert_int_eq(fortran_name(lsc_fortran_begin_name, "\xFF", 1), LSC_INACTIVE);
  ck_assert_int_eq(lsc_fortran_lanes(1), LSC_INACTIVE);
  lsc_session session = open_default();
  ck_assert_int_eq(lsc_enter(c), LSC_OK);
  ck_assert_int_eq(fortran(lsc_fortran_begin, a), LSC_OK);
  ck_assert_int_eq(fortran_name(lsc_fortran_begin_name, "B  ", 1), LSC_OK);
  ck_assert_int_eq(fortran(lsc_fortran_end, a), LSC_CROSSED);
  lsc_fortran_end(id_of("B"), NULL);
  ck_assert_int_eq(fortran(lsc_fortran_end, a), LSC_OK);
  ck_assert_int_eq(lsc_fortran_lanes(1), LSC_OK);
  ck_assert_uint_eq(lsc_session_default(), session);
  ck_assert_int_eq(fortran(lsc_fortran_begin, a), LSC_OK);
  ck_assert_int_eq(fortran_name(lsc_fortran_end_name, "A", 1), LSC_OK);
  ck_assert_int_eq(fortran_name(lsc_fortran_end_name, "", 0), LSC_BAD_NAME);
  ck_assert_int_eq(lsc_leave(c), LSC_OK);
  struct lsc_snapshot snapshot = must_take(session);
  static const struct {
    const char *name;
    uint32_t parent, thread;
  } expected[] = {{"C", LSC_NO_CALL, 1}, {"A", LSC_NO_CALL, 0}, {"B", 1, 0}, {"A", 0, 1}};
  ck_assert_uint_eq(snapshot.completed, 4);
  for (uint32_t i = 0; i < 4; i++) {
    ck_assert_uint_eq(lsc_row_region(snapshot.row[i]), id_of(expected[i].name));
    ck_assert_uint_eq(snapshot.parent[i], expected[i].parent);
    ck_assert_uint_eq(snapshot.row[i]->thread, expected[i].thread);
    ck_assert_uint_eq(lsc_row_api(snapshot.row[i]), i ? LSC_API_FORTRAN : LSC_API_C);
  }
  lsc_snapshot_drop(&snapshot);
  ck_assert_int_eq(lsc_session_close(session), LSC_OK);
  session = open_default(); /* begins with the unknown lane again */
  ck_assert_int_eq(fortran(lsc_fortran_begin, a), LSC_OK);
  ck_assert_int_eq(fortran(lsc_fortran_end, a), LSC_OK);
  snapshot = must_take(session);
  ck_assert_uint_eq(snapshot.row[0]->thread, 0);
  lsc_snapshot_drop(&snapshot);
  ck_assert_int_eq(lsc_session_close(session), LSC_OK);
}
END_TEST

START_TEST(a_name_of_so_many_bytes_is_the_region_of_that_name) {
  static char long_file[LSC_MAX_NAME + 1];
  lsc_region_id id;
  memset(long_file, 'f', sizeof long_file);
  ck_assert_int_eq(lsc_fortran_region("solver", 5, "kernel.f90xx", 10, 12, &id), LSC_OK);
  ck_assert_uint_eq(id, id_of("solve"));
  ck_assert_str_eq(lsc_region_get(id).source_file, "kernel.f90");
  ck_assert_int_eq(lsc_region_get(id).source_line, 12);
  ck_assert_int_eq(lsc_fortran_region("", 0, NULL, 0, 0, &id), LSC_BAD_NAME);
  ck_assert_uint_eq(id, LSC_NO_REGION);
  ck_assert_int_eq(lsc_fortran_region("a\0b", 3, NULL, 0, 0, &id), LSC_BAD_NAME);
  ck_assert_int_eq(lsc_fortran_region("b", 1, long_file, sizeof long_file, 0, &id), LSC_BAD_NAME);
  ck_assert_uint_eq(id, LSC_NO_REGION);
  ck_assert_int_eq(lsc_fortran_region("b", 1, long_file, LSC_MAX_NAME, 0, &id), LSC_OK);
}
END_TEST

/* Whoever takes a lock here never comes back. */
START_TEST(what_is_known_is_found_without_a_lock) {
  lsc_region_id id, again;
  ck_assert_int_eq(lsc_fortran_region("known", 5, "file", 4, 1, &id), LSC_OK);
  lsc_session session = open_default();
  work(1);
  lsc_region_lock();
  ck_assert_int_eq(lsc_fortran_region("known", 5, "other", 5, 2, &again), LSC_OK);
  ck_assert_uint_eq(again, id);
  ck_assert_int_eq(lsc_region("known", &again), LSC_OK);
  ck_assert_uint_eq(again, id);
  ck_assert_int_eq(fortran_name(lsc_fortran_begin_name, "known", 5), LSC_OK);
  ck_assert_int_eq(fortran_name(lsc_fortran_end_name, "known", 5), LSC_OK);
  work(1);
  lsc_region_unlock();
  ck_assert_uint_eq(calls_of(session, "work"), 2);
  ck_assert_int_eq(lsc_session_close(session), LSC_OK);
}
END_TEST

UNIT_MAIN("default", the_default_lives_as_long_as_its_session, a_new_session_in_the_same_slot_is_not_the_default,
          a_child_of_fork_has_no_default, of_many_at_once_one_becomes_the_default, a_scope_ends_however_it_is_left,
          a_scope_belongs_to_the_session_in_which_it_began, threads_share_a_place, what_is_wrong_has_its_status,
          statistics_are_those_of_the_calls, a_reset_drops_what_is_completed_and_keeps_what_is_open,
          calls_of_fortran_have_the_lane_that_was_asked_for, a_name_of_so_many_bytes_is_the_region_of_that_name,
          what_is_known_is_found_without_a_lock)
