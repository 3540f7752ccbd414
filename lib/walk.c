/* SPDX-License-Identifier: BSD-3-Clause */
#include "walk.h"

#include <stdlib.h>
#include <string.h>

#include "message.h"

static inline int before(struct lsc_walk_item a, struct lsc_walk_item b) {
  return a.start != b.start ? a.start < b.start : a.stream < b.stream;
}

static inline void sift_down(struct lsc_walk *walk, size_t i) {
  struct lsc_walk_item *heap = walk->heap, item = heap[i];
  size_t count = walk->count;
  for (size_t child; (child = 2 * i + 1) < count; i = child) {
    child += child + 1 < count && before(heap[child + 1], heap[child]);
    if (!before(heap[child], item)) break;
    heap[i] = heap[child];
  }
  heap[i] = item;
}

/* Room for more calls, those of the block kept. */
static lsc_status enlarge(struct lsc_walk *walk) {
  size_t calls = walk->capacity ? 2 * walk->capacity : LSC_BLOCK_CALLS;
  struct lsc_block_call *call = realloc(walk->block.call, calls * sizeof *call);
  if (call) walk->block.call = call;
  struct lsc_call_times *time = realloc(walk->block.time, calls * sizeof *time);
  if (time) walk->block.time = time;
  uint32_t *place = realloc(walk->place, 2 * calls * sizeof *place);
  if (place) walk->place = place;
  if (!call || !time || !place) return lsc_fail(LSC_NO_MEMORY, "no memory for %zu calls that began at one time", calls);
  walk->capacity = calls;
  return LSC_OK;
}

/* Where the clock is slowest, a nanosecond has the most ticks. */
static uint64_t nearness(const struct lsc_clock_map *map) {
  uint64_t slowest = UINT64_MAX;
  if (!map->pairs) return 0;
  for (size_t i = 0; i + 1 < map->pairs; i++)
    if (map->slope[i] < slowest) slowest = map->slope[i];
  if (map->pairs == 1 || slowest == 0) return UINT64_MAX;
  return (UINT64_C(1) << LSC_CLOCK_SHIFT) / slowest + 1;
}

static size_t lanes_of(const struct lsc_streams *streams) { return streams->count + streams->tasks; }

static struct lsc_levels *levels_of(const struct lsc_streams *streams, size_t lane) {
  return lane < streams->count ? &streams->stream[lane].levels : &streams->task_levels[lane - streams->count];
}

/* 1: the stack still lies among those of all lanes. */
static int is_shared(const struct lsc_walk *walk, const struct lsc_levels *levels) {
  return (uintptr_t)levels->level - (uintptr_t)walk->levels < walk->level_count * sizeof *walk->levels;
}

static void free_levels(struct lsc_walk *walk) {
  for (size_t i = 0; i < lanes_of(walk->streams); i++) {
    struct lsc_levels *levels = levels_of(walk->streams, i);
    if (!is_shared(walk, levels)) free(levels->level);
    levels->level = NULL;
  }
  free(walk->levels);
  walk->levels = NULL;
  walk->level_count = 0;
}

/* In one piece of memory, each as deep as it was the last time, and for one call before the first. */
static lsc_status make_levels(struct lsc_walk *walk) {
  size_t count = 0, lanes = lanes_of(walk->streams);
  for (size_t i = 0; i < lanes; i++) {
    struct lsc_levels *levels = levels_of(walk->streams, i);
    if (!levels->count) levels->count = 1;
    count += (size_t)levels->count + 1;
  }
  struct lsc_level *next = walk->levels = malloc((count + 1) * sizeof *walk->levels);
  if (!next) return lsc_fail(LSC_NO_MEMORY, "no memory for the stacks of %zu lanes", lanes);
  walk->level_count = count + 1;
  for (size_t i = 0; i < lanes; i++) {
    struct lsc_levels *levels = levels_of(walk->streams, i);
    levels->level = next;
    next += levels->count + 1;
  }
  return LSC_OK;
}

lsc_status lsc_walk_init(struct lsc_walk *walk, struct lsc_clock_map *map, struct lsc_streams *streams) {
  *walk = (struct lsc_walk){.map = map, .streams = streams, .near = nearness(map)};
  lsc_status status = lsc_walk_ready(walk);
  return status == LSC_OK ? enlarge(walk) : status;
}

