/* SPDX-License-Identifier: BSD-3-Clause */
#include "input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cells.h"
#include "message.h"

#define FORMAT 1
#define MOST_RANKS (1 << 24)
#define LONGEST_PATH 80

static lsc_status read_format(struct lsc_input *input) {
  int64_t format;
  if (lsc_h5_read_int(input->h5, "/", "lanescope_format", &format)) {
    return lsc_fail(LSC_INVALID, "'%s' was not written by lanescope: it has no attribute lanescope_format",
                    input->path);
  }
  if (format > FORMAT) {
    return lsc_fail(LSC_INVALID, "'%s' has format %lld, newer than %d: take the lanescope-merge of the version that "
                    "wrote it", input->path, (long long)format, FORMAT);
  }
  return format == FORMAT ? LSC_OK : lsc_fail(LSC_INVALID, "'%s' has format %lld", input->path, (long long)format);
}

static int is_optional(enum lsc_table_id id, int column) {
  return id == LSC_TABLE_OPEN && (column == LSC_OPEN_THREADS || column == LSC_OPEN_TASKS || column == LSC_OPEN_AWAIT ||
                                  column == LSC_OPEN_APIS);
}

/* A column that older files do not have. */
static lsc_status put_empty(struct lsc_table *table, int column, uint64_t rows) {
  lsc_status status = LSC_OK;
  for (uint64_t row = 0; row < rows && !status; row++) status = lsc_table_put_text(table, column, "", 0);
  return status;
}

static lsc_status read_column(struct lsc_input *input, enum lsc_table_id id, int column, uint64_t *rows) {
  char path[LONGEST_PATH];
  uint64_t found;
  struct lsc_table *table = &input->table[id];
  const struct lsc_column_desc *desc = &table->desc->column[column];
  snprintf(path, sizeof path, "%s/%s", table->desc->group, desc->name);
  if (id == LSC_TABLE_RANK && column == LSC_RANK_COLLECTS && !lsc_h5_has(input->h5, path)) {
    return put_empty(table, column, *rows);
  }
  if (is_optional(id, column)) {
    input->has_open[column] = lsc_h5_has(input->h5, path);
    if (!input->has_open[column]) return LSC_OK;
  }
  lsc_status status = lsc_h5_count_rows(input->h5, path, desc->type, &found);
  if (!status && column == 0) *rows = found;
  if (!status && found != *rows) {
    status = lsc_fail(LSC_INVALID, "'%s': the columns of %s have different lengths", input->path, table->desc->group);
  }
  return status ? status : lsc_h5_read_column(input->h5, path, found, table, column);
}

static lsc_status read_table(struct lsc_input *input, enum lsc_table_id id) {
  struct lsc_table *table = &input->table[id];
  lsc_status status = LSC_OK;
  uint64_t rows = 0;
  if (id == LSC_TABLE_LANE) return LSC_OK;
  if (id == LSC_TABLE_THREAD && !(input->has_threads = lsc_h5_has(input->h5, table->desc->group))) return LSC_OK;
  if (id == LSC_TABLE_OPEN && !lsc_h5_has(input->h5, table->desc->group)) return LSC_OK;
  for (int column = 0; column < table->desc->columns && !status; column++) {
    status = read_column(input, id, column, &rows);
  }
  if (!status) table->rows = rows;
  return status;
}

/* Column k of /events as slot k of the open file. */
static lsc_status select_events(struct lsc_input *input) {
  lsc_status status = LSC_OK;
  for (int column = 0; column < LSC_EVENT_COLUMNS && !status; column++) {
    const struct lsc_column_desc *desc = &lsc_events_desc.column[column];
    char path[LONGEST_PATH];
    snprintf(path, sizeof path, "%s/%s", lsc_events_desc.group, desc->name);
    if (input->has[column]) status = lsc_h5_select(input->h5, column, path, desc->type, input->events);
  }
  return status;
}

/* Which columns /events has, and that all have the same rows. */
static lsc_status measure_events(struct lsc_input *input) {
  lsc_status status = LSC_OK;
  for (int column = 0; column < LSC_EVENT_COLUMNS && !status; column++) {
    const struct lsc_column_desc *desc = &lsc_events_desc.column[column];
    char path[LONGEST_PATH];
    uint64_t rows;
    snprintf(path, sizeof path, "%s/%s", lsc_events_desc.group, desc->name);
    int optional = column == LSC_EVENT_THREADS || column == LSC_EVENT_TASKS || column == LSC_EVENT_AWAIT ||
                   column == LSC_EVENT_APIS;
    input->has[column] = !optional || lsc_h5_has(input->h5, path);
    if (!input->has[column]) continue;
    status = lsc_h5_count_rows(input->h5, path, desc->type, &rows);
    if (!status && column == 0) input->events = rows;
    if (!status && rows != input->events) {
      status = lsc_fail(LSC_INVALID, "'%s': the columns of events have different lengths", input->path);
    }
  }
  return status ? status : select_events(input);
}

int lsc_input_number(const struct lsc_input *input, const char *name, int64_t *value) {
  const struct lsc_table *numbers = &input->metadata.numbers;
  for (size_t i = 0; i < numbers->rows; i++) {
    size_t length;
    const char *found = lsc_cell_text(numbers, 0, i, &length);
    if (length != strlen(name) || memcmp(found, name, length) != 0) continue;
    *value = lsc_cell(numbers, 1, i);
    return 1;
  }
  return 0;
}

