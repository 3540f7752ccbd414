/* SPDX-License-Identifier: BSD-3-Clause */
#include "rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "step.h"

/*
 * A piece of every column is filled, then written. Within it the columns are filled block by block, so that the
 * recorded rows of a block are still in the second-level cache for the next column.
 */
#define PIECE_ROWS 65536
#define BLOCK_ROWS 16384

struct pieces {
  int used[LSC_EVENT_COLUMNS]; /* 1: the column is in this file */
  size_t width[LSC_EVENT_COLUMNS];
  unsigned char *values[LSC_EVENT_COLUMNS]; /* PIECE_ROWS of each */
  void *block;
};

static lsc_status pieces_init(struct pieces *pieces, const struct lsc_fill *fill) {
  size_t size = 0, at = 0;
  lsc_status status = lsc_step(LSC_STEP_PIECE);
  if (status) return status;
  for (int k = 0; k < LSC_EVENT_COLUMNS; k++) {
    pieces->used[k] = lsc_fill_has_event_column(fill, k);
    pieces->width[k] = lsc_type_size(lsc_events_desc.column[k].type);
    size += pieces->width[k] * PIECE_ROWS;
  }
  pieces->block = malloc(size);
  if (!pieces->block) return lsc_fail(LSC_NO_MEMORY, "no memory for a piece of %zu bytes of /events", size);
  for (int k = 0; k < LSC_EVENT_COLUMNS; k++) {
    pieces->values[k] = (unsigned char *)pieces->block + at;
    at += pieces->width[k] * PIECE_ROWS;
  }
  return LSC_OK;
}

static lsc_status select_columns(struct lsc_h5 *h5, const struct pieces *pieces, uint64_t events) {
  lsc_status status = LSC_OK;
  for (int k = 0; k < LSC_EVENT_COLUMNS && !status; k++) {
    const struct lsc_column_desc *desc = &lsc_events_desc.column[k];
    char path[64];
    snprintf(path, sizeof path, "%s/%s", lsc_events_desc.group, desc->name);
    if (pieces->used[k]) status = lsc_h5_select(h5, k, path, desc->type, events);
  }
  return status;
}

static void fill_piece(const struct pieces *pieces, const struct lsc_fill *fill, size_t first, size_t count) {
  for (size_t at = 0; at < count; at += BLOCK_ROWS) {
    size_t rows = count - at < BLOCK_ROWS ? count - at : BLOCK_ROWS;
    for (int k = 0; k < LSC_EVENT_COLUMNS; k++) {
      if (pieces->used[k]) lsc_fill_events(fill, k, first + at, rows, pieces->values[k] + at * pieces->width[k]);
    }
  }
}

static lsc_status write_piece(struct lsc_h5 *h5, const struct pieces *pieces, uint64_t row, size_t count) {
  lsc_status status = lsc_step(LSC_STEP_WRITE);
  for (int k = 0; k < LSC_EVENT_COLUMNS && !status; k++) {
    if (pieces->used[k]) status = lsc_h5_write_rows(h5, k, row, count, pieces->values[k]);
  }
  return status;
}

/* One row of each column, read from the file and made again. */
static lsc_status check_row(struct lsc_h5 *h5, const struct pieces *pieces, const struct lsc_fill *fill, size_t row) {
  uint64_t place = fill->event_offset + row;
  for (int k = 0; k < LSC_EVENT_COLUMNS; k++) {
    unsigned char written[8] = {0}, found[8] = {0};
    if (!pieces->used[k]) continue;
    lsc_fill_events(fill, k, row, 1, written);
    lsc_status status = lsc_h5_read_rows(h5, k, place, 1, found);
    if (status) return status;
    if (memcmp(written, found, pieces->width[k]) == 0) continue;
    return lsc_fail(LSC_IO, "row %llu of %s/%s is not what was written there: the file system or MPI-IO lost it",
                    (unsigned long long)place, lsc_events_desc.group, lsc_events_desc.column[k].name);
  }
  return LSC_OK;
}

static lsc_status check_ends(struct lsc_h5 *h5, const struct pieces *pieces, const struct lsc_fill *fill, size_t rows) {
  lsc_status status = lsc_step(LSC_STEP_READ_BACK);
  if (!status) status = check_row(h5, pieces, fill, 0);
  return status ? status : check_row(h5, pieces, fill, rows - 1);
}

lsc_status lsc_rows_write(struct lsc_h5 *h5, const struct lsc_fill *fill, uint64_t events) {
  struct pieces pieces;
  size_t rows = fill->snapshot->completed;
  if (rows == 0) return LSC_OK;
  lsc_status status = pieces_init(&pieces, fill);
  if (status) return status;
  status = select_columns(h5, &pieces, events);
  for (size_t first = 0; first < rows && !status; first += PIECE_ROWS) {
    size_t count = rows - first < PIECE_ROWS ? rows - first : PIECE_ROWS;
    fill_piece(&pieces, fill, first, count);
    status = write_piece(h5, &pieces, fill->event_offset + first, count);
  }
  if (!status) status = check_ends(h5, &pieces, fill, rows);
  free(pieces.block);
  return status;
}
