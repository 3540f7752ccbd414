/* SPDX-License-Identifier: BSD-3-Clause */
/* Collecting over MPI, and what is left to each rank when the others do not come. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "at_exit.h"
#include "attach.h"
#include "collect.h"
#include "interrupt.h"
#include "message.h"
#include "mpi_info.h"
#include "roll.h"
#include "save.h"
#include "snapshot.h"

#define LONGEST_REASON 1400

/* What lies within the caller's struct, which an older program may have built shorter; the rest is 0. */
static lsc_save_options copy_options(const lsc_save_options *options) {
  lsc_save_options copy = {0};
  if (options) memcpy(&copy, options, options->size < sizeof copy ? options->size : sizeof copy);
  copy.size = sizeof copy;
  return copy;
}

/* The group to collect over. LSC_TIMEOUT: not every rank came to make one. */
static lsc_status find_group(lsc_session session, MPI_Comm comm, const lsc_save_options *options,
                             struct lsc_group *group) {
  if (lsc_attached_group(session, comm, group)) return LSC_OK;
  struct lsc_attaching how = {.arrival = lsc_arrival_ns(options), .timeout = lsc_timeout_ns(options->timeout)};
  lsc_status status = lsc_attach_over(session, comm, &how);
  group->zero_silent = how.zero_silent;
  if (status != LSC_OK) return status;
  if (lsc_attached_group(session, comm, group)) return LSC_OK;
  return lsc_fail(LSC_INACTIVE, "the session was detached while it was collected");
}

/* One rank speaks for all. */
static void warn(const char *path, const char *mine, const char *reason) {
  char *command = lsc_merge_command(path);
  fprintf(stderr,
          "lanescope: %s was not written: %s. Each rank that is there writes a file of its own, such as %s. One file "
          "of them: %s\n",
          path, reason, mine, command ? command : "lanescope-merge");
  free(command);
}

/*
 * Who this is in the run whose file was to be written, and whether it speaks for the others. of: its group; NULL: there
 * was none.
 */
struct who {
  int rank, size, speaks;
  const struct lsc_membership *of;
};

/* This rank's calls go to a file of its own. LSC_APART, or why that failed, too. */
static lsc_status write_apart(lsc_session session, const char *path, struct who who, lsc_save_options options) {
  char reason[LONGEST_REASON];
  snprintf(reason, sizeof reason, "%s", lsc_message());
  if (!path || !path[0]) return lsc_fail(LSC_INVALID, "the path is %s; %s", path ? "empty" : "NULL", reason);
  char *mine = lsc_rank_path(path, who.rank);
  if (!mine) return lsc_fail(LSC_NO_MEMORY, "no memory for a file name; %s", reason);
  if (options.report) *options.report = NULL;
  options.report = NULL;
  lsc_status status = lsc_write_apart(session, mine, who.rank, who.size, who.of, &options);
  if (who.speaks && !options.quiet && status != LSC_COLLECTED) warn(path, mine, reason);
  if (status == LSC_OK) status = lsc_fail(LSC_APART, "%s; the calls of rank %d are in %s", reason, who.rank, mine);
  free(mine);
  return status;
}

/* Another MPI's launcher started this process: the others are as alone, and must not write to the same path. */
static lsc_status collect_alone(lsc_session session, const char *path, int rank, int size,
                                const lsc_save_options *options) {
  char why[1024];
  snprintf(why, sizeof why,
           "the launcher started %d processes, but MPI_COMM_WORLD has 1 rank in each: this program's MPI is %s; start "
           "it with that one's mpirun",
           size, lsc_mpi_library());
  return lsc_write_of_rank(session, path, rank, size, why, options);
}

/*
 * Whether this rank speaks for all, once it has gone apart; its message receives who is missing. Rank 0 speaks; where
 * nobody heard from it, one by the roll; where there is none, each for itself.
 */
static int find_speaker(struct lsc_roll *roll, int zero_silent, int quiet) {
  char why[LONGEST_REASON];
  if (roll->rank && !zero_silent) return 0;
  snprintf(why, sizeof why, "%s", lsc_message());
  if (!lsc_roll_ask(roll, !zero_silent, why, sizeof why)) return !quiet;
  lsc_fail(LSC_APART, "%s", why);
  return !quiet && lsc_roll_speaks(roll);
}

static struct lsc_roll roll_of(lsc_session session, const char *path, int rank, int size,
                               const lsc_save_options *options) {
  return (struct lsc_roll){.path = path,
                           .rank = rank,
                           .size = size,
                           .opened = lsc_session_opened_ns(session),
                           .limit = lsc_arrival_ns(options),
                           .timeout = lsc_timeout_ns(options->timeout)};
}

lsc_status lsc_collect(lsc_session session, MPI_Comm comm, const char *path, const lsc_save_options *options) {
  struct lsc_group group = {.zero_silent = 1};
  lsc_save_options own = copy_options(options);
  int rank = 0, size = 0;
  lsc_status status = lsc_comm_usable(comm);
  if (status == LSC_OK && lsc_is_one_of_many(&rank, &size)) return collect_alone(session, path, rank, size, options);
  if (status == LSC_OK) status = lsc_comm_check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  if (status == LSC_OK) status = lsc_comm_check(MPI_Comm_size(comm, &size), "MPI_Comm_size");
  if (status != LSC_OK) return status;

  struct lsc_roll roll = roll_of(session, path, rank, size, &own);
  struct lsc_interrupt interrupt;
  lsc_roll_begin(&roll);
  lsc_interrupt_begin(&interrupt, &own);
  status = find_group(session, comm, &own, &group);
  if (status == LSC_OK) status = lsc_collect_over(session, &group.coll, &group.comm, &group.of, path, options);
  if (status == LSC_OK) lsc_at_exit_done(session, path);
  if (status == LSC_APART || status == LSC_TIMEOUT) {
    lsc_abandon(session);
    const struct lsc_membership *of = group.of.clocks.group ? &group.of : NULL;
    int speaks = find_speaker(&roll, group.zero_silent, own.quiet);
    status = write_apart(session, path, (struct who){rank, size, speaks, of}, own);
  }
  lsc_interrupt_end(&interrupt);
  lsc_roll_end(&roll);
  return status;
}

lsc_status lsc_collect_attached(lsc_session session, const char *path, const lsc_save_options *options) {
  MPI_Comm comm = lsc_attached_comm(session);
  if (comm != MPI_COMM_NULL) return lsc_collect(session, comm, path, options);
  if (lsc_is_abandoned(session)) {
    struct lsc_membership of;
    struct who who = {.size = 1};
    if (lsc_attached_membership(session, &of)) who.of = &of;
    lsc_rank_of(session, &who.rank, &who.size);
    who.speaks = who.rank == 0;
    lsc_fail(LSC_APART, "the ranks went apart before");
    return write_apart(session, path, who, copy_options(options));
  }
  lsc_status status = lsc_launcher_check_program();
  return status == LSC_OK ? lsc_collect(session, MPI_COMM_WORLD, path, options) : status;
}
