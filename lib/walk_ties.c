/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "walk.h"

/* Stable insertion of calls first .. end - 1 by depth; place[i] is which of them comes i-th. 1 if anything moved. */
static int sort_run(const struct lsc_block *block, uint32_t *place, uint32_t first, uint32_t end) {
  int moved = 0;
  for (uint32_t i = first + 1; i < end; i++) {
    uint32_t call = place[i], k = i, depth = lsc_row_depth(block->call[call].row);
    for (; k > first && lsc_row_depth(block->call[place[k - 1]].row) > depth; k--) place[k] = place[k - 1];
    place[k] = call;
    moved |= k != i;
  }
  return moved;
}

static int sort_runs(struct lsc_walk *walk) {
  const struct lsc_block *block = &walk->block;
  int moved = 0;
  for (uint32_t i = 0; i < block->count; i++) walk->place[i] = i;
  for (uint32_t first = 0, end; first < block->count; first = end) {
    for (end = first + 1; end < block->count && block->time[end].start == block->time[first].start; end++) continue;
    moved |= sort_run(block, walk->place, first, end);
  }
  return moved;
}

/* What the block's calls had been numbered becomes their new number, in the stacks and for their children. */
static void renumber(struct lsc_walk *walk, const uint32_t *now) {
  const struct lsc_block *block = &walk->block;
  for (uint32_t i = 0; i < block->count; i++) {
    struct lsc_block_call *call = &block->call[i];
    struct lsc_level *level = &call->levels->level[lsc_row_depth(call->row) + 1];
    level->as_parent = lsc_parent_make(block->first + now[i], lsc_parent_region(level->as_parent));
    uint32_t parent = lsc_parent_call(call->parent);
    if (parent != LSC_NO_CALL && parent >= block->first)
      call->parent = lsc_parent_make(block->first + now[parent - block->first], lsc_parent_region(call->parent));
  }
}

/*
 * The call that was place[i] becomes the i-th, one circle of places after the other; place[i] becomes i. Calls
 * that change places have one start.
 */
static void move(const struct lsc_block *block, uint32_t *place) {
  for (uint32_t i = 0; i < block->count; i++) {
    struct lsc_block_call first = block->call[i];
    int64_t first_end = block->time[i].end;
    uint32_t to = i;
    for (uint32_t from; (from = place[to]) != i; to = from) {
      block->call[to] = block->call[from];
      block->time[to].end = block->time[from].end;
      place[to] = to;
    }
    block->call[to] = first;
    block->time[to].end = first_end;
    place[to] = to;
  }
}

void lsc_walk_order_ties(struct lsc_walk *walk) {
  uint32_t *now = walk->place + walk->capacity;
  if (!sort_runs(walk)) return;
  for (uint32_t i = 0; i < walk->block.count; i++) now[walk->place[i]] = i;
  renumber(walk, now);
  move(&walk->block, walk->place);
}
