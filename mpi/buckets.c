/* SPDX-License-Identifier: BSD-3-Clause */
#include "buckets.h"

#include <stdlib.h>
#include <string.h>

#include "ahead.h"
#include "array.h"
#include "message.h"

#define USUAL_ROWS 65536 /* of all buckets together: about what the second-level cache holds */
#define FEW_ROWS 16384   /* where there are few calls, one row in four has room, but no fewer than these */
#define LEAST_ROWS 1000  /* of a bucket, unless the region has fewer: what each write costs is then little beside it */
#define PART 20 /* where there are many regions, one row in so many has room, and so often are the calls read at most */
#define FEWEST_FOR_HELP 20000 /* rows for which a helper thread is worth its start */

/* The rows of the memory that wait in a bucket are begin .. next - 1. */
struct bucket {
  size_t next, end; /* both 0: not in this reading */
};

/* What is only looked at when a bucket is emptied. */
struct slice {
  size_t begin; /* first row of the memory */
  uint64_t row; /* of this rank's events, which stands there */
};

struct lsc_buckets {
  const struct lsc_fill *fill;
  int without_even;
  size_t rows;  /* of the memory, without spare shares behind them */
  size_t share; /* most rows of a bucket */
  unsigned char *memory;
  void *column[LSC_EVENT_COLUMNS];  /* in the memory; NULL: not in this file */
  void *varying[LSC_EVENT_COLUMNS]; /* those that are not the same in every row */
  int has_rest;                     /* there are some that lsc_fill_rest fills */
  struct bucket *bucket;            /* by region */
  struct slice *slice;              /* by number of the region in the snapshot */
  size_t first, end;                /* of this reading: regions first .. end - 1 of the snapshot */
  struct lsc_ahead *ahead;          /* NULL: no helper thread is at work */
  struct lsc_ahead helper;
  size_t spares;                    /* LSC_AHEAD_SPARES if there may be one */
  uint64_t chunk_rows;              /* as lsc_buckets_limit says; 0: no limit */
  size_t most_chunks;
  lsc_status status;                /* of the sink; the caller's alone while a helper is at work */
  const struct lsc_rows_sink *sink;
};

static size_t width_of(int column) { return lsc_type_size(lsc_events_desc.column[column].type); }

static int is_wanted(const struct lsc_buckets *buckets, int column) {
  return lsc_fill_has_event_column(buckets->fill, column) &&
         !(buckets->without_even && lsc_fill_is_even(buckets->fill, column));
}

static size_t bytes_of_row(const struct lsc_buckets *buckets) {
  size_t bytes = 0;
  for (int k = 0; k < LSC_EVENT_COLUMNS; k++) bytes += is_wanted(buckets, k) ? width_of(k) : 0;
  return bytes;
}

/* At most so many rows, of a number for which slices and columns begin at different places of a cache's way. */
static size_t unalike(size_t rows) { return rows < 16 ? rows : (rows - 8) / 16 * 16 + 8; }

static size_t rows_of_memory(const struct lsc_snapshot *s) {
  size_t rows = s->completed / 4, part = s->completed / PART;
  if (rows < FEW_ROWS) rows = FEW_ROWS;
  if (rows > USUAL_ROWS) rows = USUAL_ROWS;
  if (s->regions > USUAL_ROWS / LEAST_ROWS && part > rows) rows = part;
  return rows < s->completed ? unalike(rows) : s->completed;
}

static size_t rows_of_share(const struct lsc_buckets *buckets) {
  size_t share = unalike(buckets->rows / (buckets->fill->snapshot->regions + buckets->spares));
  if (share < LEAST_ROWS) share = LEAST_ROWS;
  return share < buckets->rows ? share : buckets->rows;
}

static size_t rows_with_spares(const struct lsc_buckets *buckets) {
  return buckets->rows + buckets->spares * buckets->share;
}

static void lay_out_column(struct lsc_buckets *buckets, int column, void *values) {
  int64_t value;
  buckets->column[column] = values;
  if (lsc_fill_is_constant(buckets->fill, column, &value)) {
    lsc_fill_same(column, value, rows_with_spares(buckets), values);
  } else if (column != LSC_EVENT_REGION_IDS) {
    buckets->varying[column] = values;
    buckets->has_rest |= column == LSC_EVENT_THREADS || column == LSC_EVENT_TASKS || column == LSC_EVENT_AWAIT ||
                         column == LSC_EVENT_APIS;
  }
}

/* The columns in the memory, one behind the other, the widest first. What is the same in every row is filled in. */
static void lay_out(struct lsc_buckets *buckets) {
  unsigned char *next = buckets->memory;
  for (size_t width = 8; width; width /= 2) {
    for (int k = 0; k < LSC_EVENT_COLUMNS; k++) {
      if (width_of(k) != width || !is_wanted(buckets, k)) continue;
      lay_out_column(buckets, k, next);
      next += rows_with_spares(buckets) * width;
    }
  }
}

