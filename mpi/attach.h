/* SPDX-License-Identifier: BSD-3-Clause */
/* Which communicator of its own each session has. Every function may be called from any thread. */
#ifndef LSC_ATTACH_H
#define LSC_ATTACH_H

#include "comm.h"
#include "lanescope_mpi.h"

/*
 * LSC_OK if the calling thread may use MPI now and comm is a communicator of one group; else LSC_NO_MPI, LSC_MPI or
 * LSC_INVALID. Local.
 */
lsc_status lsc_comm_usable(MPI_Comm comm);

/* How a session is attached, and what was learned where that timed out. */
struct lsc_attaching {
  int64_t arrival;  /* ns that the ranks have to come */
  int64_t timeout;  /* ns that they have to agree then */
  int comparing;    /* 1: clocks are compared */
  int zero_silent;  /* receives 0 if this rank is rank 0 and knows who is missing, or has it from rank 0; else 1 */
  int is_pending;   /* receives 1 if comm is left with an operation that is not complete; else 0 */
};

/* lsc_attach. */
lsc_status lsc_attach_over(lsc_session session, MPI_Comm comm, struct lsc_attaching *how);

/*
 * The group of the session's communicator, for one use of it: 1, or 0 if the session has none or one of other ranks, or
 * of the same in another order, than `comm` (MPI_COMM_NULL: than whatever it has).
 */
int lsc_attached_group(lsc_session session, MPI_Comm comm, struct lsc_group *group);

/* What is known of the session's group, also of one that is abandoned: 1; 0: it has none. */
int lsc_attached_membership(lsc_session session, struct lsc_membership *of);

/* The session's communicator, or MPI_COMM_NULL. */
MPI_Comm lsc_attached_comm(lsc_session session);

/* Lower for the session that was attached first; UINT64_MAX for one that was not. */
uint64_t lsc_attached_order(lsc_session session);

/* The session's communicator is never used again and never freed. */
void lsc_abandon(lsc_session session);

/* 1 if the session is abandoned and has not been attached again. */
int lsc_is_abandoned(lsc_session session);

/*
 * 1 if the launcher started several processes of which MPI knows none but this one, and rank, size as the launcher has
 * them; else 0. While MPI runs. Local.
 */
int lsc_is_one_of_many(int *rank, int *size);

#endif
