/* SPDX-License-Identifier: BSD-3-Clause */
#include "run.h"

#include <stdlib.h>
#include <string.h>

#include "cells.h"
#include "message.h"

static int rank_of(const struct lsc_input *input, int row) { return input->first + row; }

/* The row of a rank that is there, or -1. */
static int row_of(const struct lsc_input *input, int rank) {
  int row = rank - input->first;
  return row >= 0 && row < input->ranks && !lsc_input_is_missing(input, row) ? row : -1;
}

static int64_t rank_cell(const struct lsc_input *input, int column, int row) {
  return lsc_cell(&input->table[LSC_TABLE_RANK], column, (size_t)row);
}

static int other_run(const struct lsc_input *input, const struct lsc_input *known, const char *why) {
  lsc_fail(LSC_INVALID, "'%s' is of another run than '%s': %s", input->path, known->path, why);
  return 0;
}

static int same_job(const struct lsc_input *a, const struct lsc_input *b) {
  char *job_a = lsc_input_text(a, "run_job"), *job_b = lsc_input_text(b, "run_job");
  int same = !job_a || !job_b || strcmp(job_a, job_b) == 0;
  free(job_a);
  free(job_b);
  return same;
}

/* The process of a rank that both have is the same one. */
static int same_process(const struct lsc_input *a, int row_a, const struct lsc_input *b, int row_b) {
  return rank_cell(a, LSC_RANK_PID, row_a) == rank_cell(b, LSC_RANK_PID, row_b) &&
         lsc_cells_match(&a->table[LSC_TABLE_RANK], (size_t)row_a, &b->table[LSC_TABLE_RANK], (size_t)row_b,
                         LSC_RANK_HOSTNAME);
}

/* 1 if no collect of a rank is in both. */
static int is_other_part(const struct lsc_input *input, const struct lsc_input *known) {
  for (int row = 0; row < input->ranks; row++) {
    int rank = rank_of(input, row), other = lsc_input_is_missing(input, row) ? -1 : row_of(known, rank);
    int64_t common = other < 0 ? -1 : lsc_collects_common(&input->collects[row], &known->collects[other]);
    if (common < 0) continue;
    lsc_fail(LSC_INVALID, "'%s' holds collect %lld of rank %d, as '%s' does: give one of them", input->path,
             (long long)common, rank, known->path);
    return 0;
  }
  return 1;
}

/* Whether an input fits to one that is in. */
static int fits(const struct lsc_input *input, const struct lsc_input *known) {
  int shared = 0;
  int reference = rank_of(input, input->reference);
  if (input->size != known->size) return other_run(input, known, "it has another number of ranks");
  if (!same_job(input, known)) return other_run(input, known, "the launcher called its job otherwise");
  if (input->session_id && known->session_id && input->session_id != known->session_id) {
    return other_run(input, known, "it is of another session");
  }
  for (int row = 0; row < input->ranks; row++) {
    int other = lsc_input_is_missing(input, row) ? -1 : row_of(known, rank_of(input, row));
    if (other < 0) continue;
    if (!same_process(input, row, known, other)) return other_run(input, known, "a rank was another process");
    shared = 1;
  }
  if (reference != rank_of(known, known->reference)) return is_other_part(input, known);
  if (input->start_ns != known->start_ns) return other_run(input, known, "it is of another session");
  if (!shared || input->finalize_ns != known->finalize_ns) return is_other_part(input, known);
  lsc_fail(LSC_INVALID, "'%s' is the same collect as '%s'", input->path, known->path);
  return 0;
}

int lsc_run_admit(struct lsc_run *run, struct lsc_input *input, lsc_status *status) {
  *status = LSC_OK;
  for (int i = 0; i < run->inputs; i++) {
    if (!fits(input, &run->input[i])) return 0;
  }
  struct lsc_input *more = realloc(run->input, (size_t)(run->inputs + 1) * sizeof *more);
  if (!more) {
    *status = lsc_fail(LSC_NO_MEMORY, "no memory for %d inputs", run->inputs + 1);
    return 0;
  }
  if (input->ranks == 1) lsc_input_close(input);
  run->input = more;
  run->input[run->inputs++] = *input;
  run->size = input->size;
  *input = (struct lsc_input){0};
  return 1;
}

static lsc_status add_name(struct lsc_names *names, const struct lsc_table *table, int column, size_t row) {
  size_t length;
  const char *name = lsc_cell_text(table, column, row, &length);
  return lsc_names_add(names, name, length);
}

