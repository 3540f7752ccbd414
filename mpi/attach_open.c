/* SPDX-License-Identifier: BSD-3-Clause */
/* Attaching when a session opens, where the path of its file may be known. */
#include <stdio.h>

#include "attach.h"
#include "collect.h"
#include "message.h"
#include "roll.h"
#include "snapshot.h"

#define LONGEST_REASON 1400

/* Some rank did not come: the message receives which, as far as the roll of the file says. */
static lsc_status name_missing(struct lsc_roll *roll, const struct lsc_attaching *how) {
  char why[LONGEST_REASON];
  snprintf(why, sizeof why, "%s", lsc_message());
  if ((roll->rank && !how->zero_silent) || !lsc_roll_ask(roll, !how->zero_silent, why, sizeof why)) return LSC_TIMEOUT;
  const char *warning = how->is_pending ? "; MPI may not be able to make other communicators from this one now" : "";
  return lsc_fail(LSC_TIMEOUT, "%s%s", why, warning);
}

/* path: of the session's file, or NULL, where there is no roll. */
static lsc_status attach(lsc_session session, MPI_Comm comm, const char *path, double timeout) {
  int64_t limit = lsc_timeout_ns(timeout);
  struct lsc_attaching how = {.arrival = limit, .timeout = limit, .comparing = 1};
  struct lsc_roll roll = {
      .path = path, .opened = lsc_session_opened_ns(session), .limit = limit, .timeout = limit};
  lsc_status status = lsc_comm_usable(comm);
  if (status == LSC_OK) status = lsc_comm_check(MPI_Comm_rank(comm, &roll.rank), "MPI_Comm_rank");
  if (status == LSC_OK) status = lsc_comm_check(MPI_Comm_size(comm, &roll.size), "MPI_Comm_size");
  if (status != LSC_OK) return status;
  lsc_roll_begin(&roll);
  lsc_roll_step("attach");
  status = lsc_attach_over(session, comm, &how);
  if (status == LSC_TIMEOUT) status = name_missing(&roll, &how);
  lsc_roll_end(&roll);
  return status;
}

lsc_status lsc_attach(lsc_session session, MPI_Comm comm, double timeout) {
  return attach(session, comm, NULL, timeout);
}

lsc_status lsc_attach_for_file(lsc_session session, int comm, const char *path, double timeout) {
  MPI_Comm handle = MPI_COMM_NULL;
  if (comm == LSC_COMM_WORLD && lsc_mpi_is_active()) {
    lsc_status status = lsc_launcher_check_program();
    if (status != LSC_OK) return status;
  }
  if (lsc_mpi_is_active()) handle = comm == LSC_COMM_WORLD ? MPI_COMM_WORLD : MPI_Comm_f2c((MPI_Fint)comm);
  return attach(session, handle, path, timeout);
}

lsc_status lsc_attach_fortran(lsc_session session, int comm, double timeout) {
  return lsc_attach_for_file(session, comm, NULL, timeout);
}
