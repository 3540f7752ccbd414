/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_merge FOLDER: files to be merged, beside what the merged file must be; tests/python/test_merge.py compares.
 *   same.rank<k>.h5   each rank's calls in a file of its own; same.h5: the same calls, collected
 *   steps.<n>.h5      what is new at three collects, with calls that stay open over some of them
 *   apart.<n>.h5      likewise, but the last are apart.rank<k>.h5
 *   a.rank<k>.h5, b.rank<k>.h5   two sessions, attached and gone apart; a.1.h5: what a collected before; c.<n>.h5: a
 *                     session over two communicators of the same ranks, one after the other
 *   shut.<n>.h5       three collects, without any call that is open
 *   half.<n>.h5       two collects of all, of which rank 0 had had one before; half.rank0.h5: one more of it
 *   whole.h5          calls around those of steps and apart, one for one, collected at the end
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "attach.h"
#include "check.h"
#include "collect.h"
#include "lanescope_mpi.h"
#include "snapshot.h"

static int rank, ranks, keep;
static const char *folder;

void __real_lsc_snapshot_commit(struct lsc_snapshot *snapshot);
void __wrap_lsc_snapshot_commit(struct lsc_snapshot *snapshot);

/* While rows are kept, what was written can be written again. */
void __wrap_lsc_snapshot_commit(struct lsc_snapshot *snapshot) {
  if (keep) lsc_snapshot_drop(snapshot);
  else __real_lsc_snapshot_commit(snapshot);
}

static const char *path_of(const char *name, int number) {
  static char path[512];
  snprintf(path, sizeof path, number < 0 ? "%s/%s.h5" : "%s/%s.%d.h5", folder, name, number);
  return path;
}

static lsc_region_id region_of(const char *name) {
  lsc_region_id region = 0;
  CHECK_STATUS(lsc_region(name, &region), LSC_OK);
  return region;
}

/* Sessions that get the same calls, the first one around the others. */
struct group {
  lsc_session session[3];
  lsc_task task[3];
  int count;
  lsc_api api;
};

static void begin(struct group *group, const char *name) {
  for (int i = 0; i < group->count; ++i) {
    CHECK_STATUS(lsc_begin_as(group->session[i], group->api, region_of(name)), LSC_OK);
  }
}

static void end(struct group *group, const char *name) {
  for (int i = group->count; i-- > 0;) {
    CHECK_STATUS(lsc_end_as(group->session[i], group->api, region_of(name)), LSC_OK);
  }
}

static void some_calls(struct group *group, int times) {
  char own[32];
  snprintf(own, sizeof own, "only %d", rank);
  for (int i = 0; i < times; ++i) {
    begin(group, "all");
    begin(group, own);
    end(group, own);
    if (i % 3 == 0) begin(group, "deep"), begin(group, "deep"), end(group, "deep"), end(group, "deep");
    end(group, "all");
  }
}

static void *work(void *argument) {
  struct group group = *(struct group *)argument;
  begin(&group, "work");
  some_calls(&group, 4);
  end(&group, "work");
  group.api = LSC_API_FORTRAN;
  begin(&group, "of no lane");
  some_calls(&group, 2);
  end(&group, "of no lane");
  return NULL;
}

static void in_thread(struct group *group) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, work, group) == 0, "no thread");
  pthread_join(thread, NULL);
}

static void open_task(struct group *group) {
  for (int i = 0; i < group->count; ++i) {
    CHECK_STATUS(lsc_task_open(group->session[i], "fiber", "a fiber", "run", &group->task[i]), LSC_OK);
  }
}
static void enter_task(struct group *group) {
  for (int i = 0; i < group->count; ++i) CHECK_STATUS(lsc_task_enter(group->task[i]), LSC_OK);
}
static void leave_task(struct group *group) {
  for (int i = group->count; i-- > 0;) CHECK_STATUS(lsc_task_leave(group->task[i]), LSC_OK);
}

static void open_sessions(struct group *group, int count) {
  *group = (struct group){.count = count, .api = rank == 1 ? LSC_API_PYTHON : LSC_API_C};
  for (int i = 0; i < count; ++i) {
    lsc_session_options options = {.size = sizeof options, .label = "merge", .no_lanes = rank == 2};
    CHECK_STATUS(lsc_session_open(&options, &group->session[i]), LSC_OK);
  }
}

static void close_sessions(struct group *group) {
  for (int i = 0; i < group->count; ++i) {
    lsc_detach(group->session[i]);
    CHECK_STATUS(lsc_session_close(group->session[i]), LSC_OK);
  }
}

static void collect(lsc_session session, const char *path) {
  CHECK_STATUS(lsc_collect(session, MPI_COMM_WORLD, path, NULL), LSC_OK);
}

