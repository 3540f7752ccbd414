/* SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "chunk.h"

#define BLOCK_BYTES ((size_t)1 << 20)
#define READY_BYTES ((size_t)1 << 16)
#define MAX_CELLS (LSC_CHUNK_SHARED / LSC_CHUNK_CELL)

/*
 * A free run of cells. A snapshot may still look at the link as at the start of a row (lsc_chunk_shrink). So it is
 * stored with release: pairs with the snapshot's acquire of a start, which then sees the capacity that was stored
 * before the run was given back. Who takes the run holds the slab's lock, as who gave it did: relaxed is enough.
 */
struct run {
  _Atomic(struct run *) next;
};

struct block {
  struct block *next;
};

struct slab {
  struct lsc_chunk_source source; /* first: the source is the slab */
  /* Acquire and release on the way down: the last one's free comes after everybody's use. Relaxed on the way up, by who
   * has a hold. */
  _Atomic uint32_t holds;
  pthread_mutex_t lock;
  /* Under the lock. */
  struct run *free_runs[MAX_CELLS + 1]; /* by cells */
  struct block *blocks;
  unsigned char *next, *end; /* of the newest block */
  unsigned char *ready;      /* up to here its pages were asked for */
};

static void push_run(struct slab *slab, void *from, size_t cells) {
  struct run *run = from;
  atomic_store_explicit(&run->next, slab->free_runs[cells], memory_order_release);
  slab->free_runs[cells] = run;
}

static void *pop_run(struct slab *slab, size_t cells) {
  struct run *run = slab->free_runs[cells];
  if (!run) return NULL;
  slab->free_runs[cells] = atomic_load_explicit(&run->next, memory_order_relaxed);
  atomic_store_explicit(&run->next, NULL, memory_order_relaxed);
  return run;
}

static int add_block(struct slab *slab) {
  void *memory = mmap(NULL, BLOCK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 0;
  size_t left = (size_t)(slab->end - slab->next) / LSC_CHUNK_CELL;
  if (left) push_run(slab, slab->next, left);
  struct block *block = memory;
  block->next = slab->blocks;
  slab->blocks = block;
  slab->next = (unsigned char *)memory + LSC_CHUNK_CELL;
  slab->end = (unsigned char *)memory + BLOCK_BYTES;
  slab->ready = memory;
  return 1;
}

/* Several pages at a time cost a third of as many page faults. Where the kernel knows no way, they come one by one. */
static void make_ready(struct slab *slab) {
#ifdef MADV_POPULATE_WRITE
  while (slab->ready < slab->next) {
    madvise(slab->ready, READY_BYTES, MADV_POPULATE_WRITE);
    slab->ready += READY_BYTES;
  }
#else
  (void)slab;
#endif
}

/* Cells that nobody ever had. */
static void *take_fresh(struct slab *slab, size_t cells) {
  if ((size_t)(slab->end - slab->next) < cells * LSC_CHUNK_CELL && !add_block(slab)) return NULL;
  void *run = slab->next;
  slab->next += cells * LSC_CHUNK_CELL;
  make_ready(slab);
  return run;
}

/* A run of `*cells`, or of fewer for a first chunk, which may be the end of a finished thread's. */
static void *take_run(struct slab *slab, size_t *cells) {
  void *run = pop_run(slab, *cells);
  size_t least = *cells == LSC_CHUNK_SMALL / LSC_CHUNK_CELL ? LSC_CHUNK_MIN / LSC_CHUNK_CELL : *cells;
  for (size_t fewer = *cells - 1; !run && fewer >= least; fewer--) {
    run = pop_run(slab, fewer);
    if (run) *cells = fewer;
  }
  return run ? run : take_fresh(slab, *cells);
}

static void *get_shared(struct slab *slab, size_t *bytes) {
  size_t cells = *bytes / LSC_CHUNK_CELL;
  pthread_mutex_lock(&slab->lock);
  void *run = take_run(slab, &cells);
  pthread_mutex_unlock(&slab->lock);
  *bytes = cells * LSC_CHUNK_CELL;
  return run;
}

static void put_shared(struct slab *slab, void *from, size_t bytes, int whole) {
  if (whole) memset(from, 0, bytes);
  pthread_mutex_lock(&slab->lock);
  push_run(slab, from, bytes / LSC_CHUNK_CELL);
  pthread_mutex_unlock(&slab->lock);
}

static void *get_middle(size_t bytes) {
  void *memory = aligned_alloc(LSC_CHUNK_CELL, bytes);
  if (memory) memset(memory, 0, bytes);
  return memory;
}

/* Aligned to its size, so that the kernel can back it by one huge page: first touches cost a fraction of small pages'.
 */
static void *get_large(void) {
  size_t wanted = LSC_CHUNK_LARGE;
  unsigned char *memory = mmap(NULL, 2 * wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return NULL;
  size_t before = (wanted - (uintptr_t)memory % wanted) % wanted;
  if (before) munmap(memory, before);
  munmap(memory + before + wanted, wanted - before);
  madvise(memory + before, wanted, MADV_HUGEPAGE);
  return memory + before;
}

static void *slab_get(struct lsc_chunk_source *source, size_t *bytes) {
  if (*bytes <= LSC_CHUNK_SHARED) return get_shared((struct slab *)source, bytes);
  return *bytes < LSC_CHUNK_LARGE ? get_middle(*bytes) : get_large();
}

/* The unused end of a chunk that has its memory for itself: its whole pages go back to the system and read as zeros. */
static void drop_pages(unsigned char *from, size_t bytes) {
  const uintptr_t page = 4096;
  uintptr_t first = ((uintptr_t)from + page - 1) & ~(page - 1), last = ((uintptr_t)from + bytes) & ~(page - 1);
  if (first < last) madvise((void *)first, last - first, MADV_DONTNEED);
}

static void slab_put(struct lsc_chunk_source *source, size_t chunk_bytes, void *from, size_t bytes) {
  int whole = bytes == chunk_bytes;
  if (chunk_bytes <= LSC_CHUNK_SHARED)
    put_shared((struct slab *)source, from, bytes, whole);
  else if (!whole)
    drop_pages(from, bytes);
  else if (bytes < LSC_CHUNK_LARGE)
    free(from);
  else
    munmap(from, bytes);
}

struct lsc_chunk_source *lsc_slab_new(void) {
  struct slab *slab = calloc(1, sizeof *slab);
  if (!slab) return NULL;
  slab->source.get = slab_get;
  slab->source.put = slab_put;
  atomic_init(&slab->holds, 1);
  pthread_mutex_init(&slab->lock, NULL);
  return &slab->source;
}

void *lsc_slab_keep(struct lsc_chunk_source *source, size_t bytes) {
  struct slab *slab = (struct slab *)source;
  pthread_mutex_lock(&slab->lock);
  void *memory = take_fresh(slab, (bytes + LSC_CHUNK_CELL - 1) / LSC_CHUNK_CELL);
  pthread_mutex_unlock(&slab->lock);
  return memory;
}

void lsc_slab_hold(struct lsc_chunk_source *source) {
  atomic_fetch_add_explicit(&((struct slab *)source)->holds, 1, memory_order_relaxed);
}

void lsc_slab_release(struct lsc_chunk_source *source) {
  struct slab *slab = (struct slab *)source;
  if (atomic_fetch_sub_explicit(&slab->holds, 1, memory_order_acq_rel) != 1) return;
  for (struct block *block = slab->blocks, *next; block; block = next) {
    next = block->next;
    munmap(block, BLOCK_BYTES);
  }
  pthread_mutex_destroy(&slab->lock);
  free(slab);
}
