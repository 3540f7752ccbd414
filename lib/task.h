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

struct lsc_task_record {
  struct lsc_stack stack;
  uint32_t index;
  char *kind, *name, *coro_name; /* one allocation, at kind; freed with the session */
  uint64_t created;
  _Atomic uint64_t done;              /* 0 until the first finish; relaxed: a time that nothing hangs on */
  _Atomic uint32_t thread; /* index of the thread of the last step, LSC_TASK_NO_THREAD before; relaxed, likewise */
  /* Who runs its step, or NULL. Acquire by who enters, release by who leaves: passes the record on. Relaxed by who asks
   * only whether it is itself. */
  _Atomic(struct lsc_track *) runner;
  /* The runner's. */
  struct lsc_task_record *outer; /* the step that this one is nested in, or NULL */
  struct lsc_stack *outer_stack;
  uint64_t entered;
  /*
   * The times, by a sequence lock: `version` is odd while they change. Written by the runner, each with release after
   * the odd version, so that a reader who acquires a new value sees at least that version and tries again.
   */
  _Atomic uint32_t version;
  _Atomic uint64_t steps, running, suspended, left;
};
#define LSC_TASK_NO_THREAD UINT32_MAX

/* The times at one moment. From any thread. */
struct lsc_task_times lsc_task_read(struct lsc_task_record *task);
/* Ticks for which the task has been suspended until `now`. */
uint64_t lsc_task_suspended(struct lsc_task_record *task, uint64_t now);

/* By the owner of the track as its thread ends: leaves every step that runs on it. */
void lsc_task_leave_all(struct lsc_track *track);
/* With the last use of the track: frees the stacks of tasks whose step still ran on it when their session was closed.
 */
void lsc_task_free_running(struct lsc_track *track);
/* When the session goes: frees what the record holds, but for a stack on which a thread still is. */
void lsc_task_close(struct lsc_task_record *task);

#endif
