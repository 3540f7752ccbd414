/* SPDX-License-Identifier: BSD-3-Clause */
#include "chunk.h"

#include <stdlib.h>
#include <string.h>

#include "chunks.h"
#include "message.h"

static size_t width_of(int column) { return lsc_type_size(lsc_events_desc.column[column].type); }

/* Each column begins at a multiple of its width, as they are listed. */
static void place_columns(struct lsc_chunk_writer *w, const struct lsc_fill *columns) {
  unsigned char *next = w->block;
  for (int k = 0; k < LSC_EVENT_COLUMNS; k++) {
    if (!lsc_fill_has_event_column(columns, k)) continue;
    w->values[k] = next;
    next += width_of(k) * w->rows;
  }
}

lsc_status lsc_chunk_writer_init(struct lsc_chunk_writer *w, struct lsc_h5 *h5, const struct lsc_fill *columns,
                                 uint64_t events, int level) {
  size_t row = 0;
  for (int k = 0; k < LSC_EVENT_COLUMNS; k++) row += width_of(k);
  *w = (struct lsc_chunk_writer){.h5 = h5, .events = events, .rows = (size_t)lsc_chunks_rows(events)};
  if (!w->rows) return LSC_OK;
  w->block = malloc(row * w->rows);
  if (!w->block) return lsc_fail(LSC_NO_MEMORY, "no memory for a chunk of %zu rows", w->rows);
  place_columns(w, columns);
  return lsc_deflate_new(&w->deflate, level, w->rows);
}

void lsc_chunk_writer_free(struct lsc_chunk_writer *w) {
  lsc_deflate_free(w->deflate);
  lsc_buffer_free(&w->bytes);
  free(w->block);
}

size_t lsc_chunk_writer_room(const struct lsc_chunk_writer *w) { return w->rows - w->filled; }

void *lsc_chunk_writer_place(const struct lsc_chunk_writer *w, int column) {
  return (unsigned char *)w->values[column] + w->filled * width_of(column);
}

/* A chunk is whole: behind the last row of all its values go on. */
static void pad(struct lsc_chunk_writer *w, int column) {
  size_t width = width_of(column);
  unsigned char *end = lsc_chunk_writer_place(w, column);
  for (size_t i = w->filled; i < w->rows; i++, end += width) memcpy(end, end - width, width);
}

static lsc_status write_chunk(struct lsc_chunk_writer *w) {
  lsc_status status = LSC_OK;
  for (int k = 0; k < LSC_EVENT_COLUMNS && !status; k++) {
    if (!w->values[k]) continue;
    pad(w, k);
    w->bytes.size = 0;
    status = lsc_deflate_chunk(w->deflate, w->values[k], width_of(k), &w->bytes);
    if (!status) status = lsc_h5_write_chunk(w->h5, k, w->row, w->bytes.data, w->bytes.size);
  }
  w->row += w->filled;
  w->filled = 0;
  return status;
}

lsc_status lsc_chunk_writer_filled(struct lsc_chunk_writer *w, size_t count) {
  w->filled += count;
  return w->filled == w->rows || w->row + w->filled == w->events ? write_chunk(w) : LSC_OK;
}

uint64_t lsc_chunk_writer_bound(const struct lsc_fill *columns, uint64_t events) {
  uint64_t rows = lsc_chunks_rows(events), bytes = 0;
  for (int k = 0; k < LSC_EVENT_COLUMNS && rows; k++) {
    if (lsc_fill_has_event_column(columns, k)) {
      bytes += (events / rows + (events % rows != 0)) * lsc_deflate_bound(width_of(k), (size_t)rows);
    }
  }
  return bytes;
}
