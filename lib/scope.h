/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls that were handed out as tokens. A slot stands for one such call at a time: it belongs to the stack that opened
 * the call, and is used again only after that stack has dropped the frame. Its memory lives as long as the session's
 * chunks.
 */
#ifndef LSC_SCOPE_H
#define LSC_SCOPE_H

#include "track.h"

struct lsc_token_slot {
  /*
   * generation * 2, + 1 while the call is open. Release by the opener: publishes row and task. Whoever ends the call
   * takes the 1 away by compare-and-swap (acquire, release), and alone writes the row's end then. Acquire by the
   * opener: the slot is its own again.
   */
  _Atomic uint64_t state;
  /* Relaxed: before the release of `state`, and behind its acquire; who fails to claim drops what it has read. */
  _Atomic(struct lsc_row *) row;
  _Atomic(struct lsc_task_record *) task; /* of the call, or NULL */
  struct lsc_token_slot *next_spare;
  uint32_t place; /* in the session's registry */
};

/* Ends the innermost call of the stack, which is held. LSC_OK, LSC_STALE, LSC_CROSSED. */
lsc_status lsc_end_held(struct lsc_stack *stack, lsc_region_id region, uint64_t now);

#endif
