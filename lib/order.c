/* SPDX-License-Identifier: BSD-3-Clause */
#include "order.h"

#include <stdlib.h>
#include <string.h>

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

struct opens {
  uint32_t *call;
  size_t count, capacity;
};

static lsc_status note_open(struct opens *opens, uint32_t call) {
  if (opens->count == opens->capacity) {
    size_t wanted = opens->capacity ? 2 * opens->capacity : 64;
    uint32_t *larger = realloc(opens->call, wanted * sizeof *larger);
    if (!larger) return lsc_fail(LSC_NO_MEMORY, "no memory for %zu open calls", wanted);
    opens->call = larger;
    opens->capacity = wanted;
  }
  opens->call[opens->count++] = call;
  return LSC_OK;
}

static lsc_status take_row(struct lsc_snapshot *s, struct lsc_stream *stream, struct opens *opens, uint32_t call) {
  struct lsc_row *row = stream->head;
  uint32_t depth = lsc_row_depth(row);
  uint64_t end = lsc_stream_end(stream);
  struct lsc_levels *levels = row->task ? &s->streams->task_levels[row->task - 1] : &stream->levels;
  lsc_status status = reach_level(levels, depth);
  if (status == LSC_OK && !end) status = note_open(opens, call);
  if (status != LSC_OK) return status;
  s->row[call] = row;
  s->parent[call] = parent_of(levels, depth, end);
  s->apis |= 1u << lsc_row_api(row);
  levels->level[depth] = (struct lsc_level){call, end};
  return LSC_OK;
}

static lsc_status merge(struct lsc_snapshot *s, struct heap *heap, struct opens *opens) {
  for (; heap->count; s->calls++) {
    struct lsc_stream *stream = heap->item[0];
    lsc_status status = take_row(s, stream, opens, (uint32_t)s->calls);
    if (status != LSC_OK) return status;
    lsc_stream_advance(stream);
    if (!stream->head) heap->item[0] = heap->item[--heap->count];
    if (heap->count) sift_down(heap, 0);
  }
  return LSC_OK;
}

static lsc_status allocate(struct lsc_snapshot *s, const struct lsc_streams *streams) {
  size_t calls = 0;
  for (size_t i = 0; i < streams->count; i++) calls += lsc_stream_rows(&streams->stream[i]);
  if (calls >= LSC_NO_CALL)
    return lsc_fail(LSC_LIMIT, "%zu calls were recorded since the last collect; collect before there are %u", calls,
                    LSC_NO_CALL);
  s->row = malloc((calls + 1) * sizeof *s->row);
  s->parent = malloc((calls + 1) * sizeof *s->parent);
  return s->row && s->parent ? LSC_OK : lsc_fail(LSC_NO_MEMORY, "no memory to order %zu calls", calls);
}

static int64_t start_ns(struct lsc_snapshot *s, size_t call) {
  return lsc_clock_map_ns(&s->map, atomic_load_explicit(&s->row[call]->start, memory_order_relaxed));
}

/* Stable insertion of calls first .. end - 1 by depth; place[i] is which of them comes i-th. 1 if anything moved. */
static int sort_run(const struct lsc_snapshot *s, uint32_t *place, uint32_t first, uint32_t end) {
  int moved = 0;
  for (uint32_t i = first + 1; i < end; i++) {
    uint32_t call = place[i], k = i;
    for (; k > first && lsc_row_depth(s->row[place[k - 1]]) > lsc_row_depth(s->row[call]); k--) place[k] = place[k - 1];
    place[k] = call;
    moved |= k != i;
  }
  return moved;
}

/* Renumbers calls: the one that was place[i] becomes i. */
static lsc_status renumber(struct lsc_snapshot *s, const uint32_t *place) {
  const struct lsc_row **row = malloc((s->calls + 1) * sizeof *row);
  uint32_t *parent = malloc((s->calls + 1) * sizeof *parent), *now = malloc((s->calls + 1) * sizeof *now);
  if (!row || !parent || !now) {
    free(row);
    free(parent);
    free(now);
    return lsc_fail(LSC_NO_MEMORY, "no memory to order %zu calls", s->calls);
  }
  for (uint32_t i = 0; i < s->calls; i++) now[place[i]] = i;
  for (uint32_t i = 0; i < s->calls; i++) {
    uint32_t old = s->parent[place[i]];
    row[i] = s->row[place[i]];
    parent[i] = old == LSC_NO_CALL ? old : now[old];
  }
  for (size_t i = 0; i < s->open; i++) s->open_call[i] = now[s->open_call[i]];
  free(s->row);
  free(s->parent);
  free(now);
  s->row = row;
  s->parent = parent;
  return LSC_OK;
}

