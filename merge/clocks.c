/* SPDX-License-Identifier: BSD-3-Clause */
/* All times of a run on one clock: that of the first rank that is there. */
#include <stdlib.h>
#include <string.h>

#include "cells.h"
#include "message.h"
#include "offset.h"
#include "run.h"

#define UNKNOWN_ERROR (-1)

static int reference_of(const struct lsc_input *input) { return input->first + input->reference; }

static int64_t rank_cell(const struct lsc_input *input, int column, int row) {
  return lsc_cell(&input->table[LSC_TABLE_RANK], column, (size_t)row);
}

/* The first rank that is there, and the last collect whose times are on its clock. */
static void choose_origin(struct lsc_run *run) {
  for (int i = 0; i < run->inputs; i++) {
    int mine = reference_of(&run->input[i]);
    int best = i ? reference_of(&run->input[run->origin]) : mine;
    if (i == 0 || mine < best ||
        (mine == best && run->input[i].finalize_ns > run->input[run->origin].finalize_ns)) {
      run->origin = i;
    }
  }
  run->reference = reference_of(&run->input[run->origin]);
}

/* A collect of all that measured how far a rank's clock is from the reference's: 1, by how much, and when. */
static int was_measured(const struct lsc_run *run, int rank, int64_t *offset, int64_t *error, int64_t *when) {
  int found = -1;
  for (int i = 0; i < run->inputs; i++) {
    const struct lsc_input *input = &run->input[i];
    int row = rank - input->first;
    if (reference_of(input) != run->reference || row < 0 || row >= input->ranks) continue;
    if (lsc_input_is_missing(input, row)) continue;
    if (found < 0 || input->finalize_ns > run->input[found].finalize_ns) found = i;
  }
  if (found < 0) return 0;
  *offset = rank_cell(&run->input[found], LSC_RANK_OFFSET, rank - run->input[found].first);
  *error = rank_cell(&run->input[found], LSC_RANK_ERROR, rank - run->input[found].first);
  *when = run->input[found].finalize_ns;
  return 1;
}

static int same_clock(const struct lsc_input *a, const struct lsc_input *b) {
  char *clock_a = lsc_input_text(a, "clock"), *clock_b = lsc_input_text(b, "clock");
  int same = clock_a && clock_b && strcmp(clock_a, clock_b) == 0;
  free(clock_a);
  free(clock_b);
  return same;
}

/* How far the clock of an input is from that of the run's rank 0: 1, or 0: the file does not know. */
static int to_first_rank(const struct lsc_input *input, int64_t *offset, int64_t *error) {
  int is_first = reference_of(input) == 0;
  *offset = is_first ? 0 : input->offset_ns;
  *error = is_first ? 0 : input->error_ns;
  return is_first || input->is_compared;
}

/* From the clock of an input to that of the run. error: of any of its times, UNKNOWN_ERROR if that is a guess. */
static int64_t input_shift(struct lsc_run *run, const struct lsc_input *input, int64_t *error) {
  const struct lsc_input *origin = &run->input[run->origin];
  int64_t offset, ignored, mine, its, its_error;
  *error = 0;
  if (reference_of(input) == run->reference) return 0;
  if (was_measured(run, reference_of(input), &offset, &ignored, &ignored)) return offset;
  if (to_first_rank(input, &mine, error) && to_first_rank(origin, &its, &its_error)) {
    *error += its_error;
    return mine - its;
  }
  *error = 0;
  if (same_clock(input, origin)) return 0;
  *error = UNKNOWN_ERROR;
  run->guessed = 1;
  return input->start_unix_ns - input->start_ns - (origin->start_unix_ns - origin->start_ns);
}

static int by_rank_and_time(const void *a, const void *b) {
  const struct lsc_part *left = a, *right = b;
  if (left->rank != right->rank) return left->rank < right->rank ? -1 : 1;
  if (left->until_ns != right->until_ns) return left->until_ns < right->until_ns ? -1 : 1;
  return (left->input > right->input) - (left->input < right->input);
}

/* shift_ns is the input's alone here. */
static lsc_status list_parts(struct lsc_run *run, int64_t *errors) {
  size_t most = 0;
  for (int i = 0; i < run->inputs; i++) most += (size_t)run->input[i].ranks;
  run->part = calloc(most + 1, sizeof *run->part);
  if (!run->part) return LSC_NO_MEMORY;
  for (int i = 0; i < run->inputs; i++) {
    const struct lsc_input *input = &run->input[i];
    int64_t shift = input_shift(run, input, &errors[i]);
    for (int row = 0; row < input->ranks; row++) {
      if (lsc_input_is_missing(input, row)) continue;
      run->part[run->parts++] = (struct lsc_part){input->first + row, i, row, input->finalize_ns + shift, shift};
    }
  }
  qsort(run->part, run->parts, sizeof *run->part, by_rank_and_time);
  return LSC_OK;
}

/* Of bounds, each of which may be unknown. */
static int64_t sum_of(int64_t a, int64_t b) {
  int64_t sum;
  if (a < 0 || b < 0 || __builtin_add_overflow(a, b, &sum)) return UNKNOWN_ERROR;
  return sum;
}

/* What the rank wrote behind the comparison may have drifted, unless its clock is the reference's. */
static int64_t grown(int64_t error, int64_t since, int64_t until) {
  return error > 0 && until > since ? sum_of(error, lsc_clock_drift(until - since)) : error;
}

/* One offset for all that a rank recorded: between its files times differ by that of each, and by nothing else. */
static void settle_rank(struct lsc_run *run, int rank, const int64_t *errors) {
  size_t count;
  struct lsc_part *part = run->part + (lsc_run_parts(run, rank, &count) - run->part);
  if (!count) return;
  const struct lsc_part *last = &part[count - 1];
  const struct lsc_input *input = &run->input[last->input];
  int64_t when = INT64_MAX;
  if (was_measured(run, rank, &run->offset_ns[rank], &run->error_ns[rank], &when)) {
    run->error_ns[rank] = grown(run->error_ns[rank], when, last->until_ns);
  } else {
    run->offset_ns[rank] = rank_cell(input, LSC_RANK_OFFSET, last->row) + last->shift_ns;
    run->error_ns[rank] = sum_of(rank_cell(input, LSC_RANK_ERROR, last->row), errors[last->input]);
  }
  for (size_t i = 0; i < count; i++) {
    part[i].shift_ns = run->offset_ns[rank] - rank_cell(&run->input[part[i].input], LSC_RANK_OFFSET, part[i].row);
  }
}

lsc_status lsc_run_set_clocks(struct lsc_run *run) {
  int64_t *errors = calloc((size_t)run->inputs + 1, sizeof *errors);
  run->offset_ns = calloc((size_t)run->size + 1, sizeof *run->offset_ns);
  run->error_ns = calloc((size_t)run->size + 1, sizeof *run->error_ns);
  lsc_status status = errors && run->offset_ns && run->error_ns ? LSC_OK : LSC_NO_MEMORY;
  if (!status) {
    choose_origin(run);
    status = list_parts(run, errors);
  }
  for (int rank = 0; rank < run->size && !status; rank++) settle_rank(run, rank, errors);
  free(errors);
  return status ? lsc_fail(status, "no memory for the ranks of %d inputs", run->inputs) : LSC_OK;
}
