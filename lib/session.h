/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sessions of the process, by slot. A handle is generation << 8 | slot << 2; the two lowest bits are free for an
 * API, and in the slot for LSC_PAUSED.
 *
 * What may run at the same time: any number of pins and unpins, one open or close, one collector a session. A close
 * takes the handle out of the slot and then waits until nobody has the session pinned, so a pinned session stays.
 */
#ifndef LSC_SESSION_H
#define LSC_SESSION_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "chunk.h"
#include "correction.h"
#include "hidden.h"
#include "lanescope.h"
#include "registry.h"

#define LSC_SLOTS 64 /* slot 0 is never a session: handle 0 leads to it */
/* What stands at a slot without an open session: a value that belongs to another slot, so that no handle equals it. */
#define LSC_NO_HANDLE(slot) ((uint64_t)((slot) ? 0 : 1 << 2))

#define LSC_PAUSED ((uint64_t)2)

struct lsc_session_state {
  lsc_session handle;
  struct lsc_registry threads; /* of struct lsc_track, by thread index */
  struct lsc_registry unknown; /* of struct lsc_track, without thread index */
  struct lsc_registry tasks;   /* of struct lsc_task_record, by task index */
  struct lsc_registry tokens;  /* of struct lsc_token_slot, by place */
  struct lsc_chunk_source *source;
  uint64_t id; /* random, not 0 */
  char *label; /* or NULL */
  int no_lanes; /* every track is in `unknown` */
  int64_t open_ns, open_unix_ns;
  _Atomic int
      collecting; /* acquire by who becomes the collector, release when it is done: passes the collector's fields on */
  pthread_mutex_t commit; /* held by the commit while it frees chunks, and over the end of a call by mark */
  _Atomic int64_t added_ns; /* what `correction` adds in the end; relaxed, by the collector */
  /* The collector's. */
  struct lsc_correction correction;
  uint64_t collects; /* that were written */
  char **paths;
  size_t path_count;
};

/*
 * Handles of the open sessions by slot, with LSC_PAUSED while one is paused; LSC_NO_HANDLE elsewhere. Relaxed on the
 * hot path, where it only tells whether to record: what it leads to is the thread's own.
 */
extern LSC_HIDDEN _Atomic uint64_t lsc_open_handle[LSC_SLOTS];

static inline unsigned lsc_slot_of(lsc_session session) { return (unsigned)(session >> 2) % LSC_SLOTS; }

static inline uint64_t lsc_handle_in_slot(lsc_session session) {
  return atomic_load_explicit(&lsc_open_handle[lsc_slot_of(session)], memory_order_relaxed);
}

static inline int lsc_handle_is_open(lsc_session session) {
  return (lsc_handle_in_slot(session) & ~LSC_PAUSED) == session;
}

/* Open and not paused. */
static inline int lsc_handle_records(lsc_session session) { return lsc_handle_in_slot(session) == session; }

/* The session, kept until the unpin, or NULL if it is not open. For a short while: a close waits for it. */
struct lsc_session_state *lsc_session_pin(lsc_session session);
void lsc_session_unpin(lsc_session session);

/* The session for its only collector, until lsc_session_collected. LSC_OK, LSC_INACTIVE, LSC_BUSY. */
lsc_status lsc_session_collect(lsc_session session, struct lsc_session_state **state);
void lsc_session_collected(struct lsc_session_state *state);

/* Fork: the table's lock is held over it, and the child closes every session without touching it. */
void lsc_session_lock(void);
void lsc_session_unlock(void);
void lsc_session_abandon_all(void);

#endif
