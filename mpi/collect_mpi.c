/* SPDX-License-Identifier: BSD-3-Clause */
/* Collecting over MPI, and what is left to each rank when the others do not come. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attach.h"
#include "collect.h"
#include "message.h"
#include "save.h"

#define LONGEST_REASON 1400

/* What lies within the caller's struct, which an older program may have built shorter; the rest is 0. */
static lsc_save_options copy_options(const lsc_save_options *options) {
  lsc_save_options copy = {0};
  if (options) memcpy(&copy, options, options->size < sizeof copy ? options->size : sizeof copy);
  copy.size = sizeof copy;
  return copy;
}

/* The group to collect over. LSC_TIMEOUT: not every rank came to make one. */
static lsc_status find_group(lsc_session session, MPI_Comm comm, double timeout, struct lsc_group *group) {
  if (lsc_attached_group(session, comm, group)) return LSC_OK;
  lsc_status status = lsc_attach(session, comm, timeout);
  if (status != LSC_OK) return status;
  if (lsc_attached_group(session, comm, group)) return LSC_OK;
  return lsc_fail(LSC_INACTIVE, "the session was detached while it was collected");
}

/* Rank 0 speaks for all; where nobody heard from it, each for itself. */
static void warn(const char *path, const char *mine, const char *reason) {
  fprintf(stderr, "lanescope: %s was not written: %s. Each rank that is there writes a file of its own, such as %s\n",
          path, reason, mine);
}

/* This rank's calls go to a file of its own. LSC_APART, or why that failed, too. */
static lsc_status write_apart(lsc_session session, const char *path, int rank, int speaks, lsc_save_options options) {
  char reason[LONGEST_REASON];
  snprintf(reason, sizeof reason, "%s", lsc_message());
  if (!path) return lsc_fail(LSC_INVALID, "the path is NULL; %s", reason);
  char *mine = lsc_rank_path(path, rank);
  if (!mine) return lsc_fail(LSC_NO_MEMORY, "no memory for a file name; %s", reason);
  if (options.report) *options.report = NULL;
  options.report = NULL;
  if (speaks && !options.quiet) warn(path, mine, reason);
  lsc_status status = lsc_write(session, mine, &options);
  if (status == LSC_OK) status = lsc_fail(LSC_APART, "%s; the calls of rank %d are in %s", reason, rank, mine);
  free(mine);
  return status;
}

lsc_status lsc_collect(lsc_session session, MPI_Comm comm, const char *path, const lsc_save_options *options) {
  struct lsc_group group = {.zero_silent = 1};
  lsc_save_options own = copy_options(options);
  int rank = 0;
  lsc_status status = lsc_comm_usable(comm);
  if (status == LSC_OK) status = lsc_comm_check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  if (status != LSC_OK) return status;

  status = find_group(session, comm, own.timeout, &group);
  if (status == LSC_OK) status = lsc_collect_over(session, &group.coll, &group.comm, path, options);
  if (status != LSC_APART && status != LSC_TIMEOUT) return status;
  lsc_abandon(session);
  return write_apart(session, path, rank, rank == 0 || group.zero_silent, own);
}

lsc_status lsc_collect_attached(lsc_session session, const char *path, const lsc_save_options *options) {
  MPI_Comm comm = lsc_attached_comm(session);
  return lsc_collect(session, comm == MPI_COMM_NULL ? MPI_COMM_WORLD : comm, path, options);
}