lsc_status lsc_buckets_new(const struct lsc_fill *fill, int without_even, struct lsc_buckets **out) {
  const struct lsc_snapshot *s = fill->snapshot;
  lsc_status status = lsc_snapshot_ready(fill->snapshot);
  if (status) return status;
  struct lsc_buckets *buckets = calloc(1, sizeof *buckets);
  if (!buckets) return lsc_fail(LSC_NO_MEMORY, "no memory for rows of /events");
  buckets->fill = fill;
  buckets->without_even = without_even;
  buckets->rows = rows_of_memory(s);
  buckets->spares = s->completed >= FEWEST_FOR_HELP && lsc_ahead_has_core() ? LSC_AHEAD_SPARES : 0;
  buckets->share = rows_of_share(buckets);
  buckets->rows -= buckets->spares * buckets->share;
  buckets->bucket = calloc((size_t)s->region[s->regions - 1].region + 1, sizeof *buckets->bucket);
  buckets->slice = calloc(s->regions, sizeof *buckets->slice);
  buckets->memory = lsc_array_new(rows_with_spares(buckets), bytes_of_row(buckets));
  if (!buckets->bucket || !buckets->slice || !buckets->memory) {
    lsc_fail(LSC_NO_MEMORY, "no memory for %zu rows of /events", buckets->rows);
    lsc_buckets_free(buckets);
    return LSC_NO_MEMORY;
  }
  lay_out(buckets);
  *out = buckets;
  return LSC_OK;
}

void lsc_buckets_free(struct lsc_buckets *buckets) {
  free(buckets->bucket);
  free(buckets->slice);
  free(buckets->memory);
  free(buckets);
}

static void *at(const struct lsc_buckets *buckets, int column, size_t row) {
  return (unsigned char *)buckets->column[column] + row * width_of(column);
}

static struct bucket *bucket_of(const struct lsc_buckets *buckets, size_t region) {
  return &buckets->bucket[buckets->fill->snapshot->region[region].region];
}

static void put_region(struct lsc_buckets *buckets, size_t begin, size_t rows, size_t number) {
  if (!buckets->column[LSC_EVENT_REGION_IDS]) return;
  lsc_fill_same(LSC_EVENT_REGION_IDS, buckets->fill->region_ids[number], rows,
                at(buckets, LSC_EVENT_REGION_IDS, begin));
}

void lsc_buckets_limit(struct lsc_buckets *buckets, uint64_t rows, size_t most) {
  buckets->chunk_rows = rows;
  buckets->most_chunks = most;
}

/* With the region at buckets->end, more chunks may be begun at a time than are allowed. */
static int is_beyond_limit(const struct lsc_buckets *buckets) {
  const struct lsc_region_span *first = &buckets->fill->snapshot->region[buckets->first];
  const struct lsc_region_span *last = &buckets->fill->snapshot->region[buckets->end];
  uint64_t before = buckets->fill->event_offset, regions = buckets->end - buckets->first + 1;
  if (!buckets->chunk_rows || regions == 1) return 0;
  uint64_t begin = (before + first->offset) / buckets->chunk_rows;
  uint64_t chunks = (before + last->offset + last->count - 1) / buckets->chunk_rows - begin + 1;
  return (regions < chunks ? regions : chunks) > buckets->most_chunks;
}

/* Buckets for the next regions, as many as there is room for. */
static void share_out(struct lsc_buckets *buckets) {
  const struct lsc_snapshot *s = buckets->fill->snapshot;
  size_t next = 0;
  for (size_t i = buckets->first; i < buckets->end; i++) *bucket_of(buckets, i) = (struct bucket){0, 0};
  for (buckets->first = buckets->end; buckets->end < s->regions; buckets->end++) {
    const struct lsc_region_span *span = &s->region[buckets->end];
    size_t rows = span->count < buckets->share ? span->count : buckets->share;
    if (next + rows > buckets->rows || is_beyond_limit(buckets)) return;
    *bucket_of(buckets, buckets->end) = (struct bucket){next, next + rows};
    buckets->slice[buckets->end] = (struct slice){next, span->offset};
    put_region(buckets, next, rows, buckets->end);
    next += rows;
  }
}

static lsc_status give_piece(struct lsc_buckets *buckets, const struct lsc_piece *piece) {
  void *column[LSC_EVENT_COLUMNS];
  for (int k = 0; k < LSC_EVENT_COLUMNS; k++) column[k] = buckets->column[k] ? at(buckets, k, piece->begin) : NULL;
  return buckets->sink->take(buckets->sink->ctx, piece->row, piece->rows, column);
}