/* Every name as often as it comes: first of completed calls, as ranks, collects and files have them; then of open
 * ones. */
static lsc_status list_names(const struct lsc_run *run, struct lsc_names *names, size_t *completed) {
  lsc_status status = LSC_OK;
  for (size_t p = 0; p < run->parts && !status; p++) {
    const struct lsc_input *input = &run->input[run->part[p].input];
    struct lsc_rows rows = input->of[run->part[p].row].index;
    for (uint64_t i = 0; i < rows.count && !status; i++) {
      int64_t id = lsc_cell(&input->table[LSC_TABLE_INDEX], LSC_INDEX_REGION_IDS, (size_t)(rows.first + i));
      status = add_name(names, &input->table[LSC_TABLE_REGION], LSC_REGION_NAMES, (size_t)id);
    }
  }
  *completed = names->count;
  for (size_t p = 0; p < run->parts && !status; p++) {
    const struct lsc_input *input = &run->input[run->part[p].input];
    struct lsc_rows rows = input->of[run->part[p].row].open;
    for (uint64_t i = 0; i < rows.count && !status; i++) {
      status = add_name(names, &input->table[LSC_TABLE_OPEN], LSC_OPEN_REGION_NAMES, (size_t)(rows.first + i));
    }
  }
  return status;
}

/* The ids of list_names back to the rows that they came from. */
static void give_names(const struct lsc_run *run, const uint32_t *ids) {
  for (int kind = 0; kind < 2; kind++) {
    for (size_t p = 0; p < run->parts; p++) {
      struct lsc_input *input = &run->input[run->part[p].input];
      const struct lsc_input_rank *of = &input->of[run->part[p].row];
      struct lsc_rows rows = kind == 0 ? of->index : of->open;
      uint32_t *to = kind == 0 ? input->index_names : input->open_names;
      for (uint64_t i = 0; i < rows.count; i++) to[rows.first + i] = *ids++;
    }
  }
}

static lsc_status make_room(struct lsc_run *run) {
  for (int i = 0; i < run->inputs; i++) {
    struct lsc_input *input = &run->input[i];
    input->index_names = calloc(input->table[LSC_TABLE_INDEX].rows + 1, sizeof(uint32_t));
    input->open_names = calloc(input->table[LSC_TABLE_OPEN].rows + 1, sizeof(uint32_t));
    if (!input->index_names || !input->open_names) return LSC_NO_MEMORY;
  }
  return LSC_OK;
}

static lsc_status unite_names(struct lsc_run *run) {
  struct lsc_names listed = {0};
  struct lsc_coll self;
  size_t completed = 0;
  uint32_t *ids = NULL;
  lsc_coll_self(&self);
  lsc_status status = make_room(run);
  if (!status) status = list_names(run, &listed, &completed);
  if (!status && !(ids = calloc(listed.count + 1, sizeof *ids))) status = LSC_NO_MEMORY;
  if (status) lsc_fail(status, "no memory for the names of the regions");
  if (!status) status = lsc_unite_names(&self, 1, &listed, &run->names, ids, INT64_MAX);
  if (!status) {
    for (size_t i = 0; i < completed; i++) {
      if (ids[i] >= run->completed_names) run->completed_names = ids[i] + 1;
    }
    give_names(run, ids);
  }
  free(ids);
  lsc_names_free(&listed);
  return status;
}

lsc_status lsc_run_arrange(struct lsc_run *run) {
  lsc_status status = lsc_run_set_clocks(run);
  if (!status) status = lsc_run_find_gaps(run);
  return status ? status : unite_names(run);
}

const struct lsc_part *lsc_run_parts(const struct lsc_run *run, int rank, size_t *count) {
  size_t low = 0, high = run->parts;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (run->part[middle].rank < rank) low = middle + 1;
    else high = middle;
  }
  for (*count = 0; low + *count < run->parts && run->part[low + *count].rank == rank;) ++*count;
  return run->part + low;
}

void lsc_run_free(struct lsc_run *run) {
  for (int i = 0; i < run->inputs; i++) lsc_input_free(&run->input[i]);
  lsc_names_free(&run->names);
  free(run->input);
  free(run->part);
  free(run->offset_ns);
  free(run->error_ns);
  for (int rank = 0; run->collects && run->gaps && rank < run->size; rank++) {
    lsc_collects_free(&run->collects[rank]);
    lsc_collects_free(&run->gaps[rank]);
  }
  free(run->collects);
  free(run->gaps);
  free(run->behind);
  *run = (struct lsc_run){0};
}
