/* SPDX-License-Identifier: BSD-3-Clause */
/* The right way to write a session for where the process runs. */
#include "save.h"

#include <stdio.h>
#include <stdlib.h>

#include "collect.h"
#include "message.h"
#include "snapshot.h"

static const char without_mpi[] =
    "MPI was never initialized in this program (`import mpi4py.MPI` or MPI_Init is missing), or is finalized";

lsc_status lsc_write_of_rank(lsc_session session, const char *path, int rank, int size, const char *why,
                             const lsc_save_options *options) {
  if (!path || !path[0]) return lsc_fail(LSC_INVALID, "the path of the file is %s", path ? "empty" : "NULL");
  char *mine = lsc_rank_path(path, rank);
  if (!mine) return lsc_fail(LSC_NO_MEMORY, "no memory for the file name of rank %d", rank);
  lsc_status status = lsc_write_part(session, mine, rank, size, options);
  if (status == LSC_OK && rank == 0 && !(options && options->quiet)) {
    char *command = lsc_merge_command(path);
    fprintf(stderr, "lanescope: each of the %d processes writes a file of its own, such as %s: %s. One file of all: "
            "%s\n", size, mine, why, command ? command : "lanescope-merge");
    free(command);
  }
  free(mine);
  return status;
}

lsc_status lsc_uncollected(lsc_session session, uint64_t *calls) {
  struct lsc_snapshot snapshot;
  if (!calls) return lsc_fail(LSC_INVALID, "lsc_uncollected: calls is NULL; pass where the number goes");
  *calls = 0;
  lsc_status status = lsc_snapshot_take(session, &snapshot);
  if (status != LSC_OK) return status;
  *calls = snapshot.completed;
  lsc_snapshot_drop(&snapshot);
  return LSC_OK;
}

lsc_status lsc_save(lsc_session session, const char *path, const lsc_save_options *options) {
  int rank, size;
  if (lsc_mpi_is_active()) return lsc_collect_attached(session, path, options);
  if (path && lsc_launcher_rank(&rank, &size)) {
    return lsc_write_of_rank(session, path, rank, size, without_mpi, options);
  }
  return lsc_write(session, path, options);
}
