/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls recorded with the library and, beside it, in the test's own books: what a file must hold. */
#ifndef LOG_H
#define LOG_H

#include <stddef.h>
#include <stdint.h>

#include "lanescope_binding.h"

#define LOG_NAME 32
#define LOG_DEPTH 16
#define LOG_NO_THREAD "?" /* the lane of calls whose thread is not recorded */

/* A call. Its start and its end each lay between two readings of lsc_now_ns. */
struct logged {
  char lane[LOG_NAME]; /* name of its thread */
  char region[LOG_NAME];
  int32_t rank, api;
  int64_t start_low, start_high;
  int64_t end_low, end_high; /* 0: open */
  int32_t parent;            /* position of the enclosing call in its log, -1 at the top */
  int32_t depth;
};

/* The calls of one lane, in the order in which they began. Used by one thread at a time. */
struct log {
  lsc_session session;
  lsc_api api;
  char lane[LOG_NAME];
  struct logged *call;
  size_t calls, capacity;
  int32_t open[LOG_DEPTH];
  int32_t depth;
};

/* lane: LOG_NO_THREAD, or the name under which the calling thread is described to the session. */
void log_start(struct log *log, lsc_session session, lsc_api api, const char *lane);
void log_begin(struct log *log, const char *region);
void log_end(struct log *log);
/* Forgets what the session was collected of: only the open calls stay. */
void log_collected(struct log *log);
void log_free(struct log *log);

/* What several lanes of this rank recorded. A lane that comes twice, one log after the other, is one lane. */
struct books {
  struct logged *call;
  size_t calls;
  char (*thread)[LOG_NAME]; /* every thread of the session, also without a call */
  size_t threads;
};
void books_add(struct books *books, const struct log *log);
void books_add_thread(struct books *books, const char *name);
void books_free(struct books *books);

/* Frees both, and detaches and closes the session. Collective. */
void log_close(lsc_session session, struct log *log, struct books *books);

#endif
