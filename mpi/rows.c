/* SPDX-License-Identifier: BSD-3-Clause */
#include "rows.h"

#include <string.h>

#include "buckets.h"
#include "create.h"
#include "message.h"
#include "progress.h"
#include "step.h"

/* One row of every column: 8 bytes at most of each. */
struct events_row {
  unsigned char value[LSC_EVENT_COLUMNS][8];
};

/* One row of each column, read from the file and compared with what was written there. */
static lsc_status check_row(struct lsc_h5 *h5, const struct lsc_fill *fill, size_t row,
                            const struct events_row *written) {
  uint64_t place = fill->event_offset + row;
  for (int k = 0; k < LSC_EVENT_COLUMNS; k++) {
    unsigned char found[8] = {0};
    if (!lsc_fill_has_event_column(fill, k)) continue;
    lsc_status status = lsc_h5_read_rows(h5, k, place, 1, found);
    if (status) return status;
    if (memcmp(written->value[k], found, lsc_type_size(lsc_events_desc.column[k].type)) == 0) continue;
    return lsc_fail(LSC_IO, "row %llu of %s/%s is not what was written there: the file system or MPI-IO lost it",
                    (unsigned long long)place, lsc_events_desc.group, lsc_events_desc.column[k].name);
  }
  return LSC_OK;
}

/* The columns of the file, and what is compared afterwards. */
struct writing {
  const struct lsc_fill *fill;
  struct lsc_h5 *h5;
  uint64_t written;
  struct events_row first, last;
};

static void keep_row(void *const *column, size_t row, struct events_row *kept) {
  for (int k = 0; k < LSC_EVENT_COLUMNS; k++) {
    size_t width = lsc_type_size(lsc_events_desc.column[k].type);
    if (column[k]) memcpy(kept->value[k], (const unsigned char *)column[k] + row * width, width);
  }
}

static lsc_status write_rows(void *ctx, uint64_t row, size_t rows, void *const *column) {
  struct writing *w = ctx;
  lsc_status status = lsc_step(LSC_STEP_WRITE);
  for (int k = 0; k < LSC_EVENT_COLUMNS && !status; k++) {
    if (column[k]) status = lsc_h5_write_rows(w->h5, k, w->fill->event_offset + row, rows, column[k]);
  }
  w->written += rows;
  lsc_progress_at(w->written, w->fill->snapshot->completed);
  if (row == 0) keep_row(column, 0, &w->first);
  if (row + rows == w->fill->snapshot->completed) keep_row(column, rows - 1, &w->last);
  return status;
}

static lsc_status write_and_check(struct lsc_h5 *h5, const struct lsc_fill *fill, struct lsc_buckets *buckets) {
  struct writing writing = {.fill = fill, .h5 = h5};
  const struct lsc_rows_sink sink = {write_rows, &writing};
  lsc_status status = lsc_buckets_read(buckets, &sink);
  if (!status) status = lsc_step(LSC_STEP_READ_BACK);
  if (!status) status = check_row(h5, fill, 0, &writing.first);
  return status ? status : check_row(h5, fill, fill->snapshot->completed - 1, &writing.last);
}

lsc_status lsc_rows_write(struct lsc_h5 *h5, const struct lsc_fill *fill, uint64_t events) {
  struct lsc_buckets *buckets;
  if (fill->snapshot->completed == 0) return LSC_OK;
  lsc_status status = lsc_step(LSC_STEP_PIECE);
  if (!status) status = lsc_buckets_new(fill, &buckets);
  if (status) return status;
  status = lsc_create_select(h5, fill, events);
  if (!status) status = write_and_check(h5, fill, buckets);
  lsc_buckets_free(buckets);
  return status;
}
