/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LSC_SIGNALS_H
#define LSC_SIGNALS_H

#include <pthread.h>
#include <signal.h>

struct lsc_signals {
  sigset_t before;
  int was_pending;
};

/*
 * On the calling thread a write beyond the file size limit of the process fails with EFBIG, and does not end the
 * process by SIGXFSZ.
 */
void lsc_signals_hold(struct lsc_signals *held);
void lsc_signals_release(struct lsc_signals *held);

/* Starts a thread that takes none of the program's signals, with a stack of 256 KiB: 1; 0: there is none. */
int lsc_signals_thread(pthread_t *thread, void *(*run)(void *argument), void *argument);

#endif
