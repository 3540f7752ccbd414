/* SPDX-License-Identifier: BSD-3-Clause */
/* Which collects of a rank no input has. */
#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "run.h"

static const struct lsc_collects *collects_of(const struct lsc_run *run, const struct lsc_part *part) {
  return &run->input[part->input].collects[part->row];
}

/* All of a rank; none if one of its inputs does not say. */
static lsc_status unite_rank(struct lsc_run *run, int rank) {
  struct lsc_collects *all = &run->collects[rank];
  size_t count;
  const struct lsc_part *part = lsc_run_parts(run, rank, &count);
  for (size_t p = 0; p < count; p++) {
    if (!collects_of(run, &part[p])->count) {
      lsc_collects_free(all);
      return LSC_OK;
    }
    lsc_status status = lsc_collects_add(all, collects_of(run, &part[p]));
    if (status) return status;
  }
  return lsc_collects_gaps(all, &run->gaps[rank]);
}

/*
 * How many more collects a rank has had than the first one of the run, as the latest file shows that both were
 * collected into: its session may have been collected elsewhere before.
 */
static int64_t ahead_of_first(const struct lsc_run *run, int rank) {
  int64_t latest = -1, ahead = 0;
  size_t count;
  const struct lsc_part *part = lsc_run_parts(run, rank, &count);
  for (size_t p = 0; p < count; p++) {
    const struct lsc_input *input = &run->input[part[p].input];
    const struct lsc_collects *mine = collects_of(run, &part[p]), *first = &input->collects[input->reference];
    if (input->ranks == 1 || input->is_merged || mine->count != 1 || first->count != 1) continue;
    if (mine->span[0].first <= latest) continue;
    latest = mine->span[0].first;
    ahead = latest - first->span[0].first;
  }
  return ahead;
}

static void find_behind(struct lsc_run *run) {
  int64_t most = 0;
  for (int rank = 0; rank < run->size; rank++) {
    int64_t next = lsc_collects_next(&run->collects[rank]) - ahead_of_first(run, rank);
    if (run->collects[rank].count && next > most) most = next;
  }
  for (int rank = 0; rank < run->size; rank++) {
    int64_t next = lsc_collects_next(&run->collects[rank]) - ahead_of_first(run, rank);
    run->behind[rank] = run->collects[rank].count && next < most;
  }
}

lsc_status lsc_run_find_gaps(struct lsc_run *run) {
  size_t ranks = (size_t)run->size + 1;
  run->collects = calloc(ranks, sizeof *run->collects);
  run->gaps = calloc(ranks, sizeof *run->gaps);
  run->behind = calloc(ranks, 1);
  lsc_status status = run->collects && run->gaps && run->behind ? LSC_OK : LSC_NO_MEMORY;
  for (int rank = 0; rank < run->size && !status; rank++) status = unite_rank(run, rank);
  if (status) return lsc_fail(status, "no memory for the collects of %d ranks", run->size);
  find_behind(run);
  return LSC_OK;
}

int lsc_run_is_incomplete(const struct lsc_run *run, int rank) { return run->gaps[rank].count || run->behind[rank]; }

static lsc_status put(struct lsc_buffer *text, const char *words) {
  return lsc_buffer_append(text, words, strlen(words));
}

lsc_status lsc_run_say_gaps(const struct lsc_run *run, int rank, struct lsc_buffer *text) {
  const struct lsc_collects *gaps = &run->gaps[rank];
  int64_t last = lsc_collects_next(&run->collects[rank]) - 1;
  int several = gaps->count > 1 || (gaps->count && gaps->span[0].first < gaps->span[0].last);
  struct lsc_collects until = {&(struct lsc_collect_span){last, last}, 1};
  lsc_status status = LSC_OK;
  if (gaps->count) {
    status = put(text, several ? "collects " : "collect ");
    if (!status) status = lsc_collects_write(gaps, text);
    if (!status) status = put(text, several ? " are missing" : " is missing");
  }
  if (!run->behind[rank] || status) return status;
  status = put(text, gaps->count ? "; nothing after collect " : "nothing after collect ");
  return status ? status : lsc_collects_write(&until, text);
}
