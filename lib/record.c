/* SPDX-License-Identifier: BSD-3-Clause */
#include "clock.h"
#include "lanescope_binding.h"
#include "region.h"
#include "session.h"
#include "thread.h"

/* The column `apis` has three values; the fourth API differs from the third in its lane alone. */
static inline uint32_t stored_api(lsc_api api) { return api == LSC_API_FORTRAN_THREADS ? LSC_API_FORTRAN : (uint32_t)api; }

/* Calls that were ended from elsewhere, by token, are dropped by their opener, here. */
static inline void drop_closed(struct lsc_stack *stack) {
  while (stack->depth) {
    struct lsc_row *top = stack->frame[stack->depth - 1];
    if (LSC_LIKELY(!(top->depth & LSC_ROW_TOKEN)) || !atomic_load_explicit(&top->end, memory_order_acquire)) return;
    stack->depth--;
  }
}

/* The start is stored last, with release: it publishes the row to the snapshot's acquire. */
static inline void push_row(struct lsc_track *track, struct lsc_stack *stack, uint32_t region) {
  struct lsc_row *row = track->next;
  row->region = region;
  row->depth = stack->depth;
  row->task = track->task;
  row->thread = track->thread;
  stack->frame[stack->depth++] = row;
  track->next = row + 1;
  atomic_store_explicit(&row->start, lsc_ticks(), memory_order_release);
}

/* Without memory for the call it is counted, and the stack is set aside until its end has come, so that no other call takes that end. */
static lsc_status drop_call(struct lsc_track *track) {
  uint64_t dropped = atomic_load_explicit(&track->dropped, memory_order_relaxed);
  atomic_store_explicit(&track->dropped, dropped + 1, memory_order_relaxed);
  track->lost_depth++;
  track->stack = &track->lost;
  return LSC_NO_MEMORY;
}

static __attribute__((noinline)) lsc_status begin_slow(lsc_session session, lsc_api api, lsc_region_id region) {
  struct lsc_track *track;
  if ((unsigned)api > LSC_API_FORTRAN_THREADS || region >= lsc_region_count()) return LSC_INVALID;
  lsc_status status = lsc_thread_enter(session, api, &track);
  if (status != LSC_OK) return status;
  if (track->lost_depth) return drop_call(track);
  drop_closed(track->stack);
  if (!lsc_track_grow(track)) return drop_call(track);
  push_row(track, track->stack, region | stored_api(api) << LSC_ROW_REGION_BITS);
  return LSC_OK;
}

static inline lsc_status begin(lsc_session session, lsc_api api, lsc_region_id region) {
  if (!lsc_handle_is_open(session)) return LSC_INACTIVE;
  struct lsc_track *track = lsc_thread_track(lsc_self, session | (uint64_t)api);
  if (LSC_UNLIKELY(!track || region >= lsc_region_count())) return begin_slow(session, api, region);
  struct lsc_stack *stack = track->stack;
  drop_closed(stack);
  if (LSC_UNLIKELY(track->next == track->limit || stack->depth == stack->capacity)) return begin_slow(session, api, region);
  push_row(track, stack, region | stored_api(api) << LSC_ROW_REGION_BITS);
  return LSC_OK;
}

/* An end for which the stack holds nothing: that of a dropped call, or of none. */
static __attribute__((noinline)) lsc_status end_slow(struct lsc_track *track) {
  if (!track || !track->lost_depth) return LSC_NO_BEGIN;
  if (--track->lost_depth == 0) track->stack = &track->own;
  return LSC_NO_MEMORY;
}

/* The end of a call that was handed out: whoever comes first decides it. */
static __attribute__((noinline)) lsc_status end_token(struct lsc_stack *stack, struct lsc_row *row, uint64_t now) {
  uint64_t open = 0;
  stack->depth--;
  return atomic_compare_exchange_strong_explicit(&row->end, &open, now, memory_order_release, memory_order_relaxed) ? LSC_OK
                                                                                                                   : LSC_STALE;
}

static inline lsc_status end(lsc_session session, lsc_api api, lsc_region_id region) {
  if (!lsc_handle_is_open(session)) return LSC_INACTIVE;
  uint64_t now = lsc_ticks();
  struct lsc_track *track = lsc_thread_track(lsc_self, session | (uint64_t)api);
  if (LSC_UNLIKELY(!track) && lsc_thread_enter(session, api, &track) != LSC_OK) return LSC_NO_BEGIN;
  struct lsc_stack *stack = track->stack;
  drop_closed(stack);
  if (LSC_UNLIKELY(!stack->depth)) return end_slow(track);
  struct lsc_row *row = stack->frame[stack->depth - 1];
  if (LSC_UNLIKELY(lsc_row_region(row) != region)) return LSC_CROSSED;
  if (LSC_UNLIKELY(row->depth & LSC_ROW_TOKEN)) return end_token(stack, row, now);
  stack->depth--;
  /* Release: the owner's last touch of the row; pairs with the snapshot's acquire, which then owns the row. */
  atomic_store_explicit(&row->end, now, memory_order_release);
  return LSC_OK;
}

lsc_status lsc_begin(lsc_session session, lsc_region_id region) { return begin(session, LSC_API_C, region); }
lsc_status lsc_end(lsc_session session, lsc_region_id region) { return end(session, LSC_API_C, region); }

lsc_status lsc_begin_as(lsc_session session, lsc_api api, lsc_region_id region) {
  if (LSC_UNLIKELY((unsigned)api > LSC_API_FORTRAN_THREADS)) return LSC_INVALID;
  return begin(session, api, region);
}

lsc_status lsc_end_as(lsc_session session, lsc_api api, lsc_region_id region) {
  if (LSC_UNLIKELY((unsigned)api > LSC_API_FORTRAN_THREADS)) return LSC_INVALID;
  return end(session, api, region);
}
