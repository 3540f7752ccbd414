/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows of recorded calls, and the chunks of memory that hold them.
 *
 * A row is written by the thread that begins the call: everything but `start` first, then `start`, which publishes it.
 * `end` is written once, by whoever ends the call, and publishes that the row will not change again.
 * Rows hold no pointers, so that a chunk can lie in a file that outlives the process.
 */
#ifndef LSC_CHUNK_H
#define LSC_CHUNK_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define LSC_ROW_REGION_BITS 30
#define LSC_ROW_REGION_MASK ((1u << LSC_ROW_REGION_BITS) - 1)

struct lsc_row {
  /*
   * Raw clock readings. Release; acquire by the snapshot's cut (streams.c, cut.c), once for each row that it takes:
   * what works on the snapshot afterwards reads them relaxed.
   */
  _Atomic uint64_t start; /* 0: not published. By the owner: publishes the fields below */
  _Atomic uint64_t end;   /* 0: open. By whoever ends: nobody but the collector touches the row again */
  uint32_t region;        /* region id, and the API (0 to 2) in the two bits above it */
  _Atomic uint32_t depth; /* open calls of its stack below it, and two bits; the order of each is at its use */
  uint32_t task;          /* task index + 1; 0 outside any task */
  uint32_t thread;        /* thread index + 1; 0 unknown */
};
_Static_assert(sizeof(struct lsc_row) == 32, "a row is half a cache line");

/*
 * In front of the row of a call that began inside a task stands another one, which no call is: `region` says so. Its
 * `end` is for how many raw ticks the task had been suspended when the call began; its `start` is 1 + for how many it
 * was suspended during the call, written before the call's end. Both are relaxed: the release of the note's start, and
 * then of the call's end, publishes them.
 */
#define LSC_ROW_NOTE UINT32_MAX

/*
 * Bits of `depth` of a call that was ended by mark (mark.c). ELSEWHERE: stored before the end, which publishes it: the
 * call's frame may still lie on the stack that began it. DROPPED: release by the owner of that stack, its last touch of
 * the row; acquire by the commit, which frees the chunk.
 */
#define LSC_ROW_ELSEWHERE (1u << 31)
#define LSC_ROW_DROPPED (1u << 30)

static inline uint32_t lsc_row_region(const struct lsc_row *row) { return row->region & LSC_ROW_REGION_MASK; }
static inline unsigned lsc_row_api(const struct lsc_row *row) { return row->region >> LSC_ROW_REGION_BITS; }
static inline uint32_t lsc_row_depth(const struct lsc_row *row) {
  return atomic_load_explicit(&row->depth, memory_order_relaxed) & (LSC_ROW_DROPPED - 1);
}
static inline int64_t lsc_row_task(const struct lsc_row *row) { return (int64_t)row->task - 1; }
static inline int64_t lsc_row_thread(const struct lsc_row *row) { return (int64_t)row->thread - 1; }

/* The head of a chunk, as long as a row; its rows follow. */
struct lsc_chunk {
  _Atomic(struct lsc_chunk *) next; /* release by the owner when it moves on, which is its last touch of this head;
                                       acquire by the snapshot. Means nothing outside the process */
  /*
   * Rows. Relaxed: the owner lessens it at most twice, by one before the release of `next`, and as its thread ends: see
   * lsc_chunk_shrink. A snapshot reads it behind the acquire of `next` or of a row's start.
   */
  _Atomic uint32_t capacity;
  uint32_t thread;                  /* as in a row */
  uint32_t sequence;                /* 0, 1, … within the lane */
  uint32_t bytes;                   /* of the whole chunk */
  uint64_t unused;
};
_Static_assert(sizeof(struct lsc_chunk) == sizeof(struct lsc_row), "rows keep their alignment behind the head");

static inline struct lsc_row *lsc_chunk_rows(struct lsc_chunk *chunk) { return (struct lsc_row *)(chunk + 1); }

static inline int lsc_chunk_holds(const struct lsc_chunk *chunk, const struct lsc_row *row) {
  return (const unsigned char *)row > (const unsigned char *)chunk &&
         (const unsigned char *)row < (const unsigned char *)chunk + chunk->bytes;
}

#define LSC_CHUNK_MIN 128
#define LSC_CHUNK_SMALL 512
#define LSC_CHUNK_SHARED 4096 /* up to here several chunks share one piece of the source's memory */
#define LSC_CHUNK_CELL 64     /* their sizes are multiples of this */
#define LSC_CHUNK_LARGE (2u << 20)

/*
 * Where chunks come from. get: zeroed memory of about `*bytes` (between LSC_CHUNK_SMALL and LSC_CHUNK_LARGE); `*bytes`
 * receives what it is, which may be less but never below LSC_CHUNK_MIN; NULL without memory. put: gives back `bytes`
 * from `from` on of a chunk of `chunk_bytes`: all of it, or its end, of which nothing was ever written. Both may be
 * called from any thread.
 */
struct lsc_chunk_source {
  void *(*get)(struct lsc_chunk_source *source, size_t *bytes);
  void (*put)(struct lsc_chunk_source *source, size_t chunk_bytes, void *from, size_t bytes);
  _Atomic uint64_t rows; /* capacity of its chunks. Relaxed: it only decides whether there may be more */
  _Atomic int is_full;   /* 1 once a chunk was refused for lsc_most_rows. Relaxed: the reason of a count */
};

/* Rows of one source at most, so that a collect can number its calls in 32 bits: 2^32 - 2. Tests lower it. */
extern uint64_t lsc_most_rows;

/* A new chunk with `bytes` wanted, or NULL. */
struct lsc_chunk *lsc_chunk_new(struct lsc_chunk_source *source, size_t bytes, uint32_t thread, uint32_t sequence);
void lsc_chunk_free(struct lsc_chunk_source *source, struct lsc_chunk *chunk);
/* Lessens the capacity, and keeps the memory. By the owner. */
void lsc_chunk_limit(struct lsc_chunk_source *source, struct lsc_chunk *chunk, uint32_t rows);
/* Gives back what lies behind the first `rows` rows. By the owner, which appends no more. */
void lsc_chunk_shrink(struct lsc_chunk_source *source, struct lsc_chunk *chunk, uint32_t rows);
/* What to ask for after a chunk of that size. */
size_t lsc_chunk_next_size(size_t bytes);

/*
 * Anonymous memory for one session: small chunks from shared slabs under a lock, large ones from the operating system
 * in huge pages. All of it is given back together, when the session and every thread's part of it are gone.
 */
struct lsc_chunk_source *lsc_slab_new(void);
void lsc_slab_hold(struct lsc_chunk_source *slab);
/*
 * Zeroed memory, of at most LSC_CHUNK_SHARED bytes, for what is no chunk and stays as long as the slab; NULL without
 * memory. Of no chunk before: a snapshot may still look for rows in what was given back.
 */
void *lsc_slab_keep(struct lsc_chunk_source *slab, size_t bytes);
/* Frees the slab with the last hold; lsc_slab_new's is the first. */
void lsc_slab_release(struct lsc_chunk_source *slab);

#endif
