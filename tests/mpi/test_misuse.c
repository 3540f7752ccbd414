/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every public function, called wrongly: with NULL, on sessions that are closed or never were, on the wrong thread, in
 * the wrong order, before MPI_Init, between, and after MPI_Finalize. Each gives a status, and no function is left out.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lanescope_binding.h"
#include "lanescope_mpi.h"
#include "snapshot.h"

enum phase { BEFORE_MPI, WITHIN_MPI, AFTER_MPI };

static enum phase phase;
static int failures;
static lsc_session session; /* open */
static lsc_session dead[4]; /* none, closed, never given out */
static lsc_region_id region, other;
static char folder[] = "/tmp/lanescope-misuse-XXXXXX";
static const char bad_text[] = "\xff\xfe";

#define EXPECT(condition, ...)                                          \
  do {                                                                  \
    if (!(condition)) {                                                 \
      ++failures;                                                       \
      fprintf(stderr, "%s:%d: phase %d: ", __FILE__, __LINE__, phase);  \
      fprintf(stderr, __VA_ARGS__);                                     \
      fputc('\n', stderr);                                              \
    }                                                                   \
  } while (0)

static void gives(lsc_status found, lsc_status expected, const char *call, int line) {
  if (found == expected) return;
  ++failures;
  fprintf(stderr, "%s:%d: phase %d: %s gave %s, not %s: %s\n", __FILE__, line, phase, call, lsc_strerror(found),
          lsc_strerror(expected), lsc_message());
}

#define GIVES(call, expected) gives((call), (expected), #call, __LINE__)
/* `call` has a session `no`, which is in turn each that is not open. */
#define GIVES_FOR_DEAD(call, expected)          \
  for (size_t i = 0; i < sizeof dead / sizeof dead[0]; ++i) { \
    lsc_session no = dead[i];                   \
    GIVES(call, expected);                      \
  }

/* What a function over the communicator gives outside of MPI, and what within. */
static lsc_status within(lsc_status status) { return phase == WITHIN_MPI ? status : LSC_NO_MPI; }

/* Runs a function on a thread of its own. */
static void on_thread(void *(*run)(void *), void *argument) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, run, argument) == 0) pthread_join(thread, NULL);
}

static struct lsc_snapshot held; /* a collect of the session that does not come to its end */

static void *begin_collect(void *unused) {
  GIVES(lsc_snapshot_take(session, &held), LSC_OK);
  return unused;
}

/* What `call` gives while another thread collects the session. */
#define GIVES_BUSY(call)            \
  do {                              \
    on_thread(begin_collect, NULL); \
    GIVES(call, LSC_BUSY);          \
    lsc_snapshot_drop(&held);       \
  } while (0)

static void try_strerror(void) {
  EXPECT(lsc_strerror((lsc_status)-1) && lsc_strerror((lsc_status)9999), "NULL for an unknown status");
}

static void try_message(void) {
  lsc_session_close(0);
  EXPECT(strlen(lsc_message()) > 0, "no message");
}

static void try_version(void) { EXPECT(strcmp(lsc_version(), LSC_VERSION) == 0, "%s", lsc_version()); }

static void try_now_ns(void) { EXPECT(lsc_now_ns() > 0, "no time"); }

static void try_session_open(void) {
  lsc_session opened = 7, many[LSC_MAX_SESSIONS];
  lsc_session_options options = {.size = 3};
  int count = 0;
  GIVES(lsc_session_open(NULL, NULL), LSC_INVALID);
  GIVES(lsc_session_open(&options, &opened), LSC_INVALID);
  EXPECT(opened == 0, "a handle in spite of the failure");
  options = (lsc_session_options){.size = sizeof options, .label = bad_text};
  GIVES(lsc_session_open(&options, &opened), LSC_BAD_NAME);
  while (count < LSC_MAX_SESSIONS && lsc_session_open(NULL, &many[count]) == LSC_OK) ++count;
  GIVES(lsc_session_open(NULL, &opened), LSC_LIMIT);
  for (int i = 0; i < count; ++i) GIVES(lsc_session_close(many[i]), LSC_OK);
}

static void try_session_close(void) {
  lsc_session twice = 0;
  GIVES_FOR_DEAD(lsc_session_close(no), LSC_INACTIVE);
  GIVES(lsc_session_open(NULL, &twice), LSC_OK);
  GIVES(lsc_session_close(twice), LSC_OK);
  GIVES(lsc_session_close(twice), LSC_INACTIVE);
  GIVES_BUSY(lsc_session_close(session));
  EXPECT(lsc_session_is_open(session), "closed in spite of the status");
}

