/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A helper thread that fills rows while the calling thread writes those that are full: HDF5 and MPI are left to the
 * calling thread. Neither waits for longer than the other fills or writes one piece.
 */
#ifndef LSC_AHEAD_H
#define LSC_AHEAD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define LSC_AHEAD_SPARES 2 /* pieces of memory beside those that are being filled */

/* Rows begin .. begin + rows - 1 of the memory, which are rows row … of this rank's events. */
struct lsc_piece {
  size_t begin, rows;
  uint64_t row;
};

struct lsc_ahead {
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  void (*fill)(void *argument);
  void *argument;
  /* Under the lock; what is atomic is also looked at without it, to know whether to take it yet. */
  struct lsc_piece full[LSC_AHEAD_SPARES];
  _Atomic size_t fulls, spares;
  size_t spare[LSC_AHEAD_SPARES]; /* begin of each */
  _Atomic int stop, done;
};

/* 1 where the process may use a core that none of the job's other ranks on this machine needs, as far as is known. */
int lsc_ahead_has_core(void);

/* Starts a thread, which takes no signals, that runs fill(argument) once. 1; 0: there is none. */
int lsc_ahead_start(struct lsc_ahead *ahead, const size_t *spare, void (*fill)(void *argument), void *argument);

/* By the helper: hands a full piece over, and waits for memory to go on with: its begin. 0: it is to return. */
int lsc_ahead_swap(struct lsc_ahead *ahead, struct lsc_piece piece, size_t *begin);

/* By the caller: 1 if lsc_ahead_take need not wait. */
int lsc_ahead_is_ready(struct lsc_ahead *ahead);
/* By the caller: waits for the next piece; 0: fill has returned and there is none. */
int lsc_ahead_take(struct lsc_ahead *ahead, struct lsc_piece *piece);
/* It is written. */
void lsc_ahead_give_back(struct lsc_ahead *ahead, size_t begin);
/* The helper is to return at its next full piece. */
void lsc_ahead_stop(struct lsc_ahead *ahead);
/* Waits until fill has returned. */
void lsc_ahead_join(struct lsc_ahead *ahead);

#endif
