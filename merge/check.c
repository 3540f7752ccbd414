/* SPDX-License-Identifier: BSD-3-Clause */
/* What must hold between the small tables of a file before anything is indexed by them. */
#include <stdlib.h>

#include "cells.h"
#include "input.h"
#include "message.h"

static lsc_status broken(const struct lsc_input *input, const char *group, uint64_t row, const char *what) {
  return lsc_fail(LSC_INVALID, "'%s' is damaged: row %llu of %s %s", input->path, (unsigned long long)row, group, what);
}

static int64_t of_rank(const struct lsc_input *input, int column, int rank) {
  return lsc_cell(&input->table[LSC_TABLE_RANK], column, (size_t)rank);
}

int lsc_input_is_missing(const struct lsc_input *input, int row) { return of_rank(input, LSC_RANK_STATUS, row) == 2; }

static int is_time(int64_t value) { return value >= -LSC_MOST_TIME && value <= LSC_MOST_TIME; }

static lsc_status check_ranks(struct lsc_input *input) {
  const struct lsc_table *table = &input->table[LSC_TABLE_RANK];
  if (table->rows != (size_t)input->ranks) {
    return lsc_fail(LSC_INVALID, "'%s' is damaged: rank_table has %zu rows for %d ranks", input->path, table->rows,
                    input->ranks);
  }
  for (int r = 0; r < input->ranks; r++) {
    int64_t status = of_rank(input, LSC_RANK_STATUS, r);
    if (of_rank(input, LSC_RANK_RANKS, r) != r) return broken(input, "rank_table", (uint64_t)r, "is of another rank");
    if (status > 2) return broken(input, "rank_table", (uint64_t)r, "has no such status");
    if (!is_time(of_rank(input, LSC_RANK_OFFSET, r))) {
      return broken(input, "rank_table", (uint64_t)r, "has no possible clock_offset_ns");
    }
  }
  for (input->reference = 0; input->reference < input->ranks; input->reference++) {
    if (!lsc_input_is_missing(input, input->reference)) return LSC_OK;
  }
  return lsc_fail(LSC_INVALID, "'%s' holds nothing: every rank is missing", input->path);
}

static lsc_status read_collects(struct lsc_input *input) {
  lsc_status status = LSC_OK;
  input->collects = calloc((size_t)input->ranks, sizeof *input->collects);
  if (!input->collects) status = LSC_NO_MEMORY;
  for (int r = 0; r < input->ranks && !status; r++) {
    size_t length;
    const char *text = lsc_cell_text(&input->table[LSC_TABLE_RANK], LSC_RANK_COLLECTS, (size_t)r, &length);
    status = lsc_collects_read(&input->collects[r], text, length);
    if (status == LSC_INVALID) return broken(input, "rank_table", (uint64_t)r, "has no list of collects");
  }
  return status ? lsc_fail(status, "no memory for the ranks of '%s'", input->path) : LSC_OK;
}

/* The next rows of a table that are of this rank. `ranks` is its column of ranks. */
static struct lsc_rows rows_of(const struct lsc_table *table, int ranks, int rank, uint64_t from) {
  struct lsc_rows rows = {from, 0};
  while (from + rows.count < table->rows && lsc_cell(table, ranks, (size_t)(from + rows.count)) == rank) rows.count++;
  return rows;
}

/* Finds the rows of every rank, which follow one another. expected: the column of /rank_table that counts them, or -1.
 */
static lsc_status find_rows(struct lsc_input *input, enum lsc_table_id id, int ranks, int expected, size_t member) {
  const struct lsc_table *table = &input->table[id];
  uint64_t from = 0;
  for (int r = 0; r < input->ranks; r++) {
    struct lsc_rows rows = rows_of(table, ranks, r, from);
    from += rows.count;
    if (expected >= 0 && of_rank(input, expected, r) != (int64_t)rows.count) {
      return broken(input, "rank_table", (uint64_t)r, "does not count the rows of its tables");
    }
    *(struct lsc_rows *)(void *)((char *)&input->of[r] + member) = rows;
  }
  return from == table->rows ? LSC_OK : broken(input, table->desc->group, from, "is not of the rank that comes next");
}

/* Rows number themselves 0, 1, 2, … within a rank; the times, up to three columns, can be added to. */
static lsc_status check_lanes(struct lsc_input *input, enum lsc_table_id id, int index, int times) {
  const struct lsc_table *table = &input->table[id];
  for (int r = 0; r < input->ranks; r++) {
    struct lsc_rows rows = id == LSC_TABLE_THREAD ? input->of[r].threads : input->of[r].tasks;
    if (rows.count > INT32_MAX) return broken(input, table->desc->group, rows.first, "is one of too many");
    for (uint64_t i = 0; i < rows.count; i++) {
      size_t row = (size_t)(rows.first + i);
      if (lsc_cell(table, index, row) != (int64_t)i) return broken(input, table->desc->group, row, "has another index");
      if (!is_time(lsc_cell(table, times, row)) || !is_time(lsc_cell(table, times + 1, row))) {
        return broken(input, table->desc->group, row, "has no possible time");
      }
    }
  }
  return LSC_OK;
}

