/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A line on the terminal of rank 0 while a collect takes long. A thread of its own writes it, from two seconds on and
 * only where standard error is a terminal, or is passed on to one by the launcher; it is taken away at the end.
 */
#ifndef LSC_PROGRESS_H
#define LSC_PROGRESS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define LSC_PROGRESS_NAME 256

struct lsc_progress {
  int running;
  pthread_t thread;
  pthread_mutex_t mutex;
  pthread_cond_t ended;
  int is_over;                     /* under the mutex */
  char name[LSC_PROGRESS_NAME];    /* of the file, in one line */
  int64_t since;                   /* ns */
  /* By the thread that collects, relaxed: each is shown for itself. */
  _Atomic(const char *) doing;
  _Atomic uint64_t done, of;       /* of 0: not known */
};

/* 1 if what this process writes to standard error comes to a terminal. */
int lsc_progress_seen(void);

/* How wide that terminal is now; 80 where it does not say. */
int lsc_progress_columns(void);

/*
 * "lanescope: ", the name and the rest, in no more than so many columns: a longer name is cut in its middle, and where
 * that is not enough the end of the line is. name: shorter than LSC_PROGRESS_NAME; both are UTF-8, of which characters
 * of three and more bytes are taken for two columns. Returns the columns of the line.
 */
int lsc_progress_line(char *line, size_t size, const char *name, const char *rest, int columns);

/* Begins and ends on one thread. Without a thread or memory there is no line. path: of the file. */
void lsc_progress_begin(struct lsc_progress *progress, const char *path);
void lsc_progress_end(struct lsc_progress *progress);

/* What the calling thread is doing now, static; and how far it is. Nothing where no line is begun on it. */
void lsc_progress_doing(const char *what);
void lsc_progress_at(uint64_t done, uint64_t of);

#endif
