/* SPDX-License-Identifier: BSD-3-Clause */
/* The calls of one rank, by their number. */
#ifndef LSC_CALLS_H
#define LSC_CALLS_H

#include "input.h"

#define LSC_NO_PARENT UINT32_MAX

struct lsc_call {
  int64_t start, end, await_ns; /* end: that of the start, while open */
  int32_t thread, task;         /* -1: none */
  uint32_t region;              /* id in the names of the run; 0 until they are known */
  uint32_t parent;              /* number of the call around it, or LSC_NO_PARENT */
  uint32_t depth;               /* calls around it */
  uint32_t open_depth;          /* of an open call: as the file has it, or open calls around it */
  uint8_t api, open;
};

struct lsc_calls {
  struct lsc_call *call; /* [count], malloc'd */
  size_t count, completed;
};

/*
 * Reads the calls of a row of /rank_table, and checks them: numbers 0, 1, 2, …, a parent before its children and not
 * begun after them, threads and tasks that are in their tables. tick: NULL, or called after each piece. LSC_OK;
 * LSC_INVALID; LSC_LIMIT: more than 2^32 - 2; LSC_HDF5; LSC_NO_MEMORY. On failure *calls is empty.
 */
lsc_status lsc_calls_load(struct lsc_calls *calls, struct lsc_input *input, int row, void (*tick)(void *), void *ctx);
void lsc_calls_free(struct lsc_calls *calls);

#endif
