/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A collect fails at each step that the library has, on each rank that takes it and on all of them. Who takes a step
 * is in the library's own list, and a step that nobody enters is an error here. Once for plain files, and once for
 * compressed ones.
 */
#include <stdio.h>

#include "check.h"
#include "faults.h"
#include "message.h"

enum who { EACH, ZERO, ROWS, OTHERS };
#define WHO 3
#define PLAIN(who) ((who) | 4)
#define PACKED(who) ((who) | 8)

static const int takers[] = {
#define LSC_X(step, who, name) who,
    LSC_STEPS(LSC_X)
#undef LSC_X
};

#define ALL (-1)

static struct {
  enum lsc_step step;
  int rank, hits;
} plan;

static int is_on_way(enum lsc_step step) {
  return !(takers[step] & (fault_level ? PLAIN(0) : PACKED(0)));
}

static int takes(enum lsc_step step, int rank) {
  if (!is_on_way(step)) return 0;
  switch (takers[step] & WHO) {
    case ZERO: return rank == 0;
    case OTHERS: return rank > 0;
    default: return 1; /* every rank has rows here */
  }
}

static lsc_status fail_as_planned(enum lsc_step step) {
  if (step != plan.step || (plan.rank != ALL && plan.rank != fault_rank)) return LSC_OK;
  plan.hits++;
  return lsc_fail(step % 2 ? LSC_NO_MEMORY : LSC_IO, "the cause made up for %d", (int)step);
}

static int lowest_taker(enum lsc_step step) {
  int rank = plan.rank == ALL ? 0 : plan.rank;
  while (!takes(step, rank)) rank++;
  return rank;
}

static void fail_at(struct fault_run *run, enum lsc_step step, int rank) {
  char what[128], where[128], cause[64];
  snprintf(what, sizeof what, "step '%s' of %s %d", lsc_step_name(step), rank == ALL ? "all" : "rank", rank);
  plan.step = step;
  plan.rank = rank;
  plan.hits = 0;
  fault_current = fail_as_planned;
  lsc_status status = fault_collect(run, "yesterday.h5", what);
  CHECK(status == (step % 2 ? LSC_NO_MEMORY : LSC_IO), "%s: %s", what, lsc_strerror(status));
  int expected = (rank == ALL || rank == fault_rank) && takes(step, fault_rank);
  CHECK(plan.hits == expected, "%s: was entered %d times", what, plan.hits);

  snprintf(cause, sizeof cause, "': the cause made up for %d", (int)step);
  if (fault_ranks == 1) snprintf(where, sizeof where, "step '%s", lsc_step_name(step));
  else snprintf(where, sizeof where, "rank %d, step '%s", lowest_taker(step), lsc_step_name(step));
  fault_check_message(what, where, cause, NULL);
  fault_check_yesterday("yesterday.h5", what);
}

static void test_step(enum lsc_step step) {
  struct fault_run run;
  if (!is_on_way(step)) return;
  fault_record(&run);
  for (int rank = 0; rank < fault_ranks; rank++) {
    if (takes(step, rank)) fail_at(&run, step, rank);
  }
  if ((takers[step] & WHO) != OTHERS || fault_ranks > 1) fail_at(&run, step, ALL);
  fault_finish(&run, "after.h5");
}

/* Nobody fails: every rank passes the steps that it takes, and no other. */
static void test_no_fault(void) {
  fault_seen = 0;
  fault_yesterday("yesterday.h5");
  for (enum lsc_step step = 0; step < LSC_STEP_COUNT; step++) {
    int entered = (fault_seen >> step & 1) != 0;
    CHECK(entered == takes(step, fault_rank), "step '%s' was %sentered", lsc_step_name(step), entered ? "" : "not ");
  }
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &fault_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &fault_ranks);
  for (fault_level = 0; fault_level < 2; fault_level++) {
    test_no_fault();
    for (enum lsc_step step = 0; step < LSC_STEP_COUNT; step++) test_step(step);
  }
  int result = check_result();
  MPI_Finalize();
  return result;
}
