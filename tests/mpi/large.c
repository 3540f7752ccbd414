/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * large FILE CALLS: rank r makes CALLS + r calls and collects; run by tests/run-large, which looks at the file. Call
 * 3 k is of "outer", with 3 k + 1 of "inner" and 3 k + 2 of "rank <r>" in it.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "lanescope_mpi.h"

static lsc_region_id region_of(const char *name) {
  lsc_region_id region = 0;
  if (lsc_region(name, &region) != LSC_OK) MPI_Abort(MPI_COMM_WORLD, 1);
  return region;
}

static void record(lsc_session session, long calls, const lsc_region_id *region) {
  for (long i = 0; i < calls; i++) {
    if (i % 3 == 0 && i) lsc_end(session, region[0]);
    lsc_begin(session, region[i % 3]);
    if (i % 3) lsc_end(session, region[i % 3]);
  }
  lsc_end(session, region[0]);
}

int main(int argc, char **argv) {
  lsc_session session;
  char own[32];
  int rank;
  if (argc != 3) return 2;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  snprintf(own, sizeof own, "rank %d", rank);
  const lsc_region_id region[3] = {region_of("outer"), region_of("inner"), region_of(own)};
  if (lsc_session_open(NULL, &session) != LSC_OK) MPI_Abort(MPI_COMM_WORLD, 1);
  record(session, atol(argv[2]) + rank, region);
  double begin = MPI_Wtime();
  lsc_status status = lsc_collect(session, MPI_COMM_WORLD, argv[1], NULL);
  if (status != LSC_OK) fprintf(stderr, "rank %d: %s\n", rank, lsc_message());
  else if (rank == 0) printf("collected in %.1f s\n", MPI_Wtime() - begin);
  lsc_session_close(session);
  MPI_Finalize();
  return status != LSC_OK;
}
