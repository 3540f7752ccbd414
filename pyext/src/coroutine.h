/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LSC_COROUTINE_H
#define LSC_COROUTINE_H

#include "tracking.h"

typedef struct lsc_core_coroutine {
  PyObject_HEAD
  struct lsc_core_hooks *hooks;
  PyObject *inner;           /* the user's; NULL once cleared */
  lsc_core_lanes lanes;
  char is_open, in_step, has_run, is_over;
  lsc_core_tracker *tracker; /* the only one that follows it, or NULL: all */
  PyObject *task;            /* weak reference, or NULL */
  PyObject *name;            /* of the task, as the trackers have it, or NULL */
  PyObject *weak_references;
  struct lsc_core_coroutine *next, **link; /* in hooks->live; link NULL: not in it */
} lsc_core_coroutine;

/* Makes the task known to those that follow it: when its Task is there, or at its first step if that comes before. */
void lsc_core_coroutine_open(lsc_core_coroutine *self);
/* The task is over; the first time counts. A pending exception stays. */
void lsc_core_coroutine_finish(lsc_core_coroutine *self);
/* Takes it out of hooks->live. */
void lsc_core_coroutine_unlink(lsc_core_coroutine *self);

#endif