char *lsc_input_text(const struct lsc_input *input, const char *name) {
  const struct lsc_table *texts = &input->metadata.texts;
  for (size_t i = 0; i < texts->rows; i++) {
    size_t length;
    const char *found = lsc_cell_text(texts, 0, i, &length);
    if (length != strlen(name) || memcmp(found, name, length) != 0) continue;
    found = lsc_cell_text(texts, 1, i, &length);
    return strndup(found, length);
  }
  return NULL;
}

static lsc_status need_number(const struct lsc_input *input, const char *name, int64_t low, int64_t high,
                              int64_t *value) {
  if (!lsc_input_number(input, name, value)) {
    return lsc_fail(LSC_INVALID, "'%s': metadata has no attribute %s", input->path, name);
  }
  if (*value >= low && *value <= high) return LSC_OK;
  return lsc_fail(LSC_INVALID, "'%s': attribute %s of metadata is %lld", input->path, name, (long long)*value);
}

/* Which ranks of how many: as the file says of itself, else all. */
static lsc_status read_part(struct lsc_input *input) {
  int64_t ranks, rank = 0, size;
  lsc_status status = need_number(input, "mpi_size", 1, MOST_RANKS, &ranks);
  input->ranks = (int)ranks;
  size = ranks;
  if (!status && lsc_input_number(input, "run_size", &size)) {
    status = need_number(input, "run_size", 1, MOST_RANKS, &size);
    if (!status) status = need_number(input, "run_rank", 0, size - 1, &rank);
    if (!status && ranks != 1) {
      status = lsc_fail(LSC_INVALID, "'%s' has %lld ranks and says that it is of one", input->path, (long long)ranks);
    }
  }
  input->size = (int)size;
  input->first = (int)rank;
  return status;
}

/* How far the file's clock is from that of the run's rank 0. */
static lsc_status read_clock(struct lsc_input *input) {
  int64_t value;
  if (!lsc_input_number(input, "run_clock_offset_ns", &value)) return LSC_OK;
  input->is_compared = 1;
  lsc_status status =
      need_number(input, "run_clock_offset_ns", -LSC_MOST_TIME, LSC_MOST_TIME, &input->offset_ns);
  return status ? status : need_number(input, "run_clock_error_ns", 0, LSC_MOST_TIME, &input->error_ns);
}

static lsc_status read_metadata(struct lsc_input *input) {
  int64_t api = 0, merged;
  if (!lsc_h5_has(input->h5, "metadata")) return lsc_fail(LSC_INVALID, "'%s': metadata is missing", input->path);
  lsc_status status =
      lsc_h5_read_attributes(input->h5, "metadata", &input->metadata.texts, &input->metadata.numbers);
  if (!status) status = need_number(input, "start_time_ns", -LSC_MOST_TIME, LSC_MOST_TIME, &input->start_ns);
  if (!status) {
    status = need_number(input, "start_time_unix_ns", -2 * LSC_MOST_TIME, 2 * LSC_MOST_TIME, &input->start_unix_ns);
  }
  if (!status) status = need_number(input, "finalize_time_ns", -LSC_MOST_TIME, LSC_MOST_TIME, &input->finalize_ns);
  if (!status) status = read_part(input);
  if (!status) status = read_clock(input);
  lsc_input_number(input, "session_id", &input->session_id);
  input->is_merged = lsc_input_number(input, "merged_files", &merged);
  if (!status && lsc_input_number(input, "api", &api)) status = need_number(input, "api", 0, 2, &api);
  input->api = (uint8_t)api;
  return status;
}

lsc_status lsc_input_read(struct lsc_input *input, const char *path) {
  *input = (struct lsc_input){.path = path};
  for (int id = 0; id < LSC_TABLE_COUNT; id++) lsc_table_init(&input->table[id], &lsc_table_descs[id]);
  lsc_metadata_init(&input->metadata);
  lsc_status status = lsc_h5_open_read(&input->h5, path);
  if (!status) status = read_format(input);
  if (!status) status = read_metadata(input);
  for (int id = 0; id < LSC_TABLE_COUNT && !status; id++) status = read_table(input, (enum lsc_table_id)id);
  if (!status) status = measure_events(input);
  return status ? status : lsc_input_check(input);
}

lsc_status lsc_input_open(struct lsc_input *input) {
  if (input->h5) return LSC_OK;
  lsc_status status = lsc_h5_open_read(&input->h5, input->path);
  return status ? status : select_events(input);
}

void lsc_input_close(struct lsc_input *input) {
  lsc_h5_close(input->h5, LSC_OK);
  input->h5 = NULL;
}

void lsc_input_free(struct lsc_input *input) {
  lsc_input_close(input);
  for (int id = 0; id < LSC_TABLE_COUNT; id++) lsc_table_free(&input->table[id]);
  lsc_metadata_free(&input->metadata);
  for (int row = 0; input->collects && row < input->ranks; row++) lsc_collects_free(&input->collects[row]);
  free(input->collects);
  free(input->of);
  free(input->index_names);
  free(input->open_names);
  *input = (struct lsc_input){0};
}
