/* SPDX-License-Identifier: BSD-3-Clause */
/* What bindings use: steps by place, names that change, threads that are over, and the lane tables of a session that
 * goes on. */
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lanescope_binding.h"
#include "snapshots.h"
#include "unit.h"

static lsc_session session;
static lsc_region_id region;

static void begin_session(void) {
  ck_assert_int_eq(lsc_region("lanes", &region), LSC_OK);
  ck_assert_int_eq(lsc_session_open(NULL, &session), LSC_OK);
}

struct stepped {
  lsc_task task;
  struct lsc_task_record *place;
};

static struct stepped make_task(const char *name) {
  struct stepped made;
  ck_assert_int_eq(lsc_task_open_at(session, "fiber", name, "f", &made.task, &made.place), LSC_OK);
  return made;
}

static lsc_status move(struct stepped *from, struct stepped *to) {
  return lsc_task_switch_at(session, LSC_API_PYTHON, from ? from->place : NULL, to ? to->place : NULL);
}

static int64_t call_lane(void) {
  struct lsc_snapshot s;
  ck_assert_int_eq(lsc_begin_as(session, LSC_API_PYTHON, region), LSC_OK);
  ck_assert_int_eq(lsc_end_as(session, LSC_API_PYTHON, region), LSC_OK);
  ck_assert_int_eq(take_snapshot(session, &s), LSC_OK);
  ck_assert_uint_eq(s.completed, 1);
  ck_assert_int_eq(lsc_snapshot_events(&s), LSC_OK);
  int64_t task = lsc_row_task(s.row[s.event[0]]);
  lsc_snapshot_commit(&s);
  return task;
}

static int64_t running_task(void) {
  int64_t task = -2;
  ck_assert_int_eq(lsc_thread_task(session, 0, &task), LSC_OK);
  return task;
}

START_TEST(switches_go_from_lane_to_lane) {
  begin_session();
  struct stepped a = make_task("a"), b = make_task("b");
  ck_assert_int_eq(move(NULL, &a), LSC_OK);
  ck_assert_int_eq(call_lane(), 0);
  ck_assert_int_eq(running_task(), 0);
  ck_assert_int_eq(move(&a, &b), LSC_OK);
  ck_assert_int_eq(call_lane(), 1);
  ck_assert_int_eq(move(&a, &b), LSC_TASK_STATE);
  ck_assert_int_eq(move(NULL, &b), LSC_TASK_STATE);
  ck_assert_int_eq(move(&b, NULL), LSC_OK);
  ck_assert_int_eq(call_lane(), -1);
  ck_assert_int_eq(running_task(), -1);
  ck_assert_int_eq(lsc_task_finish(a.task), LSC_OK);
  ck_assert_int_eq(move(NULL, &a), LSC_TASK_STATE);
  ck_assert_int_eq(lsc_session_close(session), LSC_OK);
  ck_assert_int_eq(move(NULL, &b), LSC_INACTIVE);
}
END_TEST

START_TEST(one_reading_of_the_clock_serves_a_switch) {
  begin_session();
  struct stepped a = make_task("a"), b = make_task("b");
  int64_t a_started, a_ended, b_started, b_ended;
  move(NULL, &a);
  move(&a, &b);
  ck_assert_int_eq(lsc_task_step(session, 0, &a_started, &a_ended), LSC_OK);
  ck_assert_int_eq(lsc_task_step(session, 1, &b_started, &b_ended), LSC_OK);
  ck_assert_int_gt(a_started, 0);
  ck_assert_int_ge(a_ended, a_started);
  ck_assert_int_ge(b_started, a_ended - 100);
  ck_assert_int_le(b_started, a_ended + 100);
  ck_assert_int_eq(b_ended, 0);
  ck_assert_int_eq(lsc_task_step(session, 2, &b_started, &b_ended), LSC_INVALID);
  lsc_session_close(session);
}
END_TEST

START_TEST(nested_steps_are_left_and_go_on_together) {
  begin_session();
  struct stepped outer = make_task("outer"), middle = make_task("middle"), inner = make_task("inner"),
                 other = make_task("other");
  move(NULL, &outer);
  move(NULL, &middle);
  move(NULL, &inner);
  ck_assert_int_eq(move(&outer, &other), LSC_OK);
  ck_assert_int_eq(call_lane(), 3);
  ck_assert_int_eq(move(&other, &outer), LSC_OK);
  ck_assert_int_eq(call_lane(), 2);
  ck_assert_int_eq(move(&inner, NULL), LSC_OK);
  ck_assert_int_eq(call_lane(), 1);
  ck_assert_int_eq(move(&outer, NULL), LSC_OK);
  ck_assert_int_eq(call_lane(), -1);
  ck_assert_int_eq(move(NULL, &middle), LSC_OK);
  ck_assert_int_eq(move(NULL, &outer), LSC_OK);
  ck_assert_int_eq(call_lane(), 0);
  ck_assert_int_eq(move(&outer, NULL), LSC_OK);
  ck_assert_int_eq(move(&middle, NULL), LSC_OK);
  ck_assert_int_eq(call_lane(), -1);
  lsc_session_close(session);
}
END_TEST