static size_t number_of(const struct lsc_buckets *buckets, uint32_t region) {
  const struct lsc_snapshot *s = buckets->fill->snapshot;
  size_t low = buckets->first, high = buckets->end;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (s->region[middle].region < region) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* Gives the full bucket of a region away, or has it given: 1; 0: that failed. */
static int empty(struct lsc_buckets *buckets, uint32_t region) {
  struct bucket *bucket = &buckets->bucket[region];
  size_t number = number_of(buckets, region);
  struct slice *slice = &buckets->slice[number];
  struct lsc_piece piece = {slice->begin, bucket->next - slice->begin, slice->row};
  if (buckets->ahead) {
    if (!lsc_ahead_swap(buckets->ahead, piece, &slice->begin)) return 0;
  } else if ((buckets->status = give_piece(buckets, &piece))) {
    return 0;
  }
  if (slice->begin != piece.begin) put_region(buckets, slice->begin, piece.rows, number);
  slice->row += piece.rows;
  *bucket = (struct bucket){slice->begin, slice->begin + piece.rows};
  return 1;
}

/* What is left in the buckets: those that follow one another, in the memory and in the file, go together. */
static lsc_status empty_all(struct lsc_buckets *buckets) {
  lsc_status status = LSC_OK;
  for (size_t i = buckets->first, next; i < buckets->end && !status; i = next) {
    const struct slice *slice = &buckets->slice[i];
    struct lsc_piece piece = {slice->begin, bucket_of(buckets, i)->next - slice->begin, slice->row};
    for (next = i + 1; next < buckets->end; next++) {
      slice = &buckets->slice[next];
      if (slice->begin != piece.begin + piece.rows || slice->row != piece.row + piece.rows) break;
      piece.rows += bucket_of(buckets, next)->next - slice->begin;
    }
    status = give_piece(buckets, &piece);
  }
  return status;
}

/* 1; 0: a bucket could not be emptied. */
static int take_block(struct lsc_buckets *buckets, const struct lsc_block *block) {
  struct bucket *all = buckets->bucket;
  int has_rest = buckets->has_rest;
  for (uint32_t i = 0; i < block->count; i++) {
    uint32_t region = block->call[i].region & LSC_ROW_REGION_MASK;
    if (block->time[i].end == LSC_NEVER) continue;
    if (all[region].next == all[region].end) {
      if (!all[region].end) continue;
      if (!empty(buckets, region)) return 0;
    }
    size_t row = all[region].next++;
    lsc_fill_row(block, i, buckets->varying, row);
    if (has_rest) lsc_fill_rest(buckets->fill, &block->call[i], buckets->varying, row);
  }
  return 1;
}

static void read_calls(void *argument) {
  struct lsc_buckets *buckets = argument;
  struct lsc_snapshot *s = buckets->fill->snapshot;
  lsc_snapshot_rewind(s);
  for (const struct lsc_block *block; (block = lsc_snapshot_next(s))->count;)
    if (!take_block(buckets, block)) return;
}

/* While the helper has nothing ready the sink may do something else. */
static void use_time(struct lsc_buckets *buckets) {
  const struct lsc_rows_sink *sink = buckets->sink;
  for (int done = !sink->idle; !done && !buckets->status && !lsc_ahead_is_ready(&buckets->helper);)
    if ((buckets->status = sink->idle(sink->ctx, &done))) lsc_ahead_stop(&buckets->helper);
}

/* Gives away what the helper fills. After a failure it is told to stop, and then waited for. */
static void give_ahead(struct lsc_buckets *buckets) {
  struct lsc_piece piece;
  while (use_time(buckets), lsc_ahead_take(&buckets->helper, &piece)) {
    if (!buckets->status && (buckets->status = give_piece(buckets, &piece))) lsc_ahead_stop(&buckets->helper);
    lsc_ahead_give_back(&buckets->helper, piece.begin);
  }
  lsc_ahead_join(&buckets->helper);
  buckets->ahead = NULL;
}

static int start_ahead(struct lsc_buckets *buckets) {
  size_t spare[LSC_AHEAD_SPARES];
  if (!buckets->spares) return 0;
  for (size_t i = 0; i < LSC_AHEAD_SPARES; i++) spare[i] = buckets->rows + i * buckets->share;
  buckets->ahead = &buckets->helper;
  if (lsc_ahead_start(&buckets->helper, spare, read_calls, buckets)) return 1;
  buckets->ahead = NULL;
  return 0;
}

lsc_status lsc_buckets_read(struct lsc_buckets *buckets, const struct lsc_rows_sink *sink) {
  buckets->sink = sink;
  while (buckets->end < buckets->fill->snapshot->regions && !buckets->status) {
    share_out(buckets);
    if (start_ahead(buckets)) give_ahead(buckets);
    else read_calls(buckets);
    if (!buckets->status) buckets->status = empty_all(buckets);
  }
  return buckets->status;
}
