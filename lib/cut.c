/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "message.h"
#include "streams.h"

/*
 * One cut through what all lanes do, while they go on: which calls are completed and which are open, so that no call is
 * completed of which one that began inside it is missing, or open.
 *
 * The first round looks at the end of every row in hand; `latest` is the latest end that it saw. A call inside a
 * completed one began and ended before that end was stored, at readings no later than it, and whoever saw the end
 * (acquire) sees these too. So the rounds that follow look for rows that began, and ends that were stored, up to
 * `latest` alone, which are finitely many, until one of them finds nothing: by then all that a completed call holds had
 * been visible before that round. A task may have gone on in a thread that is new; so threads are looked for again,
 * too.
 */

static lsc_status note_open(struct lsc_stream *stream, struct lsc_row *row) {
  struct lsc_row_list *open = stream->open;
  if (!open || open->count == open->capacity) {
    size_t count = open ? open->count : 0, wanted = count ? 2 * count : 4;
    struct lsc_row_list *larger = realloc(open, sizeof *larger + wanted * sizeof *larger->row);
    if (!larger) return lsc_fail(LSC_NO_MEMORY, "no memory for %zu open calls of one thread", wanted);
    open = stream->open = larger;
    open->count = count;
    open->capacity = wanted;
    open->next = 0;
  }
  open->row[open->count++] = row;
  return LSC_OK;
}

/* The end of the row if it was stored, no later than `until`; else 0. */
static uint64_t end_of(const struct lsc_row *row, uint64_t until) {
  uint64_t end = atomic_load_explicit(&row->end, memory_order_acquire);
  return end <= until ? end : 0;
}

static inline lsc_status look_at(struct lsc_stream *stream, struct lsc_row *row, uint64_t *latest) {
  if (row->region == LSC_ROW_NOTE) return LSC_OK;
  uint64_t end = end_of(row, UINT64_MAX);
  if (end > *latest) *latest = end;
  return __builtin_expect(end != 0, 1) ? LSC_OK : note_open(stream, row);
}

static lsc_status look_first(struct lsc_stream *stream, uint64_t *latest) {
  struct lsc_stream reader = *stream;
  lsc_status status = LSC_OK;
  uint64_t seen = *latest;
  for (struct lsc_row *row; status == LSC_OK && (row = lsc_stream_next(&reader));) {
    struct lsc_row *end, *next = lsc_stream_rest(&reader, &end);
    lsc_stream_skip(&reader, (uint32_t)(end - next));
    status = look_at(stream, row, &seen);
    for (; next < end && status == LSC_OK; next++) {
      __builtin_prefetch(next + 64);
      status = look_at(stream, next, &seen);
    }
  }
  *latest = seen;
  stream->bound_chunk = reader.chunk;
  stream->bound_row = reader.row;
  return status;
}

/* Drops the calls that have ended from those that are open. */
static int look_at_open(struct lsc_stream *stream, uint64_t latest) {
  struct lsc_row_list *open = stream->open;
  size_t kept = 0, count = lsc_stream_open_count(stream);
  for (size_t i = 0; i < count; i++)
    if (!end_of(open->row[i], latest)) open->row[kept++] = open->row[i];
  if (open) open->count = kept;
  return kept != count;
}

/* The row behind the bound, if it is published. */
static struct lsc_row *row_behind(struct lsc_stream *stream) {
  if (!stream->chunk)
    stream->chunk = stream->bound_chunk = atomic_load_explicit(&stream->track->first, memory_order_acquire);
  struct lsc_chunk *chunk = stream->bound_chunk;
  while (chunk && stream->bound_row == atomic_load_explicit(&chunk->capacity, memory_order_relaxed)) {
    chunk = atomic_load_explicit(&chunk->next, memory_order_acquire);
    if (!chunk) return NULL;
    stream->bound_chunk = chunk;
    stream->bound_row = 0;
  }
  return chunk && lsc_row_is_published(chunk, stream->bound_row) ? &lsc_chunk_rows(chunk)[stream->bound_row] : NULL;
}

/* The call behind the bound, if it began no later than `until`: *rows are it and its note. */
static struct lsc_row *call_behind(struct lsc_stream *stream, uint64_t until, uint32_t *rows) {
  struct lsc_row *row = row_behind(stream);
  if (!row) return NULL;
  *rows = 1 + (row->region == LSC_ROW_NOTE);
  if (*rows == 2 && !lsc_row_is_published(stream->bound_chunk, stream->bound_row + 1)) return NULL;
  row += *rows - 1;
  return atomic_load_explicit(&row->start, memory_order_relaxed) <= until ? row : NULL;
}

static lsc_status look_behind(struct lsc_stream *stream, uint64_t latest, int *found) {
  lsc_status status = LSC_OK;
  uint32_t rows;
  for (struct lsc_row *row; status == LSC_OK && (row = call_behind(stream, latest, &rows)); *found = 1) {
    stream->bound_row += rows;
    stream->left += rows;
    if (!end_of(row, latest)) status = note_open(stream, row);
  }
  return status;
}

lsc_status lsc_streams_cut(struct lsc_streams *streams) {
  uint64_t latest = 0;
  lsc_status status = LSC_OK;
  for (size_t i = 0; i < streams->count && status == LSC_OK; i++) status = look_first(&streams->stream[i], &latest);
  for (int found = 1; found && status == LSC_OK;) {
    found = 0;
    status = lsc_streams_widen(streams);
    for (size_t i = 0; i < streams->count && status == LSC_OK; i++) {
      found |= look_at_open(&streams->stream[i], latest);
      status = look_behind(&streams->stream[i], latest, &found);
    }
  }
  return status;
}