static void write_own(lsc_session session, const char *name) {
  struct lsc_membership of;
  char *path = lsc_rank_path(path_of(name, -1), rank);
  CHECK(lsc_attached_membership(session, &of), "the session is not attached");
  CHECK_STATUS(lsc_write_apart(session, path, rank, ranks, &of, NULL), LSC_OK);
  free(path);
}

/* One recording, written both ways. Rank 3 records nothing. */
static void record_same(void) {
  struct group group;
  open_sessions(&group, 1);
  CHECK_STATUS(lsc_attach(group.session[0], MPI_COMM_WORLD, 60), LSC_OK);
  if (rank != 3) {
    some_calls(&group, 10 + rank);
    if (rank == 0) {
      open_task(&group);
      enter_task(&group);
      some_calls(&group, 2);
      begin(&group, "in a task");
      leave_task(&group);
    }
    in_thread(&group);
    begin(&group, "all");
    begin(&group, "left open");
    some_calls(&group, 3);
  }
  keep = 1;
  write_own(group.session[0], "same");
  keep = 0;
  collect(group.session[0], path_of("same", -1));
  close_sessions(&group);
}

static void step(struct group *group, int number) {
  collect(group->session[1], path_of("steps", number));
  collect(group->session[2], path_of("apart", number));
}

static void record_steps(void) {
  struct group group;
  open_sessions(&group, 3);
  int has_tasks = rank == 0;
  begin(&group, "outer");
  some_calls(&group, 3);
  begin(&group, "over one");
  if (has_tasks) {
    open_task(&group);
    enter_task(&group);
    begin(&group, "in a task");
    leave_task(&group);
  }
  if (rank < 2) in_thread(&group);
  step(&group, 1);

  some_calls(&group, 2);
  end(&group, "over one");
  begin(&group, "over two");
  if (has_tasks) {
    enter_task(&group);
    some_calls(&group, 2);
    leave_task(&group);
  }
  in_thread(&group);
  step(&group, 2);

  end(&group, "over two");
  end(&group, "outer");
  if (has_tasks) {
    enter_task(&group);
    end(&group, "in a task");
    leave_task(&group);
    for (int i = 0; i < group.count; ++i) CHECK_STATUS(lsc_task_finish(group.task[i]), LSC_OK);
  }
  some_calls(&group, 5);
  begin(&group, "never ends");
  some_calls(&group, 1);
  collect(group.session[1], path_of("steps", 3));
  write_own(group.session[2], "apart");
  collect(group.session[0], path_of("whole", -1));
  close_sessions(&group);
}

/* What it has not collected, as where a rank is missing. */
static void go_apart(lsc_session session, const char *name) {
  lsc_save_options options = {.size = sizeof options, .quiet = 1};
  lsc_abandon(session);
  CHECK_STATUS(lsc_save(session, path_of(name, -1), &options), LSC_APART);
}

static void record_sessions(void) {
  struct group group;
  MPI_Comm again;
  open_sessions(&group, 3);
  for (int i = 0; i < 3; ++i) CHECK_STATUS(lsc_attach(group.session[i], MPI_COMM_WORLD, 60), LSC_OK);
  some_calls(&group, 3);
  collect(group.session[0], path_of("a", 1));
  collect(group.session[2], path_of("c", 1));
  lsc_detach(group.session[2]);
  some_calls(&group, 2);
  go_apart(group.session[0], "a");
  go_apart(group.session[1], "b");
  MPI_Comm_dup(MPI_COMM_WORLD, &again);
  CHECK_STATUS(lsc_attach(group.session[2], again, 60), LSC_OK);
  collect(group.session[2], path_of("c", 2));
  MPI_Comm_free(&again);
  close_sessions(&group);
}

static void record_shut(void) {
  struct group group;
  open_sessions(&group, 1);
  for (int i = 1; i <= 3; ++i) {
    some_calls(&group, 2 + i);
    collect(group.session[0], path_of("shut", i));
  }
  close_sessions(&group);
}

static void record_half(void) {
  struct group group;
  open_sessions(&group, 1);
  some_calls(&group, 2);
  if (rank == 0) CHECK_STATUS(lsc_write(group.session[0], path_of("elsewhere", -1), NULL), LSC_OK);
  for (int i = 1; i <= 2; ++i) {
    some_calls(&group, 1);
    collect(group.session[0], path_of("half", i));
  }
  if (rank == 0) write_own(group.session[0], "half");
  close_sessions(&group);
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  folder = argv[1];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  record_same();
  record_steps();
  record_sessions();
  record_shut();
  record_half();
  int result = check_result();
  MPI_Finalize();
  return result;
}
