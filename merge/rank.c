/* SPDX-License-Identifier: BSD-3-Clause */
#include "rank.h"

#include <stdlib.h>
#include <string.h>

#include "message.h"

/* A call of one of the parts. `next`: the same call in a later part, where it is open here; else itself. */
struct entry {
  const struct lsc_call *call;
  uint32_t part, id; /* id: in its part */
  uint32_t next;     /* place among the entries as they were listed */
  uint32_t number;   /* in the end */
  int lost;          /* open here, and in no later part: nothing is known of its end */
};

struct joining {
  struct lsc_run *run;
  const struct lsc_part *part; /* [parts] */
  size_t parts;
  struct lsc_calls *calls;     /* [parts] */
  size_t *first;               /* [parts] place of the part's call 0 among the entries */
  struct entry *entry;         /* [count] as listed: by part and id */
  uint32_t *sorted;            /* [count] places */
  size_t count;
  uint64_t lost;
};

static int compare(int64_t a, int64_t b) { return (a > b) - (a < b); }

/* The entries of the comparison; qsort has no argument for it, and this program one thread. */
static const struct entry *sorting;

static int by_number(const void *a, const void *b) {
  const struct entry *left = &sorting[*(const uint32_t *)a], *right = &sorting[*(const uint32_t *)b];
  int order = compare(left->call->start, right->call->start);
  if (!order) order = compare(left->call->depth, right->call->depth);
  if (!order) order = compare(left->part, right->part);
  return order ? order : compare(left->id, right->id);
}

/* What the same call has in common in all parts. */
static int compare_same(const struct entry *left, const struct entry *right) {
  int order = compare(left->call->start, right->call->start);
  if (!order) order = compare(left->call->depth, right->call->depth);
  if (!order) order = compare(left->call->thread, right->call->thread);
  if (!order) order = compare(left->call->task, right->call->task);
  return order ? order : compare(left->call->region, right->call->region);
}

static int by_sameness(const void *a, const void *b) {
  const struct entry *left = &sorting[*(const uint32_t *)a], *right = &sorting[*(const uint32_t *)b];
  int order = compare_same(left, right);
  if (!order) order = compare(left->part, right->part);
  return order ? order : compare(left->id, right->id);
}

static void sort(struct joining *j, int (*by)(const void *, const void *)) {
  for (size_t i = 0; i < j->count; i++) j->sorted[i] = (uint32_t)i;
  sorting = j->entry;
  qsort(j->sorted, j->count, sizeof *j->sorted, by);
}

static struct entry *at(const struct joining *j, size_t i) { return &j->entry[j->sorted[i]]; }

/* Calls of two inputs that cannot be two: on one lane, one took the whole time of the other. */
static lsc_status check_twice(const struct joining *j, const struct entry *a, const struct entry *b) {
  int on_lane = a->call->thread >= 0 || a->call->task >= 0;
  if (!on_lane || a->part == b->part || a->call->open || b->call->open) return LSC_OK;
  if (a->call->end != b->call->end || a->call->end == a->call->start) return LSC_OK;
  return lsc_fail(LSC_INVALID, "'%s' and '%s' hold the same calls of rank %d: give one of them",
                  j->run->input[j->part[a->part].input].path, j->run->input[j->part[b->part].input].path,
                  j->part->rank);
}

/*
 * Places first .. end - 1 look the same: the open ones of each part are, in their order, those of the next part that
 * has some. Several at a time are calls of no length, or on no lane.
 */
static lsc_status match(struct joining *j, size_t first, size_t end) {
  lsc_status status = LSC_OK;
  for (size_t from = first, to; from < end && !status; from = to) {
    for (to = from; to < end && at(j, to)->part == at(j, from)->part;) to++;
    size_t next = to;
    for (size_t i = from; i < to; i++) {
      struct entry *entry = at(j, i);
      if (!entry->call->open || entry->part + 1 == j->parts) continue;
      if (next < end && at(j, next)->part == at(j, to)->part) entry->next = j->sorted[next++];
      else {
        entry->lost = 1;
        j->lost++;
      }
    }
    if (to < end) status = check_twice(j, at(j, to - 1), at(j, to));
  }
  return status;
}

static lsc_status match_all(struct joining *j) {
  lsc_status status = LSC_OK;
  sort(j, by_sameness);
  for (size_t first = 0, end; first < j->count && !status; first = end) {
    for (end = first + 1; end < j->count && !compare_same(at(j, first), at(j, end));) end++;
    status = match(j, first, end);
  }
  return status;
}

static const struct entry *last_of(const struct joining *j, size_t place) {
  while (j->entry[place].next != place) place = j->entry[place].next;
  return &j->entry[place];
}

/* The number of the next call around it that is not lost. */
static uint32_t parent_of(const struct joining *j, const struct entry *entry) {
  do {
    if (entry->call->parent == LSC_NO_PARENT) return LSC_NO_PARENT;
    entry = last_of(j, j->first[entry->part] + entry->call->parent);
  } while (entry->lost);
  return entry->number;
}

/* 0 where the call around it has ended, as it may where an input is missing. */
static void count_open_around(const struct lsc_calls *calls, struct lsc_call *call) {
  call->open_depth = 0;
  if (call->parent == LSC_NO_PARENT) return;
  const struct lsc_call *parent = &calls->call[call->parent];
  if (parent->open) call->open_depth = parent->open_depth + 1;
}

