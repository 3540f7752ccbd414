/* SPDX-License-Identifier: BSD-3-Clause */
/* Which ranks read one clock: those of one place. */
#ifndef LSC_PLACES_H
#define LSC_PLACES_H

#include "coll.h"

#define LSC_PLACE_SIZE 256

/* All zeros: nothing is known. leader and member are NULL where there is one place alone. */
struct lsc_places {
  int count;    /* places; place 0 is rank 0's */
  int mine;     /* this rank's */
  int *leader;  /* [count] the lowest rank of each, ascending */
  int members;  /* ranks of this rank's place */
  int *member;  /* [members] ascending */
  int position; /* member[position] is this rank */
};

/*
 * place: the text of this rank's, NUL-terminated. shared: rank 0's value, given to all. Rounds grow with the logarithm
 * of the ranks, memory with the distinct texts and 4 bytes a rank. Collective. LSC_OK; LSC_TIMEOUT, LSC_NO_MEMORY,
 * LSC_LIMIT and what the group gives: `places` is empty then. Where there are several places, ranks
 * without memory make it fail everywhere.
 */
lsc_status lsc_places_find(struct lsc_coll *coll, int tag, const char *place, int64_t *shared,
                           struct lsc_places *places, int64_t deadline);
void lsc_places_free(struct lsc_places *places);

#endif