lsc_status lsc_walk_ready(struct lsc_walk *walk) {
  if (walk->heap) return LSC_OK;
  lsc_status status = make_levels(walk);
  if (status != LSC_OK) return status;
  walk->heap = malloc((walk->streams->count + 1) * sizeof *walk->heap);
  if (walk->heap) return LSC_OK;
  free_levels(walk);
  return lsc_fail(LSC_NO_MEMORY, "no memory to merge %zu threads", walk->streams->count);
}

void lsc_walk_rest(struct lsc_walk *walk) {
  free_levels(walk);
  free(walk->heap);
  walk->heap = NULL;
}

void lsc_walk_free(struct lsc_walk *walk) {
  if (walk->streams) lsc_walk_rest(walk);
  free(walk->block.call);
  free(walk->block.time);
  free(walk->place);
  memset(walk, 0, sizeof *walk);
}

static void clear_levels(struct lsc_levels *levels) {
  const lsc_parent nobody = lsc_parent_make(LSC_NO_CALL, LSC_NO_REGION);
  for (uint32_t i = 0; i < levels->count; i++) levels->level[i + 1] = (struct lsc_level){nobody, 0};
  levels->level[0] = (struct lsc_level){nobody, LSC_NO_STAMP};
}

static lsc_status reach_level(const struct lsc_walk *walk, struct lsc_levels *levels, uint32_t depth) {
  struct lsc_levels larger = {.count = depth < 4 ? 4 : 2 * depth};
  larger.level = malloc(((size_t)larger.count + 1) * sizeof *larger.level);
  if (!larger.level) return lsc_fail(LSC_NO_MEMORY, "no memory for calls nested %u deep", depth);
  clear_levels(&larger);
  memcpy(larger.level, levels->level, ((size_t)levels->count + 1) * sizeof *larger.level);
  if (!is_shared(walk, levels)) free(levels->level);
  *levels = larger;
  return LSC_OK;
}

void lsc_walk_begin(struct lsc_walk *walk) {
  struct lsc_streams *streams = walk->streams;
  walk->block.first = walk->block.count = 0;
  walk->count = 0;
  walk->last = 0;
  for (size_t i = 0; i < streams->count; i++) {
    struct lsc_stream *stream = &streams->stream[i];
    lsc_stream_rewind(stream);
    if (stream->head) walk->heap[walk->count++] = (struct lsc_walk_item){lsc_stream_start(stream), stream};
  }
  for (size_t i = 0; i < lanes_of(streams); i++) clear_levels(levels_of(streams, i));
  for (size_t i = walk->count / 2; i-- > 0;) sift_down(walk, i);
}

/*
 * A row as the next call, its times raw. end: LSC_NO_STAMP if it counts as open. levels: its stack, deep enough. Its
 * parent is the innermost earlier call on the stack that was open for all of it: the last one begun at the depth below,
 * unless that was ended from elsewhere before this call was.
 */
static inline void put_call(struct lsc_block_call *call, struct lsc_call_times *time, uint32_t id, struct lsc_row *row,
                            uint64_t start, uint64_t end, struct lsc_levels *levels, struct lsc_level *level) {
  uint32_t depth = lsc_row_depth(row), region = row->region;
  const struct lsc_level *parent = &level[depth];
  while (__builtin_expect(parent->end < end, 0)) parent--;
  call->row = row;
  time->start = (int64_t)start;
  time->end = (int64_t)end;
  call->parent = parent->as_parent;
  call->region = region;
  call->levels = levels;
  level[depth + 1] = (struct lsc_level){lsc_parent_make(id, region & LSC_ROW_REGION_MASK), end};
}

/* The call is of a task, open, or deeper than any before. */
static lsc_status take_rare(struct lsc_walk *walk, struct lsc_stream *stream, struct lsc_row *row, uint64_t start,
                            struct lsc_block_call *call, struct lsc_call_times *time, uint32_t id) {
  struct lsc_levels *levels = row->task ? &walk->streams->task_levels[row->task - 1] : &stream->levels;
  uint64_t end = atomic_load_explicit(&row->end, memory_order_relaxed);
  uint32_t depth = lsc_row_depth(row);
  lsc_status status = depth < levels->count ? LSC_OK : reach_level(walk, levels, depth);
  if (status != LSC_OK) return status;
  if (row == lsc_stream_next_open(stream)) {
    stream->open->next++;
    end = LSC_NO_STAMP;
  }
  put_call(call, time, id, row, start, end, levels, levels->level);
  if (end != LSC_NO_STAMP) return LSC_OK;
  levels->level[depth + 1].as_parent = lsc_parent_make(id, LSC_NO_REGION);
  walk->block.open++;
  return LSC_OK;
}

