/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Everything that goes in pieces goes in several of them: the rows of few regions and of many, transfers to HDF5 and
 * messages between ranks, whose longest are made short. Every row of the files against what each rank noted for itself.
 */
#include <stdio.h>

#include "check.h"
#include "comm.h"
#include "compare.h"
#include "h5.h"
#include "lanescope_mpi.h"

#define CALLS 40000 /* of a rank: more than two pieces of rows, and of one region more than its bucket has */
#define SHORT_MESSAGE 1000
#define SHORT_TRANSFER 50000 /* bytes to or from HDF5 */

static int rank, ranks;

/* Half of all calls are of one region, inside which the others are. The last rank has a tenth of the calls. */
static void record(struct log *log, int regions) {
  int calls = rank == ranks - 1 && ranks > 1 ? CALLS / 10 : CALLS;
  for (int i = 0; i < calls / 2; i++) {
    char name[LOG_NAME];
    snprintf(name, sizeof name, "inner %d of %d", i % regions, rank % 2);
    log_begin(log, "outer");
    log_begin(log, name);
    log_end(log);
    log_end(log);
  }
}

static void collect(const char *name, int regions) {
  lsc_session session = 0;
  struct log log;
  struct books books = {0};
  lsc_save_options options = {.size = sizeof options, .timeout = 100};
  CHECK_STATUS(lsc_session_open(NULL, &session), LSC_OK);
  log_start(&log, session, LSC_API_C, "main");
  record(&log, regions);
  books_add(&books, &log);
  CHECK_STATUS(lsc_collect(session, MPI_COMM_WORLD, check_path(name), &options), LSC_OK);
  compare_with_books(check_path(name), &books);
  log_close(session, &log, &books);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  lsc_comm_piece = SHORT_MESSAGE;
  lsc_h5_most = SHORT_TRANSFER;
  collect("few.h5", 3);
  collect("many.h5", 300);
  int result = check_result();
  MPI_Finalize();
  return result;
}
