/* SPDX-License-Identifier: BSD-3-Clause */
/* Misuse of tasks, threads and the lane tables. */
#include "misuse.h"

static lsc_task new_task(void) {
  lsc_task task;
  GIVES(lsc_task_open(session, "fiber", "f", NULL, &task), LSC_OK);
  return task;
}

static void try_task_open(void) {
  lsc_task task = {1, 1};
  GIVES_FOR_DEAD(lsc_task_open(no, "fiber", "f", "run", &task), LSC_INACTIVE);
  GIVES(lsc_task_open(session, NULL, "f", "run", &task), LSC_INVALID);
  GIVES(lsc_task_open(session, "fiber", NULL, "run", &task), LSC_INVALID);
  GIVES(lsc_task_open(session, "fiber", "f", "run", NULL), LSC_INVALID);
  GIVES(lsc_task_open(session, bad_text, "f", "run", &task), LSC_BAD_NAME);
  GIVES(lsc_task_open(session, "fiber", "f", bad_text, &task), LSC_BAD_NAME);
  EXPECT(task.session == 0 && task.number == 0, "a task in spite of the failure");
}

static void *enter_there(void *task) {
  GIVES(lsc_task_enter(*(lsc_task *)task), LSC_TASK_STATE);
  GIVES(lsc_task_leave(*(lsc_task *)task), LSC_TASK_STATE);
  return NULL;
}

static void try_task_enter(void) {
  lsc_task task = new_task();
  GIVES(lsc_task_enter((lsc_task){0, 0}), LSC_INACTIVE);
  GIVES_FOR_DEAD(lsc_task_enter((lsc_task){no, 1}), LSC_INACTIVE);
  GIVES(lsc_task_enter((lsc_task){session, 99999}), LSC_INVALID);
  GIVES(lsc_task_enter(task), LSC_OK);
  GIVES(lsc_task_enter(task), LSC_TASK_STATE);
  on_thread(enter_there, &task);
  GIVES(lsc_task_leave(task), LSC_OK);
  GIVES(lsc_task_finish(task), LSC_OK);
  GIVES(lsc_task_enter(task), LSC_TASK_STATE);
}

static void try_task_leave(void) {
  lsc_task task = new_task(), inner = new_task();
  GIVES(lsc_task_leave((lsc_task){0, 0}), LSC_INACTIVE);
  GIVES_FOR_DEAD(lsc_task_leave((lsc_task){no, 1}), LSC_INACTIVE);
  GIVES(lsc_task_leave((lsc_task){session, 99999}), LSC_INVALID);
  GIVES(lsc_task_leave(task), LSC_TASK_STATE);
  GIVES(lsc_task_enter(task), LSC_OK);
  GIVES(lsc_task_enter(inner), LSC_OK);
  GIVES(lsc_task_leave(task), LSC_CROSSED);
  GIVES(lsc_task_leave(inner), LSC_OK);
  GIVES(lsc_task_leave(task), LSC_OK);
}

static void try_task_finish(void) {
  lsc_task task = new_task();
  GIVES(lsc_task_finish((lsc_task){0, 0}), LSC_INACTIVE);
  GIVES_FOR_DEAD(lsc_task_finish((lsc_task){no, 1}), LSC_INACTIVE);
  GIVES(lsc_task_finish((lsc_task){session, 99999}), LSC_INVALID);
  GIVES(lsc_task_finish(task), LSC_OK);
  GIVES(lsc_task_finish(task), LSC_OK);
}

static void try_task_open_at(void) {
  lsc_task task;
  struct lsc_task_record *place;
  GIVES_FOR_DEAD(lsc_task_open_at(no, "fiber", "f", "run", &task, &place), LSC_INACTIVE);
  GIVES(lsc_task_open_at(session, "fiber", "f", "run", &task, NULL), LSC_INVALID);
  GIVES(lsc_task_open_at(session, "fiber", "f", "run", NULL, &place), LSC_INVALID);
  GIVES(lsc_task_open_at(session, "fiber", bad_text, "run", &task, &place), LSC_BAD_NAME);
  EXPECT(!place && task.number == 0, "a task in spite of the failure");
}

static void try_task_switch_at(void) {
  lsc_task task;
  struct lsc_task_record *place;
  GIVES(lsc_task_open_at(session, "fiber", "f", "run", &task, &place), LSC_OK);
  GIVES_FOR_DEAD(lsc_task_switch_at(no, LSC_API_C, NULL, place), LSC_INACTIVE);
  GIVES(lsc_task_switch_at(session, (lsc_api)4, NULL, place), LSC_INVALID);
  GIVES(lsc_task_switch_at(session, LSC_API_C, NULL, NULL), LSC_OK);
  GIVES(lsc_task_switch_at(session, LSC_API_C, place, NULL), LSC_TASK_STATE);
  GIVES(lsc_task_switch_at(session, LSC_API_C, NULL, place), LSC_OK);
  GIVES(lsc_task_switch_at(session, LSC_API_C, NULL, place), LSC_TASK_STATE);
  GIVES(lsc_task_switch_at(session, LSC_API_C, place, NULL), LSC_OK);
}