static void try_session_is_open(void) {
  for (size_t i = 0; i < sizeof dead / sizeof dead[0]; ++i) EXPECT(!lsc_session_is_open(dead[i]), "%zu is open", i);
}

static void try_session_pause(void) {
  GIVES_FOR_DEAD(lsc_session_pause(no), LSC_INACTIVE);
  GIVES(lsc_session_pause(session), LSC_OK);
  GIVES(lsc_session_pause(session), LSC_OK);
}

static void try_session_resume(void) {
  GIVES_FOR_DEAD(lsc_session_resume(no), LSC_INACTIVE);
  GIVES(lsc_session_resume(session), LSC_OK);
  GIVES(lsc_session_resume(session), LSC_OK);
}

static void try_region(void) {
  lsc_region_id id;
  static char longest[LSC_MAX_NAME + 2];
  memset(longest, 'x', LSC_MAX_NAME + 1);
  GIVES(lsc_region(NULL, &id), LSC_INVALID);
  GIVES(lsc_region("name", NULL), LSC_INVALID);
  GIVES(lsc_region(bad_text, &id), LSC_BAD_NAME);
  GIVES(lsc_region(longest, &id), LSC_BAD_NAME);
}

static void try_region_define(void) {
  lsc_region_id id;
  lsc_region_info info = {.size = sizeof info, .name = "defined", .name_length = (size_t)-1};
  GIVES(lsc_region_define(NULL, &id), LSC_INVALID);
  GIVES(lsc_region_define(&info, NULL), LSC_INVALID);
  info.name_length = sizeof "defined";
  GIVES(lsc_region_define(&info, &id), LSC_BAD_NAME);
  info.name_length = (size_t)-1;
  info.tags = bad_text;
  GIVES(lsc_region_define(&info, &id), LSC_BAD_NAME);
  info.name = NULL;
  GIVES(lsc_region_define(&info, &id), LSC_INVALID);
  info.size = 1;
  GIVES(lsc_region_define(&info, &id), LSC_INVALID);
}

static void try_begin(void) {
  GIVES_FOR_DEAD(lsc_begin(no, region), LSC_INACTIVE);
  GIVES(lsc_begin(session, UINT32_MAX), LSC_INVALID);
}

static void *end_there(void *unused) {
  (void)unused;
  GIVES(lsc_end(session, region), LSC_NO_BEGIN);
  return NULL;
}

static void try_end(void) {
  GIVES_FOR_DEAD(lsc_end(no, region), LSC_INACTIVE);
  GIVES(lsc_end(session, region), LSC_NO_BEGIN);
  GIVES(lsc_begin(session, region), LSC_OK);
  on_thread(end_there, NULL);
  GIVES(lsc_begin(session, other), LSC_OK);
  GIVES(lsc_end(session, region), LSC_CROSSED);
  GIVES(lsc_end(session, other), LSC_OK);
  GIVES(lsc_end(session, region), LSC_OK);
  GIVES(lsc_end(session, region), LSC_NO_BEGIN);
}

static void try_begin_as(void) {
  GIVES_FOR_DEAD(lsc_begin_as(no, LSC_API_FORTRAN, region), LSC_INACTIVE);
  GIVES(lsc_begin_as(session, (lsc_api)17, region), LSC_INVALID);
  GIVES(lsc_begin_as(session, (lsc_api)-1, region), LSC_INVALID);
  GIVES(lsc_begin_as(session, LSC_API_PYTHON, UINT32_MAX), LSC_INVALID);
}

static void try_end_as(void) {
  GIVES_FOR_DEAD(lsc_end_as(no, LSC_API_PYTHON, region), LSC_INACTIVE);
  GIVES(lsc_end_as(session, (lsc_api)17, region), LSC_INVALID);
  GIVES(lsc_end_as(session, LSC_API_FORTRAN, region), LSC_NO_BEGIN);
}

static void try_begin_marked(void) {
  lsc_mark mark;
  GIVES_FOR_DEAD(lsc_begin_marked(no, LSC_API_PYTHON, region, &mark), LSC_INACTIVE);
  GIVES(lsc_begin_marked(session, (lsc_api)4, region, &mark), LSC_INVALID);
  GIVES(lsc_begin_marked(session, LSC_API_PYTHON, UINT32_MAX, &mark), LSC_INVALID);
  EXPECT(!mark.row, "a mark of no call");
}

