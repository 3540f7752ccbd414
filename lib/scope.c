/* SPDX-License-Identifier: BSD-3-Clause */
#include "scope.h"

#include <stdlib.h>
#include <string.h>

#include "record.h"
#include "test_point.h"

#define SPARES (LSC_CHUNK_SMALL / sizeof(struct lsc_token_slot)) /* slots made at a time */

static int is_open(struct lsc_token_slot *slot) { return atomic_load_explicit(&slot->state, memory_order_acquire) & 1; }

/* By the stack's owner: the frame on top is over. */
static void drop_held(struct lsc_stack *stack) {
  struct lsc_token_slot *slot = stack->held[--stack->held_count].slot;
  stack->depth--;
  slot->next_spare = stack->spare;
  stack->spare = slot;
}

void lsc_drop_ended(struct lsc_stack *stack) {
  while (lsc_stack_holds_top(stack) && !is_open(stack->held[stack->held_count - 1].slot)) drop_held(stack);
}

/* state: as last seen, with the call open. 1 for the one who ends it. */
static int claim(struct lsc_token_slot *slot, uint64_t state) {
  return atomic_compare_exchange_strong_explicit(&slot->state, &state, state - 1, memory_order_acq_rel,
                                                 memory_order_relaxed);
}

static void end_row(struct lsc_row *row, struct lsc_task_record *task, uint64_t now) {
  if (task) lsc_end_note(row, task, now);
  atomic_store_explicit(&row->end, now, memory_order_release);
}

lsc_status lsc_end_held(struct lsc_stack *stack, lsc_region_id region, uint64_t now) {
  struct lsc_token_slot *slot = stack->held[stack->held_count - 1].slot;
  if (stack->held[stack->held_count - 1].region != region) return LSC_CROSSED;
  uint64_t state = atomic_load_explicit(&slot->state, memory_order_acquire);
  struct lsc_row *row = atomic_load_explicit(&slot->row, memory_order_relaxed);
  int mine = (state & 1) && claim(slot, state);
  if (mine) end_row(row, atomic_load_explicit(&slot->task, memory_order_relaxed), now);
  drop_held(stack);
  return mine ? LSC_OK : LSC_STALE;
}

static int reserve_held(struct lsc_stack *stack) {
  if (stack->held_count < stack->held_capacity) return 1;
  uint32_t wanted = stack->held_capacity ? 2 * stack->held_capacity : 4;
  struct lsc_held *larger = realloc(stack->held, wanted * sizeof *larger);
  if (!larger) return 0;
  stack->held = larger;
  stack->held_capacity = wanted;
  return 1;
}

/* New slots for the stack: a block of the session's memory, which nobody gives back one by one. */
static int add_spares(struct lsc_session_state *state, struct lsc_stack *stack) {
  struct lsc_token_slot *slot = lsc_slab_keep(state->source, SPARES * sizeof *slot);
  if (!slot) return 0;
  for (size_t i = 0; i < SPARES; i++) {
    if (lsc_registry_take(&state->tokens, &slot[i].place) != LSC_OK) break;
    lsc_registry_publish(&state->tokens, slot[i].place, &slot[i]);
    slot[i].next_spare = stack->spare;
    stack->spare = &slot[i];
  }
  return stack->spare != NULL;
}

static void hand_out(struct lsc_stack *stack, struct lsc_track *track, struct lsc_row *row, lsc_session session,
                     lsc_token *token) {
  struct lsc_token_slot *slot = stack->spare;
  stack->spare = slot->next_spare;
  stack->held[stack->held_count++] = (struct lsc_held){slot, stack->depth - 1, lsc_row_region(row)};
  uint64_t state = atomic_load_explicit(&slot->state, memory_order_relaxed) + 3;
  atomic_store_explicit(&slot->row, row, memory_order_relaxed);
  atomic_store_explicit(&slot->task, track->task ? track->running : NULL, memory_order_relaxed);
  atomic_store_explicit(&slot->state, state, memory_order_release);
  *token = (lsc_token){session, state >> 1, slot->place};
}

static lsc_status begin_held(struct lsc_session_state *state, struct lsc_track *track, lsc_api api,
                             lsc_region_id region, lsc_token *token) {
  struct lsc_row *row;
  struct lsc_stack *stack = track->stack;
  lsc_drop_closed(stack);
  if (!reserve_held(stack) || (!stack->spare && !add_spares(state, stack))) return LSC_NO_MEMORY;
  lsc_status status = lsc_begin_slowly(state->handle, api, region, &track, &row);
  if (status == LSC_OK) hand_out(stack, track, row, state->handle, token);
  return status;
}

lsc_status lsc_scope_begin_as(lsc_session session, lsc_api api, lsc_region_id region, lsc_token *token) {
  if (!token) return LSC_INVALID;
  memset(token, 0, sizeof *token);
  if ((unsigned)api > LSC_API_FORTRAN_THREADS) return LSC_INVALID;
  if (!lsc_handle_records(session) && lsc_handle_is_open(session)) return LSC_OK;
  struct lsc_track *track;
  lsc_status status = lsc_thread_enter(session, api, &track);
  if (status != LSC_OK) return status;
  struct lsc_session_state *state = lsc_session_pin(session);
  if (!state) return LSC_INACTIVE;
  status = begin_held(state, track, api, region, token);
  lsc_session_unpin(session);
  return status;
}

lsc_status lsc_scope_begin(lsc_session session, lsc_region_id region, lsc_token *token) {
  return lsc_scope_begin_as(session, LSC_API_C, region, token);
}

/*
 * The row is read before the slot is claimed: if the slot was used again in between, the claim fails. A claimed row is
 * open until its end is stored, so its chunk stays, and the session is pinned.
 */
static lsc_status end_by_token(struct lsc_session_state *session, lsc_token token, uint64_t now) {
  struct lsc_token_slot *slot =
      token.place < lsc_registry_count(&session->tokens) ? lsc_registry_get(&session->tokens, token.place) : NULL;
  uint64_t state = token.generation * 2 + 1;
  if (!slot || atomic_load_explicit(&slot->state, memory_order_acquire) != state) return LSC_STALE;
  struct lsc_row *row = atomic_load_explicit(&slot->row, memory_order_relaxed);
  struct lsc_task_record *task = atomic_load_explicit(&slot->task, memory_order_relaxed);
  LSC_TEST_POINT("token read");
  if (!claim(slot, state)) return LSC_STALE;
  LSC_TEST_POINT("token claimed");
  end_row(row, task, now);
  return LSC_OK;
}

lsc_status lsc_scope_end(lsc_token token) {
  uint64_t now = lsc_ticks();
  struct lsc_session_state *session = lsc_session_pin(token.session);
  if (!session) return LSC_INACTIVE;
  lsc_status status = end_by_token(session, token, now);
  lsc_session_unpin(token.session);
  return status;
}
