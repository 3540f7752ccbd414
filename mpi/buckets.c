/* SPDX-License-Identifier: BSD-3-Clause */
#include "buckets.h"

#include <stdlib.h>

#include "array.h"
#include "message.h"
#include "progress.h"
#include "step.h"

#define BLOCK_CALLS 512 /* sorted by region at a time: their rows stay in the first-level cache meanwhile */
#define ALL_ROWS 65536  /* of all buckets together */
#define AHEAD 64        /* calls by which rows are asked for before they are looked at */

struct bucket {
  uint64_t row;    /* of this rank's events: the bucket's first one */
  size_t filled;   /* rows that wait in it */
  unsigned char *values[LSC_EVENT_COLUMNS]; /* NULL: the column is not in this file */
  size_t calls;    /* of the block */
  uint32_t call[BLOCK_CALLS];
};

struct buckets {
  const struct lsc_fill *fill;
  struct lsc_h5 *h5;
  size_t count, rows; /* rows: of each */
  struct bucket *bucket;
  uint32_t *bucket_of; /* by region */
  unsigned char *memory;
};

int lsc_buckets_suit(const struct lsc_fill *fill) { return fill->snapshot->regions <= LSC_MOST_BUCKETS; }

static size_t width_of(int column) { return lsc_type_size(lsc_events_desc.column[column].type); }

static size_t bytes_of_row(const struct lsc_fill *fill) {
  size_t bytes = 0;
  for (int k = 0; k < LSC_EVENT_COLUMNS; k++) bytes += lsc_fill_has_event_column(fill, k) ? width_of(k) : 0;
  return bytes;
}

/* What is the same in every row of a region is filled in once. */
static int is_constant(int column) { return column == LSC_EVENT_RANKS || column == LSC_EVENT_REGION_IDS; }

static void init_bucket(struct buckets *buckets, size_t i) {
  const struct lsc_fill *fill = buckets->fill;
  struct bucket *bucket = &buckets->bucket[i];
  unsigned char *next = buckets->memory + i * buckets->rows * bytes_of_row(fill);
  bucket->row = fill->snapshot->region[i].offset;
  for (int k = 0; k < LSC_EVENT_COLUMNS; k++) {
    if (!lsc_fill_has_event_column(fill, k)) continue;
    bucket->values[k] = next;
    next += buckets->rows * width_of(k);
  }
  for (size_t row = 0; row < buckets->rows; row++) {
    ((uint32_t *)(void *)bucket->values[LSC_EVENT_RANKS])[row] = fill->rank;
    ((uint32_t *)(void *)bucket->values[LSC_EVENT_REGION_IDS])[row] = fill->region_ids[i];
  }
}

/* Room for an equal share of ALL_ROWS, or for the largest region. */
static size_t rows_of_bucket(const struct lsc_snapshot *s) {
  size_t share = ALL_ROWS / s->regions & ~(size_t)7, largest = 0;
  for (size_t i = 0; i < s->regions; i++)
    if (s->region[i].count > largest) largest = s->region[i].count;
  return share < largest ? share : (largest + 7) & ~(size_t)7;
}

static lsc_status init(struct buckets *buckets, const struct lsc_fill *fill, struct lsc_h5 *h5) {
  const struct lsc_snapshot *s = fill->snapshot;
  *buckets = (struct buckets){.fill = fill, .h5 = h5, .count = s->regions};
  buckets->rows = rows_of_bucket(s);
  buckets->bucket = calloc(s->regions, sizeof *buckets->bucket);
  buckets->bucket_of = calloc((size_t)s->region[s->regions - 1].region + 1, sizeof *buckets->bucket_of);
  buckets->memory = lsc_array_new(s->regions * buckets->rows, bytes_of_row(fill));
  if (!buckets->bucket || !buckets->bucket_of || !buckets->memory)
    return lsc_fail(LSC_NO_MEMORY, "no memory for %zu rows of /events", s->regions * buckets->rows);
  for (size_t i = 0; i < s->regions; i++) {
    buckets->bucket_of[s->region[i].region] = (uint32_t)i;
    init_bucket(buckets, i);
  }
  return LSC_OK;
}

static void done(struct buckets *buckets) {
  free(buckets->bucket);
  free(buckets->bucket_of);
  free(buckets->memory);
}

static lsc_status empty(struct buckets *buckets, struct bucket *bucket) {
  lsc_status status = lsc_step(LSC_STEP_WRITE);
  for (int k = 0; k < LSC_EVENT_COLUMNS && !status; k++) {
    if (!bucket->values[k]) continue;
    status = lsc_h5_write_rows(buckets->h5, k, buckets->fill->event_offset + bucket->row, bucket->filled,
                               bucket->values[k]);
  }
  bucket->row += bucket->filled;
  bucket->filled = 0;
  return status;
}

/* Puts the calls of the block into their bucket, which is emptied where they would not fit. */
static lsc_status take_calls(struct buckets *buckets, struct bucket *bucket) {
  void *column[LSC_EVENT_COLUMNS];
  lsc_status status = LSC_OK;
  if (bucket->filled + bucket->calls > buckets->rows) status = empty(buckets, bucket);
  for (int k = 0; k < LSC_EVENT_COLUMNS; k++) {
    int wanted = bucket->values[k] && !is_constant(k);
    column[k] = wanted ? bucket->values[k] + bucket->filled * width_of(k) : NULL;
  }
  lsc_fill_calls(buckets->fill, bucket->row + bucket->filled, bucket->call, bucket->calls, column);
  bucket->filled += bucket->calls;
  bucket->calls = 0;
  return status;
}

/* Sorts calls first .. end - 1 by region; `open`: how many open calls there are below, as it goes on. */
static void sort_calls(struct buckets *buckets, uint32_t first, uint32_t end, size_t *open) {
  const struct lsc_snapshot *s = buckets->fill->snapshot;
  uint32_t last = (uint32_t)s->calls - 1;
  for (uint32_t call = first; call < end; call++) {
    __builtin_prefetch(s->row[call + AHEAD < last ? call + AHEAD : last]);
    if (*open < s->open && s->open_call[*open] == call) {
      ++*open;
      continue;
    }
    struct bucket *bucket = &buckets->bucket[buckets->bucket_of[lsc_row_region(s->row[call])]];
    bucket->call[bucket->calls++] = call;
  }
}

static lsc_status write_all(struct buckets *buckets) {
  size_t calls = buckets->fill->snapshot->calls, open = 0;
  lsc_status status = LSC_OK;
  for (size_t first = 0; first < calls && !status; first += BLOCK_CALLS) {
    size_t count = calls - first < BLOCK_CALLS ? calls - first : BLOCK_CALLS;
    sort_calls(buckets, (uint32_t)first, (uint32_t)(first + count), &open);
    for (size_t i = 0; i < buckets->count && !status; i++) status = take_calls(buckets, &buckets->bucket[i]);
    lsc_progress_at(first + count, calls);
  }
  for (size_t i = 0; i < buckets->count && !status; i++) status = empty(buckets, &buckets->bucket[i]);
  return status;
}

lsc_status lsc_buckets_write(struct lsc_h5 *h5, const struct lsc_fill *fill) {
  struct buckets buckets;
  if (!fill->snapshot->completed) return LSC_OK;
  lsc_status status = init(&buckets, fill, h5);
  if (!status) status = write_all(&buckets);
  done(&buckets);
  return status;
}