/*
 * Takes the row at the head of the stream on top, and those that lie behind it one after the other, as long as they
 * begin before `bound` and the block has fewer than `most`.
 */
static lsc_status take_rows(struct lsc_walk *walk, struct lsc_stream *stream, uint64_t bound, uint32_t most) {
  struct lsc_row *row = stream->head, *end, *next = lsc_stream_rest(stream, &end), *begin = next;
  const struct lsc_row *open = lsc_stream_next_open(stream);
  struct lsc_level *level = stream->levels.level;
  uint32_t levels = stream->levels.count, id = walk->block.first + walk->block.count;
  struct lsc_block_call *call = walk->block.call + walk->block.count, *full = walk->block.call + most;
  struct lsc_call_times *time = walk->block.time + walk->block.count;
  uint64_t start = walk->heap->start, last = walk->last, near = walk->near;
  lsc_status status = LSC_OK;
  int may_tie = walk->may_tie;
  do {
    __builtin_prefetch(next + 64);
    if (__builtin_expect(row->task || row == open || lsc_row_depth(row) >= levels, 0)) {
      if ((status = take_rare(walk, stream, row, start, call, time, id)) != LSC_OK) break;
      open = lsc_stream_next_open(stream);
      level = stream->levels.level;
      levels = stream->levels.count;
    } else {
      uint64_t ended = atomic_load_explicit(&row->end, memory_order_relaxed);
      put_call(call, time, id, row, start, ended, &stream->levels, level);
    }
    may_tie |= start - last <= near;
    last = start;
    call++, time++, id++;
    while (next < end && next->region == LSC_ROW_NOTE) next++;
    row = next < end ? next++ : NULL;
    if (row) start = atomic_load_explicit(&row->start, memory_order_acquire);
  } while (row && start < bound && call < full);
  walk->block.count = (uint32_t)(call - walk->block.call);
  walk->may_tie = may_tie;
  walk->last = last;
  lsc_stream_skip(stream, (uint32_t)(next - begin));
  stream->head = row;
  walk->heap->start = start;
  if (row) return status;
  lsc_stream_advance(stream);
  if (stream->head) walk->heap->start = lsc_stream_start(stream);
  return status;
}

/* Takes rows of the stream on top. */
static lsc_status take_top(struct lsc_walk *walk, uint32_t most) {
  struct lsc_walk_item *heap = walk->heap;
  struct lsc_stream *stream = heap->stream;
  uint64_t bound = UINT64_MAX;
  if (walk->count > 1) {
    struct lsc_walk_item other = walk->count > 2 && before(heap[2], heap[1]) ? heap[2] : heap[1];
    bound = other.start + (stream < other.stream);
  }
  lsc_status status = take_rows(walk, stream, bound, most);
  if (!stream->head) *heap = heap[--walk->count];
  if (walk->count > 1) sift_down(walk, 0);
  return status;
}

/* Whether the next call began in the nanosecond of the last one of the block. */
static int goes_on(const struct lsc_walk *walk) {
  if (!walk->block.count || !walk->count || walk->heap->start - walk->last > walk->near) return 0;
  return lsc_clock_map_ns(walk->map, walk->last) == lsc_clock_map_ns(walk->map, walk->heap->start);
}

static lsc_status fill_block(struct lsc_walk *walk) {
  lsc_status status = LSC_OK;
  while (walk->count && walk->block.count < LSC_BLOCK_CALLS && status == LSC_OK)
    status = take_top(walk, LSC_BLOCK_CALLS);
  while (status == LSC_OK && goes_on(walk)) {
    if (walk->block.count == walk->capacity) status = enlarge(walk);
    if (status == LSC_OK) status = take_top(walk, walk->block.count + 1);
  }
  return status;
}

lsc_status lsc_walk_next(struct lsc_walk *walk) {
  struct lsc_block *block = &walk->block;
  block->first += block->count;
  block->count = block->open = 0;
  walk->may_tie = 0;
  lsc_status status = fill_block(walk);
  lsc_clock_map_many(walk->map, (size_t)2 * block->count, &block->time->start);
  if (status == LSC_OK && walk->may_tie) lsc_walk_order_ties(walk);
  return status;
}
