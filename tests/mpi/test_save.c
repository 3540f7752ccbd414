/* SPDX-License-Identifier: BSD-3-Clause */
/* lsc_save before MPI_Init, between, and after MPI_Finalize, in a forked child, and what launchers say. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "lanescope_mpi.h"

/* What was found before MPI runs, to be checked when it does. */
struct alone {
  lsc_status save, collect, attach;
  int active, rank, size;
  char written[512], message[4096];
};

static char folder[256];

static const char *path_of(const char *name) {
  static char path[512];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static lsc_session record(void) {
  lsc_session session = 0;
  lsc_region_id region = 0;
  lsc_session_open(NULL, &session);
  lsc_region("saved", &region);
  for (int i = 0; i < 3; ++i) {
    lsc_begin(session, region);
    lsc_end(session, region);
  }
  return session;
}

/* Saves, and catches what was printed to stderr. */
static lsc_status save_and_listen(lsc_session session, const char *path, lsc_save_options *options, char *heard,
                                  size_t size) {
  FILE *file = tmpfile();
  int before = dup(STDERR_FILENO);
  if (!file || before < 0) abort();
  fflush(stderr);
  dup2(fileno(file), STDERR_FILENO);
  lsc_status status = lsc_save(session, path, options);
  fflush(stderr);
  dup2(before, STDERR_FILENO);
  close(before);
  rewind(file);
  heard[fread(heard, 1, size - 1, file)] = '\0';
  fclose(file);
  return status;
}

/* While MPI does not run. */
static struct alone save_alone(const char *name, int quiet) {
  struct alone alone = {.active = lsc_mpi_is_active()};
  lsc_session session = record();
  lsc_save_options options = {
      .size = sizeof options, .quiet = quiet, .written = alone.written, .written_size = sizeof alone.written};
  alone.attach = lsc_attach_fortran(session, LSC_COMM_WORLD, 1);
  alone.collect = lsc_collect(session, MPI_COMM_WORLD, path_of(name), NULL);
  alone.save = save_and_listen(session, path_of(name), &options, alone.message, sizeof alone.message);
  lsc_rank_of(session, &alone.rank, &alone.size);
  lsc_detach(session);
  lsc_session_close(session);
  return alone;
}

static int count_lines(const char *text) {
  int lines = 0;
  for (; *text; ++text) lines += *text == '\n';
  return lines;
}

static void check_alone(const struct alone *alone, const char *name, int rank, int size, int quiet) {
  char expected[600];
  if (size > 1)
    snprintf(expected, sizeof expected, "%s/%s.rank%d.h5", folder, name, rank);
  else
    snprintf(expected, sizeof expected, "%s/%s.h5", folder, name);
  int lines = size > 1 && rank == 0 && !quiet;
  CHECK(alone->save == LSC_OK && alone->collect == LSC_NO_MPI && alone->attach == LSC_NO_MPI, "%d, %d, %d",
        (int)alone->save, (int)alone->collect, (int)alone->attach);
  CHECK(!alone->active, "MPI is active");
  CHECK(alone->rank == (size > 1 ? rank : 0) && alone->size == size, "rank %d of %d", alone->rank, alone->size);
  CHECK(strcmp(alone->written, expected) == 0, "the calls were written to %s, not %s", alone->written, expected);
  CHECK(access(expected, R_OK) == 0, "there is no %s", expected);
  CHECK(count_lines(alone->message) == lines, "printed: %s", alone->message);
  CHECK(!lines || (strstr(alone->message, expected) && strstr(alone->message, "mpi4py")), "printed: %s",
        alone->message);
}

/* A child of fork has nothing to do with its parent's MPI. */
static void test_fork(lsc_session session) {
  int status = -1;
  pid_t child = fork();
  if (child == 0) {
    int wrong = lsc_mpi_is_active() || lsc_collect(session, MPI_COMM_WORLD, path_of("child.h5"), NULL) != LSC_NO_MPI;
    lsc_detach(session);
    _exit(wrong);
  }
  waitpid(child, &status, 0);
  CHECK(status == 0, "the child ended with %d", status);
  CHECK(lsc_mpi_is_active(), "MPI is not active in the parent");
}

static void test_between(int rank, int ranks) {
  char heard[1024], written[512];
  int own = -1, size = 0;
  lsc_session session = record();
  lsc_save_options options = {
      .size = sizeof options, .timeout = 60, .written = written, .written_size = sizeof written};
  const char *path = check_path("between.h5");
  CHECK_STATUS(lsc_attach(session, MPI_COMM_SELF, 60), LSC_OK);
  lsc_rank_of(session, &own, &size);
  CHECK(own == 0 && size == 1, "rank %d of %d", own, size);
  CHECK_STATUS(lsc_attach(session, MPI_COMM_WORLD, 60), LSC_OK);
  lsc_rank_of(session, &own, &size);
  CHECK(own == rank && size == ranks, "rank %d of %d", own, size);
  test_fork(session);
  CHECK_STATUS(save_and_listen(session, path, &options, heard, sizeof heard), LSC_OK);
  CHECK(strcmp(written, path) == 0 && heard[0] == '\0', "%s was written, and printed: %s", written, heard);
  lsc_detach(session);
  lsc_detach(session);
  CHECK_STATUS(lsc_session_close(session), LSC_OK);
}

static void clear_environment(void) {
  static const char *const names[] = {"OMPI_COMM_WORLD", "MV2_COMM_WORLD", "PMIX", "PMI"};
  char variable[64];
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
    snprintf(variable, sizeof variable, "%s_RANK", names[i]);
    unsetenv(variable);
    snprintf(variable, sizeof variable, "%s_SIZE", names[i]);
    unsetenv(variable);
  }
  unsetenv("SLURM_PROCID");
  unsetenv("SLURM_STEP_NUM_TASKS");
}

