/* SPDX-License-Identifier: BSD-3-Clause */
#include "record.h"

#include "default.h"
#include "scope.h"

/* Sets the stack aside until the end of a call that has no frame has come, so that no other call takes that end. */
static void lose_call(struct lsc_stack *stack) {
  if (stack->lost++) return;
  stack->kept_depth = stack->depth;
  stack->kept_capacity = stack->capacity;
  stack->depth = stack->capacity = 0;
}

/* Without memory for the call it is counted. */
static lsc_status drop_call(struct lsc_track *track) {
  uint64_t dropped = atomic_load_explicit(&track->dropped, memory_order_relaxed);
  atomic_store_explicit(&track->dropped, dropped + 1, memory_order_relaxed);
  lose_call(track->stack);
  return LSC_NO_MEMORY;
}

lsc_status lsc_begin_slowly(lsc_session session, lsc_api api, lsc_region_id region, struct lsc_track **found,
                            struct lsc_row **row) {
  if ((unsigned)api > LSC_API_FORTRAN_THREADS || region >= lsc_region_count()) return LSC_INVALID;
  lsc_status status = lsc_thread_enter(session, api, found);
  if (status != LSC_OK) return status;
  struct lsc_track *track = *found;
  if (track->stack->lost) return drop_call(track);
  lsc_drop_marked(track->stack);
  if (!lsc_has_room(track, track->stack) && !lsc_track_grow(track)) return drop_call(track);
  lsc_push_row(track, track->stack, region | lsc_stored_api(api) << LSC_ROW_REGION_BITS);
  *row = track->next - 1;
  return LSC_OK;
}

static __attribute__((noinline)) lsc_status begin_slow(lsc_session session, lsc_api api, lsc_region_id region) {
  struct lsc_track *track;
  struct lsc_row *row;
  return lsc_begin_slowly(session, api, region, &track, &row);
}

/* A call of a session that is paused or not open. */
static __attribute__((noinline)) lsc_status begin_unrecorded(lsc_session session, lsc_api api, lsc_region_id region) {
  struct lsc_track *track;
  if (!lsc_handle_is_open(session)) return LSC_INACTIVE;
  if (region >= lsc_region_count()) return LSC_INVALID;
  lsc_status status = lsc_thread_enter(session, api, &track);
  if (status != LSC_OK) return status;
  lsc_drop_marked(track->stack);
  if (track->stack->lost || !lsc_stack_mute(track->stack, region)) lose_call(track->stack);
  return LSC_OK;
}

/* Within a task, or above a call that was handed out. */
static __attribute__((noinline)) lsc_status begin_aside(lsc_session session, lsc_api api, lsc_region_id region) {
  struct lsc_track *track = lsc_thread_track(lsc_self, session | (uint64_t)api);
  lsc_drop_closed(track->stack);
  if (LSC_UNLIKELY(!lsc_has_room(track, track->stack))) return begin_slow(session, api, region);
  lsc_push_row(track, track->stack, region | lsc_stored_api(api) << LSC_ROW_REGION_BITS);
  return LSC_OK;
}

/* Whatever is not the plain case leaves by a tail call, so that the plain one needs no frame. */
static inline __attribute__((always_inline)) lsc_status begin(lsc_session session, lsc_api api, lsc_region_id region) {
  if (LSC_UNLIKELY(!lsc_handle_records(session))) return begin_unrecorded(session, api, region);
  struct lsc_track *track = lsc_thread_track(lsc_self, session | (uint64_t)api);
  if (LSC_UNLIKELY(!track || region >= lsc_region_count())) return begin_slow(session, api, region);
  struct lsc_stack *stack = track->stack;
  if (LSC_UNLIKELY(track->task | stack->held_count)) return begin_aside(session, api, region);
  if (LSC_UNLIKELY(track->next == track->limit || stack->depth == stack->capacity))
    return begin_slow(session, api, region);
  lsc_push_plain_row(track, stack, region | lsc_stored_api(api) << LSC_ROW_REGION_BITS);
  return LSC_OK;
}

/* An end for which the stack holds nothing: that of a dropped call, or of none. */
static __attribute__((noinline)) lsc_status end_nothing(struct lsc_stack *stack) {
  if (!stack->lost) return LSC_NO_BEGIN;
  if (--stack->lost == 0) {
    stack->depth = stack->kept_depth;
    stack->capacity = stack->kept_capacity;
  }
  return LSC_NO_MEMORY;
}

/* Release: the owner's last touch of the row; pairs with the snapshot's acquire, which then owns the row. */
static inline lsc_status end_row(struct lsc_stack *stack, struct lsc_row *row, uint64_t now) {
  stack->depth--;
  LSC_TEST_POINT("end read");
  atomic_store_explicit(&row->end, now, memory_order_release);
  return LSC_OK;
}

