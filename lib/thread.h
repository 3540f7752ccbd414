/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The calling thread's way to its tracks: one pointer in thread-local storage for the whole library, to a small table
 * by session handle and API. All of it belongs to the thread alone.
 */
#ifndef LSC_THREAD_H
#define LSC_THREAD_H

#include <stdint.h>

#include "hidden.h"
#include "lanescope_binding.h"
#include "track.h"

#define LSC_MESSAGE_SIZE 1024
#define LSC_FIRST_ENTRIES 4

/* key: session handle | API; 0 is empty. The track stays the thread's after the session was closed. */
struct lsc_entry {
  uint64_t key;
  struct lsc_track *track;
};

struct lsc_thread_state {
  uint64_t mask; /* entries - 1; key & mask is the place */
  struct lsc_entry *entry;
  char *message; /* LSC_MESSAGE_SIZE, or NULL */
  int rounds;    /* of the thread's destructors */
  struct lsc_entry first_entries[LSC_FIRST_ENTRIES];
};

/* Never NULL: points to a state without entries until the thread registers, and again after its end. */
extern LSC_HIDDEN _Thread_local struct lsc_thread_state *lsc_self __attribute__((tls_model("initial-exec")));

static inline struct lsc_track *lsc_thread_track(const struct lsc_thread_state *self, uint64_t key) {
  const struct lsc_entry *entry = &self->entry[key & self->mask];
  return LSC_LIKELY(entry->key == key) ? entry->track : (struct lsc_track *)0;
}

/* The calling thread's track in that session for that API, registered and described if it is new. LSC_OK, LSC_INACTIVE
 * (also when the thread is past its end), LSC_NO_MEMORY, LSC_LIMIT. */
lsc_status lsc_thread_enter(lsc_session session, lsc_api api, struct lsc_track **track);

/* Gives up the calling thread's part of sessions that were closed. */
void lsc_thread_sweep(void);

/* Where the calling thread's message goes, or NULL. */
char *lsc_thread_message(void);

/* In the child of a fork: forgets the parent's state. */
void lsc_thread_forget(void);

#endif
