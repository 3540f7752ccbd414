/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_finalize MODE FOLDER: a program that leaves its sessions to MPI_Finalize, in one of the ways below.
 * test_finalize verify FILE FIRST STEP RANKS: the file holds what the ranks FIRST, FIRST + STEP and so on recorded;
 * verify-calls: only their completed calls are looked at.
 * test_finalize verify-own FILE: the program's own file is whole.
 * tests/check-finalize runs them.
 */
#include <hdf5.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "compare.h"
#include "lanescope_mpi.h"

#define OWN_VALUES 4

static const char *folder;
static int rank, ranks;

static const char *path_of(const char *name, int number) {
  static char path[1024];
  snprintf(path, sizeof path, "%s/%s%.0d.h5", folder, name, number);
  return path;
}

static void call(lsc_session session, const char *name, int times) {
  lsc_region_id region = 0;
  lsc_region(name, &region);
  for (int i = 0; i < times; ++i) {
    lsc_begin(session, region);
    lsc_end(session, region);
  }
}

static void *work_on_thread(void *session) {
  call(*(lsc_session *)session, "threaded", 2);
  return NULL;
}

/* 3 + rank calls of `work`, two of `threaded` on a thread, and one of `open` that never ends. */
static void record(lsc_session session) {
  pthread_t thread;
  lsc_region_id open = 0;
  lsc_region("open", &open);
  lsc_begin(session, open);
  call(session, "work", 3 + rank);
  pthread_create(&thread, NULL, work_on_thread, &session);
  pthread_join(thread, NULL);
}

static lsc_session open_session(void) {
  lsc_session session = 0;
  lsc_session_open(NULL, &session);
  return session;
}

static void plan(lsc_session session, const char *path) {
  lsc_save_options options = {.size = sizeof options, .timeout = 60, .python_version = "3.99"};
  char copy[1024];
  snprintf(copy, sizeof copy, "%s", path);
  CHECK_STATUS(lsc_collect_at_exit(session, copy, &options), LSC_OK);
  memset(copy, 'x', sizeof copy - 1);
}

static void start(void) {
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
}

/* Starts MPI, and leaves a session on the communicator to its end. */
static lsc_session leave_to_the_end(void) {
  lsc_session session = open_session();
  CHECK_STATUS(lsc_attach(session, MPI_COMM_WORLD, 60), LSC_OK);
  plan(session, path_of("run", 0));
  record(session);
  return session;
}

static void plain(void) {
  start();
  leave_to_the_end();
}

