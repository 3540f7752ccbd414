/* SPDX-License-Identifier: BSD-3-Clause */
#include "rows.h"

#include <string.h>

#include "buckets.h"
#include "create.h"
#include "even.h"
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
  uint64_t events; /* rows of the file */
  int is_open;
  struct lsc_even even;
  uint64_t written; /* rows of the other columns */
  struct events_row first, last;
};

static void keep_value(struct events_row *kept, int column, const void *values, size_t at) {
  size_t width = lsc_type_size(lsc_events_desc.column[column].type);
  memcpy(kept->value[column], (const unsigned char *)values + at * width, width);
}

/* The columns are looked for behind the start of the helper thread, which has rows to make meanwhile. */
static lsc_status open_columns(struct writing *w) {
  lsc_status status = w->is_open ? LSC_OK : lsc_create_select(w->h5, w->fill, w->events);
  w->is_open = !status;
  return status;
}

static lsc_status write_column(struct writing *w, int column, uint64_t row, size_t rows, const void *values) {
  lsc_status status = open_columns(w);
  if (!status) status = lsc_step(LSC_STEP_WRITE);
  if (row == 0) keep_value(&w->first, column, values, 0);
  if (row + rows == w->fill->snapshot->completed) keep_value(&w->last, column, values, rows - 1);
  return status ? status : lsc_h5_write_rows(w->h5, column, w->fill->event_offset + row, rows, values);
}

static lsc_status write_even(void *ctx, int *done) {
  struct writing *w = ctx;
  *done = !lsc_even_next(&w->even);
  return *done ? LSC_OK : write_column(w, w->even.column, w->even.row, w->even.rows, w->even.values);
}

/* Both kinds of columns get on side by side, so that the progress that is shown holds for all. */
static lsc_status write_even_so_far(struct writing *w) {
  double part = (double)w->written / (double)w->fill->snapshot->completed;
  lsc_status status = LSC_OK;
  for (int done = 0; !done && !status && (double)w->even.done < part * (double)w->even.total;)
    status = write_even(w, &done);
  return status;
}

static lsc_status write_rows(void *ctx, uint64_t row, size_t rows, void *const *column) {
  struct writing *w = ctx;
  lsc_status status = LSC_OK;
  for (int k = 0; k < LSC_EVENT_COLUMNS && !status; k++) {
    if (column[k]) status = write_column(w, k, row, rows, column[k]);
  }
  w->written += rows;
  lsc_progress_at(w->written, w->fill->snapshot->completed);
  return status ? status : write_even_so_far(w);
}

static lsc_status write_and_check(struct writing *w, struct lsc_buckets *buckets) {
  const struct lsc_rows_sink sink = {write_rows, write_even, w};
  lsc_status status = lsc_buckets_read(buckets, &sink);
  if (!status) status = lsc_step(LSC_STEP_READ_BACK);
  if (!status) status = check_row(w->h5, w->fill, 0, &w->first);
  return status ? status : check_row(w->h5, w->fill, w->fill->snapshot->completed - 1, &w->last);
}

lsc_status lsc_rows_write(struct lsc_h5 *h5, const struct lsc_fill *fill, uint64_t events) {
  struct lsc_buckets *buckets;
  struct writing writing = {.fill = fill, .h5 = h5, .events = events};
  if (fill->snapshot->completed == 0) return LSC_OK;
  lsc_status status = lsc_step(LSC_STEP_PIECE);
  if (!status) status = lsc_buckets_new(fill, 1, &buckets);
  if (status) return status;
  status = lsc_even_init(&writing.even, fill);
  if (!status) status = write_and_check(&writing, buckets);
  lsc_even_free(&writing.even);
  lsc_buckets_free(buckets);
  return status;
}