static void try_end_marked(void) {
  lsc_mark mark = {0};
  GIVES(lsc_end_marked(mark), LSC_INACTIVE);
  GIVES(lsc_begin_marked(session, LSC_API_PYTHON, region, &mark), LSC_OK);
  GIVES(lsc_end_marked(mark), LSC_OK);
  GIVES(lsc_end_marked(mark), LSC_STALE);
  GIVES(lsc_end(session, region), LSC_NO_BEGIN);
}

static void try_on_first_use(void) {
  GIVES(lsc_on_first_use((lsc_api)17, NULL), LSC_INVALID);
  GIVES(lsc_on_first_use(LSC_API_C, NULL), LSC_OK);
}

static void try_scope_begin(void) {
  lsc_token token;
  GIVES_FOR_DEAD(lsc_scope_begin(no, region, &token), LSC_INACTIVE);
  GIVES(lsc_scope_begin(session, region, NULL), LSC_INVALID);
  GIVES(lsc_scope_begin(session, UINT32_MAX, &token), LSC_INVALID);
  GIVES(lsc_scope_end(token), LSC_INACTIVE);
}

static void try_scope_begin_as(void) {
  lsc_token token;
  GIVES_FOR_DEAD(lsc_scope_begin_as(no, LSC_API_PYTHON, region, &token), LSC_INACTIVE);
  GIVES(lsc_scope_begin_as(session, (lsc_api)17, region, &token), LSC_INVALID);
  GIVES(lsc_scope_begin_as(session, LSC_API_PYTHON, region, NULL), LSC_INVALID);
}

static void *end_scope_there(void *token) {
  GIVES(lsc_scope_end(*(lsc_token *)token), LSC_OK);
  return NULL;
}

static void try_scope_end(void) {
  lsc_session gone = 0;
  lsc_token token = {0, 0, 0};
  GIVES(lsc_scope_end(token), LSC_INACTIVE);
  GIVES(lsc_scope_begin(session, region, &token), LSC_OK);
  on_thread(end_scope_there, &token);
  GIVES(lsc_scope_end(token), LSC_STALE);
  GIVES(lsc_session_open(NULL, &gone), LSC_OK);
  GIVES(lsc_scope_begin(gone, region, &token), LSC_OK);
  GIVES(lsc_session_close(gone), LSC_OK);
  GIVES(lsc_scope_end(token), LSC_INACTIVE);
}

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