static void try_task_rename(void) {
  lsc_task task = new_task();
  GIVES_FOR_DEAD(lsc_task_rename((lsc_task){no, 1}, "g", NULL), LSC_INACTIVE);
  GIVES(lsc_task_rename((lsc_task){session, 99999}, "g", NULL), LSC_INVALID);
  GIVES(lsc_task_rename(task, bad_text, NULL), LSC_BAD_NAME);
  GIVES(lsc_task_rename(task, "g", bad_text), LSC_BAD_NAME);
  GIVES(lsc_task_rename(task, NULL, NULL), LSC_OK);
}

static void try_task_step(void) {
  int64_t started, ended;
  GIVES_FOR_DEAD(lsc_task_step(no, 0, &started, &ended), LSC_INACTIVE);
  GIVES(lsc_task_step(session, 99999, &started, &ended), LSC_INVALID);
}

static void try_lanes_read(void) {
  lsc_lanes *lanes = NULL;
  GIVES_FOR_DEAD(lsc_lanes_read(no, NULL, 0, &lanes), LSC_INACTIVE);
  EXPECT(!lanes, "lanes of a session that is not open");
  GIVES(lsc_lanes_read(session, NULL, 0, NULL), LSC_INVALID);
}

static void try_lanes_column(void) {
  lsc_lanes *lanes = NULL;
  lsc_column_view view;
  GIVES(lsc_lanes_read(session, NULL, 0, &lanes), LSC_OK);
  GIVES(lsc_lanes_column(NULL, "task_table", "names", &view), LSC_INVALID);
  GIVES(lsc_lanes_column(lanes, NULL, "names", &view), LSC_INVALID);
  GIVES(lsc_lanes_column(lanes, "task_table", NULL, &view), LSC_INVALID);
  GIVES(lsc_lanes_column(lanes, "task_table", "names", NULL), LSC_INVALID);
  GIVES(lsc_lanes_column(lanes, "no_table", "names", &view), LSC_INVALID);
  GIVES(lsc_lanes_column(lanes, "task_table", "no_column", &view), LSC_INVALID);
  lsc_lanes_free(lanes);
}

static void try_lanes_count(void) {
  uint32_t threads, tasks;
  GIVES_FOR_DEAD(lsc_lanes_count(no, &threads, &tasks), LSC_INACTIVE);
}

static void try_lanes_free(void) { lsc_lanes_free(NULL); }

static void try_thread_task(void) {
  int64_t task;
  GIVES_FOR_DEAD(lsc_thread_task(no, 0, &task), LSC_INACTIVE);
  GIVES(lsc_thread_task(session, 99999, &task), LSC_INVALID);
}

static void *over_there(void *unused) {
  lsc_thread_over();
  GIVES(lsc_thread_register(session), LSC_OK);
  lsc_thread_over();
  lsc_thread_over();
  return unused;
}

static void try_thread_over(void) { on_thread(over_there, NULL); }

static void try_thread_register_as(void) {
  int64_t index;
  GIVES_FOR_DEAD(lsc_thread_register_as(no, LSC_API_PYTHON, &index), LSC_INACTIVE);
}

static void try_thread_register(void) {
  GIVES_FOR_DEAD(lsc_thread_register(no), LSC_INACTIVE);
  GIVES(lsc_thread_register(session), LSC_OK);
  GIVES(lsc_thread_register(session), LSC_OK);
}

static void try_thread_describe(void) {
  GIVES_FOR_DEAD(lsc_thread_describe(no, "name", 1, 0), LSC_INACTIVE);
  GIVES(lsc_thread_describe(session, NULL, 1, 0), LSC_INVALID);
  GIVES(lsc_thread_describe(session, bad_text, 1, 0), LSC_BAD_NAME);
}

static void try_lane_ids(void) {
  int64_t ids[1] = {0}, lanes[1];
  GIVES(lsc_lane_ids(1, NULL, ids, lanes), LSC_INVALID);
  GIVES(lsc_lane_ids(1, ids, ids, NULL), LSC_INVALID);
  GIVES(lsc_lane_ids(0, NULL, NULL, NULL), LSC_OK);
}

const struct misuse_row misuse_lanes[] = {
    ROW(task_open), ROW(task_enter), ROW(task_leave), ROW(task_finish), ROW(thread_register), ROW(thread_describe),
    ROW(lane_ids), ROW(task_open_at), ROW(task_switch_at), ROW(task_rename), ROW(task_step), ROW(lanes_read),
    ROW(lanes_column), ROW(lanes_count), ROW(lanes_free), ROW(thread_task), ROW(thread_over), ROW(thread_register_as),
    {NULL, NULL},
};
