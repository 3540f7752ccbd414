/* SPDX-License-Identifier: BSD-3-Clause */
#include "thread.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>

#include "region.h"
#include "message.h"
#include "session.h"
#include "test_point.h"
#include "task.h"

static struct lsc_entry no_entry;
static struct lsc_thread_state nobody = {.entry = &no_entry};
static struct lsc_thread_state departed = {.entry = &no_entry};

LSC_HIDDEN _Thread_local struct lsc_thread_state *lsc_self __attribute__((tls_model("initial-exec"))) = &nobody;

/* Release by the binding that sets it, acquire by the thread that calls it: publishes what the hook reads. */
static _Atomic(lsc_first_use) hooks[4];

static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static int key_made;

/* Ends or gives up every track of the thread once. A track that both APIs use stands in the table twice. */
static void leave_tracks(struct lsc_thread_state *self, int only_closed,
                         void (*leave)(lsc_session, struct lsc_track *)) {
  for (uint64_t i = 0; i <= self->mask; i++) {
    struct lsc_track *track = self->entry[i].track;
    lsc_session session = self->entry[i].key & ~(uint64_t)3;
    if (!track || (only_closed && lsc_handle_is_open(session))) continue;
    for (uint64_t k = i; k <= self->mask; k++)
      if (self->entry[k].track == track) self->entry[k] = (struct lsc_entry){0, NULL};
    leave(session, track);
  }
}

static void give_up(lsc_session session, struct lsc_track *track) {
  (void)session;
  lsc_track_release(track);
}

/* Tasks whose step was not left can go on elsewhere, while their session is there. */
static void end_track(lsc_session session, struct lsc_track *track) {
  if (lsc_session_pin(session)) {
    lsc_task_leave_all(track);
    lsc_session_unpin(session);
  }
  lsc_track_end(track);
  lsc_track_release(track);
}

static void free_self(struct lsc_thread_state *self) {
  if (self->entry != self->first_entries) free(self->entry);
  free(self->message);
  free(self);
}

/* Other libraries' destructors may still record: the thread ends in the last round of destructors but one. */
static void thread_ends(void *state) {
  struct lsc_thread_state *self = state;
  if (++self->rounds < PTHREAD_DESTRUCTOR_ITERATIONS - 1 && pthread_setspecific(key, self) == 0) return;
  leave_tracks(self, 0, end_track);
  lsc_self = &departed;
  free_self(self);
}

static void make_key(void) { key_made = pthread_key_create(&key, thread_ends) == 0; }

/* The thread's own state, made at its first need, or NULL. */
static struct lsc_thread_state *own_state(void) {
  struct lsc_thread_state *self = lsc_self;
  if (self == &departed) return NULL;
  if (self != &nobody) return self;
  pthread_once(&key_once, make_key);
  if (!key_made || !(self = calloc(1, sizeof *self))) return NULL;
  self->entry = self->first_entries;
  self->mask = LSC_FIRST_ENTRIES - 1;
  if (pthread_setspecific(key, self)) {
    free(self);
    return NULL;
  }
  return lsc_self = self;
}

char *lsc_thread_message(void) {
  struct lsc_thread_state *self = own_state();
  if (self && !self->message) self->message = calloc(1, LSC_MESSAGE_SIZE);
  return self ? self->message : NULL;
}

void lsc_thread_sweep(void) {
  if (lsc_self != &nobody && lsc_self != &departed) leave_tracks(lsc_self, 1, give_up);
}

void lsc_thread_over(void) {
  struct lsc_thread_state *self = lsc_self;
  for (uint64_t i = 0; i <= self->mask; i++)
    if (self->entry[i].track) lsc_track_over(self->entry[i].track);
}

void lsc_thread_forget(void) {
  lsc_self = &nobody;
  if (key_made) pthread_setspecific(key, NULL);
}

static int place(struct lsc_entry *entries, uint64_t mask, struct lsc_entry entry) {
  struct lsc_entry *at = &entries[entry.key & mask];
  if (at->track) return 0;
  *at = entry;
  return 1;
}

/* Adds an entry; the table doubles until no two keys want one place, which 256 places always allow: they stand for slot
 * and API. */
