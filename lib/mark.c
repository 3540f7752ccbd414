/* SPDX-License-Identifier: BSD-3-Clause */
#include "mark.h"

#include "record.h"

int lsc_mark_holds(struct lsc_chunk *chunk) {
  uint32_t capacity = atomic_load_explicit(&chunk->capacity, memory_order_relaxed);
  for (uint32_t i = 0; i < capacity; i++) {
    uint32_t depth = atomic_load_explicit(&lsc_chunk_rows(chunk)[i].depth, memory_order_acquire);
    if ((depth & (LSC_ROW_ELSEWHERE | LSC_ROW_DROPPED)) == LSC_ROW_ELSEWHERE) return 1;
  }
  return 0;
}

static int drop_plain(struct lsc_stack *stack) {
  if (!stack->depth || lsc_stack_holds_top(stack)) return 0;
  struct lsc_row *row = stack->frame[stack->depth - 1];
  if (!atomic_load_explicit(&row->end, memory_order_acquire)) return 0;
  stack->depth--;
  atomic_fetch_or_explicit(&row->depth, LSC_ROW_DROPPED, memory_order_release);
  return 1;
}

void lsc_drop_marked(struct lsc_stack *stack) {
  do lsc_drop_closed(stack);
  while (drop_plain(stack));
}

/* 1 if the track still has that very call, open. Under `commit`: its chunks stay meanwhile. */
static int is_open_call(struct lsc_track *track, const struct lsc_row *row, uint64_t start) {
  struct lsc_chunk *chunk = atomic_load_explicit(&track->first, memory_order_acquire);
  while (chunk && !lsc_chunk_holds(chunk, row)) chunk = atomic_load_explicit(&chunk->next, memory_order_acquire);
  return chunk && atomic_load_explicit(&row->start, memory_order_acquire) == start &&
         !atomic_load_explicit(&row->end, memory_order_acquire);
}

static lsc_status end_row(struct lsc_session_state *state, struct lsc_track *track, struct lsc_row *row,
                          uint64_t start, uint64_t now) {
  if (!is_open_call(track, row, start)) return LSC_STALE;
  track->marked = 1;
  if (row->task) lsc_end_note(row, lsc_registry_get(&state->tasks, row->task - 1), now);
  atomic_fetch_or_explicit(&row->depth, LSC_ROW_ELSEWHERE, memory_order_relaxed);
  atomic_store_explicit(&row->end, now, memory_order_release);
  return LSC_OK;
}

lsc_status lsc_end_marked(lsc_mark mark) {
  uint64_t now = lsc_ticks();
  struct lsc_session_state *state = mark.row ? lsc_session_pin(mark.session) : NULL;
  if (!state) return LSC_INACTIVE;
  pthread_mutex_lock(&state->commit);
  lsc_status status = end_row(state, mark.track, mark.row, mark.start, now);
  pthread_mutex_unlock(&state->commit);
  lsc_session_unpin(mark.session);
  return status;
}
