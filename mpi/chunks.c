/* SPDX-License-Identifier: BSD-3-Clause */
#include "chunks.h"

#include <stdlib.h>

#include "message.h"

uint64_t lsc_chunks_most_rows = LSC_CHUNK_ROWS;

uint64_t lsc_chunks_rows(uint64_t events) { return events < lsc_chunks_most_rows ? events : lsc_chunks_most_rows; }

lsc_status lsc_chunks_init(struct lsc_chunks *chunks, const uint64_t *counts, int ranks) {
  chunks->ranks = ranks;
  chunks->offset = malloc(((size_t)ranks + 1) * sizeof *chunks->offset);
  if (!chunks->offset) return lsc_fail(LSC_NO_MEMORY, "no memory for the places of %d ranks", ranks);
  chunks->offset[0] = 0;
  for (int rank = 0; rank < ranks; rank++) chunks->offset[rank + 1] = chunks->offset[rank] + counts[rank];
  chunks->rows = lsc_chunks_rows(chunks->offset[ranks]);
  return LSC_OK;
}

void lsc_chunks_free(struct lsc_chunks *chunks) { free(chunks->offset); }

/* The first chunk that begins at this row or behind it. */
static uint64_t next_chunk(const struct lsc_chunks *chunks, uint64_t row) {
  return chunks->rows ? row / chunks->rows + (row % chunks->rows != 0) : 0;
}

uint64_t lsc_chunks_first(const struct lsc_chunks *chunks, int rank) {
  return next_chunk(chunks, chunks->offset[rank]);
}

uint64_t lsc_chunks_end(const struct lsc_chunks *chunks, int rank) {
  return next_chunk(chunks, chunks->offset[rank + 1]);
}

static int owns_any(const struct lsc_chunks *chunks, int rank) {
  return lsc_chunks_first(chunks, rank) < lsc_chunks_end(chunks, rank);
}

uint64_t lsc_chunks_lead(const struct lsc_chunks *chunks, int rank) {
  uint64_t begin = chunks->offset[rank], end = chunks->offset[rank + 1];
  uint64_t border = lsc_chunks_first(chunks, rank) * chunks->rows;
  return (border < end ? border : end) - begin;
}

int lsc_chunks_owner(const struct lsc_chunks *chunks, int rank) {
  if (!lsc_chunks_lead(chunks, rank)) return -1;
  do rank--;
  while (!owns_any(chunks, rank));
  return rank;
}

int lsc_chunks_followers(const struct lsc_chunks *chunks, int rank) {
  uint64_t end = lsc_chunks_end(chunks, rank) * chunks->rows;
  int next = rank + 1;
  if (!owns_any(chunks, rank)) return next;
  while (next < chunks->ranks && chunks->offset[next] < end) next++;
  return next;
}

int lsc_chunks_turn(const struct lsc_chunks *chunks, int rank) {
  int below = 0;
  for (int other = 0; other < rank; other++) below += owns_any(chunks, other);
  return below;
}
