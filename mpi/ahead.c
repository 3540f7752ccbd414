/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* sched_getaffinity */
#include "ahead.h"

#include <sched.h>
#include <string.h>

#include "collect.h"
#include "signals.h"

#define LOOKS 500 /* some hundred microseconds, with a core of one's own */

int lsc_ahead_has_core(void) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (sched_getaffinity(0, sizeof cores, &cores) != 0) return 0;
  return CPU_COUNT(&cores) >= 2 * lsc_launcher_neighbours();
}

static void *run(void *argument) {
  struct lsc_ahead *ahead = argument;
  ahead->fill(ahead->argument);
  pthread_mutex_lock(&ahead->lock);
  ahead->done = 1;
  pthread_cond_signal(&ahead->changed);
  pthread_mutex_unlock(&ahead->lock);
  return NULL;
}

static void destroy(struct lsc_ahead *ahead) {
  pthread_cond_destroy(&ahead->changed);
  pthread_mutex_destroy(&ahead->lock);
}

int lsc_ahead_start(struct lsc_ahead *ahead, const size_t *spare, void (*fill)(void *argument), void *argument) {
  *ahead = (struct lsc_ahead){.fill = fill, .argument = argument, .spares = LSC_AHEAD_SPARES};
  memcpy(ahead->spare, spare, sizeof ahead->spare);
  pthread_mutex_init(&ahead->lock, NULL);
  pthread_cond_init(&ahead->changed, NULL);
  if (lsc_signals_thread(&ahead->thread, run, ahead)) return 1;
  destroy(ahead);
  return 0;
}

/*
 * Looks for a while whether there is something to take: to sleep, and to be woken, takes as long as to write a piece.
 * Relaxed: what was seen is looked at again under the lock.
 */
static void look_for(const _Atomic size_t *count, const _Atomic int *no_more) {
  for (int i = 0; i < LOOKS; i++) {
    if (atomic_load_explicit(count, memory_order_relaxed) || atomic_load_explicit(no_more, memory_order_relaxed)) return;
    sched_yield();
  }
}

/* There are no more pieces than spares, so that the list of full ones has room. */
int lsc_ahead_swap(struct lsc_ahead *ahead, struct lsc_piece piece, size_t *begin) {
  look_for(&ahead->spares, &ahead->stop);
  pthread_mutex_lock(&ahead->lock);
  while (!ahead->spares && !ahead->stop) pthread_cond_wait(&ahead->changed, &ahead->lock);
  int go_on = !ahead->stop;
  if (go_on) {
    *begin = ahead->spare[--ahead->spares];
    ahead->full[ahead->fulls++] = piece;
    pthread_cond_signal(&ahead->changed);
  }
  pthread_mutex_unlock(&ahead->lock);
  return go_on;
}

int lsc_ahead_is_ready(struct lsc_ahead *ahead) {
  return atomic_load_explicit(&ahead->fulls, memory_order_relaxed) > 0 ||
         atomic_load_explicit(&ahead->done, memory_order_relaxed);
}

int lsc_ahead_take(struct lsc_ahead *ahead, struct lsc_piece *piece) {
  look_for(&ahead->fulls, &ahead->done);
  pthread_mutex_lock(&ahead->lock);
  while (!ahead->fulls && !ahead->done) pthread_cond_wait(&ahead->changed, &ahead->lock);
  int found = ahead->fulls > 0;
  if (found) {
    *piece = ahead->full[0];
    memmove(ahead->full, ahead->full + 1, --ahead->fulls * sizeof *ahead->full);
  }
  pthread_mutex_unlock(&ahead->lock);
  return found;
}

void lsc_ahead_give_back(struct lsc_ahead *ahead, size_t begin) {
  pthread_mutex_lock(&ahead->lock);
  ahead->spare[ahead->spares++] = begin;
  pthread_cond_signal(&ahead->changed);
  pthread_mutex_unlock(&ahead->lock);
}

void lsc_ahead_stop(struct lsc_ahead *ahead) {
  pthread_mutex_lock(&ahead->lock);
  ahead->stop = 1;
  pthread_cond_signal(&ahead->changed);
  pthread_mutex_unlock(&ahead->lock);
}

void lsc_ahead_join(struct lsc_ahead *ahead) {
  pthread_join(ahead->thread, NULL);
  destroy(ahead);
}
