/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which rank compresses which chunk of /events. Chunks hold equally many rows, whatever ranks these are of, and the
 * rank that has the first row of a chunk, its owner, makes all of it: the ranks behind it hand their leading rows to
 * it. A rank may own many chunks, or none, and a chunk may have rows of many ranks. Nothing here is collective.
 */
#ifndef LSC_CHUNKS_H
#define LSC_CHUNKS_H

#include "lanescope.h"

/* Rows of a chunk where there are as many: the planes of bytes compress well, and a few chunks of every column are no
 * more memory than some hundred thousand calls. Not fewer than 1. A test lowers it. */
#define LSC_CHUNK_ROWS 32768
extern uint64_t lsc_chunks_most_rows;

struct lsc_chunks {
  uint64_t rows;    /* of a chunk: lsc_chunks_most_rows, or all */
  int ranks;
  uint64_t *offset; /* [ranks + 1] rows of /events before each rank's, and all */
};

/* counts: rows of each rank. LSC_OK, LSC_NO_MEMORY; to be freed also then. */
lsc_status lsc_chunks_init(struct lsc_chunks *chunks, const uint64_t *counts, int ranks);
void lsc_chunks_free(struct lsc_chunks *chunks);

/* What chunks of so many rows of /events are long; 0 for no rows. */
uint64_t lsc_chunks_rows(uint64_t events);

/* The chunks that a rank owns: first .. end - 1. */
uint64_t lsc_chunks_first(const struct lsc_chunks *chunks, int rank);
uint64_t lsc_chunks_end(const struct lsc_chunks *chunks, int rank);

/* How many leading rows of the rank lie in a chunk of another one, and whose; -1 where there are none. */
uint64_t lsc_chunks_lead(const struct lsc_chunks *chunks, int rank);
int lsc_chunks_owner(const struct lsc_chunks *chunks, int rank);

/* The first rank behind this owner of chunks that hands it no rows; rank + 1 if none does. */
int lsc_chunks_followers(const struct lsc_chunks *chunks, int rank);

/* How many owners of chunks there are below: neighbours in this order take turns in who receives first. */
int lsc_chunks_turn(const struct lsc_chunks *chunks, int rank);

#endif
