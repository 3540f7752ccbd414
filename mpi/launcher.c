/* SPDX-License-Identifier: BSD-3-Clause */
/* Which process of how many this is, as launchers say it in the environment, without starting MPI. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "collect.h"
#include "message.h"

/* In order: a launcher that runs inside another's job comes before it, and the first that speaks decides. */
static const struct {
  const char *rank, *size;
} launchers[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
    {"PMIX_RANK", "PMIX_SIZE"},
    {"PMI_RANK", "PMI_SIZE"},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
};

/* The whole number in an environment variable, or -1. */
static int number_in(const char *variable) {
  const char *text = getenv(variable);
  if (!text || *text < '0' || *text > '9') return -1;
  char *end = NULL;
  errno = 0;
  long value = strtol(text, &end, 10);
  return errno == 0 && *end == '\0' && value <= INT_MAX ? (int)value : -1;
}

int lsc_launcher_rank(int *rank, int *size) {
  for (size_t i = 0; i < sizeof launchers / sizeof launchers[0]; ++i) {
    int number = number_in(launchers[i].rank), count = number_in(launchers[i].size);
    if (number < 0 || number >= count) continue;
    *rank = number;
    *size = count;
    return count > 1;
  }
  *rank = 0;
  *size = 1;
  return 0;
}

int lsc_launcher_neighbours(void) {
  static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MV2_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS",
                                      "PMI_LOCAL_SIZE"};
  int rank, size;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    int number = number_in(names[i]);
    if (number > 0) return number;
  }
  lsc_launcher_rank(&rank, &size);
  return size;
}

const char *lsc_launcher_job(void) {
  static const char *const names[] = {"PMIX_NAMESPACE", "PMI_JOBID", "SLURM_JOB_ID"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const char *job = getenv(names[i]);
    if (job && *job) return job;
  }
  return NULL;
}

lsc_status lsc_launcher_check_program(void) {
  int programs = number_in("OMPI_NUM_APP_CTX");
  if (programs <= 1) return LSC_OK;
  return lsc_fail(LSC_INVALID, "the launcher started %d programs in one MPI_COMM_WORLD, of which some may have no "
                               "session: give the communicator of the ranks that have one, MPI_COMM_WORLD if all have",
                  programs);
}
