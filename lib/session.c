/* SPDX-License-Identifier: BSD-3-Clause */
#include "session.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "fork.h"
#include "message.h"
#include "random.h"
#include "region.h"
#include "snapshot.h"
#include "task.h"
#include "test_point.h"
#include "thread.h"
#include "track.h"

LSC_HIDDEN _Atomic uint64_t lsc_open_handle[LSC_SLOTS] = {LSC_NO_HANDLE(0)};

/* What a pin leads to. pins: sequentially consistent together with the handle, since a pin writes one and reads the
 * other and a close does the reverse: one of them sees the other. */
static struct {
  _Atomic uint32_t pins;
  struct lsc_session_state *state;
} slots[LSC_SLOTS];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t generation; /* under the lock */

struct lsc_session_state *lsc_session_pin(lsc_session session) {
  unsigned slot = lsc_slot_of(session);
  atomic_fetch_add(&slots[slot].pins, 1);
  if ((atomic_load(&lsc_open_handle[slot]) & ~LSC_PAUSED) == session) return slots[slot].state;
  atomic_fetch_sub(&slots[slot].pins, 1);
  return NULL;
}

void lsc_session_unpin(lsc_session session) { atomic_fetch_sub(&slots[lsc_slot_of(session)].pins, 1); }

static lsc_status check_options(const lsc_session_options *options) {
  if (!options) return LSC_OK;
  if (options->size != sizeof *options)
    return lsc_fail(LSC_INVALID, "lsc_session_options.size is %zu; this library knows %zu: set it to sizeof",
                    options->size, sizeof *options);
  if (options->label && !lsc_name_is_valid(options->label, strlen(options->label)))
    return lsc_fail(LSC_BAD_NAME, "the label is not valid UTF-8 of at most %d bytes", LSC_MAX_NAME);
  return LSC_OK;
}

static void free_tracks(struct lsc_registry *registry) {
  for (uint32_t i = 0; i < lsc_registry_count(registry); i++) {
    struct lsc_track *track = lsc_registry_get(registry, i);
    if (track) lsc_track_release(track);
  }
  lsc_registry_free(registry);
}

static void free_tasks(struct lsc_registry *tasks) {
  for (uint32_t i = 0; i < lsc_registry_count(tasks); i++) {
    struct lsc_task_record *task = lsc_registry_get(tasks, i);
    if (task) lsc_task_close(task);
  }
  lsc_registry_free(tasks);
}

static void free_state(struct lsc_session_state *state) {
  free_tasks(&state->tasks);
  lsc_registry_free(&state->tokens);
  free_tracks(&state->threads);
  free_tracks(&state->unknown);
  for (size_t i = 0; i < state->path_count; i++) free(state->paths[i]);
  free(state->paths);
  lsc_correction_free(&state->correction);
  free(state->label);
  pthread_mutex_destroy(&state->commit);
  if (state->source) lsc_slab_release(state->source);
  free(state);
}

static struct lsc_session_state *new_state(const lsc_session_options *options) {
  struct lsc_session_state *state = calloc(1, sizeof *state);
  if (!state) return NULL;
  pthread_mutex_init(&state->commit, NULL);
  state->source = lsc_slab_new();
  state->id = lsc_random_bits() | 1;
  if (options && options->label) state->label = strdup(options->label);
  state->no_lanes = options && options->no_lanes;
  if (!state->source || (options && options->label && !state->label)) {
    free_state(state);
    return NULL;
  }
  struct timespec wall;
  state->open_ns = lsc_monotonic_ns();
  clock_gettime(CLOCK_REALTIME, &wall);
  state->open_unix_ns = (int64_t)wall.tv_sec * 1000000000 + wall.tv_nsec;
  return state;
}

/* Puts the session into the lowest free slot. 0 if there is none. The store of the handle publishes the state to pins.
 */
static lsc_session place(struct lsc_session_state *state) {
  lsc_session session = 0;
  pthread_mutex_lock(&lock);
  for (unsigned slot = 1; slot < LSC_SLOTS && !session; slot++) {
    if (slots[slot].state) continue;
    session = ++generation << 8 | slot << 2;
    state->handle = session;
    slots[slot].state = state;
    atomic_store(&lsc_open_handle[slot], session);
  }
  pthread_mutex_unlock(&lock);
  return session;
}

lsc_status lsc_session_open(const lsc_session_options *options, lsc_session *session) {
  if (!session) return lsc_fail(LSC_INVALID, "lsc_session_open: session is NULL; pass where the handle goes");
  *session = 0;
  lsc_status status = check_options(options);
  if (status == LSC_OK) status = lsc_fork_watch();
  if (status == LSC_OK) status = lsc_clock_start();
  if (status != LSC_OK) return status;
  struct lsc_session_state *state = new_state(options);
  if (!state) return lsc_fail(LSC_NO_MEMORY, "no memory for a session");
  *session = place(state);
  if (*session) return LSC_OK;
  free_state(state);
  return lsc_fail(LSC_LIMIT, "%d sessions are open in this process; close one first", LSC_MAX_SESSIONS);
}