static int add_entry(struct lsc_thread_state *self, struct lsc_entry entry) {
  uint64_t mask = self->mask;
  if (place(self->entry, mask, entry)) return 1;
  for (;;) {
    mask = 2 * mask + 1;
    struct lsc_entry *larger = calloc(mask + 1, sizeof *larger);
    if (!larger) return 0;
    int fits = place(larger, mask, entry);
    for (uint64_t i = 0; fits && i <= self->mask; i++)
      if (self->entry[i].track) fits = place(larger, mask, self->entry[i]);
    if (!fits) {
      free(larger);
      continue;
    }
    if (self->entry != self->first_entries) free(self->entry);
    self->entry = larger;
    self->mask = mask;
    return 1;
  }
}

/* 1 if calls of that API carry their thread in this session. */
static int knows_thread(const struct lsc_session_state *state, lsc_api api) {
  return api != LSC_API_FORTRAN && !state->no_lanes;
}

/* The track that another API of the thread has in this session already. */
static struct lsc_track *shared_track(const struct lsc_thread_state *self, const struct lsc_session_state *state,
                                      lsc_api api) {
  for (lsc_api other = LSC_API_PYTHON; other <= LSC_API_FORTRAN_THREADS; other++) {
    if (knows_thread(state, other) != knows_thread(state, api)) continue;
    struct lsc_track *track = lsc_thread_track(self, state->handle | (uint64_t)other);
    if (track) return track;
  }
  return NULL;
}

static lsc_status register_track(struct lsc_session_state *state, lsc_api api, struct lsc_track **result) {
  int known = knows_thread(state, api);
  struct lsc_registry *registry = known ? &state->threads : &state->unknown;
  struct lsc_track *track = lsc_track_new(state->source, known);
  if (!track) return LSC_NO_MEMORY;
  uint32_t index;
  lsc_status status = lsc_registry_take(registry, &index);
  if (status != LSC_OK) {
    lsc_track_release(track);
    lsc_track_release(track);
    return status;
  }
  if (known) track->thread = index + 1;
  LSC_TEST_POINT("thread taken");
  lsc_registry_publish(registry, index, track);
  *result = track;
  return LSC_OK;
}

static lsc_status find_or_register(struct lsc_thread_state *self, struct lsc_session_state *state, lsc_api api,
                                   struct lsc_track **track) {
  *track = shared_track(self, state, api);
  lsc_status status = LSC_OK;
  int made = !*track;
  if (made) status = register_track(state, api, track);
  if (status != LSC_OK) return status;
  if (add_entry(self, (struct lsc_entry){state->handle | (uint64_t)api, *track})) return LSC_OK;
  if (made) end_track(state->handle, *track);
  return LSC_NO_MEMORY;
}

lsc_status lsc_thread_enter(lsc_session session, lsc_api api, struct lsc_track **track) {
  *track = lsc_thread_track(lsc_self, session | (uint64_t)api);
  if (*track && lsc_handle_is_open(session)) return LSC_OK;
  struct lsc_session_state *state = lsc_session_pin(session);
  if (!state) return LSC_INACTIVE;
  lsc_status status = lsc_self == &departed ? LSC_INACTIVE : LSC_NO_MEMORY;
  struct lsc_thread_state *self = own_state();
  if (self) {
    lsc_thread_sweep();
    status = find_or_register(self, state, api, track);
  }
  int known = knows_thread(state, api);
  lsc_session_unpin(session);
  lsc_first_use hook = known ? atomic_load_explicit(&hooks[api], memory_order_acquire) : NULL;
  if (status != LSC_OK || !hook) return status;
  hook(session);
  /* What the hook ran may have closed the session, and given the track up. */
  *track = lsc_handle_is_open(session) ? lsc_thread_track(lsc_self, session | (uint64_t)api) : NULL;
  return *track ? LSC_OK : LSC_INACTIVE;
}

lsc_status lsc_on_first_use(lsc_api api, lsc_first_use hook) {
  if ((unsigned)api > LSC_API_FORTRAN_THREADS)
    return lsc_fail(LSC_INVALID, "lsc_on_first_use: no API has the number %d", (int)api);
  atomic_store_explicit(&hooks[api], hook, memory_order_release);
  return LSC_OK;
}