static lsc_status check_index_row(struct lsc_input *input, size_t row, uint64_t *events, uint32_t *last_rank) {
  const struct lsc_table *table = &input->table[LSC_TABLE_INDEX];
  size_t names = input->table[LSC_TABLE_REGION].rows;
  int64_t region = lsc_cell(table, LSC_INDEX_REGION_IDS, row), rank = lsc_cell(table, LSC_INDEX_RANKS, row);
  uint64_t count = (uint64_t)lsc_cell(table, LSC_INDEX_COUNTS, row);
  if ((uint64_t)region >= names) return broken(input, table->desc->group, row, "is of a region that has no name");
  if (last_rank[region] == (uint32_t)rank + 1) return broken(input, table->desc->group, row, "is there twice");
  last_rank[region] = (uint32_t)rank + 1;
  if ((uint64_t)lsc_cell(table, LSC_INDEX_OFFSETS, row) != *events || !count || count > input->events - *events) {
    return broken(input, table->desc->group, row, "does not say where its calls are");
  }
  *events += count;
  return LSC_OK;
}

/* The pieces follow one another, and those of a rank hold its calls. */
static lsc_status check_index(struct lsc_input *input) {
  uint32_t *last_rank = calloc(input->table[LSC_TABLE_REGION].rows + 1, sizeof *last_rank);
  lsc_status status = last_rank ? LSC_OK : lsc_fail(LSC_NO_MEMORY, "no memory for the regions of '%s'", input->path);
  uint64_t events = 0;
  for (int r = 0; r < input->ranks && !status; r++) {
    struct lsc_input_rank *of = &input->of[r];
    of->events.first = events;
    for (uint64_t i = 0; i < of->index.count && !status; i++) {
      status = check_index_row(input, (size_t)(of->index.first + i), &events, last_rank);
    }
    of->events.count = events - of->events.first;
    if (!status && (uint64_t)of_rank(input, LSC_RANK_CALLS, r) != of->events.count) {
      status = broken(input, "rank_table", (uint64_t)r, "does not count the calls of the rank");
    }
  }
  free(last_rank);
  if (!status && events != input->events) status = broken(input, "events", events, "is in no row of rank_region_index");
  return status;
}

static lsc_status check_open(struct lsc_input *input) {
  const struct lsc_table *table = &input->table[LSC_TABLE_OPEN], *names = &input->table[LSC_TABLE_REGION];
  for (size_t row = 0; row < table->rows; row++) {
    uint64_t region = (uint64_t)lsc_cell(table, LSC_OPEN_REGION_IDS, row);
    size_t length, other;
    if (region == UINT32_MAX) continue;
    if (region >= names->rows) return broken(input, table->desc->group, row, "is of a region that has no name");
    const char *text = lsc_cell_text(table, LSC_OPEN_REGION_NAMES, row, &length);
    const char *name = lsc_cell_text(names, LSC_REGION_NAMES, (size_t)region, &other);
    if (length != other || memcmp(text, name, length) != 0) {
      return broken(input, table->desc->group, row, "has two names");
    }
  }
  return LSC_OK;
}

#define MEMBER(name) offsetof(struct lsc_input_rank, name)

lsc_status lsc_input_check(struct lsc_input *input) {
  lsc_status status = check_ranks(input);
  input->of = status ? NULL : calloc((size_t)input->ranks, sizeof *input->of);
  if (!status && !input->of) status = lsc_fail(LSC_NO_MEMORY, "no memory for the ranks of '%s'", input->path);
  if (!status) status = read_collects(input);
  if (!status) status = find_rows(input, LSC_TABLE_THREAD, LSC_THREAD_RANKS, LSC_RANK_THREADS, MEMBER(threads));
  if (!status) status = find_rows(input, LSC_TABLE_TASK, LSC_TASK_RANKS, LSC_RANK_TASKS, MEMBER(tasks));
  if (!status) status = find_rows(input, LSC_TABLE_OPEN, LSC_OPEN_RANKS, LSC_RANK_OPEN_CALLS, MEMBER(open));
  if (!status) status = find_rows(input, LSC_TABLE_INDEX, LSC_INDEX_RANKS, -1, MEMBER(index));
  if (!status) status = check_lanes(input, LSC_TABLE_THREAD, LSC_THREAD_INDEX, LSC_THREAD_START);
  if (!status) status = check_lanes(input, LSC_TABLE_TASK, LSC_TASK_INDEX, LSC_TASK_CREATED);
  if (!status) status = check_index(input);
  return status ? status : check_open(input);
}
