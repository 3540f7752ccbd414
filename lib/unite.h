/* SPDX-License-Identifier: BSD-3-Clause */
/* The union of every rank's names, with one id each: over ranks in order, each name where it first appears. */
#ifndef LSC_UNITE_H
#define LSC_UNITE_H

#include "coll.h"

/* `count` names, not NUL-terminated: name i is text.data + ends[i - 1] .. + ends[i] (ends[-1] is 0). All zeros: empty.
 */
struct lsc_names {
  size_t count;
  struct lsc_buffer ends; /* uint64_t each */
  struct lsc_buffer text;
};

lsc_status lsc_names_add(struct lsc_names *names, const char *text, size_t length);
const char *lsc_names_get(const struct lsc_names *names, size_t index, size_t *length);
void lsc_names_free(struct lsc_names *names);

/*
 * mine: distinct names of this rank. all: empty; receives the union on every rank, ids[i] the position there of mine's
 * name i (mine->count entries). Rounds grow with the logarithm of the ranks, memory with the distinct names. LSC_OK,
 * LSC_TIMEOUT, LSC_NO_MEMORY, LSC_LIMIT (more than 2^32 - 1 names), LSC_INVALID (damaged bytes); `all` is empty then.
 */
lsc_status lsc_unite_names(struct lsc_coll *coll, int tag, const struct lsc_names *mine, struct lsc_names *all,
                           uint32_t *ids, int64_t deadline);

#endif
