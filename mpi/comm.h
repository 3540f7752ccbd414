/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages between the ranks of an MPI communicator, non-blocking and polled, so that each can time out. */
#ifndef LSC_COMM_H
#define LSC_COMM_H

#include <mpi.h>

#include "coll.h"
#include "collect.h"

/* Tags of a group are from 0 to below this. */
#define LSC_GROUP_TAGS 32768

/* A group of ranks over a communicator that nobody else sends on, and whose errors come back (MPI_ERRORS_RETURN). */
struct lsc_group {
  struct lsc_coll coll; /* its ctx is this struct, which must not move */
  MPI_Comm comm;
  int first_tag;   /* added to every tag: what a failed use left unreceived is not taken by the next use */
  struct lsc_membership of; /* once a session is attached to it; else zeros */
  int zero_silent; /* 1: the last receive from rank 0 came back without a message */
};

/* uses: how often the communicator was used before, the same number on every rank. LSC_OK, LSC_MPI. */
lsc_status lsc_group_init(struct lsc_group *group, MPI_Comm comm, unsigned uses);

/* Bytes of the longest single message; longer ones travel in pieces. Below INT_MAX, the same on every rank. */
extern size_t lsc_comm_piece;

/* Waits until the request is done. LSC_OK; LSC_TIMEOUT: it is still active; LSC_MPI. */
lsc_status lsc_comm_wait(MPI_Request *request, int64_t deadline);

/* Keeps malloc'd memory to the end of the process: MPI may still touch it. */
void lsc_comm_keep(void *memory);

/* LSC_OK for MPI_SUCCESS, else LSC_MPI with MPI's text. what: the function that failed. */
lsc_status lsc_comm_check(int code, const char *what);

#endif
