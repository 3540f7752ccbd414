/* SPDX-License-Identifier: BSD-3-Clause */
/* Many ranks, of which some recorded nothing: every row of the file against what each rank noted for itself. */
#include <stdio.h>

#include "check.h"
#include "compare.h"
#include "lanescope_mpi.h"

static int rank, ranks;

/* Which ranks have no call and no thread. */
static int nobody(void) { return 0; }
static int every_third(void) { return rank % 3 == 1; }
static int all_but_every_third(void) { return rank % 3 != 1; }
static int all_but_the_last(void) { return rank != ranks - 1; }
static int the_first(void) { return rank == 0; }
static int everybody(void) { return 1; }

static void call(struct log *log, const char *region) {
  log_begin(log, region);
  log_end(log);
}

/* Names of all ranks, of some, and of this one alone; one call stays open. */
static void record(struct log *log) {
  char own[LOG_NAME], some[LOG_NAME];
  snprintf(own, sizeof own, "only %d", rank);
  snprintf(some, sizeof some, "some %d", rank % 5);
  for (int i = 0; i < 3 + rank % 4; i++) {
    log_begin(log, "all");
    call(log, own);
    call(log, some);
    log_end(log);
  }
  log_begin(log, rank % 2 ? some : "all");
}

static void collect(const char *name, int is_empty) {
  lsc_session session = 0;
  struct log log = {0};
  struct books books = {0};
  lsc_save_options options = {.size = sizeof options, .timeout = 100};
  CHECK_STATUS(lsc_session_open(NULL, &session), LSC_OK);
  if (!is_empty) {
    log_start(&log, session, LSC_API_C, "main");
    record(&log);
    books_add(&books, &log);
  }
  CHECK_STATUS(lsc_collect(session, MPI_COMM_WORLD, check_path(name), &options), LSC_OK);
  compare_with_books(check_path(name), &books);
  log_close(session, &log, &books);
}

int main(int argc, char **argv) {
  static int (*const empty[])(void) = {nobody,           every_third, all_but_every_third,
                                       all_but_the_last, the_first,   everybody};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) {
    char name[32];
    snprintf(name, sizeof name, "run%zu.h5", i);
    collect(name, empty[i]());
  }
  int result = check_result();
  MPI_Finalize();
  return result;
}
