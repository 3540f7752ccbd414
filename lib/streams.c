/* SPDX-License-Identifier: BSD-3-Clause */
#include "streams.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "mark.h"
#include "message.h"
#include "test_point.h"

/* Published rows of a chunk from `from` on: they are a prefix, since one owner publishes them in order. */
static uint32_t published_rows(struct lsc_chunk *chunk, uint32_t from) {
  uint32_t low = from, high = lsc_chunk_capacity(chunk);
  if (atomic_load_explicit(&chunk->next, memory_order_acquire)) return lsc_chunk_capacity(chunk);
  LSC_TEST_POINT("capacity read");
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (lsc_row_is_published(chunk, middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}

static void init_stream(struct lsc_stream *stream, struct lsc_track *track) {
  memset(stream, 0, sizeof *stream);
  stream->track = track;
  stream->dropped = atomic_load_explicit(&track->dropped, memory_order_relaxed);
  stream->slow_ticks = atomic_load_explicit(&track->slow_ticks, memory_order_relaxed);
}

static void go_to_cursor(struct lsc_stream *stream) {
  struct lsc_track *track = stream->track;
  if (track->carried) track->carried->next = 0;
  stream->chunk = track->cursor_chunk ? track->cursor_chunk : atomic_load_explicit(&track->first, memory_order_acquire);
  stream->row = track->cursor_row;
}

static void open_stream(struct lsc_stream *stream, struct lsc_track *track) {
  init_stream(stream, track);
  go_to_cursor(stream);
  uint32_t from = track->cursor_row;
  for (struct lsc_chunk *chunk = stream->chunk; chunk;
       chunk = atomic_load_explicit(&chunk->next, memory_order_acquire)) {
    stream->left += published_rows(chunk, from) - from;
    from = 0;
  }
}

static size_t open_all(struct lsc_registry *registry, uint32_t count, struct lsc_stream *stream) {
  for (uint32_t i = 0; i < count; i++) {
    struct lsc_track *track = lsc_registry_get(registry, i);
    if (!track) return i;
    open_stream(&stream[i], track);
  }
  return count;
}

/*
 * Counted after the rows were bounded: a row's task was registered before it, and is among them. One that was counted
 * is published within a few instructions of its thread.
 */
static lsc_status open_tasks(struct lsc_streams *streams) {
  struct lsc_registry *tasks = &streams->state->tasks;
  streams->tasks = lsc_registry_count(tasks);
  for (uint32_t i = 0; i < streams->tasks; i++)
    while (!lsc_registry_get(tasks, i)) sched_yield();
  streams->task_levels = calloc((size_t)streams->tasks + 1, sizeof *streams->task_levels);
  return streams->task_levels ? LSC_OK
                              : lsc_fail(LSC_NO_MEMORY, "no memory for a snapshot of %u tasks", streams->tasks);
}

lsc_status lsc_streams_widen(struct lsc_streams *streams) {
  struct lsc_track *track;
  while ((track = lsc_registry_get(&streams->state->threads, streams->threads))) {
    struct lsc_stream *larger = realloc(streams->stream, (streams->count + 1) * sizeof *larger);
    if (!larger) return lsc_fail(LSC_NO_MEMORY, "no memory for a snapshot of %zu threads", streams->count + 1);
    streams->stream = larger;
    memmove(&larger[streams->threads + 1], &larger[streams->threads],
            (streams->count - streams->threads) * sizeof *larger);
    init_stream(&larger[streams->threads++], track);
    streams->count++;
  }
  return LSC_OK;
}

lsc_status lsc_streams_open(struct lsc_session_state *state, struct lsc_streams *streams) {
  uint32_t threads = lsc_registry_count(&state->threads), unknown = lsc_registry_count(&state->unknown);
  memset(streams, 0, sizeof *streams);
  streams->state = state;
  streams->stream = calloc((size_t)threads + unknown + 1, sizeof *streams->stream);
  if (!streams->stream)
    return lsc_fail(LSC_NO_MEMORY, "no memory for a snapshot of %zu threads", (size_t)threads + unknown);
  streams->threads = (uint32_t)open_all(&state->threads, threads, streams->stream);
  streams->count = streams->threads + open_all(&state->unknown, unknown, streams->stream + streams->threads);
  LSC_TEST_POINT("rows counted");
  lsc_status status = lsc_streams_cut(streams);
  for (size_t i = 0; i < streams->count; i++) {
    struct lsc_stream *stream = &streams->stream[i];
    stream->rows = stream->left;
  }
  return status == LSC_OK ? open_tasks(streams) : status;
}

void lsc_streams_free(struct lsc_streams *streams) {
  for (size_t i = 0; i < streams->count; i++) free(streams->stream[i].open);
  free(streams->task_levels);
  free(streams->stream);
  memset(streams, 0, sizeof *streams);
}

size_t lsc_stream_rows(const struct lsc_stream *stream) {
  const struct lsc_row_list *carried = stream->track->carried;
  return (carried ? carried->count : 0) + stream->rows;
}

void lsc_stream_rewind(struct lsc_stream *stream) {
  if (stream->open) stream->open->next = 0;
  go_to_cursor(stream);
  stream->left = stream->rows;
  lsc_stream_advance(stream);
}

static int holds_open_row(const struct lsc_stream *stream, const struct lsc_chunk *chunk) {
  for (size_t i = 0; i < lsc_stream_open_count(stream); i++)
    if (lsc_chunk_holds(chunk, stream->open->row[i])) return 1;
  return 0;
}

/*
 * Chunks before the cursor's are the collector's: their owner has moved on (`next`), and each of their rows has its
 * end, after which nobody touches it but for the frame of one that was ended by mark. Those with an open row, or with
 * such a frame, stay in the list, in front of the cursor's chunk, until a
 * later commit.
 */
static void free_reported_chunks(struct lsc_stream *stream) {
  struct lsc_track *track = stream->track;
  struct lsc_chunk *kept = NULL, *chunk = atomic_load_explicit(&track->first, memory_order_acquire);
  while (chunk != stream->bound_chunk) {
    struct lsc_chunk *next = atomic_load_explicit(&chunk->next, memory_order_acquire);
    if (holds_open_row(stream, chunk) || (track->marked && lsc_mark_holds(chunk)))
      kept = chunk;
    else {
      if (kept)
        atomic_store_explicit(&kept->next, next, memory_order_relaxed);
      else
        atomic_store_explicit(&track->first, next, memory_order_relaxed);
      lsc_chunk_free(track->source, chunk);
    }
    chunk = next;
  }
}

void lsc_stream_commit(struct lsc_session_state *state, struct lsc_stream *stream) {
  struct lsc_track *track = stream->track;
  pthread_mutex_lock(&state->commit);
  if (stream->bound_chunk) free_reported_chunks(stream);
  pthread_mutex_unlock(&state->commit);
  free(track->carried);
  track->carried = stream->open;
  stream->open = NULL;
  track->cursor_chunk = stream->bound_chunk;
  track->cursor_row = stream->bound_row;
  track->reported_dropped = stream->dropped;
  track->reported_slow_ticks = stream->slow_ticks;
}