static const char *path_of(const char *name) {
  static char path[256];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

typedef lsc_status (*writer)(lsc_session no, const char *path, const lsc_save_options *options);

static void try_writer(writer write) {
  lsc_save_options options = {.size = sizeof options + 1};
  GIVES_FOR_DEAD(write(no, path_of("dead.h5"), NULL), LSC_INACTIVE);
  GIVES(write(session, NULL, NULL), LSC_INVALID);
  GIVES(write(session, "", NULL), LSC_INVALID);
  GIVES(write(session, path_of("missing/run.h5"), NULL), LSC_IO);
  GIVES(write(session, path_of("odd.h5"), &options), LSC_INVALID);
  options.size = 0;
  GIVES(write(session, path_of("odd.h5"), &options), LSC_INVALID);
  GIVES_BUSY(write(session, path_of("busy.h5"), NULL));
  options = (lsc_save_options){.size = sizeof options, .replace = 1};
  GIVES(write(session, path_of("twice.h5"), &options), LSC_OK);
  GIVES(write(session, path_of("twice.h5"), NULL), LSC_COLLECTED);
  GIVES_BUSY(write(session, path_of("twice.h5"), NULL));
  for (size_t i = 0; i < 3; ++i) {
    static const char *const names[] = {"dead.h5", "odd.h5", "busy.h5"};
    EXPECT(access(path_of(names[i]), F_OK) != 0, "%s was written", names[i]);
  }
}

static void try_write(void) {
  try_writer(lsc_write);
  GIVES(lsc_write(session, folder, NULL), LSC_IO);
}

/* The session has a communicator of its own within MPI, of this rank alone. */
static void try_save(void) {
  if (phase == WITHIN_MPI) GIVES(lsc_attach(session, MPI_COMM_SELF, 60), LSC_OK);
  try_writer(lsc_save);
}

static lsc_status collect_alone(lsc_session no, const char *path, const lsc_save_options *options) {
  return lsc_collect(no, MPI_COMM_SELF, path, options);
}

static void try_collect(void) {
  if (phase == WITHIN_MPI) {
    try_writer(collect_alone);
    GIVES(lsc_collect(session, MPI_COMM_NULL, path_of("null.h5"), NULL), LSC_INVALID);
  } else {
    GIVES_FOR_DEAD(lsc_collect(no, MPI_COMM_SELF, path_of("run.h5"), NULL), LSC_NO_MPI);
    GIVES(lsc_collect(session, MPI_COMM_WORLD, path_of("run.h5"), NULL), LSC_NO_MPI);
  }
}

static void try_attach(void) {
  GIVES_FOR_DEAD(lsc_attach(no, MPI_COMM_SELF, 60), within(LSC_INACTIVE));
  GIVES(lsc_attach(session, MPI_COMM_NULL, 60), within(LSC_INVALID));
  GIVES(lsc_attach(session, MPI_COMM_SELF, NAN), within(LSC_OK));
  GIVES(lsc_attach(session, MPI_COMM_SELF, -1), within(LSC_OK));
}

static void try_attach_fortran(void) {
  GIVES_FOR_DEAD(lsc_attach_fortran(no, LSC_COMM_WORLD, 60), within(LSC_INACTIVE));
  if (phase == WITHIN_MPI) {
    GIVES(lsc_attach_fortran(session, MPI_Comm_c2f(MPI_COMM_NULL), 60), LSC_INVALID);
  } else {
    GIVES(lsc_attach_fortran(session, 0, 60), LSC_NO_MPI);
  }
}

static void try_collect_at_exit(void) {
  lsc_save_options options = {.size = sizeof options + 1};
  GIVES_FOR_DEAD(lsc_collect_at_exit(no, path_of("exit.h5"), NULL), LSC_INACTIVE);
  GIVES_FOR_DEAD(lsc_collect_at_exit(no, NULL, NULL), LSC_INACTIVE);
  GIVES(lsc_collect_at_exit(session, "", NULL), within(LSC_INVALID));
  GIVES(lsc_collect_at_exit(session, path_of("exit.h5"), &options), within(LSC_INVALID));
  GIVES(lsc_collect_at_exit(session, path_of("exit.h5"), NULL), within(LSC_OK));
  GIVES(lsc_collect_at_exit(session, NULL, NULL), LSC_OK);
}

static void try_collected_at_exit(void) {
  lsc_report *report = NULL;
  char written[8] = "x";
  GIVES_FOR_DEAD(lsc_collected_at_exit(no, &report, written, sizeof written), LSC_INACTIVE);
  GIVES(lsc_collected_at_exit(session, NULL, NULL, 0), LSC_INACTIVE);
  EXPECT(!report && !written[0], "something was collected");
}

static void try_uncollected(void) {
  uint64_t calls = 7;
  GIVES_FOR_DEAD(lsc_uncollected(no, &calls), LSC_INACTIVE);
  GIVES(lsc_uncollected(session, NULL), LSC_INVALID);
  EXPECT(calls == 0, "%d calls", (int)calls);
  GIVES_BUSY(lsc_uncollected(session, &calls));
}

static void try_mpi_is_active(void) { EXPECT(lsc_mpi_is_active() == (phase == WITHIN_MPI), "wrong"); }

static void try_rank_of(void) {
  for (size_t i = 0; i < sizeof dead / sizeof dead[0]; ++i) {
    int rank = -1, size = -1;
    lsc_rank_of(dead[i], &rank, &size);
    lsc_rank_of(dead[i], NULL, NULL);
    EXPECT(rank >= 0 && rank < size, "rank %d of %d", rank, size);
  }
}

static void try_detach(void) {
  for (size_t i = 0; i < sizeof dead / sizeof dead[0]; ++i) lsc_detach(dead[i]);
  lsc_detach(session);
  lsc_detach(session);
}

static void try_report_column(void) {
  lsc_report *report = NULL;
  lsc_column_view view;
  lsc_save_options options = {.size = sizeof options, .replace = 1, .report = &report};
  GIVES(lsc_write(session, path_of("report.h5"), &options), LSC_OK);
  GIVES(lsc_report_column(NULL, "rank_table", "ranks", &view), LSC_INVALID);
  GIVES(lsc_report_column(report, NULL, "ranks", &view), LSC_INVALID);
  GIVES(lsc_report_column(report, "rank_table", NULL, &view), LSC_INVALID);
  GIVES(lsc_report_column(report, "rank_table", "ranks", NULL), LSC_INVALID);
  GIVES(lsc_report_column(report, "no_table", "ranks", &view), LSC_INVALID);
  GIVES(lsc_report_column(report, "rank_table", "no_column", &view), LSC_INVALID);
  lsc_report_free(report);
}

static void try_report_column_name(void) {
  lsc_report *report = NULL;
  lsc_save_options options = {.size = sizeof options, .replace = 1, .report = &report};
  GIVES(lsc_write(session, path_of("report.h5"), &options), LSC_OK);
  EXPECT(!lsc_report_column_name(NULL, "rank_table", 0), "a column of no report");
  EXPECT(!lsc_report_column_name(report, NULL, 0), "a column without a table");
  EXPECT(!lsc_report_column_name(report, "no_table", 0), "a column of no table");
  EXPECT(lsc_report_column_name(report, "rank_table", 0), "no first column");
  EXPECT(!lsc_report_column_name(report, "rank_table", SIZE_MAX), "a column behind the last");
  lsc_report_free(report);
}

static void try_report_free(void) { lsc_report_free(NULL); }

static void try_session_default(void) { EXPECT(lsc_session_default() == 0, "a default session"); }

static void try_session_set_default(void) {
  lsc_session second = 0;
  for (size_t i = 1; i < sizeof dead / sizeof dead[0]; ++i) GIVES(lsc_session_set_default(dead[i]), LSC_INACTIVE);
  GIVES(lsc_session_set_default(session), LSC_OK);
  GIVES(lsc_session_open(NULL, &second), LSC_OK);
  GIVES(lsc_session_set_default(second), LSC_LIMIT);
  GIVES(lsc_session_close(second), LSC_OK);
  GIVES(lsc_session_set_default(0), LSC_OK);
  GIVES(lsc_session_set_default(0), LSC_OK);
}

/* `call`, which needs a default session, without one and with one. */
#define GIVES_BY_DEFAULT(call, expected)         \
  do {                                           \
    GIVES(call, LSC_INACTIVE);                   \
    GIVES(lsc_session_set_default(session), LSC_OK); \
    GIVES(call, expected);                       \
    GIVES(lsc_session_set_default(0), LSC_OK);   \
  } while (0)

static void try_enter(void) { GIVES_BY_DEFAULT(lsc_enter(LSC_NO_REGION), LSC_INVALID); }

static void try_leave(void) { GIVES_BY_DEFAULT(lsc_leave(region), LSC_NO_BEGIN); }

static lsc_site bad_site = {bad_text, NULL, 0, 0};

static lsc_status site_enter(void) {
  lsc_entered entered = lsc_site_enter(&bad_site);
  EXPECT(entered.session == 0, "the region of a bad name was entered");
  lsc_site_leave(&entered);
  return lsc_session_default() ? LSC_OK : LSC_INACTIVE;
}

static void try_site_enter(void) { GIVES_BY_DEFAULT(site_enter(), LSC_OK); }

static void try_site_begin(void) { GIVES_BY_DEFAULT(lsc_site_begin(&bad_site), LSC_BAD_NAME); }

static void try_site_end(void) {
  static lsc_site good_site = {"site", NULL, 0, 0};
  GIVES_BY_DEFAULT(lsc_site_end(&bad_site), LSC_BAD_NAME);
  GIVES_BY_DEFAULT(lsc_site_end(&good_site), LSC_NO_BEGIN);
}

static void try_region_stats(void) {
  lsc_region_summary summary;
  GIVES_FOR_DEAD(lsc_region_stats(no, region, &summary), LSC_INACTIVE);
  GIVES(lsc_region_stats(session, LSC_NO_REGION, &summary), LSC_INVALID);
  GIVES(lsc_region_stats(session, region, NULL), LSC_INVALID);
}

static void try_reset(void) {
  GIVES_FOR_DEAD(lsc_reset(no), LSC_INACTIVE);
  GIVES(lsc_reset(session), LSC_OK);
  GIVES(lsc_reset(session), LSC_OK);
}

static void try_fortran_lanes(void) { GIVES_BY_DEFAULT(lsc_fortran_lanes(7), LSC_OK); }

static lsc_status fortran(void (*act)(lsc_region_id, int *), lsc_region_id id) {
  int stat = -1;
  act(id, NULL);
  act(id, &stat);
  return (lsc_status)stat;
}

static lsc_status fortran_name(void (*act)(const char *, size_t, int *), const char *name, size_t length) {
  int stat = -1;
  act(name, length, NULL);
  act(name, length, &stat);
  return (lsc_status)stat;
}

static void try_fortran_begin(void) { GIVES_BY_DEFAULT(fortran(lsc_fortran_begin, LSC_NO_REGION), LSC_INVALID); }

static void try_fortran_end(void) { GIVES_BY_DEFAULT(fortran(lsc_fortran_end, region), LSC_NO_BEGIN); }

static void try_fortran_begin_name(void) {
  GIVES_BY_DEFAULT(fortran_name(lsc_fortran_begin_name, "", 0), LSC_BAD_NAME);
  GIVES_BY_DEFAULT(fortran_name(lsc_fortran_begin_name, bad_text, 2), LSC_BAD_NAME);
  GIVES_BY_DEFAULT(fortran_name(lsc_fortran_begin_name, NULL, 2), LSC_INVALID);
}

static void try_fortran_end_name(void) {
  GIVES_BY_DEFAULT(fortran_name(lsc_fortran_end_name, "", 0), LSC_BAD_NAME);
  GIVES_BY_DEFAULT(fortran_name(lsc_fortran_end_name, "misuse", 6), LSC_NO_BEGIN);
}

static void try_fortran_region(void) {
  lsc_region_id id;
  GIVES(lsc_fortran_region("", 0, NULL, 0, 0, &id), LSC_BAD_NAME);
  GIVES(lsc_fortran_region(NULL, 4, NULL, 0, 0, &id), LSC_INVALID);
  GIVES(lsc_fortran_region("name", 4, NULL, 0, 0, NULL), LSC_INVALID);
  GIVES(lsc_fortran_region("name", 4, bad_text, 2, 0, &id), LSC_BAD_NAME);
}

static void try_init(void) {
  lsc_init_options options = {.size = 1};
  GIVES(lsc_init(NULL, NULL), LSC_INVALID);
  GIVES(lsc_init("", NULL), LSC_INVALID);
  GIVES(lsc_init(path_of("init.h5"), &options), LSC_INVALID);
  options = (lsc_init_options){.size = sizeof options, .label = bad_text};
  GIVES(lsc_init(path_of("init.h5"), &options), LSC_BAD_NAME);
  int comm = phase == WITHIN_MPI ? MPI_Comm_c2f(MPI_COMM_NULL) : 0;
  options = (lsc_init_options){.size = sizeof options, .comm = &comm};
  GIVES(lsc_init(path_of("init.h5"), &options), within(LSC_INVALID));
  EXPECT(lsc_session_default() == 0, "a session in spite of the failure");
}

static void try_init_as(void) {
  GIVES(lsc_init_as((lsc_api)17, path_of("init.h5"), NULL), LSC_INVALID);
  GIVES(lsc_init_as(LSC_API_C, NULL, NULL), LSC_INVALID);
}

static void try_finalize(void) {
  GIVES(lsc_finalize(), LSC_INACTIVE);
  GIVES(lsc_init(path_of("missing/run.h5"), &(lsc_init_options){.size = sizeof(lsc_init_options), .quiet = 1}), LSC_OK);
  GIVES(lsc_finalize(), LSC_IO);
  GIVES(lsc_finalize_as(LSC_API_C, path_of("final.h5")), LSC_OK);
  GIVES(lsc_finalize(), LSC_INACTIVE);
}

static void try_finalize_as(void) {
  GIVES(lsc_finalize_as((lsc_api)17, NULL), LSC_INVALID);
  GIVES(lsc_finalize_as(LSC_API_C, ""), LSC_INVALID);
  GIVES(lsc_finalize_as(LSC_API_FORTRAN, NULL), LSC_INACTIVE);
}

static void try_flush(void) {
  GIVES(lsc_flush(), LSC_INACTIVE);
  GIVES(lsc_session_set_default(session), LSC_OK);
  GIVES(lsc_flush(), LSC_INACTIVE);
  GIVES(lsc_session_set_default(0), LSC_OK);
}

#define ROW(name) {"lsc_" #name, try_##name}
static const struct {
  const char *name;
  void (*try)(void);
} table[] = {
    ROW(strerror),        ROW(message),           ROW(version),         ROW(now_ns),         ROW(session_open),
    ROW(session_close),   ROW(session_is_open),   ROW(session_pause),   ROW(session_resume), ROW(region),
    ROW(region_define),   ROW(begin),
    ROW(begin_marked),    ROW(end_marked),
    ROW(end),             ROW(begin_as),          ROW(end_as),          ROW(on_first_use),   ROW(scope_begin),
    ROW(scope_begin_as),  ROW(scope_end),         ROW(task_open),       ROW(task_enter),     ROW(task_leave),
    ROW(task_finish),     ROW(thread_register),   ROW(thread_describe), ROW(lane_ids),       ROW(write),
    ROW(save),            ROW(collect),           ROW(attach),          ROW(attach_fortran), ROW(collect_at_exit),
    ROW(uncollected),     ROW(collected_at_exit), ROW(mpi_is_active),   ROW(rank_of),        ROW(detach),
    ROW(report_column),   ROW(report_free),      ROW(report_column_name),
    ROW(session_default), ROW(session_set_default), ROW(enter),         ROW(leave),          ROW(site_enter),
    ROW(site_begin),      ROW(site_end),          ROW(region_stats),    ROW(reset),          ROW(fortran_lanes),
    ROW(fortran_begin),   ROW(fortran_end),       ROW(fortran_begin_name), ROW(fortran_end_name), ROW(fortran_region),
    ROW(init),            ROW(init_as),           ROW(finalize),        ROW(finalize_as),    ROW(flush),
    ROW(task_open_at),    ROW(task_switch_at),    ROW(task_rename),     ROW(task_step),      ROW(lanes_read),
    ROW(lanes_column),    ROW(lanes_count),       ROW(lanes_free),      ROW(thread_task),    ROW(thread_over),
    ROW(thread_register_as),
};
#define ROWS (sizeof table / sizeof table[0])

static int has_row(const char *name) {
  for (size_t i = 0; i < ROWS; ++i) {
    if (strcmp(table[i].name, name) == 0) return 1;
  }
  return 0;
}

/* How many functions the library that has this one gives to programs; each must have a row. */
static int check_exports(const char *function) {
  Dl_info info;
  char command[1024], line[512];
  int found = 0;
  void *address = dlsym(RTLD_DEFAULT, function);
  if (!address || !dladdr(address, &info)) return 0;
  snprintf(command, sizeof command, "nm -D --defined-only '%s'", info.dli_fname);
  FILE *symbols = popen(command, "r");
  while (symbols && fgets(line, sizeof line, symbols)) {
    char *name = strstr(line, " lsc_"), *end = strstr(line, "@@LANESCOPE_0.1\n");
    if (!name || !end) continue;
    *end = '\0';
    EXPECT(has_row(name + 1), "the table has no row for %s", name + 1);
    ++found;
  }
  if (symbols) pclose(symbols);
  return found;
}

static void try_all(enum phase now) {
  phase = now;
  GIVES(lsc_session_open(NULL, &session), LSC_OK);
  GIVES(lsc_session_open(NULL, &dead[1]), LSC_OK);
  GIVES(lsc_session_close(dead[1]), LSC_OK);
  for (size_t i = 0; i < ROWS; ++i) {
    table[i].try();
    uint64_t calls = 0; /* the session is as good as new */
    GIVES(lsc_uncollected(session, &calls), LSC_OK);
  }
  lsc_detach(session);
  GIVES(lsc_session_close(session), LSC_OK);
}

int main(void) {
  char command[128];
  dead[2] = 123456789;
  dead[3] = UINT64_MAX;
  if (!mkdtemp(folder) || lsc_region("misuse", &region) != LSC_OK || lsc_region("other", &other) != LSC_OK) return 1;
  try_all(BEFORE_MPI);
  MPI_Init(NULL, NULL);
  try_all(WITHIN_MPI);
  EXPECT(check_exports("lsc_version") + check_exports("lsc_collect") == (int)ROWS, "not every row is exported");
  MPI_Finalize();
  try_all(AFTER_MPI);
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  if (system(command) != 0) fprintf(stderr, "%s is left\n", folder);
  return failures > 0;
}