static const void *column(const lsc_lanes *lanes, const char *table, const char *name, size_t rows) {
  lsc_column_view view;
  ck_assert_int_eq(lsc_lanes_column(lanes, table, name, &view), LSC_OK);
  ck_assert_uint_eq(view.rows, rows);
  return view.data;
}

static void check_text(const lsc_lanes *lanes, const char *table, const char *name, size_t row, const char *expected) {
  lsc_column_view view;
  ck_assert_int_eq(lsc_lanes_column(lanes, table, name, &view), LSC_OK);
  ck_assert_uint_lt(row, view.rows);
  size_t length = view.offsets[row + 1] - view.offsets[row];
  ck_assert_uint_eq(length, strlen(expected));
  ck_assert_mem_eq(view.text + view.offsets[row], expected, length);
}

START_TEST(names_change_until_the_table_is_read) {
  begin_session();
  struct stepped a = make_task("a");
  lsc_lanes *lanes;
  ck_assert_int_eq(lsc_task_rename(a.task, "b", NULL), LSC_OK);
  ck_assert_int_eq(lsc_task_rename(a.task, NULL, "g"), LSC_OK);
  ck_assert_int_eq(lsc_task_rename(a.task, "b", "g"), LSC_OK);
  ck_assert_int_eq(lsc_lanes_read(session, NULL, 0, &lanes), LSC_OK);
  check_text(lanes, "task_table", "name", 0, "b");
  check_text(lanes, "task_table", "coro_name", 0, "g");
  check_text(lanes, "task_table", "kind", 0, "fiber");
  lsc_lanes_free(lanes);
  ck_assert_int_eq(lsc_task_rename(a.task, "\xFF", NULL), LSC_BAD_NAME);
  ck_assert_int_eq(lsc_task_rename((lsc_task){session, 9}, "x", NULL), LSC_INVALID);
  lsc_session_close(session);
  ck_assert_int_eq(lsc_task_rename(a.task, "x", NULL), LSC_INACTIVE);
}
END_TEST

static void *register_thread(void *index) {
  if (lsc_thread_register_as(session, LSC_API_PYTHON, index) != LSC_OK) abort();
  if (lsc_thread_describe(session, "told", 77, 1) != LSC_OK) abort();
  return NULL;
}

START_TEST(tables_are_read_beside_the_calls) {
  begin_session();
  int64_t index = -2;
  ck_assert_int_eq(lsc_thread_register_as(session, LSC_API_PYTHON, &index), LSC_OK);
  ck_assert_int_eq(index, 0);
  pthread_join(unit_start(register_thread, &index), NULL);
  ck_assert_int_eq(index, 1);
  make_task("a");
  make_task("b");
  lsc_begin(session, region);
  lsc_end(session, region);
  lsc_lanes *all, *part;
  struct lsc_snapshot s;
  ck_assert_int_eq(take_snapshot(session, &s), LSC_OK);
  ck_assert_int_eq(lsc_lanes_read(session, NULL, 1000, &all), LSC_OK);
  const int64_t *start = column(all, "thread_table", "start_ns", 2), *end = column(all, "thread_table", "end_ns", 2);
  for (int i = 0; i < 2; i++) {
    ck_assert_int_le(start[i], lsc_snapshot_thread(&s, (size_t)i).start_ns - 1000 + 100);
    ck_assert_int_ge(start[i], lsc_snapshot_thread(&s, (size_t)i).start_ns - 1000 - 100);
  }
  ck_assert_int_eq(end[0], -1);
  ck_assert_int_ge(end[1], start[1]);
  ck_assert_int_eq(((const int64_t *)column(all, "thread_table", "ident", 2))[1], 77);
  ck_assert_int_eq(((const int8_t *)column(all, "thread_table", "daemon", 2))[1], 1);
  check_text(all, "thread_table", "name", 1, "told");
  ck_assert_uint_eq(s.completed, 1);
  lsc_snapshot_drop(&s);
  ck_assert_int_eq(lsc_lanes_read(session, &(lsc_lane_range){1, 9, 1, 1}, 0, &part), LSC_OK);
  ck_assert_int_eq(((const int64_t *)column(part, "thread_table", "index", 1))[0], 1);
  ck_assert_int_eq(((const int64_t *)column(part, "task_table", "index", 1))[0], 1);
  check_text(part, "task_table", "name", 0, "b");
  lsc_lanes_free(part);
  ck_assert_int_eq(lsc_lanes_read(session, &(lsc_lane_range){2, 1, 7, 1}, 0, &part), LSC_OK);
  column(part, "thread_table", "index", 0);
  column(part, "task_table", "index", 0);
  lsc_lanes_free(part);
  lsc_column_view view;
  ck_assert_int_eq(lsc_lanes_column(all, "task_table", "nothing", &view), LSC_INVALID);
  ck_assert_int_eq(lsc_lanes_column(all, "lane_table", "index", &view), LSC_INVALID);
  uint32_t threads, tasks;
  ck_assert_int_eq(lsc_lanes_count(session, &threads, &tasks), LSC_OK);
  ck_assert_uint_eq(threads, 2);
  ck_assert_uint_eq(tasks, 2);
  lsc_lanes_free(all);
  lsc_lanes_free(NULL);
  lsc_session_close(session);
  ck_assert_int_eq(lsc_lanes_read(session, NULL, 0, &all), LSC_INACTIVE);
  ck_assert_ptr_null(all);
  ck_assert_int_eq(lsc_lanes_count(session, &threads, &tasks), LSC_INACTIVE);
}
END_TEST