/* A parent began no later than its child and lies less deep, so it has its number before. */
static void number_all(struct joining *j, struct lsc_calls *out) {
  sort(j, by_number);
  for (size_t i = 0; i < j->count; i++) {
    struct entry *entry = at(j, i);
    if (entry->next != j->sorted[i] || entry->lost) continue;
    entry->number = (uint32_t)out->count;
    out->call[out->count++] = *entry->call;
    out->completed += !entry->call->open;
  }
  for (size_t i = 0; i < j->count; i++) {
    const struct entry *entry = &j->entry[i];
    if (entry->next == i && !entry->lost) out->call[entry->number].parent = parent_of(j, entry);
  }
  for (size_t i = 0; i < out->count; i++) count_open_around(out, &out->call[i]);
}

static lsc_status list(struct joining *j) {
  for (size_t p = 0; p < j->parts; p++) {
    j->first[p] = j->count;
    j->count += j->calls[p].count;
  }
  if (j->count > UINT32_MAX - 1) {
    return lsc_fail(LSC_LIMIT, "rank %d has more than 2^32 - 2 calls in all inputs", j->part->rank);
  }
  j->entry = calloc(j->count + 1, sizeof *j->entry);
  j->sorted = calloc(j->count + 1, sizeof *j->sorted);
  if (!j->entry || !j->sorted) return LSC_NO_MEMORY;
  for (size_t p = 0; p < j->parts; p++) {
    for (size_t id = 0; id < j->calls[p].count; id++) {
      size_t place = j->first[p] + id;
      j->entry[place] = (struct entry){&j->calls[p].call[id], (uint32_t)p, (uint32_t)id, (uint32_t)place, 0, 0};
    }
  }
  return LSC_OK;
}

static lsc_status join(struct joining *j, struct lsc_calls *out) {
  lsc_status status = list(j);
  if (!status) status = match_all(j);
  if (!status && !(out->call = calloc(j->count + 1, sizeof *out->call))) status = LSC_NO_MEMORY;
  if (!status) number_all(j, out);
  return status;
}

static lsc_status load(struct lsc_run *run, const struct lsc_part *part, struct lsc_calls *calls) {
  lsc_status status = lsc_calls_load(calls, &run->input[part->input], part->row, NULL, NULL);
  for (size_t i = 0; i < calls->count; i++) {
    calls->call[i].start += part->shift_ns;
    calls->call[i].end += part->shift_ns;
  }
  return status;
}

lsc_status lsc_rank_calls(struct lsc_run *run, int rank, struct lsc_calls *calls, uint64_t *lost) {
  struct joining j = {.run = run};
  j.part = lsc_run_parts(run, rank, &j.parts);
  *calls = (struct lsc_calls){0};
  *lost = 0;
  if (j.parts == 0) return LSC_OK;
  if (j.parts == 1) return load(run, j.part, calls);
  j.calls = calloc(j.parts, sizeof *j.calls);
  j.first = calloc(j.parts, sizeof *j.first);
  lsc_status status = j.calls && j.first ? LSC_OK : LSC_NO_MEMORY;
  for (size_t p = 0; p < j.parts && !status; p++) status = load(run, &j.part[p], &j.calls[p]);
  if (!status) status = join(&j, calls);
  if (status == LSC_NO_MEMORY) lsc_fail(status, "no memory for the calls of rank %d", rank);
  *lost = j.lost;
  for (size_t p = 0; j.calls && p < j.parts; p++) lsc_calls_free(&j.calls[p]);
  free(j.calls);
  free(j.first);
  free(j.entry);
  free(j.sorted);
  if (status) lsc_calls_free(calls);
  return status;
}

/* The regions of a rank in the order in which its inputs have them; place[id]: where, + 1. */
static void list_regions(const struct lsc_run *run, int rank, struct lsc_rank_order *order, uint32_t *place) {
  size_t parts;
  const struct lsc_part *part = lsc_run_parts(run, rank, &parts);
  for (size_t p = 0; p < parts; p++) {
    const struct lsc_input *input = &run->input[part[p].input];
    struct lsc_rows rows = input->of[part[p].row].index;
    for (uint64_t i = 0; i < rows.count; i++) {
      uint32_t id = input->index_names[rows.first + i];
      if (place[id]) continue;
      order->region[order->regions++] = id;
      place[id] = (uint32_t)order->regions;
    }
  }
}

static void place_calls(const struct lsc_calls *calls, struct lsc_rank_order *order, const uint32_t *place,
                        uint64_t *next) {
  for (size_t i = 0; i < calls->count; i++) {
    if (!calls->call[i].open) order->count[place[calls->call[i].region] - 1]++;
  }
  for (size_t r = 1; r < order->regions; r++) next[r] = next[r - 1] + order->count[r - 1];
  for (size_t i = 0; i < calls->count; i++) {
    if (!calls->call[i].open) order->call[next[place[calls->call[i].region] - 1]++] = (uint32_t)i;
  }
}

lsc_status lsc_rank_sort(const struct lsc_run *run, int rank, const struct lsc_calls *calls,
                         struct lsc_rank_order *order) {
  size_t names = run->completed_names;
  uint32_t *place = calloc(run->names.count + 1, sizeof *place);
  uint64_t *next = calloc(names + 1, sizeof *next);
  *order = (struct lsc_rank_order){.call = calloc(calls->completed + 1, sizeof *order->call),
                                   .region = calloc(names + 1, sizeof *order->region),
                                   .count = calloc(names + 1, sizeof *order->count)};
  int ready = place && next && order->call && order->region && order->count;
  if (ready) {
    list_regions(run, rank, order, place);
    place_calls(calls, order, place, next);
  }
  free(place);
  free(next);
  if (ready) return LSC_OK;
  lsc_rank_order_free(order);
  return lsc_fail(LSC_NO_MEMORY, "no memory for the calls of rank %d", rank);
}

void lsc_rank_order_free(struct lsc_rank_order *order) {
  free(order->call);
  free(order->region);
  free(order->count);
  *order = (struct lsc_rank_order){0};
}
