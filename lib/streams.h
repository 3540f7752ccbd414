/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rows that a snapshot takes from one track, one after the other in the order in which they began, and where the next snapshot
 * goes on. Used by the collector alone; the owner may go on recording: what it publishes after lsc_stream_open is left for next time.
 */
#ifndef LSC_STREAMS_H
#define LSC_STREAMS_H

#include "session.h"
#include "track.h"

/* The last call of a depth, while parents are found. */
struct lsc_level {
  uint32_t call;
  uint64_t end; /* raw; 0: open */
};

struct lsc_stream {
  struct lsc_track *track;
  /* Reading. */
  struct lsc_row *head; /* the next row, or NULL */
  uint64_t head_start;
  size_t carried_next;
  struct lsc_chunk *chunk;
  uint32_t row;
  size_t left; /* rows of chunks still to come */
  /* For the commit: the rows that were open, in order, and what the track has lost and spent so far. */
  struct lsc_row **open;
  size_t open_count, open_capacity;
  uint64_t dropped, slow_ticks;
  /* For the parents. */
  struct lsc_level *level;
  uint32_t level_count;
};

struct lsc_streams {
  struct lsc_session_state *state;
  size_t count;
  struct lsc_stream *stream; /* threads by index, then the unknown ones */
  uint32_t threads;          /* how many of them have a thread index */
};

/* Opens a stream for every track that is published without a gap. Fills streams; on failure also, for lsc_streams_free. */
lsc_status lsc_streams_open(struct lsc_session_state *state, struct lsc_streams *streams);
/* Frees the streams; the tracks are as before. */
void lsc_streams_free(struct lsc_streams *streams);

/* Rows that the stream will give. */
size_t lsc_stream_rows(const struct lsc_stream *stream);
/* Moves to the next row; head is NULL behind the last. */
void lsc_stream_advance(struct lsc_stream *stream);
/* Notes that the row at the head counts as open in this snapshot. LSC_OK, LSC_NO_MEMORY. */
lsc_status lsc_stream_note_open(struct lsc_stream *stream);
/* The reported rows are done with: the next snapshot of the track begins behind them, and their chunks are freed. */
void lsc_stream_commit(struct lsc_stream *stream);

#endif