int lsc_session_is_open(lsc_session session) { return lsc_handle_is_open(session); }

/* Only from one of the two states of this very session to the other: a close that comes first wins. */
static lsc_status turn(lsc_session session, uint64_t from, uint64_t to) {
  if (!lsc_handle_is_open(session))
    return lsc_fail(LSC_INACTIVE, "session %#llx is not open", (unsigned long long)session);
  atomic_compare_exchange_strong(&lsc_open_handle[lsc_slot_of(session)], &from, to);
  return LSC_OK;
}

lsc_status lsc_session_pause(lsc_session session) { return turn(session, session, session | LSC_PAUSED); }
lsc_status lsc_session_resume(lsc_session session) { return turn(session, session | LSC_PAUSED, session); }

lsc_status lsc_session_collect(lsc_session session, struct lsc_session_state **state) {
  *state = lsc_session_pin(session);
  if (!*state)
    return lsc_fail(LSC_INACTIVE, "session %#llx is not open: it was closed, or never opened",
                    (unsigned long long)session);
  int busy = atomic_exchange_explicit(&(*state)->collecting, 1, memory_order_acquire);
  lsc_session_unpin(session);
  if (busy) return lsc_fail(LSC_BUSY, "the session is being collected or closed by another thread; wait for it");
  return LSC_OK;
}

void lsc_session_collected(struct lsc_session_state *state) {
  atomic_store_explicit(&state->collecting, 0, memory_order_release);
}

lsc_status lsc_session_close(lsc_session session) {
  struct lsc_session_state *state;
  lsc_status status = lsc_session_collect(session, &state);
  if (status != LSC_OK) return status;
  unsigned slot = lsc_slot_of(session);
  atomic_store(&lsc_open_handle[slot], LSC_NO_HANDLE(slot));
  LSC_TEST_POINT("session closing");
  while (atomic_load(&slots[slot].pins)) sched_yield();
  pthread_mutex_lock(&lock);
  slots[slot].state = NULL;
  pthread_mutex_unlock(&lock);
  free_state(state);
  lsc_thread_sweep();
  return LSC_OK;
}

static int has_path(const struct lsc_session_state *state, const char *path) {
  for (size_t i = 0; i < state->path_count; i++)
    if (strcmp(state->paths[i], path) == 0) return 1;
  return 0;
}

int lsc_session_has_path(lsc_session session, const char *path) {
  struct lsc_session_state *state = lsc_session_pin(session);
  int known = state && has_path(state, path);
  if (state) lsc_session_unpin(session);
  return known;
}

static lsc_status add_path(struct lsc_session_state *state, const char *path) {
  if (has_path(state, path)) return LSC_OK;
  char **larger = realloc(state->paths, (state->path_count + 1) * sizeof *larger);
  if (larger) state->paths = larger;
  char *copy = larger ? strdup(path) : NULL;
  if (!copy) return lsc_fail(LSC_NO_MEMORY, "no memory to remember the path %s", path);
  state->paths[state->path_count++] = copy;
  return LSC_OK;
}

lsc_status lsc_session_add_path(lsc_session session, const char *path) {
  struct lsc_session_state *state = lsc_session_pin(session);
  if (!state) return LSC_INACTIVE;
  lsc_status status = add_path(state, path);
  lsc_session_unpin(session);
  return status;
}

uint64_t lsc_session_id(lsc_session session) {
  struct lsc_session_state *state = lsc_session_pin(session);
  if (!state) return 0;
  uint64_t id = state->id;
  lsc_session_unpin(session);
  return id;
}

int64_t lsc_session_added_ns(lsc_session session) {
  struct lsc_session_state *state = lsc_session_pin(session);
  if (!state) return 0;
  int64_t added_ns = atomic_load_explicit(&state->added_ns, memory_order_relaxed);
  lsc_session_unpin(session);
  return added_ns;
}

int64_t lsc_session_opened_ns(lsc_session session) {
  struct lsc_session_state *state = lsc_session_pin(session);
  if (!state) return 0;
  int64_t opened_ns = state->open_ns;
  lsc_session_unpin(session);
  return opened_ns;
}

void lsc_session_lock(void) { pthread_mutex_lock(&lock); }
void lsc_session_unlock(void) { pthread_mutex_unlock(&lock); }

void lsc_session_abandon_all(void) {
  for (unsigned slot = 1; slot < LSC_SLOTS; slot++) {
    atomic_store(&lsc_open_handle[slot], LSC_NO_HANDLE(slot));
    atomic_store(&slots[slot].pins, 0);
    slots[slot].state = NULL;
  }
}
