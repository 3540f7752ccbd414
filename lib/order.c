/* SPDX-License-Identifier: BSD-3-Clause */
#include "order.h"

#include <stdlib.h>

#include "account.h"
#include "array.h"
#include "message.h"
#include "walk.h"

struct first_walk {
  struct lsc_snapshot *snapshot;
  struct lsc_account account;
  size_t open_capacity;
};

static lsc_status note_open(struct first_walk *first, uint32_t i) {
  struct lsc_snapshot *s = first->snapshot;
  const struct lsc_block *block = &s->walk->block;
  if (s->open == first->open_capacity) {
    size_t wanted = s->open ? 2 * s->open : 64;
    struct lsc_open_call *larger = realloc(s->open_call, wanted * sizeof *larger);
    if (!larger) return lsc_fail(LSC_NO_MEMORY, "no memory for %zu open calls", wanted);
    s->open_call = larger;
    first->open_capacity = wanted;
  }
  const struct lsc_block_call *call = &block->call[i];
  s->open_call[s->open++] = (struct lsc_open_call){block->first + i, lsc_parent_call(call->parent), call->row, 0};
  return LSC_OK;
}

static lsc_status look_for_open(struct first_walk *first) {
  const struct lsc_block *block = &first->snapshot->walk->block;
  lsc_status status = LSC_OK;
  for (uint32_t i = 0; block->open && i < block->count && status == LSC_OK; i++)
    if (block->time[i].end == LSC_NEVER) status = note_open(first, i);
  return status;
}

static lsc_status walk_through(struct first_walk *first) {
  struct lsc_snapshot *s = first->snapshot;
  struct lsc_walk *walk = s->walk;
  lsc_walk_begin(walk);
  for (;;) {
    lsc_status status = lsc_walk_next(walk);
    if (status == LSC_OK) status = look_for_open(first);
    if (status != LSC_OK || !walk->block.count) return status;
    lsc_account_block(&first->account, &walk->block);
    s->calls += walk->block.count;
  }
}

static lsc_status init_walk(struct lsc_snapshot *s, struct lsc_streams *streams) {
  size_t calls = 0;
  for (size_t i = 0; i < streams->count; i++) calls += lsc_stream_rows(&streams->stream[i]);
  if (calls >= LSC_NO_CALL)
    return lsc_fail(LSC_LIMIT, "%zu calls were recorded since the last collect; collect before there are %u", calls,
                    LSC_NO_CALL);
  s->walk = calloc(1, sizeof *s->walk);
  if (!s->walk) return lsc_fail(LSC_NO_MEMORY, "no memory to order %zu calls", calls);
  return lsc_walk_init(s->walk, &s->map, streams);
}

lsc_status lsc_order_calls(struct lsc_snapshot *s, struct lsc_streams *streams) {
  struct first_walk first = {.snapshot = s};
  lsc_status status = init_walk(s, streams);
  if (status == LSC_OK) status = lsc_account_init(&first.account, streams->threads, streams->tasks);
  if (status == LSC_OK) status = walk_through(&first);
  s->completed = s->calls - s->open;
  if (status == LSC_OK) status = lsc_account_regions(&first.account, s);
  if (status == LSC_OK) lsc_account_lanes(&first.account, s);
  lsc_account_free(&first.account);
  if (status == LSC_OK) lsc_walk_rest(s->walk);
  return status;
}

lsc_status lsc_snapshot_ready(struct lsc_snapshot *s) { return lsc_walk_ready(s->walk); }

void lsc_snapshot_rewind(struct lsc_snapshot *s) { lsc_walk_begin(s->walk); }

/* What the first walk needed of memory is there. */
const struct lsc_block *lsc_snapshot_next(struct lsc_snapshot *s) {
  (void)lsc_walk_next(s->walk);
  return &s->walk->block;
}

/* A counting sort by region, which keeps the order of the calls. next[r]: where the next call of region r goes. */
static void put_in_order(struct lsc_snapshot *s, uint32_t *next) {
  for (size_t i = 0; i < s->regions; i++) next[s->region[i].region] = (uint32_t)s->region[i].offset;
  lsc_snapshot_rewind(s);
  for (const struct lsc_block *block; (block = lsc_snapshot_next(s))->count;)
    for (uint32_t i = 0; i < block->count; i++) {
      const struct lsc_block_call *call = &block->call[i];
      s->row[block->first + i] = call->row;
      s->parent[block->first + i] = lsc_parent_call(call->parent);
      if (block->time[i].end != LSC_NEVER) s->event[next[call->region & LSC_ROW_REGION_MASK]++] = block->first + i;
    }
}

lsc_status lsc_snapshot_events(struct lsc_snapshot *s) {
  if (s->event) return LSC_OK;
  lsc_status status = lsc_snapshot_ready(s);
  if (status != LSC_OK) return status;
  uint32_t highest = s->regions ? s->region[s->regions - 1].region : 0;
  uint32_t *next = calloc((size_t)highest + 1, sizeof *next);
  s->row = lsc_array_new(s->calls, sizeof *s->row);
  s->parent = lsc_array_new(s->calls, sizeof *s->parent);
  s->event = lsc_array_new(s->completed, sizeof *s->event);
  if (next && s->row && s->parent && s->event) {
    put_in_order(s, next);
    free(next);
    return LSC_OK;
  }
  free(next);
  free(s->row);
  free(s->parent);
  free(s->event);
  s->row = NULL;
  s->parent = s->event = NULL;
  return lsc_fail(LSC_NO_MEMORY, "no memory to order %zu calls", s->calls);
}
