/* SPDX-License-Identifier: BSD-3-Clause */
/* The right way to write a session for where the process runs. */
#include "save.h"

#include <stdio.h>
#include <stdlib.h>

#include "collect.h"
#include "message.h"

static lsc_status write_of_rank(lsc_session session, const char *path, int rank, int size,
                                const lsc_save_options *options) {
  char *mine = lsc_rank_path(path, rank);
  if (!mine) return lsc_fail(LSC_NO_MEMORY, "no memory for the file name of rank %d", rank);
  lsc_status status = lsc_write(session, mine, options);
  if (status == LSC_OK && rank == 0 && !(options && options->quiet)) {
    fprintf(
        stderr,
        "lanescope: each of the %d processes writes a file of its own, such as %s: MPI was never initialized in this "
        "program (`import mpi4py.MPI` or MPI_Init is missing), or is finalized\n",
        size, mine);
  }
  free(mine);
  return status;
}

lsc_status lsc_save(lsc_session session, const char *path, const lsc_save_options *options) {
  int rank, size;
  if (lsc_mpi_is_active()) return lsc_collect_attached(session, path, options);
  if (path && lsc_launcher_rank(&rank, &size)) return write_of_rank(session, path, rank, size, options);
  return lsc_write(session, path, options);
}
