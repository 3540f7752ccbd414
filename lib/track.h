/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What one thread records in one session: its chunks, its stack of open calls, and its row of the thread table. A
 * thread whose calls are on the unknown lane has a track of its own for them, without a thread index.
 *
 * Owner: the thread. Collector: the one thread that holds the session's `collecting` flag.
 */
#ifndef LSC_TRACK_H
#define LSC_TRACK_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "chunk.h"
#include "lanescope.h"

struct lsc_task_record;

struct lsc_token_slot;

/* Row of a call that began while its session was paused. Its end, by the owner of the stack, makes it free again. */
struct lsc_muted {
  struct lsc_row row;
  struct lsc_muted *next;
};

/*
 * An open call that was handed out as a token, by its frame. Its row may be gone together with its chunk as soon as
 * somebody has ended it, so the stack's owner goes by this, and touches the row only once it has claimed the slot.
 */
struct lsc_held {
  struct lsc_token_slot *slot;
  uint32_t depth, region;
};

/*
 * Open calls, innermost last. Belongs to the thread that runs on it: its own, or that of the task whose step it runs.
 * While `lost` > 0 calls are being dropped for want of memory: then depth and capacity are 0, so that every begin and
 * end takes the slow path, and what they were is kept aside.
 */
struct lsc_stack {
  struct lsc_row **frame;
  uint32_t depth, capacity;
  uint32_t held_count, held_capacity;
  struct lsc_held *held;        /* by depth */
  struct lsc_token_slot *spare; /* slots of calls that are over */
  uint32_t lost, kept_depth, kept_capacity;
  struct lsc_muted *muted, *spare_muted; /* open or just ended, innermost first; free ones */
};
void lsc_stack_free(struct lsc_stack *stack);
/* Enters a call that is not recorded: its frame leads to a row outside every chunk. 0 without memory. */
int lsc_stack_mute(struct lsc_stack *stack, uint32_t region);

/* 1 if the innermost call is a held one. */
static inline int lsc_stack_holds_top(const struct lsc_stack *stack) {
  return stack->held_count && stack->held[stack->held_count - 1].depth == stack->depth - 1;
}

/* How a thread is called, as its owner says. Never changed once published; an older one stays until the track goes. */
struct lsc_thread_label {
  struct lsc_thread_label *older;
  int64_t ident;
  int daemon;
  char name[];
};

#define LSC_OS_NAME 16

/* Rows, and for who reads them the next one. */
struct lsc_row_list {
  size_t count, capacity, next;
  struct lsc_row *row[];
};

struct lsc_track {
  /* Hot, the owner's alone. */
  struct lsc_row *next, *limit; /* of the current chunk; equal where the next call needs a new one */
  struct lsc_stack *stack;      /* own, or the task's */
  uint32_t thread;              /* thread index + 1, 0 on the unknown lane */
  uint32_t task;                /* task index + 1, 0 outside any task */
  struct lsc_task_record *running; /* innermost task whose step runs, or NULL */
  _Atomic uint32_t shown_task;     /* `task` for others to look at; relaxed: nothing hangs on it */
  struct lsc_stack own;

  /* The owner's, rarely. */
  struct lsc_chunk *chunk; /* current, or NULL before the first call */
  _Atomic uint64_t dropped;    /* relaxed: a count that nothing hangs on, which the collector reads */
  _Atomic uint64_t slow_ticks; /* relaxed, likewise: time spent off the fast path, an estimate */

  /* Written at registration, before the track is published. */
  struct lsc_chunk_source *source;
  pid_t native_id;
  clockid_t cpu_clock;
  int64_t ident;
  uint64_t start_ticks;

  /* Release by the owner with the first chunk; acquire by the collector, which then moves it on, relaxed: the next
   * collector comes by the session's `collecting`, who frees the track by `references`. */
  _Atomic(struct lsc_chunk *) first;
  _Atomic(struct lsc_thread_label *) label; /* release by the owner; acquire by the collector: publishes the label */

  /* Written by the owner when its language says that the thread is over, which is a little before its end. */
  int64_t over_cpu_ns;
  _Atomic uint64_t over_ticks; /* release by the owner, after the time above; acquire by the collector; 0: not yet */

  /* Written by the owner as its thread ends, before `ended`. */
  uint64_t end_ticks;
  int64_t cpu_ns;
  char os_name[LSC_OS_NAME];
  _Atomic int
      ended; /* release by the owner, its last touch of the track but for the release; acquire by the collector */

  /* The collector's: where the next snapshot begins, and the calls before that which were open at the last commit. */
  struct lsc_chunk *cursor_chunk; /* NULL: `first` */
  uint32_t cursor_row;
  struct lsc_row_list *carried; /* or NULL */
  uint64_t reported_dropped, reported_slow_ticks;
  int marked; /* some call of it was ended by mark; under the session's `commit` */

  _Atomic uint32_t references; /* the session's and the owner's; acq_rel: the last one frees after everybody's use */
};

/* A track for the calling thread with two references, not published. known: its calls have this thread. NULL without
 * memory. */
struct lsc_track *lsc_track_new(struct lsc_chunk_source *source, int known);
void lsc_track_release(struct lsc_track *track);

/* By the owner: makes room for one more call and its frame. 0 without memory. */
int lsc_track_grow(struct lsc_track *track);
/* By the owner: the thread's end is now, whatever it still does. The first time counts. */
void lsc_track_over(struct lsc_track *track);
/* By the owner as its thread ends, after lsc_task_leave_all where its session is open: fixes end, CPU time and name,
 * and gives back what is unused. */
void lsc_track_end(struct lsc_track *track);
/* By the owner. LSC_OK, LSC_NO_MEMORY. */
lsc_status lsc_track_describe(struct lsc_track *track, const char *name, size_t length, int64_t ident, int daemon);

#endif
