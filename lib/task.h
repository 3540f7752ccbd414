/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tasks: lanes that run in steps. A record belongs to the thread that runs its step; between steps to whoever enters
 * next. Its memory lives as long as the session's chunks.
 */
#ifndef LSC_TASK_H
#define LSC_TASK_H

#include "track.h"

/* Times are raw readings, sums of times raw ticks. */
struct lsc_task_times {
  uint64_t steps, running, suspended;
  uint64_t left; /* when the last step ended; 0 before the first and within one */
};

/* How a task is called. Never changed once published; an older one stays until the session goes. */
struct lsc_task_label {
  struct lsc_task_label *older;
  const char *name, *coro_name; /* in text */
  char text[];
};

struct lsc_task_record {
  struct lsc_stack stack;
  uint32_t index;
  const char *kind;                         /* in the text of the first label */
  _Atomic(struct lsc_task_label *) label;   /* release by who names the task; acquire by who reads its name */
  uint64_t created;
  _Atomic uint64_t done;              /* 0 until the first finish; relaxed: a time that nothing hangs on */
  _Atomic uint32_t thread; /* index of the thread of the last step, LSC_TASK_NO_THREAD before; relaxed, likewise */
  /*
   * The track that runs its step, or 0, with LSC_TASK_CLOSED once the session has gone. Acquire by who enters, release
   * by who leaves: passes the record on. Whoever makes it LSC_TASK_CLOSED alone, the close or the last leave, frees the
   * stack.
   */
  _Atomic uintptr_t runner;
  /* The runner's. */
  _Atomic uint64_t entered; /* relaxed: for others to look at */
  struct lsc_task_record *outer; /* the step that this one is nested in, or NULL */
  struct lsc_stack *outer_stack;
  struct lsc_task_record *parked; /* the step nested in this one that goes on when it does, or NULL */
  /*
   * The times, by a sequence lock: `version` is odd while they change. Written by the runner, each with release after
   * the odd version, so that a reader who acquires a new value sees at least that version and tries again.
   */
  _Atomic uint32_t version;
  _Atomic uint64_t steps, running, suspended, left;
};
#define LSC_TASK_NO_THREAD UINT32_MAX
#define LSC_TASK_CLOSED ((uintptr_t)1)

/* Where a first label lies that shares the record's memory. */
static inline struct lsc_task_label *lsc_task_own_label(struct lsc_task_record *task) {
  return (struct lsc_task_label *)(task + 1);
}
void lsc_task_free_labels(struct lsc_task_record *task);

struct lsc_session_state;
/* The record of the handle, whose session is pinned, or NULL. */
struct lsc_task_record *lsc_task_of(struct lsc_session_state *state, lsc_task handle);

/* The times at one moment. From any thread. */
struct lsc_task_times lsc_task_read(struct lsc_task_record *task);
/* Ticks for which the task has been suspended until `now`. */
uint64_t lsc_task_suspended(struct lsc_task_record *task, uint64_t now);

/* By the owner of the track as its thread ends: leaves every step that runs on it. */
void lsc_task_leave_all(struct lsc_track *track);
/* With the last use of the track: frees the stacks of tasks whose step still ran on it when their session was closed.
 */
void lsc_task_free_running(struct lsc_track *track);
/* When the session goes: frees what the record holds, but for a stack on which a thread still is. A step that runs may
 * be left meanwhile, and a new one finds the task closed. */
void lsc_task_close(struct lsc_task_record *task);

#endif
