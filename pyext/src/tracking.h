/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads, asyncio tasks and greenlets as lanes. A tracker is a session of the library, of its own or a lanescope
 * session's; the hooks of the module serve all trackers that are installed. Everything under the GIL.
 */
#ifndef LSC_TRACKING_H
#define LSC_TRACKING_H

#include "core.h"

#include <lanescope_binding.h>

/* class Tracker. session: 0 until it is needed. */
typedef struct lsc_core_tracker {
  PyObject_HEAD
  lsc_core_state *state;
  lsc_session session;
  int owned;
  PyObject *weak_references;
} lsc_core_tracker;

/* A list of trackers, which it holds. */
typedef struct lsc_core_trackers {
  size_t count;
  lsc_core_tracker **tracker;
} lsc_core_trackers;

struct lsc_core_coroutine;

/* What the module knows of hooks. version: grows whenever a list changes. */
struct lsc_core_hooks {
  lsc_core_trackers installed, async; /* async: those of them that follow tasks */
  unsigned version;
  struct lsc_core_coroutine *live; /* wrapped coroutines that are not over */
  PyTypeObject *tracker_type, *coroutine_type, *loop_method_type, *thread_hook_type;
  PyTypeObject *greenlet_hook_type, *greenlet_lanes_type, *thread_end_type;
  PyObject *get_name, *name, *qualname, *throw_, *close, *parent, *gr_frame, *run, *hook_key, *end_key; /* interned */
  PyObject *iscoroutine;                                                        /* asyncio's, or NULL */
  PyObject *settrace, *gettrace, *getcurrent; /* greenlet's, or NULL */
  getter greenlet_is_dead;
};

/* Each adds its part to a new module: 0, or -1 with an exception. */
int lsc_core_add_tracker(PyObject *module, lsc_core_state *state);
int lsc_core_add_tracker_tables(PyObject *module);
int lsc_core_add_coroutine(PyObject *module, lsc_core_state *state);
int lsc_core_add_loop_method(PyObject *module, lsc_core_state *state);
int lsc_core_add_thread_hook(PyObject *module, lsc_core_state *state);
int lsc_core_add_thread_end(PyObject *module, lsc_core_state *state);
int lsc_core_add_greenlet_hook(PyObject *module, lsc_core_state *state);
int lsc_core_add_greenlet_lanes(PyObject *module, lsc_core_state *state);

/* Opens the tracker's own session if it has none. 0, or -1 with an exception. */
int lsc_core_tracker_open(lsc_core_tracker *tracker);

/* A task in one tracker. */
typedef struct lsc_core_lane {
  lsc_task task;
  struct lsc_task_record *place;
  int entered;
} lsc_core_lane;

/* A task in every tracker that follows it. All zeros: in none. */
typedef struct lsc_core_lanes {
  unsigned count;
  lsc_core_lane one; /* where there is but one */
  lsc_core_lane *many;
} lsc_core_lanes;

static inline lsc_core_lane *lsc_core_lane_at(lsc_core_lanes *lanes, unsigned i) {
  return lanes->many ? &lanes->many[i] : &lanes->one;
}

/* Opens the task in a tracker whose session is open and that does not have it; what cannot be opened is left out. */
void lsc_core_lanes_open(lsc_core_lanes *lanes, lsc_core_tracker *tracker, const char *kind, const char *name,
                         const char *coro_name);
void lsc_core_lanes_finish(lsc_core_lanes *lanes);
void lsc_core_lanes_rename(lsc_core_lanes *lanes, const char *name, const char *coro_name);
void lsc_core_lanes_free(lsc_core_lanes *lanes);
int lsc_core_lanes_has(lsc_core_lanes *lanes, lsc_session session);

static inline void lsc_core_lanes_enter(lsc_core_lanes *lanes) {
  for (unsigned i = 0; i < lanes->count; i++) {
    lsc_core_lane *lane = lsc_core_lane_at(lanes, i);
    lane->entered = lsc_task_switch_at(lane->task.session, LSC_API_PYTHON, NULL, lane->place) == LSC_OK;
  }
}

static inline void lsc_core_lanes_leave(lsc_core_lanes *lanes) {
  for (unsigned i = 0; i < lanes->count; i++) {
    lsc_core_lane *lane = lsc_core_lane_at(lanes, i);
    if (lane->entered) lsc_task_switch_at(lane->task.session, LSC_API_PYTHON, lane->place, NULL);
    lane->entered = 0;
  }
}

/* The text of a str as the library takes it: UTF-8, cut to LSC_MAX_NAME. holder: receives NULL or what keeps the text,
 * beside the str. "" for what is no str; no exception is left. */
const char *lsc_core_text(PyObject *object, PyObject **holder);
/* `object.attribute`, or NULL without an exception. New reference. */
PyObject *lsc_core_attribute(PyObject *object, PyObject *attribute);

/*
 * A coroutine that stands for the user's and notes when it runs. tracker: the one that follows it; NULL: all that
 * follow tasks. New reference or NULL.
 */
PyObject *lsc_core_coroutine_new(struct lsc_core_hooks *hooks, PyObject *inner, lsc_core_tracker *tracker);
/* Tells a wrapped coroutine its task, which is in the tables from now on. */
void lsc_core_coroutine_bind(PyObject *coroutine, PyObject *task);
/* 1 if it is a wrapped coroutine that the tracker (or, with NULL, any) follows. */
int lsc_core_coroutine_has(struct lsc_core_hooks *hooks, PyObject *object, lsc_core_tracker *tracker);
/* Brings the names of the tasks that go on up to date. */
void lsc_core_refresh_names(struct lsc_core_hooks *hooks);

/* Sees to it that switches between greenlets of this thread are followed, if any tracker wants that. Leaves no
 * exception. */
void lsc_core_watch_greenlets(struct lsc_core_hooks *hooks);
/* The lanes of a greenlet that is seen for the first time, by a weak reference to it; `owner`, a dict by address, holds
 * it. New reference or NULL. */
struct lsc_core_greenlet_lanes *lsc_core_greenlet_lanes_new(struct lsc_core_hooks *hooks, PyObject *greenlet,
                                                            PyObject *owner);

/* A task, or main greenlet, of a thread. */
typedef struct lsc_core_greenlet_lanes {
  PyObject_HEAD
  vectorcallfunc vectorcall; /* called when the greenlet is gone */
  struct lsc_core_hooks *hooks;
  void *greenlet; /* its address; NULL once it is gone */
  PyObject *reference, *owner;
  unsigned version; /* of the trackers that it was opened in */
  int is_main, is_named, is_over;
  lsc_core_lanes lanes;
} lsc_core_greenlet_lanes;

/* Opens the greenlet in trackers that came later. */
void lsc_core_greenlet_lanes_update(lsc_core_greenlet_lanes *self, PyObject *greenlet);
/* Names the function that the greenlet runs, by the frames that it has while it is switched away. */
void lsc_core_greenlet_lanes_name(lsc_core_greenlet_lanes *self, PyObject *greenlet);

#endif
