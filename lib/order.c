/* SPDX-License-Identifier: BSD-3-Clause */
#include "order.h"

#include <stdlib.h>

#include "account.h"
#include "array.h"
#include "message.h"

/* A binary heap of streams, the one whose next row began first on top; equal starts in stream order. */
struct heap {
  struct lsc_stream **item;
  size_t count;
};

static int before(const struct lsc_stream *a, const struct lsc_stream *b) {
  return a->head_start != b->head_start ? a->head_start < b->head_start : a < b;
}

static void sift_down(struct heap *heap, size_t i) {
  struct lsc_stream *item = heap->item[i];
  for (size_t child; (child = 2 * i + 1) < heap->count; i = child) {
    if (child + 1 < heap->count && before(heap->item[child + 1], heap->item[child])) child++;
    if (!before(heap->item[child], item)) break;
    heap->item[i] = heap->item[child];
  }
  heap->item[i] = item;
}

static lsc_status fill_heap(struct heap *heap, struct lsc_streams *streams) {
  heap->count = 0;
  heap->item = malloc((streams->count + 1) * sizeof *heap->item);
  if (!heap->item) return lsc_fail(LSC_NO_MEMORY, "no memory to merge %zu threads", streams->count);
  for (size_t i = 0; i < streams->count; i++)
    if (streams->stream[i].head) heap->item[heap->count++] = &streams->stream[i];
  for (size_t i = heap->count / 2; i-- > 0;) sift_down(heap, i);
  return LSC_OK;
}

static lsc_status reach_level(struct lsc_levels *levels, uint32_t depth) {
  if (depth < levels->count) return LSC_OK;
  uint32_t wanted = depth < 8 ? 8 : 2 * depth;
  struct lsc_level *larger = realloc(levels->level, wanted * sizeof *larger);
  if (!larger) return lsc_fail(LSC_NO_MEMORY, "no memory for calls nested %u deep", depth);
  for (uint32_t i = levels->count; i < wanted; i++) larger[i] = (struct lsc_level){LSC_NO_CALL, 1};
  levels->level = larger;
  levels->count = wanted;
  return LSC_OK;
}

/*
 * The innermost earlier call on the stack of the row that was open for all of it: the last one begun at the depth
 * below, unless that was ended from elsewhere before this call was.
 */
static uint32_t parent_of(const struct lsc_levels *levels, uint32_t depth, uint64_t end) {
  while (depth-- > 0) {
    const struct lsc_level *level = &levels->level[depth];
    if (level->end == 0 || (end && level->end >= end)) return level->call;
  }
  return LSC_NO_CALL;
}

struct merge {
  struct lsc_snapshot *snapshot;
  struct heap heap;
  struct lsc_account account;
  size_t open_capacity;
};

static lsc_status note_open(struct merge *merge, uint32_t call) {
  struct lsc_snapshot *s = merge->snapshot;
  if (s->open == merge->open_capacity) {
    size_t wanted = s->open ? 2 * s->open : 64;
    uint32_t *larger = realloc(s->open_call, wanted * sizeof *larger);
    if (!larger) return lsc_fail(LSC_NO_MEMORY, "no memory for %zu open calls", wanted);
    s->open_call = larger;
    merge->open_capacity = wanted;
  }
  s->open_call[s->open++] = call;
  return LSC_OK;
}

static inline lsc_status take_row(struct merge *merge, struct lsc_stream *stream, uint32_t call) {
  struct lsc_snapshot *s = merge->snapshot;
  struct lsc_row *row = stream->head;
  uint32_t depth = lsc_row_depth(row);
  uint64_t end = lsc_stream_end(stream);
  struct lsc_levels *levels = row->task ? &s->streams->task_levels[row->task - 1] : &stream->levels;
  lsc_status status = depth < levels->count ? LSC_OK : reach_level(levels, depth);
  if (!end && status == LSC_OK) status = note_open(merge, call);
  if (status != LSC_OK) return status;
  s->row[call] = row;
  s->parent[call] = parent_of(levels, depth, end);
  levels->level[depth] = (struct lsc_level){call, end};
  return LSC_OK;
}