static _Atomic int over, checked;

static void *say_over(void *unused) {
  (void)unused;
  int64_t index;
  if (lsc_thread_register_as(session, LSC_API_PYTHON, &index) != LSC_OK) abort();
  lsc_thread_over();
  over = 1;
  while (!checked) sched_yield();
  if (lsc_begin(session, region) != LSC_OK || lsc_end(session, region) != LSC_OK) abort();
  lsc_thread_over();
  return NULL;
}

/* The end and CPU time of the only thread. */
static void read_end(int64_t *end, int64_t *cpu) {
  lsc_lanes *lanes;
  ck_assert_int_eq(lsc_lanes_read(session, NULL, 0, &lanes), LSC_OK);
  *end = ((const int64_t *)column(lanes, "thread_table", "end_ns", 1))[0];
  *cpu = ((const int64_t *)column(lanes, "thread_table", "cpu_ns", 1))[0];
  lsc_lanes_free(lanes);
}

START_TEST(a_thread_that_is_over_has_ended_once) {
  begin_session();
  pthread_t thread = unit_start(say_over, NULL);
  while (!over) sched_yield();
  int64_t end[2], cpu[2];
  read_end(&end[0], &cpu[0]);
  ck_assert_int_gt(end[0], 0);
  ck_assert_int_le(end[0], lsc_now_ns() + 1000);
  ck_assert_int_gt(cpu[0], 0);
  checked = 1;
  pthread_join(thread, NULL);
  read_end(&end[1], &cpu[1]);
  ck_assert_int_le(end[1] - end[0], 100);
  ck_assert_int_ge(end[1] - end[0], -100);
  ck_assert_int_eq(cpu[1], cpu[0]);
  struct lsc_snapshot s;
  ck_assert_int_eq(take_snapshot(session, &s), LSC_OK);
  ck_assert_uint_eq(s.completed, 1);
  ck_assert_int_eq(lsc_row_thread(s.row[0]), 0);
  lsc_snapshot_drop(&s);
  lsc_session_close(session);
  lsc_thread_over();
}
END_TEST

/* Steps of one task by place on a thread, as fast as it can, with calls in them, until its session is closed. */
static void *step_until_closed(void *task) {
  struct stepped *mine = task;
  lsc_session of = mine->task.session;
  for (;;) {
    lsc_status status = lsc_task_switch_at(of, LSC_API_PYTHON, NULL, mine->place);
    if (status == LSC_INACTIVE || status == LSC_TASK_STATE) return NULL;
    if (status != LSC_OK) abort();
    for (int i = 0; i < 20; i++) lsc_begin_as(of, LSC_API_PYTHON, region);
    lsc_task_switch_at(of, LSC_API_PYTHON, mine->place, NULL);
    if (lsc_task_switch_at(of, LSC_API_PYTHON, NULL, mine->place) != LSC_OK) return NULL;
    for (int i = 0; i < 20; i++) lsc_end_as(of, LSC_API_PYTHON, region);
    lsc_task_switch_at(of, LSC_API_PYTHON, mine->place, NULL);
  }
}

START_TEST(sessions_close_under_steps) {
  enum { ROUNDS = 200, THREADS = 3 };
  for (int round = 0; round < ROUNDS; round++) {
    struct stepped task[THREADS];
    pthread_t thread[THREADS];
    begin_session();
    for (int i = 0; i < THREADS; i++) {
      task[i] = make_task("steps");
      thread[i] = unit_start(step_until_closed, &task[i]);
    }
    for (int i = 0; i < round % 7; i++) sched_yield();
    ck_assert_int_eq(lsc_session_close(session), LSC_OK);
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
  }
}
END_TEST

UNIT_MAIN("lanes", switches_go_from_lane_to_lane, one_reading_of_the_clock_serves_a_switch,
          nested_steps_are_left_and_go_on_together, names_change_until_the_table_is_read,
          tables_are_read_beside_the_calls, a_thread_that_is_over_has_ended_once, sessions_close_under_steps)