/* Every end that is not the plain one: within a task, above calls that were ended elsewhere, of none. */
static __attribute__((noinline)) lsc_status end_aside(lsc_session session, lsc_api api, lsc_region_id region,
                                                      uint64_t now) {
  struct lsc_track *track;
  if (lsc_thread_enter(session, api, &track) != LSC_OK) return LSC_NO_BEGIN;
  struct lsc_stack *stack = track->stack;
  lsc_drop_marked(stack);
  if (!stack->depth) return end_nothing(stack);
  if (lsc_stack_holds_top(stack)) return lsc_end_held(stack, region, now);
  struct lsc_row *row = stack->frame[stack->depth - 1];
  if (lsc_row_region(row) != region) return LSC_CROSSED;
  if (row->task) lsc_end_note(row, track->running, now);
  return end_row(stack, row, now);
}

static inline __attribute__((always_inline)) lsc_status end(lsc_session session, lsc_api api, lsc_region_id region) {
  if (LSC_UNLIKELY(!lsc_handle_is_open(session))) return LSC_INACTIVE;
  uint64_t now = lsc_ticks();
  struct lsc_track *track = lsc_thread_track(lsc_self, session | (uint64_t)api);
  if (LSC_UNLIKELY(!track)) return end_aside(session, api, region, now);
  struct lsc_stack *stack = track->stack;
  if (LSC_UNLIKELY(stack->held_count || !stack->depth)) return end_aside(session, api, region, now);
  struct lsc_row *row = stack->frame[stack->depth - 1];
  if (LSC_UNLIKELY(row->task || lsc_row_region(row) != region ||
                   atomic_load_explicit(&row->end, memory_order_relaxed)))
    return end_aside(session, api, region, now);
  return end_row(stack, row, now);
}

lsc_status lsc_begin(lsc_session session, lsc_region_id region) { return begin(session, LSC_API_C, region); }
lsc_status lsc_end(lsc_session session, lsc_region_id region) { return end(session, LSC_API_C, region); }

lsc_status lsc_begin_as(lsc_session session, lsc_api api, lsc_region_id region) {
  if (LSC_UNLIKELY((unsigned)api > LSC_API_FORTRAN_THREADS)) return LSC_INVALID;
  return begin(session, api, region);
}

lsc_status lsc_begin_marked(lsc_session session, lsc_api api, lsc_region_id region, lsc_mark *mark) {
  mark->row = NULL;
  if (LSC_UNLIKELY((unsigned)api > LSC_API_FORTRAN_THREADS)) return LSC_INVALID;
  lsc_status status = begin(session, api, region);
  struct lsc_track *track = lsc_thread_track(lsc_self, session | (uint64_t)api);
  if (LSC_UNLIKELY(status != LSC_OK || !track || !track->stack->depth)) return status;
  struct lsc_row *row = track->stack->frame[track->stack->depth - 1];
  *mark = (lsc_mark){session, track, row, atomic_load_explicit(&row->start, memory_order_relaxed)};
  return LSC_OK;
}

lsc_status lsc_end_as(lsc_session session, lsc_api api, lsc_region_id region) {
  if (LSC_UNLIKELY((unsigned)api > LSC_API_FORTRAN_THREADS)) return LSC_INVALID;
  return end(session, api, region);
}

lsc_status lsc_enter(lsc_region_id region) {
  return begin(lsc_default_session(lsc_default_now()), LSC_API_C, region);
}

lsc_status lsc_leave(lsc_region_id region) {
  return end(lsc_default_session(lsc_default_now()), LSC_API_C, region);
}

/* Where the caller wants the status: nothing is to be done for the others after their call. */
static __attribute__((noinline)) void begin_told(uint64_t word, lsc_region_id region, int *stat) {
  *stat = (int)lsc_begin_as(lsc_default_session(word), lsc_default_fortran(word), region);
}

static __attribute__((noinline)) void end_told(uint64_t word, lsc_region_id region, int *stat) {
  *stat = (int)lsc_end_as(lsc_default_session(word), lsc_default_fortran(word), region);
}

void lsc_fortran_begin(lsc_region_id region, int *stat) {
  uint64_t word = lsc_default_now();
  if (LSC_UNLIKELY(stat)) begin_told(word, region, stat);
  else (void)begin(lsc_default_session(word), lsc_default_fortran(word), region);
}

void lsc_fortran_end(lsc_region_id region, int *stat) {
  uint64_t word = lsc_default_now();
  if (LSC_UNLIKELY(stat)) end_told(word, region, stat);
  else (void)end(lsc_default_session(word), lsc_default_fortran(word), region);
}
