/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rows that a snapshot takes from one track, one after the other in the order in which they began, and where the
 * next snapshot goes on. Used by the collector alone, while the owners go on recording: what is published later than
 * lsc_streams_open is left for next time.
 */
#ifndef LSC_STREAMS_H
#define LSC_STREAMS_H

#include "session.h"
#include "snapshot.h"
#include "track.h"

/* The last call of a depth, while parents are found. */
struct lsc_level {
  lsc_parent as_parent; /* of those begun at the depth above it */
  uint64_t end;         /* raw; LSC_STILL_OPEN; 0: no call yet */
};

/* The stack of one lane, as the calls go by. level[depth + 1], and below them one that is always open: nobody. */
struct lsc_levels {
  struct lsc_level *level; /* the walk's */
  uint32_t count; /* depths for which there is room */
};

/* There is one for each thread, however few calls it made. */
struct lsc_stream {
  struct lsc_track *track; /* its cursor says where the rows of chunks begin */
  /* Reading. */
  struct lsc_row *head; /* the next row, or NULL */
  struct lsc_chunk *chunk;
  size_t left; /* rows of chunks still to come */
  size_t rows; /* of chunks, all of them */
  struct lsc_chunk *bound_chunk; /* the row behind the last of them */
  uint32_t bound_row;
  uint32_t row; /* reading, in the chunk */
  /* The calls that count as open, in order, NULL for none, and what the track has lost and spent so far: the commit
   * carries them on. */
  struct lsc_row_list *open;
  uint64_t dropped, slow_ticks;
  struct lsc_levels levels; /* of the track's own stack */
};

struct lsc_streams {
  struct lsc_session_state *state;
  size_t count;
  struct lsc_stream *stream; /* threads by index, then the unknown ones */
  uint32_t threads;          /* how many of them have a thread index */
  uint32_t tasks;            /* at least those of the rows */
  struct lsc_levels *task_levels;
};

/* Whether a row is published: its start first, then the capacity, for the reason given at lsc_chunk_shrink. */
static inline int lsc_row_is_published(struct lsc_chunk *chunk, uint32_t row) {
  return atomic_load_explicit(&lsc_chunk_rows(chunk)[row].start, memory_order_acquire) &&
         row < atomic_load_explicit(&chunk->capacity, memory_order_relaxed);
}

static inline uint32_t lsc_chunk_capacity(struct lsc_chunk *chunk) {
  return atomic_load_explicit(&chunk->capacity, memory_order_relaxed);
}

/* Some of the rows that the last commit carried on are still to come; they come first. */
static inline int lsc_stream_has_carried(const struct lsc_stream *stream) {
  const struct lsc_row_list *carried = stream->track->carried;
  return carried && carried->next < carried->count;
}

/* The next row, notes too, or NULL behind the last. */
static inline struct lsc_row *lsc_stream_next(struct lsc_stream *stream) {
  if (lsc_stream_has_carried(stream)) return stream->track->carried->row[stream->track->carried->next++];
  if (!stream->left) return NULL;
  stream->left--;
  while (stream->row == lsc_chunk_capacity(stream->chunk)) {
    stream->chunk = atomic_load_explicit(&stream->chunk->next, memory_order_acquire);
    stream->row = 0;
  }
  return &lsc_chunk_rows(stream->chunk)[stream->row++];
}
/* Adds streams, of no row so far, for threads that were published meanwhile. LSC_OK, LSC_NO_MEMORY. */
lsc_status lsc_streams_widen(struct lsc_streams *streams);
/* Decides which calls are completed and which are open, and takes in those that must be there for that. cut.c. LSC_OK,
 * LSC_NO_MEMORY. */
lsc_status lsc_streams_cut(struct lsc_streams *streams);

/* Opens a stream for every track that is published without a gap. Fills streams; on failure also, for lsc_streams_free.
 */
lsc_status lsc_streams_open(struct lsc_session_state *state, struct lsc_streams *streams);
/* Frees the streams; the tracks are as before. */
void lsc_streams_free(struct lsc_streams *streams);

/* Rows that the stream gives, and notes. */
size_t lsc_stream_rows(const struct lsc_stream *stream);
/* Moves to the next row; head is NULL behind the last. */
static inline void lsc_stream_advance(struct lsc_stream *stream) {
  do stream->head = lsc_stream_next(stream);
  while (stream->head && stream->head->region == LSC_ROW_NOTE);
}

/* When the head began, raw. Acquire: publishes the row. */
static inline uint64_t lsc_stream_start(const struct lsc_stream *stream) {
  return atomic_load_explicit(&stream->head->start, memory_order_acquire);
}

/* Back to the first row. */
void lsc_stream_rewind(struct lsc_stream *stream);

/* The rows behind the head that lie in its chunk one after the other, up to *end, which is not one of them. */
static inline struct lsc_row *lsc_stream_rest(const struct lsc_stream *stream, struct lsc_row **end) {
  *end = NULL;
  if (!stream->left || lsc_stream_has_carried(stream)) return NULL;
  struct lsc_row *next = &lsc_chunk_rows(stream->chunk)[stream->row];
  size_t rest = lsc_chunk_capacity(stream->chunk) - stream->row;
  *end = next + (rest < stream->left ? rest : stream->left);
  return next;
}
/* So many of them are done with. */
static inline void lsc_stream_skip(struct lsc_stream *stream, uint32_t rows) {
  stream->row += rows;
  stream->left -= rows;
}

static inline size_t lsc_stream_open_count(const struct lsc_stream *stream) {
  return stream->open ? stream->open->count : 0;
}

/* The next row, from the head on, that counts as open, or NULL. */
static inline const struct lsc_row *lsc_stream_next_open(const struct lsc_stream *stream) {
  const struct lsc_row_list *open = stream->open;
  return open && open->next < open->count ? open->row[open->next] : NULL;
}
/* The reported rows are done with: the next snapshot of the track begins behind them, and their chunks are freed. */
void lsc_stream_commit(struct lsc_session_state *state, struct lsc_stream *stream);

#endif
