/* SPDX-License-Identifier: BSD-3-Clause */
/* The small tables of the merged file, made from the calls that it is going to hold. */
#ifndef LSC_TABLES_H
#define LSC_TABLES_H

#include "rank.h"

struct lsc_union {
  struct lsc_table table[LSC_TABLE_COUNT];
  uint64_t events;
  unsigned apis;   /* bit k: API k made a call */
  uint64_t *lost;  /* [ranks] as lsc_rank_calls has it */
};

/*
 * Reads the calls of every rank, one rank at a time. LSC_OK, and the statuses of lsc_rank_calls. To be freed also on
 * failure.
 */
lsc_status lsc_union_make(struct lsc_union *all, struct lsc_run *run);
void lsc_union_free(struct lsc_union *all);

#endif