static int by_number(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

/* Calls that began in one nanosecond are numbered by depth. Their parents were found before, in the order of the stack.
 */
static lsc_status order_ties(struct lsc_snapshot *s) {
  uint32_t *place = NULL;
  int moved = 0;
  int64_t now = s->calls ? start_ns(s, 0) : 0;
  for (uint32_t first = 0, end; first < s->calls; first = end) {
    int64_t start = now;
    for (end = first + 1; end < s->calls && (now = start_ns(s, end)) == start; end++) continue;
    if (end - first < 2) continue;
    if (!place) {
      place = malloc((s->calls + 1) * sizeof *place);
      if (!place) return lsc_fail(LSC_NO_MEMORY, "no memory to order %zu calls", s->calls);
      for (uint32_t i = 0; i < s->calls; i++) place[i] = i;
    }
    moved |= sort_run(s, place, first, end);
  }
  lsc_status status = moved ? renumber(s, place) : LSC_OK;
  if (moved && s->open) qsort(s->open_call, s->open, sizeof *s->open_call, by_number);
  free(place);
  return status;
}

lsc_status lsc_order_calls(struct lsc_snapshot *s, struct lsc_streams *streams) {
  struct heap heap = {NULL, 0};
  struct opens opens = {NULL, 0, 0};
  lsc_status status = allocate(s, streams);
  if (status == LSC_OK) status = fill_heap(&heap, streams);
  if (status == LSC_OK) status = merge(s, &heap, &opens);
  s->open_call = opens.call;
  s->open = opens.count;
  s->completed = s->calls - opens.count;
  if (status == LSC_OK) status = order_ties(s);
  free(heap.item);
  return status;
}

static lsc_status add_spans(struct lsc_snapshot *s, const uint64_t *offset, uint32_t regions) {
  for (uint32_t r = 0; r < regions; r++) s->regions += offset[r + 1] > offset[r];
  s->region = malloc((s->regions + 1) * sizeof *s->region);
  if (!s->region) return lsc_fail(LSC_NO_MEMORY, "no memory for %zu regions", s->regions);
  size_t n = 0;
  for (uint32_t r = 0; r < regions; r++)
    if (offset[r + 1] > offset[r]) s->region[n++] = (struct lsc_region_span){r, offset[r], offset[r + 1] - offset[r]};
  return LSC_OK;
}

static uint32_t highest_region(const struct lsc_snapshot *s) {
  uint32_t highest = 0;
  for (size_t call = 0; call < s->calls; call++)
    if (lsc_row_region(s->row[call]) > highest) highest = lsc_row_region(s->row[call]);
  return highest;
}

/* A counting sort by region, which keeps the order of the calls. offset[r]: where region r begins; while filling, its
 * next place. */
lsc_status lsc_order_events(struct lsc_snapshot *s) {
  uint32_t regions = highest_region(s) + 1;
  uint64_t *offset = calloc((size_t)regions + 2, sizeof *offset);
  s->event = malloc((s->completed + 1) * sizeof *s->event);
  lsc_status status =
      offset && s->event ? LSC_OK : lsc_fail(LSC_NO_MEMORY, "no memory to order %zu calls", s->completed);
  if (status == LSC_OK) {
    size_t open = 0;
    for (uint32_t call = 0; call < s->calls; call++)
      if (open < s->open && s->open_call[open] == call) open++;
      else offset[lsc_row_region(s->row[call]) + 2]++;
    for (uint32_t r = 0; r < regions; r++) offset[r + 2] += offset[r + 1];
    open = 0;
    for (uint32_t call = 0; call < s->calls; call++)
      if (open < s->open && s->open_call[open] == call) open++;
      else s->event[offset[lsc_row_region(s->row[call]) + 1]++] = call;
    status = add_spans(s, offset, regions);
  }
  free(offset);
  return status;
}
