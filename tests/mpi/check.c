/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include <stdlib.h>
#include <string.h>

int check_failures;

static char folder[256];
static int is_ours;

static int remove_folder(void) {
  char command[512];
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  return system(command);
}

int check_result(void) {
  int all = 0, rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Allreduce(&check_failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0 && is_ours) {
    if (all > 0)
      fprintf(stderr, "the files are in %s\n", folder);
    else if (remove_folder() != 0)
      fprintf(stderr, "%s is left\n", folder);
  }
  if (rank == 0) fprintf(stderr, all > 0 ? "%d checks failed\n" : "all checks passed\n", all);
  return all > 0;
}

static void make_folder(void) {
  int rank;
  const char *given = getenv("LANESCOPE_TEST_FOLDER"), *parent = given ? given : getenv("TMPDIR");
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  snprintf(folder, sizeof folder, "%s/lanescope-test-XXXXXX", parent && *parent ? parent : "/tmp");
  if (rank == 0 && !mkdtemp(folder)) {
    perror(folder);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  is_ours = !given;
  MPI_Bcast(folder, sizeof folder, MPI_CHAR, 0, MPI_COMM_WORLD);
}

const char *check_path(const char *name) {
  static char path[512];
  if (!folder[0]) make_folder();
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}
