/* SPDX-License-Identifier: BSD-3-Clause */
/* The inner parts of recording a call, by the thread that owns the track. */
#ifndef LSC_RECORD_H
#define LSC_RECORD_H

#include "clock.h"
#include "lanescope_binding.h"
#include "region.h"
#include "session.h"
#include "test_point.h"
#include "thread.h"

/* The column `apis` has three values; the fourth API differs from the third in its lane alone. */
static inline uint32_t lsc_stored_api(lsc_api api) {
  return api == LSC_API_FORTRAN_THREADS ? LSC_API_FORTRAN : (uint32_t)api;
}

/* Removes calls on top of the stack that were ended by token. scope.c */
void lsc_drop_ended(struct lsc_stack *stack);

static inline void lsc_drop_closed(struct lsc_stack *stack) {
  if (LSC_UNLIKELY(stack->held_count)) lsc_drop_ended(stack);
}

/* By the owner of a stack with a frame whose call may have been ended by mark: drops what is over on top. mark.c */
void lsc_drop_marked(struct lsc_stack *stack);

/* Writes the note in front of a call inside a task; the track has room for both. task.c */
void lsc_push_note(struct lsc_track *track);
/* Turns the note into the time that the call was suspended, before its end is stored. */
void lsc_end_note(struct lsc_row *row, struct lsc_task_record *task, uint64_t now);

/*
 * The clock is read first, so that the processor writes the row while the reading is under way. The start is stored
 * last, with release: it publishes the row to the snapshot's acquire.
 */
static inline void lsc_push_plain_row(struct lsc_track *track, struct lsc_stack *stack, uint32_t region) {
  struct lsc_row *row = track->next;
  uint64_t now = lsc_ticks();
  row->region = region;
  atomic_store_explicit(&row->depth, stack->depth, memory_order_relaxed);
  row->task = track->task;
  row->thread = track->thread;
  stack->frame[stack->depth++] = row;
  track->next = row + 1;
  LSC_TEST_POINT("row written");
  atomic_store_explicit(&row->start, now, memory_order_release);
}

static inline void lsc_push_row(struct lsc_track *track, struct lsc_stack *stack, uint32_t region) {
  if (track->task) lsc_push_note(track);
  lsc_push_plain_row(track, stack, region);
}

/* A call for which the track has room on the fast path: within a task it takes two rows. */
static inline int lsc_has_room(const struct lsc_track *track, const struct lsc_stack *stack) {
  return track->limit - track->next > (track->task != 0) && stack->depth != stack->capacity;
}

/*
 * The slow beginning of a call: finds or registers the track and makes room. row: receives the call.
 * The statuses of lsc_begin.
 */
lsc_status lsc_begin_slowly(lsc_session session, lsc_api api, lsc_region_id region, struct lsc_track **track,
                            struct lsc_row **row);

#endif
