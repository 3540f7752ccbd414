/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * usage: test_dead STEP RANK, under a launcher that lets the others live; run by tests/check-dead.
 *
 * A rank is killed as it comes to a step of the collect, and each of the others writes a file of its own; it says so in
 * one line, and leaves MPI as it is. `test_dead` alone lists the steps at which a rank may die, and who takes them.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "faults.h"

static struct {
  enum lsc_step step;
  int rank;
} plan;

static lsc_status die_as_planned(enum lsc_step step) {
  if (step == plan.step && fault_rank == plan.rank) raise(SIGKILL);
  return LSC_OK;
}

/* Nobody can be waited for inside the open and the close of a file that ranks share. */
static int is_interruptible(enum lsc_step step) { return step != LSC_STEP_OPEN && step != LSC_STEP_CLOSE; }

static int list_steps(void) {
#define LSC_X(step, who, name) \
  if (is_interruptible(LSC_STEP_##step)) printf("%d %s %s\n", LSC_STEP_##step, #who, name);
  LSC_STEPS(LSC_X)
#undef LSC_X
  return 0;
}

static void survive(void) {
  struct fault_run run;
  char written[512] = "", expected[512];
  fault_record(&run);
  const char *path = check_path("run.h5");
  lsc_save_options options = {.size = sizeof options, .timeout = 1, .written = written, .written_size = sizeof written};
  options.quiet = 1;
  fault_current = die_as_planned;
  CHECK_STATUS(lsc_collect(run.session, MPI_COMM_WORLD, path, &options), LSC_APART);
  fault_current = NULL;
  snprintf(expected, sizeof expected, "%.*s.rank%d.h5", (int)strlen(path) - 3, path, fault_rank);
  CHECK(strcmp(written, expected) == 0, "the calls are in %s, not %s", written, expected);
  readback *file = readback_open(expected);
  CHECK(readback_rows(file, "events/call_ids") == FAULT_CALLS, "%zu calls", readback_rows(file, "events/call_ids"));
  const char *level = getenv("LANESCOPE_COMPRESS");
  int packed = level && strcmp(level, "0") != 0;
  CHECK(readback_is_compressed(file, "events/call_ids") == packed, "compressed or not");
  readback_close(file);
  CHECK(access(path, F_OK) != 0, "%s is there", path);
}

int main(int argc, char **argv) {
  if (argc != 3) return list_steps();
  plan.step = (enum lsc_step)atoi(argv[1]);
  plan.rank = atoi(argv[2]);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &fault_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &fault_ranks);
  survive();
  if (!check_failures) printf("rank %d has its file beside %s\n", fault_rank, check_path("run.h5"));
  fflush(NULL);
  sleep(1); /* a rank that is gone before the launcher has noted the death of the other would be taken for dead, too */
  _exit(check_failures != 0);
}
