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

lsc_status lsc_walk_init(struct lsc_walk *walk, struct lsc_clock_map *map, struct lsc_streams *streams) {
  *walk = (struct lsc_walk){.map = map, .streams = streams, .near = nearness(map)};
  walk->heap = malloc((streams->count + 1) * sizeof *walk->heap);
  if (!walk->heap) return lsc_fail(LSC_NO_MEMORY, "no memory to merge %zu threads", streams->count);
  return enlarge(walk);
}

void lsc_walk_free(struct lsc_walk *walk) {
  free(walk->heap);
  free(walk->block.call);
  free(walk->block.time);
  free(walk->place);
  memset(walk, 0, sizeof *walk);
}

static void clear_levels(struct lsc_levels *levels) {
  const lsc_parent nobody = lsc_parent_make(LSC_NO_CALL, LSC_NO_REGION);
  for (uint32_t i = 0; i < levels->count; i++) levels->level[i + 1] = (struct lsc_level){nobody, 0};
  if (levels->count) levels->level[0] = (struct lsc_level){nobody, LSC_NO_STAMP};
}

static lsc_status reach_level(struct lsc_levels *levels, uint32_t depth) {
  struct lsc_levels larger = {.count = depth < 8 ? 8 : 2 * depth};
  larger.level = malloc(((size_t)larger.count + 1) * sizeof *larger.level);
  if (!larger.level) return lsc_fail(LSC_NO_MEMORY, "no memory for calls nested %u deep", depth);
  clear_levels(&larger);
  if (levels->count) memcpy(larger.level, levels->level, ((size_t)levels->count + 1) * sizeof *larger.level);
  free(levels->level);
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
    clear_levels(&stream->levels);
    lsc_stream_rewind(stream);
    if (stream->head) walk->heap[walk->count++] = (struct lsc_walk_item){stream->head_start, stream};
  }
  for (uint32_t i = 0; i < streams->tasks; i++) clear_levels(&streams->task_levels[i]);
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
  lsc_status status = depth < levels->count ? LSC_OK : reach_level(levels, depth);
  if (status != LSC_OK) return status;
  if (row == lsc_stream_next_open(stream)) {
    stream->open_next++;
    end = LSC_NO_STAMP;
  }
  put_call(call, time, id, row, start, end, levels, levels->level);
  if (end != LSC_NO_STAMP) return LSC_OK;
  levels->level[depth + 1].as_parent = lsc_parent_make(id, LSC_NO_REGION);
  walk->block.open++;
  return LSC_OK;
}

/*
 * Takes the row at the head of the stream, and those that lie behind it one after the other, as long as they begin
 * before `bound` and the block has fewer than `most`.
 */
static lsc_status take_rows(struct lsc_walk *walk, struct lsc_stream *stream, uint64_t bound, uint32_t most) {
  struct lsc_row *row = stream->head, *end, *next = lsc_stream_rest(stream, &end), *begin = next;
  const struct lsc_row *open = lsc_stream_next_open(stream);
  struct lsc_level *level = stream->levels.level;
  uint32_t levels = stream->levels.count, id = walk->block.first + walk->block.count;
  struct lsc_block_call *call = walk->block.call + walk->block.count, *full = walk->block.call + most;
  struct lsc_call_times *time = walk->block.time + walk->block.count;
  uint64_t start = stream->head_start, last = walk->last, near = walk->near;
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
  stream->head_start = start;
  if (!row) lsc_stream_advance(stream);
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
  if (stream->head) heap->start = stream->head_start;
  else *heap = heap[--walk->count];
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
