/* SPDX-License-Identifier: BSD-3-Clause */
#include "rows.h"

#include <stdlib.h>
#include <string.h>

#include "buckets.h"
#include "create.h"
#include "message.h"
#include "progress.h"
#include "step.h"

/* A piece of every column is filled, then written. All together are to lie in the second-level cache. */
#define PIECE_ROWS 16384

struct pieces {
  void *values[LSC_EVENT_COLUMNS]; /* PIECE_ROWS of each; NULL: the column is not in this file */
  size_t width[LSC_EVENT_COLUMNS];
  void *block;
};

static lsc_status pieces_init(struct pieces *pieces, const struct lsc_fill *fill) {
  size_t size = 0, at = 0;
  lsc_status status = lsc_step(LSC_STEP_PIECE);
  if (status) return status;
  for (int k = 0; k < LSC_EVENT_COLUMNS; k++) {
    pieces->width[k] = lsc_type_size(lsc_events_desc.column[k].type);
    size += pieces->width[k] * PIECE_ROWS;
  }
  pieces->block = malloc(size);
  if (!pieces->block) return lsc_fail(LSC_NO_MEMORY, "no memory for a piece of %zu bytes of /events", size);
  for (int k = 0; k < LSC_EVENT_COLUMNS; k++) {
    int used = lsc_fill_has_event_column(fill, k);
    pieces->values[k] = used ? (unsigned char *)pieces->block + at : NULL;
    if (used) at += pieces->width[k] * PIECE_ROWS;
  }
  return LSC_OK;
}

static lsc_status write_piece(struct lsc_h5 *h5, const struct pieces *pieces, uint64_t row, size_t count) {
  lsc_status status = lsc_step(LSC_STEP_WRITE);
  for (int k = 0; k < LSC_EVENT_COLUMNS && !status; k++) {
    if (pieces->values[k]) status = lsc_h5_write_rows(h5, k, row, count, pieces->values[k]);
  }
  return status;
}

/* One row of each column, in which the call stands, read from the file and made again. */
static lsc_status check_row(struct lsc_h5 *h5, const struct pieces *pieces, const struct lsc_fill *fill, size_t row,
                            uint32_t call) {
  uint64_t place = fill->event_offset + row;
  lsc_fill_calls(fill, row, &call, 1, pieces->values);
  for (int k = 0; k < LSC_EVENT_COLUMNS; k++) {
    unsigned char found[8] = {0};
    if (!pieces->values[k]) continue;
    lsc_status status = lsc_h5_read_rows(h5, k, place, 1, found);
    if (status) return status;
    if (memcmp(pieces->values[k], found, pieces->width[k]) == 0) continue;
    return lsc_fail(LSC_IO, "row %llu of %s/%s is not what was written there: the file system or MPI-IO lost it",
                    (unsigned long long)place, lsc_events_desc.group, lsc_events_desc.column[k].name);
  }
  return LSC_OK;
}

/* Region by region, where there are too many of them for buckets. */
static lsc_status write_pieces(struct lsc_h5 *h5, const struct pieces *pieces, const struct lsc_fill *fill) {
  size_t rows = fill->snapshot->completed;
  lsc_status status = lsc_snapshot_events(fill->snapshot);
  for (size_t first = 0; first < rows && !status; first += PIECE_ROWS) {
    size_t count = rows - first < PIECE_ROWS ? rows - first : PIECE_ROWS;
    lsc_fill_events(fill, first, count, pieces->values);
    status = write_piece(h5, pieces, fill->event_offset + first, count);
    lsc_progress_at(first + count, rows);
  }
  return status;
}

/* The first and the last row, each with its call. */
static lsc_status check_ends(struct lsc_h5 *h5, const struct pieces *pieces, const struct lsc_fill *fill) {
  const struct lsc_snapshot *s = fill->snapshot;
  lsc_status status = lsc_step(LSC_STEP_READ_BACK);
  if (!status) status = check_row(h5, pieces, fill, 0, s->region[0].sums.first_call);
  if (status) return status;
  return check_row(h5, pieces, fill, s->completed - 1, s->region[s->regions - 1].sums.last_call);
}

lsc_status lsc_rows_write(struct lsc_h5 *h5, const struct lsc_fill *fill, uint64_t events) {
  struct pieces pieces;
  const struct lsc_snapshot *s = fill->snapshot;
  if (s->completed == 0) return LSC_OK;
  lsc_status status = pieces_init(&pieces, fill);
  if (status) return status;
  status = lsc_create_select(h5, fill, events);
  if (!status) status = lsc_buckets_suit(fill) ? lsc_buckets_write(h5, fill) : write_pieces(h5, &pieces, fill);
  if (!status) status = check_ends(h5, &pieces, fill);
  free(pieces.block);
  return status;
}