static void use_hdf5(void) {
  hid_t file = H5Fcreate(path_of("serial", rank + 1), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  CHECK(file >= 0 && H5Fclose(file) >= 0, "HDF5 made no file");
}

/* A parallel file of the program's own, which stays open. HDF5 itself loses what is not flushed. */
static void open_own(void) {
  hsize_t size = OWN_VALUES;
  int values[OWN_VALUES] = {3, 1, 4, 1};
  hid_t access = H5Pcreate(H5P_FILE_ACCESS), space = H5Screate_simple(1, &size, NULL);
  H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
  hid_t file = H5Fcreate(path_of("own", 0), H5F_ACC_TRUNC, H5P_DEFAULT, access);
  hid_t data = H5Dcreate2(file, "values", H5T_STD_I32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  if (rank == 0) H5Dwrite(data, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
  CHECK(data >= 0 && H5Fflush(file, H5F_SCOPE_GLOBAL) >= 0, "no parallel file");
  H5Pclose(access);
  H5Sclose(space);
}

static void hdf5_before(void) {
  start();
  use_hdf5();
  leave_to_the_end();
}

static void hdf5_after(void) {
  start();
  leave_to_the_end();
  use_hdf5();
}

static void open_before(void) {
  start();
  open_own();
  leave_to_the_end();
}

static void open_after(void) {
  start();
  leave_to_the_end();
  open_own();
}

/* Opened before MPI_Init, and refused until MPI runs. */
static void late_init(void) {
  lsc_session session = open_session();
  lsc_status early = lsc_collect_at_exit(session, path_of("run", 0), NULL);
  start();
  CHECK(early == LSC_NO_MPI, "%s", lsc_strerror(early));
  CHECK_STATUS(lsc_attach(session, MPI_COMM_WORLD, 60), LSC_OK);
  plan(session, path_of("run", 0));
  record(session);
}

static void unattached(void) {
  start();
  lsc_session session = open_session();
  record(session);
  plan(session, path_of("run", 0));
}

/* Even and odd ranks have a communicator each, which is freed at once. */
static void groups(void) {
  MPI_Comm half;
  start();
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  lsc_session session = open_session();
  CHECK_STATUS(lsc_attach(session, half, 60), LSC_OK);
  MPI_Comm_free(&half);
  plan(session, path_of("run", rank % 2 + 1));
  record(session);
}

/*
 * A session on every two neighbours and one on all: each rank plans its own in another order, and all must come to the
 * same. A rank records into the session with the next one.
 */
static void chain(void) {
  lsc_session with[2] = {0, 0}, all;
  start();
  for (int low = 0; low + 1 < ranks; ++low) {
    MPI_Comm pair;
    int is_in = rank == low || rank == low + 1;
    MPI_Comm_split(MPI_COMM_WORLD, is_in ? 0 : MPI_UNDEFINED, rank, &pair);
    if (!is_in) continue;
    lsc_session *session = &with[rank == low];
    *session = open_session();
    CHECK_STATUS(lsc_attach(*session, pair, 60), LSC_OK);
    MPI_Comm_free(&pair);
  }
  all = open_session();
  CHECK_STATUS(lsc_attach(all, MPI_COMM_WORLD, 60), LSC_OK);
  if (rank % 2) plan(all, path_of("run", 0));
  if (rank + 1 < ranks) plan(with[1], path_of("pair", rank + 1));
  if (rank > 0) plan(with[0], path_of("pair", rank));
  if (rank % 2 == 0) plan(all, path_of("run", 0));
  record(all);
  for (int i = 0; i < 2; ++i) record(with[i]);
}

static void *collect_on_thread(void *status) {
  lsc_session session = open_session();
  *(lsc_status *)status = lsc_collect(session, MPI_COMM_SELF, path_of("other", rank + 1), NULL);
  lsc_detach(session);
  lsc_session_close(session);
  return NULL;
}

/* At each level of thread support; another thread may collect where MPI allows it, and is refused elsewhere. */
static void at_level(int level) {
  int provided = -1;
  pthread_t thread;
  lsc_status status = LSC_INACTIVE;
  MPI_Init_thread(NULL, NULL, level, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  leave_to_the_end();
  pthread_create(&thread, NULL, collect_on_thread, &status);
  pthread_join(thread, NULL);
  CHECK(status == (provided < MPI_THREAD_SERIALIZED ? LSC_MPI : LSC_OK), "level %d: %s", provided,
        lsc_strerror(status));
}

static void single(void) { at_level(MPI_THREAD_SINGLE); }
static void funneled(void) { at_level(MPI_THREAD_FUNNELED); }
static void serialized(void) { at_level(MPI_THREAD_SERIALIZED); }
static void multiple(void) { at_level(MPI_THREAD_MULTIPLE); }

/* What was collected to the path before is left alone, without waiting for a rank that comes late. */
static void collected(void) {
  lsc_save_options options = {.size = sizeof options, .timeout = 1, .replace = 1};
  start();
  CHECK(chdir(folder) == 0, "%s", folder);
  lsc_session session = open_session();
  CHECK_STATUS(lsc_collect_at_exit(session, "run.h5", &options), LSC_OK);
  record(session);
  options.timeout = 60;
  CHECK_STATUS(lsc_collect(session, MPI_COMM_WORLD, "run.h5", &options), LSC_OK);
  call(session, "more", 1);
  CHECK(chdir("/") == 0, "/");
  if (rank == ranks - 1) sleep(4);
}

/* Taken back, or closed: no file. */
static void taken_back(void) {
  start();
  CHECK_STATUS(lsc_collect_at_exit(leave_to_the_end(), NULL, NULL), LSC_OK);
}

static void closed(void) {
  start();
  CHECK_STATUS(lsc_session_close(leave_to_the_end()), LSC_OK);
}

/* One rank has taken it back: the others write apart. */
static void apart(void) {
  lsc_save_options options = {.size = sizeof options, .timeout = 2};
  start();
  lsc_session session = open_session();
  CHECK_STATUS(lsc_attach(session, MPI_COMM_WORLD, 60), LSC_OK);
  record(session);
  if (rank < ranks - 1) CHECK_STATUS(lsc_collect_at_exit(session, path_of("run", 0), &options), LSC_OK);
}

static void unwritable(void) {
  start();
  lsc_session session = open_session();
  plan(session, path_of("missing/run", 0));
  record(session);
}

/* A child of fork says nothing at its end, before or after MPI_Finalize. */
static void fork_child(void) {
  int status = -1;
  pid_t child = fork();
  if (child == 0) exit(0);
  waitpid(child, &status, 0);
  if (status != 0) fprintf(stderr, "the child ended with %d\n", status);
}

static void forked(void) {
  start();
  leave_to_the_end();
  fork_child();
}

static lsc_session asked_session;

static void asked(void) {
  start();
  asked_session = leave_to_the_end();
}

/* After MPI_Finalize: what became of it, and what was recorded since. */
static int ask(void) {
  lsc_report *report = NULL;
  char written[1024];
  uint64_t calls = 99;
  call(asked_session, "work", 2);
  lsc_status status = lsc_collected_at_exit(asked_session, &report, written, sizeof written);
  int wrong = status != LSC_OK || strcmp(written, path_of("run", 0)) != 0 || !report != (rank > 0);
  lsc_report_free(report);
  wrong |= lsc_collected_at_exit(asked_session, &report, NULL, 0) != LSC_OK || report;
  wrong |= lsc_uncollected(asked_session, &calls) != LSC_OK || calls != 2;
  wrong |= lsc_collect_at_exit(asked_session, path_of("late", 0), NULL) != LSC_NO_MPI;
  lsc_detach(asked_session);
  wrong |= lsc_collected_at_exit(asked_session, NULL, NULL, 0) != LSC_INACTIVE;
  if (wrong) fprintf(stderr, "rank %d: %s, %s, %d new calls\n", rank, lsc_strerror(status), written, (int)calls);
  return wrong;
}

static int verify(const char *path, int first, int step, int count, int only_calls) {
  struct merged merged;
  merged_open(&merged, path);
  check_consistent(&merged, count);
  CHECK(readback_rows(merged.file, "rank_table/ranks") == (size_t)count, "not %d ranks", count);
  const int64_t *calls = readback_i64(merged.file, "rank_table/calls");
  const int64_t *opens = readback_i64(merged.file, "rank_table/open_calls");
  int64_t all = 0;
  for (int i = 0; i < count; ++i) {
    int64_t expected = 3 + first + i * step + 2;
    CHECK(calls[i] == expected, "rank %d: %d calls", i, (int)calls[i]);
    CHECK(only_calls || opens[i] == 1, "rank %d: %d open calls", i, (int)opens[i]);
    all += expected;
  }
  CHECK(merged.events == (size_t)all, "%zu events", merged.events);
  CHECK(only_calls || merged.opens == (size_t)count, "%zu open calls", merged.opens);
  CHECK(only_calls || merged.threads == 2 * (size_t)count, "%zu threads", merged.threads);
  merged_close(&merged);
  return check_result();
}

static int verify_own(const char *path) {
  int values[OWN_VALUES] = {0};
  hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT), data = H5Dopen2(file, "values", H5P_DEFAULT);
  H5Dread(data, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
  CHECK(values[0] == 3 && values[2] == 4, "%s holds %d", path, values[0]);
  H5Dclose(data);
  H5Fclose(file);
  return check_result();
}

static const struct {
  const char *name;
  void (*run)(void);
} modes[] = {
    {"plain", plain},           {"hdf5-before", hdf5_before}, {"hdf5-after", hdf5_after}, {"open-before", open_before},
    {"open-after", open_after}, {"late-init", late_init},     {"unattached", unattached}, {"groups", groups},
    {"chain", chain},           {"single", single},           {"funneled", funneled},     {"serialized", serialized},
    {"multiple", multiple},     {"collected", collected},     {"taken-back", taken_back}, {"closed", closed},
    {"apart", apart},           {"unwritable", unwritable},   {"asked", asked},
    {"forked", forked},
};

static int check_file(int argc, char **argv) {
  MPI_Init(NULL, NULL);
  int only_calls = strcmp(argv[1], "verify-calls") == 0;
  int failed =
      argc == 6 ? verify(argv[2], atoi(argv[3]), atoi(argv[4]), atoi(argv[5]), only_calls) : verify_own(argv[2]);
  MPI_Finalize();
  return failed;
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  if (strncmp(argv[1], "verify", 6) == 0) return check_file(argc, argv);
  folder = argv[2];
  for (size_t i = 0; i < sizeof modes / sizeof modes[0]; ++i) {
    if (strcmp(argv[1], modes[i].name) != 0) continue;
    modes[i].run();
    int failed = check_failures;
    MPI_Finalize();
    if (modes[i].run == forked) fork_child();
    return asked_session ? failed | ask() : failed > 0;
  }
  return 2;
}
