/* SPDX-License-Identifier: BSD-3-Clause */
/* lsc_init, lsc_flush and lsc_finalize in one process: who opens, who joins, and which calls are in which file. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../mpi/readback.h"
#include "folder.h"
#include "lanescope_file.h"
#include "unit.h"

static void call(int times) {
  lsc_region_id region;
  ck_assert_int_eq(lsc_region("call", &region), LSC_OK);
  for (int i = 0; i < times; i++) {
    ck_assert_int_eq(lsc_enter(region), LSC_OK);
    ck_assert_int_eq(lsc_leave(region), LSC_OK);
  }
}

static void check_calls(const char *path, size_t calls) {
  char whole[PATH_MAX + 64];
  snprintf(whole, sizeof whole, "%s/%s", folder, path);
  ck_assert_msg(access(whole, R_OK) == 0, "there is no %s", whole);
  readback *file = readback_open(whole);
  ck_assert_uint_eq(readback_rows(file, "events/start_times"), calls);
  readback_close(file);
}

static void check_absent(const char *path) {
  char whole[PATH_MAX + 64];
  snprintf(whole, sizeof whole, "%s/%s", folder, path);
  ck_assert_int_eq(access(whole, F_OK), -1);
}

START_TEST(a_file_of_what_was_recorded_between) {
  lsc_region_id region;
  enter_folder();
  ck_assert_int_eq(lsc_region("call", &region), LSC_OK);
  ck_assert_int_eq(lsc_enter(region), LSC_INACTIVE);
  ck_assert_int_eq(lsc_finalize(), LSC_INACTIVE);
  ck_assert_int_eq(lsc_flush(), LSC_INACTIVE);
  ck_assert_int_eq(lsc_init("run.h5", &(lsc_init_options){.size = sizeof(lsc_init_options), .label = "a label"}),
                   LSC_OK);
  ck_assert_int_eq(chdir("/"), 0);
  call(7);
  ck_assert_int_eq(lsc_finalize(), LSC_OK);
  ck_assert_uint_eq(lsc_session_default(), 0);
  ck_assert_int_eq(lsc_finalize(), LSC_INACTIVE);
  ck_assert_int_eq(lsc_enter(region), LSC_INACTIVE);
  check_calls("run.h5", 7);
  char path[PATH_MAX + 64];
  snprintf(path, sizeof path, "%s/run.h5", folder);
  readback *file = readback_open(path);
  ck_assert_str_eq(readback_attribute_str(file, "metadata", "label"), "a label");
  readback_close(file);
  ck_assert_int_eq(chdir(folder), 0);
  ck_assert_int_eq(lsc_init("again.h5", NULL), LSC_OK);
  call(2);
  ck_assert_int_eq(lsc_finalize(), LSC_OK);
  check_calls("again.h5", 2);
  leave_folder();
}
END_TEST

START_TEST(a_flush_writes_what_is_new) {
  lsc_region_id open;
  enter_folder();
  ck_assert_int_eq(lsc_region("open", &open), LSC_OK);
  ck_assert_int_eq(lsc_init("run.h5", NULL), LSC_OK);
  call(3);
  ck_assert_int_eq(lsc_enter(open), LSC_OK);
  ck_assert_int_eq(lsc_flush(), LSC_OK);
  call(4);
  ck_assert_int_eq(lsc_leave(open), LSC_OK);
  ck_assert_int_eq(lsc_flush(), LSC_OK);
  call(5);
  ck_assert_int_eq(lsc_finalize(), LSC_OK);
  check_calls("run.1.h5", 3);
  check_calls("run.2.h5", 4 + 1);
  check_calls("run.h5", 5);
  check_absent("run.3.h5");
  leave_folder();
}
END_TEST

START_TEST(who_joins_leaves_it_to_who_opened_it) {
  enter_folder();
  ck_assert_int_eq(lsc_init("run.h5", NULL), LSC_OK);
  lsc_session session = lsc_session_default();
  ck_assert_int_eq(lsc_init("inner.h5", NULL), LSC_OK);
  ck_assert_int_eq(lsc_init_as(LSC_API_FORTRAN, "fortran.h5", NULL), LSC_OK);
  ck_assert_int_eq(lsc_init_as(LSC_API_FORTRAN, "fortran.h5", NULL), LSC_OK);
  ck_assert_uint_eq(lsc_session_default(), session);
  call(1);
  for (int i = 0; i < 3; i++) ck_assert_int_eq(lsc_finalize_as(LSC_API_FORTRAN, NULL), LSC_OK);
  ck_assert_uint_eq(lsc_session_default(), session);
  ck_assert_int_eq(lsc_finalize(), LSC_OK);
  ck_assert_uint_eq(lsc_session_default(), session);
  call(1);
  ck_assert_int_eq(lsc_finalize(), LSC_OK);
  ck_assert_uint_eq(lsc_session_default(), 0);
  check_calls("run.h5", 2);
  check_absent("inner.h5");
  check_absent("fortran.h5");
  leave_folder();
}
END_TEST

START_TEST(a_session_of_other_means_stays_its_openers) {
  lsc_session session;
  enter_folder();
  ck_assert_int_eq(lsc_session_open(NULL, &session), LSC_OK);
  ck_assert_int_eq(lsc_session_set_default(session), LSC_OK);
  ck_assert_int_eq(lsc_init("run.h5", NULL), LSC_OK);
  call(3);
  ck_assert_int_eq(lsc_flush(), LSC_INACTIVE);
  ck_assert_int_eq(lsc_finalize(), LSC_OK);
  ck_assert_int_eq(lsc_session_is_open(session), 1);
  ck_assert_int_eq(lsc_write(session, "own.h5", NULL), LSC_OK);
  ck_assert_int_eq(lsc_session_close(session), LSC_OK);
  check_calls("own.h5", 3);
  check_absent("run.h5");
  ck_assert_int_eq(lsc_init("run.h5", NULL), LSC_OK);
  ck_assert_int_eq(lsc_session_close(lsc_session_default()), LSC_OK);
  ck_assert_int_eq(lsc_finalize(), LSC_INACTIVE);
  leave_folder();
}
END_TEST

/* The option that came last is not there for an older program, whatever lies behind its struct. */
START_TEST(options_may_be_shorter) {
  enter_folder();
  for (int is_old = 0; is_old < 2; is_old++) {
    size_t size = is_old ? offsetof(lsc_init_options, compress) : sizeof(lsc_init_options);
    ck_assert_int_eq(lsc_init("run.h5", &(lsc_init_options){.size = size, .label = "old", .compress = 2}), LSC_OK);
    call(7);
    ck_assert_int_eq(lsc_finalize(), LSC_OK);
    check_calls("run.h5", 7);
    readback *file = readback_open("run.h5");
    ck_assert_int_eq(readback_is_compressed(file, "events/start_times"), !is_old);
    readback_close(file);
  }
  leave_folder();
}
END_TEST