/* Takes rows of the stream on top until another one is to come before it, or a block is full. */
static lsc_status take_rows(struct merge *merge) {
  struct lsc_snapshot *s = merge->snapshot;
  struct heap *heap = &merge->heap;
  struct lsc_stream *stream = heap->item[0], *other = heap->count > 1 ? heap->item[1] : NULL;
  lsc_status status = LSC_OK;
  if (heap->count > 2 && before(heap->item[2], other)) other = heap->item[2];
  do {
    status = take_row(merge, stream, (uint32_t)s->calls);
    if (status != LSC_OK) return status;
    s->calls++;
    lsc_stream_advance(stream);
  } while (stream->head && s->calls % LSC_ACCOUNT_BLOCK && (!other || before(stream, other)));
  return status;
}

static lsc_status merge_streams(struct merge *merge) {
  struct lsc_snapshot *s = merge->snapshot;
  struct heap *heap = &merge->heap;
  while (heap->count) {
    lsc_status status = take_rows(merge);
    if (status != LSC_OK) return status;
    if (!heap->item[0]->head) heap->item[0] = heap->item[--heap->count];
    if (heap->count) sift_down(heap, 0);
    if (s->calls % LSC_ACCOUNT_BLOCK == 0) lsc_account_calls(&merge->account, s, (uint32_t)s->calls);
  }
  lsc_account_calls(&merge->account, s, (uint32_t)s->calls);
  return LSC_OK;
}

static lsc_status allocate(struct lsc_snapshot *s, const struct lsc_streams *streams) {
  size_t calls = 0;
  for (size_t i = 0; i < streams->count; i++) calls += lsc_stream_rows(&streams->stream[i]);
  if (calls >= LSC_NO_CALL)
    return lsc_fail(LSC_LIMIT, "%zu calls were recorded since the last collect; collect before there are %u", calls,
                    LSC_NO_CALL);
  s->row = lsc_array_new(calls, sizeof *s->row);
  s->parent = lsc_array_new(calls, sizeof *s->parent);
  return s->row && s->parent ? LSC_OK : lsc_fail(LSC_NO_MEMORY, "no memory to order %zu calls", calls);
}

/* What was accounted for in another order of the calls is done again. */
static lsc_status order_ties(struct merge *merge) {
  struct lsc_snapshot *s = merge->snapshot;
  if (!merge->account.disordered) return LSC_OK;
  lsc_status status = lsc_order_ties(s);
  if (status != LSC_OK) return status;
  lsc_account_restart(&merge->account);
  lsc_account_calls(&merge->account, s, (uint32_t)s->calls);
  return LSC_OK;
}

lsc_status lsc_order_calls(struct lsc_snapshot *s, struct lsc_streams *streams) {
  struct merge merge = {.snapshot = s};
  lsc_status status = allocate(s, streams);
  if (status == LSC_OK) status = lsc_account_init(&merge.account, streams->threads, streams->tasks);
  if (status == LSC_OK) status = fill_heap(&merge.heap, streams);
  if (status == LSC_OK) status = merge_streams(&merge);
  s->completed = s->calls - s->open;
  if (status == LSC_OK) status = order_ties(&merge);
  if (status == LSC_OK) status = lsc_account_regions(&merge.account, s);
  if (status == LSC_OK) status = lsc_account_lanes(&merge.account, s);
  lsc_account_free(&merge.account);
  free(merge.heap.item);
  return status;
}

/* A counting sort by region, which keeps the order of the calls. next[r]: where the next call of region r goes. */
lsc_status lsc_snapshot_events(struct lsc_snapshot *s) {
  if (s->event) return LSC_OK;
  uint32_t highest = s->regions ? s->region[s->regions - 1].region : 0;
  uint32_t *next = calloc((size_t)highest + 1, sizeof *next);
  uint32_t *event = lsc_array_new(s->completed, sizeof *event);
  if (!next || !event) {
    free(next);
    free(event);
    return lsc_fail(LSC_NO_MEMORY, "no memory to order %zu calls", s->completed);
  }
  for (size_t i = 0; i < s->regions; i++) next[s->region[i].region] = (uint32_t)s->region[i].offset;
  size_t open = 0;
  for (uint32_t call = 0; call < s->calls; call++)
    if (open < s->open && s->open_call[open] == call) open++;
    else event[next[lsc_row_region(s->row[call])]++] = call;
  free(next);
  s->event = event;
  return LSC_OK;
}
