/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_programs ROLE FOLDER: two programs in one MPI_COMM_WORLD, one of which knows no session. ROLE: silent; group:
 * has one on its own ranks; world: has one on all, where the others never come. tests/check-finalize runs them.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "lanescope_mpi.h"

static int rank;

static lsc_session record(void) {
  lsc_session session = 0;
  lsc_region_id region = 0;
  lsc_session_open(NULL, &session);
  lsc_region("work", &region);
  for (int i = 0; i < 5 + rank; ++i) {
    lsc_begin(session, region);
    lsc_end(session, region);
  }
  return session;
}

/* Which ranks have a session is not known: nobody is waited for. Open MPI's launcher alone tells of other programs. */
static void check_default_is_refused(lsc_session session, const char *path) {
  if (!getenv("OMPI_NUM_APP_CTX")) return;
  CHECK_STATUS(lsc_attach_fortran(session, LSC_COMM_WORLD, 600), LSC_INVALID);
  CHECK(strstr(lsc_message(), "2 programs"), "%s", lsc_message());
  CHECK_STATUS(lsc_save(session, path, NULL), LSC_INVALID);
}

static void in_group(MPI_Comm group, const char *path) {
  lsc_save_options options = {.size = sizeof options, .timeout = 60};
  lsc_session session = record();
  check_default_is_refused(session, path);
  CHECK_STATUS(lsc_attach(session, group, 60), LSC_OK);
  CHECK_STATUS(lsc_collect_at_exit(session, path, &options), LSC_OK);
}

static void in_world(const char *path) {
  lsc_save_options options = {.size = sizeof options, .timeout = 2};
  lsc_session session = record();
  CHECK_STATUS(lsc_collect(session, MPI_COMM_WORLD, path, &options), LSC_APART);
  CHECK_STATUS(lsc_session_close(session), LSC_OK);
}

int main(int argc, char **argv) {
  char path[1024];
  MPI_Comm group;
  if (argc != 3) return 2;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  snprintf(path, sizeof path, "%s/run.h5", argv[2]);
  MPI_Comm_split(MPI_COMM_WORLD, strcmp(argv[1], "silent") == 0, rank, &group);
  if (strcmp(argv[1], "group") == 0) in_group(group, path);
  if (strcmp(argv[1], "world") == 0) in_world(path);
  MPI_Barrier(MPI_COMM_WORLD);
  int failed = check_failures > 0;
  MPI_Finalize();
  return failed;
}