START_TEST(bad_arguments_open_nothing) {
  const int comm = 0;
  enter_folder();
  ck_assert_int_eq(lsc_init(NULL, NULL), LSC_INVALID);
  ck_assert_int_eq(lsc_init("", NULL), LSC_INVALID);
  ck_assert_int_eq(lsc_init("run.h5", &(lsc_init_options){.size = 1}), LSC_INVALID);
  ck_assert_int_eq(lsc_init("run.h5", &(lsc_init_options){.size = sizeof(lsc_init_options) + 1}), LSC_INVALID);
  ck_assert_int_eq(lsc_init("run.h5", &(lsc_init_options){.size = sizeof(lsc_init_options), .compress = 10}),
                   LSC_INVALID);
  ck_assert_int_eq(lsc_init_as((lsc_api)9, "run.h5", NULL), LSC_INVALID);
  ck_assert_int_eq(lsc_init("run.h5", &(lsc_init_options){.size = sizeof(lsc_init_options), .label = "\xFF"}),
                   LSC_BAD_NAME);
  ck_assert_int_eq(lsc_init("run.h5", &(lsc_init_options){.size = sizeof(lsc_init_options), .comm = &comm}),
                   LSC_NO_MPI);
  ck_assert_uint_eq(lsc_session_default(), 0);
  ck_assert_int_eq(lsc_finalize(), LSC_INACTIVE);
  leave_folder();
}
END_TEST

