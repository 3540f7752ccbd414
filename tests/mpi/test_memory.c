/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A collect in which one allocation of the library fails, the first, the second, and so on until there are no more, on
 * one rank and on all, for plain and for compressed files.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "faults.h"

#define ALL (-1)
#define NAMES 200

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);

/* The allocations until one fails; 0: none will. */
static long left;

static int fails(void) { return left > 0 && --left == 0; }

void *__wrap_malloc(size_t size) { return fails() ? NULL : __real_malloc(size); }
void *__wrap_calloc(size_t count, size_t size) { return fails() ? NULL : __real_calloc(count, size); }
void *__wrap_realloc(void *memory, size_t size) { return fails() ? NULL : __real_realloc(memory, size); }

/* 1 if the collect came to that allocation. All ranks have one status and message, which names the rank. */
static int fail_allocation(struct fault_run *run, const char *path, long number, int rank) {
  lsc_save_options options = {.size = sizeof options, .timeout = 10, .replace = 1, .quiet = 1,
                              .compress = fault_level};
  left = rank == ALL || rank == fault_rank ? number : 0;
  int counts = left > 0;
  int status = (int)lsc_collect(run->session, MPI_COMM_WORLD, path, &options), low, high;
  int reached = counts && left == 0;
  left = 0;
  char where[32];
  snprintf(where, sizeof where, fault_ranks > 1 ? "rank %d, step '" : "step '", rank);
  MPI_Allreduce(&status, &low, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  MPI_Allreduce(&status, &high, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, &reached, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  CHECK(low == high && (status == LSC_OK || status == LSC_NO_MEMORY), "allocation %ld of %d: %d, %d to %d", number,
        rank, status, low, high);
  CHECK(status == LSC_OK || rank == ALL || strstr(lsc_message(), where) == lsc_message(),
        "allocation %ld: no %s in: %s", number, where, lsc_message());
  return reached;
}

/* So many that the ranks' messages go in pieces. */
static void record_names(struct fault_run *run) {
  for (int i = 0; i < NAMES; i++) {
    char name[LOG_NAME];
    snprintf(name, sizeof name, "region %d of rank %d", i, fault_rank);
    log_begin(&run->log, name);
    log_end(&run->log);
  }
}

static void fail_each(int rank) {
  struct fault_run run;
  fault_record(&run);
  long number = 1;
  do record_names(&run);
  while (fail_allocation(&run, check_path("run.h5"), number++, rank));
  log_close(run.session, &run.log, &run.books);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &fault_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &fault_ranks);
  for (int rank = ALL; rank < fault_ranks; rank++) fail_each(rank);
  fault_level = 1;
  for (int rank = ALL; rank < 1; rank++) fail_each(rank);
  if (fault_ranks > 1) fail_each(fault_ranks - 1);
  int result = check_result();
  MPI_Finalize();
  return result;
}
