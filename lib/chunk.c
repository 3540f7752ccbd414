/* SPDX-License-Identifier: BSD-3-Clause */
#include "chunk.h"

uint64_t lsc_most_rows = UINT32_MAX - 1;

static uint32_t rows_in(size_t bytes) { return (uint32_t)(bytes / sizeof(struct lsc_row) - 1); }

static void give_back(struct lsc_chunk_source *source, uint32_t rows) {
  atomic_fetch_sub_explicit(&source->rows, rows, memory_order_relaxed);
}

static int may_have(struct lsc_chunk_source *source, uint32_t rows) {
  uint64_t before = atomic_fetch_add_explicit(&source->rows, rows, memory_order_relaxed);
  if (before + rows <= lsc_most_rows) return 1;
  give_back(source, rows);
  atomic_store_explicit(&source->is_full, 1, memory_order_relaxed);
  return 0;
}

struct lsc_chunk *lsc_chunk_new(struct lsc_chunk_source *source, size_t bytes, uint32_t thread, uint32_t sequence) {
  uint32_t wanted = rows_in(bytes);
  if (!may_have(source, wanted)) return NULL;
  struct lsc_chunk *chunk = source->get(source, &bytes);
  give_back(source, chunk ? wanted - rows_in(bytes) : wanted);
  if (!chunk) return NULL;
  atomic_store_explicit(&chunk->next, NULL, memory_order_relaxed);
  atomic_store_explicit(&chunk->capacity, rows_in(bytes), memory_order_relaxed);
  chunk->thread = thread;
  chunk->sequence = sequence;
  chunk->bytes = (uint32_t)bytes;
  return chunk;
}

void lsc_chunk_free(struct lsc_chunk_source *source, struct lsc_chunk *chunk) {
  give_back(source, atomic_load_explicit(&chunk->capacity, memory_order_relaxed));
  source->put(source, chunk->bytes, chunk, chunk->bytes);
}

void lsc_chunk_limit(struct lsc_chunk_source *source, struct lsc_chunk *chunk, uint32_t rows) {
  give_back(source, atomic_load_explicit(&chunk->capacity, memory_order_relaxed) - rows);
  atomic_store_explicit(&chunk->capacity, rows, memory_order_relaxed);
}

/*
 * A snapshot may be looking at the first row that is given away. The capacity is stored before the memory goes to the
 * source, whose lock (or a fresh page) and whose own stores (release) stand between this store and whatever is put
 * there next; a snapshot that sees a start in that row (acquire) and then loads the capacity therefore sees the new
 * one, and stops.
 */
void lsc_chunk_shrink(struct lsc_chunk_source *source, struct lsc_chunk *chunk, uint32_t rows) {
  size_t kept = (1 + (size_t)rows) * sizeof(struct lsc_row);
  kept = (kept + LSC_CHUNK_CELL - 1) & ~(size_t)(LSC_CHUNK_CELL - 1);
  if (kept >= chunk->bytes) return;
  size_t bytes = chunk->bytes, rest = bytes - kept;
  lsc_chunk_limit(source, chunk, rows);
  if (bytes <= LSC_CHUNK_SHARED) chunk->bytes = (uint32_t)kept;
  source->put(source, bytes, (unsigned char *)chunk + kept, rest);
}

size_t lsc_chunk_next_size(size_t bytes) {
  if (bytes < LSC_CHUNK_SMALL) return LSC_CHUNK_SMALL;
  size_t next = bytes * 8;
  return next > LSC_CHUNK_LARGE ? LSC_CHUNK_LARGE : next;
}
