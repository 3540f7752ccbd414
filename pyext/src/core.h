/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the extension module lanescope._core share. Every function here is called with the GIL held. */
#ifndef LSC_CORE_H
#define LSC_CORE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <lanescope_binding.h>

struct lsc_core_recorder;

/* State of one instance of the module. The types hold the module, so every object of theirs may point to the state. */
typedef struct lsc_core_state {
  struct lsc_core_recorder *recorder; /* of lanescope.region and lanescope.profile */
  PyTypeObject *recorder_type, *region_method_type, *call_type, *region_type, *profiled_type, *report_type;
  PyObject *error, *state_error, *collect_error, *nesting_error;
  PyObject *stats_dtype; /* NumPy's dtype of lsc_stats */
  struct lsc_core_hooks *hooks; /* tracking.h */
} lsc_core_state;

static inline lsc_core_state *lsc_core_state_of(PyObject *module) {
  return (lsc_core_state *)PyModule_GetState(module);
}

/* Each adds its part to a new module: 0, or -1 with an exception. */
int lsc_core_add_errors(PyObject *module, lsc_core_state *state);
int lsc_core_add_region(PyObject *module, lsc_core_state *state);
int lsc_core_add_call(PyObject *module, lsc_core_state *state);
int lsc_core_add_profiled(PyObject *module, lsc_core_state *state);
int lsc_core_add_report(PyObject *module, lsc_core_state *state);
int lsc_core_add_recorder(PyObject *module, lsc_core_state *state);
int lsc_core_add_arrays(PyObject *module);
int lsc_core_add_nest(PyObject *module);

/* A type of the module, from its spec, added to the module under its name. New reference or NULL. */
PyTypeObject *lsc_core_add_type(PyObject *module, PyType_Spec *spec);

/* tp_dealloc of a type whose objects hold nothing that its tp_clear does not give up. */
void lsc_core_dealloc(PyObject *op);

/* A one-dimensional int64 array of the integers in `object`, which has that name in messages. New reference or NULL. */
PyObject *lsc_core_integers(PyObject *object, const char *name);

/* Raises what a status other than LSC_OK means, with the library's message of this thread. Returns NULL. */
PyObject *lsc_core_raise(lsc_core_state *state, lsc_status status);

/* The same; after LSC_APART the exception's `written` is the path of this rank's own file. */
PyObject *lsc_core_raise_written(lsc_core_state *state, lsc_status status, const char *written);

/* Of a call into the library that may wait long: the thread state without which it runs, and what a signal raised. */
struct lsc_core_wait {
  PyThreadState *thread;
  PyObject *type, *error, *traceback; /* NULL: nothing */
};

/* `interrupted` of lsc_save_options, of such a wait: runs Python's handlers of signals, on the main thread. */
int lsc_core_interrupted(void *wait);

/* 1 and raises what a signal raised meanwhile, if it did; an exception that is set already becomes its context. */
int lsc_core_raise_interrupt(struct lsc_core_wait *wait);

/* Where a region stands in the source; file is a str or NULL, line 0 when unknown. */
typedef struct lsc_core_source {
  PyObject *file;
  int line;
} lsc_core_source;

/* session: written by open, close and save, read by every region and decorated function; 0: none is open. */
typedef struct lsc_core_recorder {
  PyObject_HEAD
  lsc_session session;
  int joined; /* somebody else opened the session and will close it */
  int is_default;
  lsc_core_state *state;
  PyObject *regions; /* dict: name -> Region; NULL once the recorder is being deleted */
} lsc_core_recorder;

/* The session to record into, or 0. The default recorder finds the one that C or Fortran opened. */
static inline lsc_session lsc_core_session(const lsc_core_recorder *recorder) {
  if (recorder->session || !recorder->is_default) return recorder->session;
  return lsc_session_default();
}

/* Head of every Region, so that decorated functions reach the id. */
typedef struct lsc_core_region {
  PyObject_HEAD
  lsc_core_recorder *recorder; /* stays until the region is deallocated */
  lsc_region_id id;
  PyObject *name;
  PyObject *enter, *exit; /* the methods, bound once: a `with` makes no object */
  lsc_mark last;          /* the last call that was begun, until one is ended */
} lsc_core_region;

/*
 * The recorder's Region of that name, made at its first use with that source; source NULL: the line of the running
 * Python code. New reference; NULL: TypeError if name is no str, ValueError if the library cannot take it, Error.
 */
lsc_core_region *lsc_core_region_get(lsc_core_recorder *recorder, PyObject *name, const lsc_core_source *source);

/* A call of the region that has not begun. New reference or NULL. */
PyObject *lsc_core_call_new(lsc_core_region *region);

/* The type of Region.__enter__ and Region.__exit__. */
PyTypeObject *lsc_core_region_method_type(PyObject *module);
/* bound: the offset in lsc_core_region of the object that stands for the method once bound. New reference or NULL. */
PyObject *lsc_core_region_method_new(lsc_core_state *state, const char *name, size_t bound);

/* Names the calling thread by what Python's threading module knows of it. The hook of lsc_on_first_use. */
void lsc_core_describe_thread(lsc_session session);

/* What a thread of `threading` needs at its first use of a session: its end noted, and its greenlets followed. */
void lsc_core_welcome_thread(PyObject *thread);

/* Threads, asyncio tasks and greenlets: tracking.h. The hooks live and die with the module. */
int lsc_core_add_tracking(PyObject *module, lsc_core_state *state);
int lsc_core_traverse_tracking(lsc_core_state *state, visitproc visit, void *arg);
void lsc_core_clear_tracking(lsc_core_state *state);
void lsc_core_free_tracking(lsc_core_state *state);
/* A Tracker over an open session, which stays the caller's; 0: over one of its own. New reference or NULL. */
PyObject *lsc_core_tracker_new(lsc_core_state *state, lsc_session session);

struct lsc_report;
/* A Report that owns the report, which is freed also on failure. New reference or NULL. */
PyObject *lsc_core_report_new(lsc_core_state *state, struct lsc_report *report);

#endif
