/* SPDX-License-Identifier: BSD-3-Clause */
/* Collecting over the ranks of an MPI program. */
#ifndef LANESCOPE_MPI_H
#define LANESCOPE_MPI_H

#include <lanescope_file.h>
#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* As lsc_attach_fortran, with a C handle. */
LSC_API lsc_status lsc_attach(lsc_session session, MPI_Comm comm, double timeout);

/*
 * Writes what the session recorded on every rank of comm since it was last collected into the one file `path` (rank 0's
 * counts). Collective over comm; every rank there gets the same status. It uses a duplicate of comm, made when the
 * session was attached to it or else now, and waits for no rank beyond the timeout: then LSC_APART, and each rank that
 * is there has written `<name>.rank<k>.h5`; one of them says so in one line, with the ranks that are missing and the
 * command that merges the files, and the message names them, too. Where the launcher started several processes and MPI_COMM_WORLD has one
 * rank in each, the launcher is that of another MPI: each writes `<name>.rank<k>.h5` by the launcher's rank, and rank 0
 * says so in one line. options: may be NULL. LSC_OK; LSC_APART; LSC_NO_MPI; LSC_MPI: among others, another thread than
 * MPI was initialized for; and those of lsc_write, of the first rank that failed, which the message names.
 */
LSC_API lsc_status lsc_collect(lsc_session session, MPI_Comm comm, const char *path, const lsc_save_options *options);

#ifdef __cplusplus
}
#endif

#endif