START_TEST(a_failed_finalize_loses_nothing) {
  enter_folder();
  ck_assert_int_eq(lsc_init("missing/run.h5", NULL), LSC_OK);
  call(3);
  ck_assert_int_eq(lsc_flush(), LSC_IO);
  ck_assert_int_eq(lsc_finalize(), LSC_IO);
  call(1);
  ck_assert_int_eq(lsc_save(lsc_session_default(), "elsewhere.h5", NULL), LSC_OK);
  check_calls("elsewhere.h5", 4);
  ck_assert_int_eq(mkdir("missing", 0700), 0);
  call(2);
  ck_assert_int_eq(lsc_flush(), LSC_OK);
  check_calls("missing/run.1.h5", 2);
  ck_assert_int_eq(rename("missing", "gone"), 0);
  call(1);
  ck_assert_int_eq(lsc_finalize(), LSC_IO);
  ck_assert_int_eq(lsc_finalize_as(LSC_API_C, ""), LSC_INVALID);
  ck_assert_int_eq(lsc_finalize_as(LSC_API_C, "gone/last.h5"), LSC_OK);
  check_calls("gone/last.h5", 1);
  ck_assert_uint_eq(lsc_session_default(), 0);
  leave_folder();
}
END_TEST

static int child_has_its_own(void) {
  if (lsc_session_default() || lsc_finalize() != LSC_INACTIVE || lsc_flush() != LSC_INACTIVE) return 1;
  if (lsc_init("child.h5", NULL) != LSC_OK) return 2;
  call(2);
  return lsc_finalize() == LSC_OK ? 0 : 3;
}

START_TEST(a_child_of_fork_may_open_its_own) {
  int status;
  enter_folder();
  ck_assert_int_eq(lsc_init("parent.h5", NULL), LSC_OK);
  call(1);
  pid_t child = fork();
  if (!child) {
    alarm(30);
    _exit(child_has_its_own());
  }
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert_int_eq(status, 0);
  ck_assert_int_eq(lsc_finalize(), LSC_OK);
  check_calls("parent.h5", 1);
  check_calls("child.h5", 2);
  leave_folder();
}
END_TEST

enum { JOINERS = 4, TIMES = 50 };

static void *join_and_leave(void *unused) {
  (void)unused;
  for (int i = 0; i < TIMES; i++) {
    unit_must(lsc_init("run.h5", NULL) == LSC_OK);
    call(1);
    unit_must(lsc_finalize() == LSC_OK);
  }
  return NULL;
}

START_TEST(threads_that_join_and_leave_at_once_leave_it_open) {
  pthread_t thread[JOINERS];
  enter_folder();
  ck_assert_int_eq(lsc_init("run.h5", NULL), LSC_OK);
  for (int i = 0; i < JOINERS; i++) thread[i] = unit_start(join_and_leave, NULL);
  for (int i = 0; i < JOINERS; i++) pthread_join(thread[i], NULL);
  ck_assert_int_eq(lsc_finalize(), LSC_OK);
  check_calls("run.h5", JOINERS * TIMES);
  leave_folder();
}
END_TEST

static pthread_barrier_t barrier;

static void *open_at_once(void *unused) {
  (void)unused;
  for (int i = 0; i < TIMES; i++) {
    pthread_barrier_wait(&barrier);
    unit_must(lsc_init("run.h5", NULL) == LSC_OK);
    pthread_barrier_wait(&barrier);
    call(1);
    pthread_barrier_wait(&barrier);
    unit_must(lsc_finalize() == LSC_OK);
    pthread_barrier_wait(&barrier);
    unit_must(lsc_session_default() == 0);
  }
  return NULL;
}

START_TEST(of_threads_that_open_at_once_all_but_one_join) {
  pthread_t thread[JOINERS];
  enter_folder();
  pthread_barrier_init(&barrier, NULL, JOINERS);
  for (int i = 0; i < JOINERS; i++) thread[i] = unit_start(open_at_once, NULL);
  for (int i = 0; i < JOINERS; i++) pthread_join(thread[i], NULL);
  pthread_barrier_destroy(&barrier);
  check_calls("run.h5", JOINERS);
  leave_folder();
}
END_TEST

UNIT_MAIN("init", a_file_of_what_was_recorded_between, a_flush_writes_what_is_new, who_joins_leaves_it_to_who_opened_it,
          a_session_of_other_means_stays_its_openers, options_may_be_shorter, bad_arguments_open_nothing,
          a_failed_finalize_loses_nothing,
          a_child_of_fork_may_open_its_own, threads_that_join_and_leave_at_once_leave_it_open,
          of_threads_that_open_at_once_all_but_one_join)