static void check_launcher(const char *rank_name, const char *rank, const char *size_name, const char *size,
                           int expected_rank, int expected_size) {
  int own = -1, count = -1;
  clear_environment();
  setenv(rank_name, rank, 1);
  if (size) setenv(size_name, size, 1);
  lsc_rank_of(0, &own, &count);
  CHECK(own == expected_rank && count == expected_size, "%s=%s %s=%s gave rank %d of %d", rank_name, rank, size_name,
        size ? size : "", own, count);
}

/* mpirun -n 1 within a job step of 4 tasks. */
static void check_inner_launcher(void) {
  int own = -1, count = -1;
  clear_environment();
  setenv("SLURM_PROCID", "2", 1);
  setenv("SLURM_STEP_NUM_TASKS", "4", 1);
  setenv("OMPI_COMM_WORLD_RANK", "0", 1);
  setenv("OMPI_COMM_WORLD_SIZE", "1", 1);
  lsc_rank_of(0, &own, &count);
  CHECK(own == 0 && count == 1, "rank %d of %d", own, count);
}

static void test_launchers(void) {
  check_inner_launcher();
  check_launcher("OMPI_COMM_WORLD_RANK", "3", "OMPI_COMM_WORLD_SIZE", "5", 3, 5);
  check_launcher("PMIX_RANK", "3", "PMIX_SIZE", NULL, 0, 1);
  check_launcher("PMI_RANK", "0", "PMI_SIZE", "2", 0, 2);
  check_launcher("MV2_COMM_WORLD_RANK", "1", "MV2_COMM_WORLD_SIZE", "2", 1, 2);
  check_launcher("SLURM_PROCID", "7", "SLURM_STEP_NUM_TASKS", "8", 7, 8);
  check_launcher("SLURM_PROCID", "0", "SLURM_STEP_NUM_TASKS", "1", 0, 1);
  check_launcher("PMI_RANK", "2", "PMI_SIZE", "2", 0, 1);
  check_launcher("PMI_RANK", "-1", "PMI_SIZE", "2", 0, 1);
  check_launcher("PMI_RANK", "1x", "PMI_SIZE", "2", 0, 1);
  check_launcher("PMI_RANK", "", "PMI_SIZE", "2", 0, 1);
  check_launcher("PMI_RANK", "1", "PMI_SIZE", "99999999999999999999", 0, 1);
}

/* Nothing is checked while MPI does not run; it is checked before MPI_Finalize, or tells by the exit status. */
int main(int argc, char **argv) {
  int rank, ranks;
  snprintf(folder, sizeof folder, "%s/lanescope-save-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
  if (!mkdtemp(folder)) {
    perror(folder);
    return 1;
  }
  struct alone before = save_alone("before.h5", 0), silent = save_alone("silent.h5", 1);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  check_alone(&before, "before", rank, ranks, 0);
  check_alone(&silent, "silent", rank, ranks, 1);
  test_between(rank, ranks);
  test_launchers();
  int result = check_result();
  MPI_Finalize();
  lsc_session session = record();
  lsc_status late = lsc_save(session, path_of("after.h5"), NULL);
  if (lsc_mpi_is_active() || late != LSC_OK || access(path_of("after.h5"), R_OK) != 0) {
    fprintf(stderr, "after MPI_Finalize: %s: %s\n", lsc_strerror(late), lsc_message());
    result = 1;
  }
  char command[512];
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  if (result == 0 && system(command) != 0) fprintf(stderr, "%s is left\n", folder);
  return result;
}
