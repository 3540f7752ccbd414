/* SPDX-License-Identifier: BSD-3-Clause */
#include "signals.h"

#include <time.h>

#define STACK_BYTES (256u << 10)

static sigset_t only_file_size(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGXFSZ);
  return set;
}

static int is_pending(void) {
  sigset_t pending;
  return sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 1;
}

void lsc_signals_hold(struct lsc_signals *held) {
  sigset_t set = only_file_size();
  held->was_pending = is_pending();
  pthread_sigmask(SIG_BLOCK, &set, &held->before);
}

void lsc_signals_release(struct lsc_signals *held) {
  sigset_t set = only_file_size();
  struct timespec at_once = {0, 0};
  while (!held->was_pending && is_pending() && sigtimedwait(&set, NULL, &at_once) == SIGXFSZ) continue;
  pthread_sigmask(SIG_SETMASK, &held->before, NULL);
}

int lsc_signals_thread(pthread_t *thread, void *(*run)(void *argument), void *argument) {
  sigset_t all, before;
  pthread_attr_t small;
  sigfillset(&all);
  if (pthread_attr_init(&small)) return 0;
  pthread_attr_setstacksize(&small, STACK_BYTES);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int started = pthread_create(thread, &small, run, argument) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&small);
  return started;
}
