/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The union of every rank's names, with one id each: over ranks in order, each name where it first appears. Names go
 * up the tree, and only numbers come down, so that what a rank holds and sends grows with the distinct names of its own
 * subtree: n names of t bytes are sent once in 12 + 8 n + t bytes, and to each child 4 bytes a name of the child's.
 */
#ifndef LSC_UNITE_H
#define LSC_UNITE_H

#include "coll.h"
#include "names.h"

/*
 * mine: names of this rank. ids[i]: receives the position in the union of mine's name i (mine->count entries). all:
 * empty; receives the union on rank 0, and stays empty elsewhere. Rounds grow with the logarithm of the ranks. LSC_OK,
 * LSC_TIMEOUT, LSC_NO_MEMORY, LSC_LIMIT (more than 2^32 - 1 names), LSC_INVALID (damaged bytes); `all` is empty then.
 */
lsc_status lsc_unite_names(struct lsc_coll *coll, int tag, const struct lsc_names *mine, struct lsc_names *all,
                           uint32_t *ids, int64_t deadline);

#endif
