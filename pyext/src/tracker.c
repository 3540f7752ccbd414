/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * class Tracker:
 *     "A registry of threads and tasks: a session of the library. session: a handle to use instead of one of its own."
 *     def __new__(cls, session=0): ...
 *     session, is_open                  # the handle, or 0; whether it leads to an open session
 *     def open(self): ...               # its own session, if it has none that is open
 *     def register_thread(self): ...    # the index of the calling thread
 * and the functions that put it among the installed ones. Its tables are in tracker_tables.c.
 */
#include "tracking.h"

#include <structmember.h>

int lsc_core_tracker_open(lsc_core_tracker *tracker) {
  if (lsc_session_is_open(tracker->session)) return 0;
  if (!tracker->owned) {
    PyErr_SetString(tracker->state->state_error, "the session of this tracker is closed");
    return -1;
  }
  lsc_status status = lsc_session_open(NULL, &tracker->session);
  if (status == LSC_OK) return 0;
  lsc_core_raise(tracker->state, status);
  return -1;
}

PyObject *lsc_core_tracker_new(lsc_core_state *state, lsc_session session) {
  PyTypeObject *type = state->hooks->tracker_type;
  lsc_core_tracker *self = (lsc_core_tracker *)type->tp_alloc(type, 0);
  if (!self) return NULL;
  self->state = state;
  self->session = session;
  self->owned = session == 0;
  return (PyObject *)self;
}

static PyObject *tracker_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  static char *keywords[] = {"session", NULL};
  unsigned long long session = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|K:Tracker", keywords, &session)) return NULL;
  return lsc_core_tracker_new((lsc_core_state *)PyType_GetModuleState(type), session);
}

static PyObject *tracker_open(PyObject *op, PyObject *unused) {
  (void)unused;
  if (lsc_core_tracker_open((lsc_core_tracker *)op) < 0) return NULL;
  Py_RETURN_NONE;
}

static PyObject *tracker_register_thread(PyObject *op, PyObject *unused) {
  (void)unused;
  lsc_core_tracker *self = (lsc_core_tracker *)op;
  int64_t index;
  if (lsc_core_tracker_open(self) < 0) return NULL;
  lsc_status status = lsc_thread_register_as(self->session, LSC_API_PYTHON, &index);
  return status == LSC_OK ? PyLong_FromLongLong(index) : lsc_core_raise(self->state, status);
}

static PyObject *tracker_is_open(PyObject *op, void *closure) {
  (void)closure;
  return PyBool_FromLong(lsc_session_is_open(((lsc_core_tracker *)op)->session));
}

static int tracker_traverse(PyObject *op, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(op));
  return 0;
}

static void tracker_dealloc(PyObject *op) {
  lsc_core_tracker *self = (lsc_core_tracker *)op;
  PyTypeObject *type = Py_TYPE(op);
  PyObject_GC_UnTrack(op);
  if (self->weak_references) PyObject_ClearWeakRefs(op);
  if (self->owned && self->session) lsc_session_close(self->session);
  type->tp_free(op);
  Py_DECREF(type);
}

static PyMethodDef tracker_methods[] = {
    {"open", tracker_open, METH_NOARGS, "open($self, /)\n--\n\nOpens its own session if it has none that is open."},
    {"register_thread", tracker_register_thread, METH_NOARGS,
     "register_thread($self, /)\n--\n\nThe index of the calling thread, which is registered if it is new."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef tracker_attributes[] = {
    {"is_open", tracker_is_open, NULL, "Whether its session is open in this process.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef tracker_members[] = {
    {"session", T_ULONGLONG, offsetof(lsc_core_tracker, session), READONLY, "The handle of its session, or 0."},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(lsc_core_tracker, weak_references), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot tracker_slots[] = {
    {Py_tp_doc, "Tracker(session=0)\n--\n\nA registry of threads and tasks, in a session of its own or a given one."},
    {Py_tp_new, tracker_new},
    {Py_tp_dealloc, tracker_dealloc},
    {Py_tp_traverse, tracker_traverse},
    {Py_tp_methods, tracker_methods},
    {Py_tp_getset, tracker_attributes},
    {Py_tp_members, tracker_members},
    {0, NULL},
};

static PyType_Spec tracker_spec = {
    .name = "lanescope._core.Tracker",
    .basicsize = sizeof(lsc_core_tracker),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = tracker_slots,
};

/* Puts the tracker at the end of the list; it is not there yet. 0, or -1 with an exception. */
static int add(lsc_core_trackers *list, lsc_core_tracker *tracker) {
  lsc_core_tracker **larger = PyMem_Realloc(list->tracker, (list->count + 1) * sizeof *larger);
  if (!larger) {
    PyErr_NoMemory();
    return -1;
  }
  list->tracker = larger;
  Py_INCREF(tracker);
  list->tracker[list->count++] = tracker;
  return 0;
}

/* The reference goes last: it may run code that looks at the list. */
static void drop(lsc_core_trackers *list, const lsc_core_tracker *tracker) {
  for (size_t i = 0; i < list->count; i++) {
    if (list->tracker[i] != tracker) continue;
    PyObject *held = (PyObject *)list->tracker[i];
    memmove(&list->tracker[i], &list->tracker[i + 1], (--list->count - i) * sizeof *list->tracker);
    Py_DECREF(held);
    return;
  }
}

static lsc_core_tracker *checked(struct lsc_core_hooks *hooks, PyObject *object) {
  if (PyObject_TypeCheck(object, hooks->tracker_type)) return (lsc_core_tracker *)object;
  PyErr_Format(PyExc_TypeError, "a Tracker is needed, not %.100s", Py_TYPE(object)->tp_name);
  return NULL;
}

static PyObject *core_track(PyObject *module, PyObject *args) {
  struct lsc_core_hooks *hooks = lsc_core_state_of(module)->hooks;
  PyObject *object;
  int async;
  if (!PyArg_ParseTuple(args, "Op:track", &object, &async)) return NULL;
  lsc_core_tracker *tracker = checked(hooks, object);
  if (!tracker || lsc_core_tracker_open(tracker) < 0) return NULL;
  if (add(&hooks->installed, tracker) < 0) return NULL;
  if (async && add(&hooks->async, tracker) < 0) {
    drop(&hooks->installed, tracker);
    return NULL;
  }
  hooks->version++;
  return PyLong_FromSize_t(async ? hooks->async.count : hooks->installed.count);
}

static PyObject *core_untrack(PyObject *module, PyObject *object) {
  struct lsc_core_hooks *hooks = lsc_core_state_of(module)->hooks;
  lsc_core_tracker *tracker = checked(hooks, object);
  if (!tracker) return NULL;
  hooks->version++;
  drop(&hooks->async, tracker);
  drop(&hooks->installed, tracker);
  return Py_BuildValue("nn", (Py_ssize_t)hooks->installed.count, (Py_ssize_t)hooks->async.count);
}

static PyMethodDef tracker_functions[] = {
    {"track", core_track, METH_VARARGS,
     "track(tracker, track_async, /)\n--\n\nPuts a tracker among those that the hooks serve."},
    {"untrack", core_untrack, METH_O,
     "untrack(tracker, /)\n--\n\nTakes it out. Returns how many trackers are left, and how many that follow tasks."},
    {NULL, NULL, 0, NULL},
};

int lsc_core_add_tracker(PyObject *module, lsc_core_state *state) {
  state->hooks->tracker_type = lsc_core_add_type(module, &tracker_spec);
  if (!state->hooks->tracker_type || lsc_core_add_tracker_tables(module) < 0) return -1;
  return PyModule_AddFunctions(module, tracker_functions);
}
