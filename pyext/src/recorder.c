/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * class Recorder:
 *     "What regions record into: one session at a time."
 *     session = 0  # handle of the open session
 *     def region(self, name): return self.regions.setdefault(name, Region(...))
 *     def open(self, label, no_lanes): ...
 *
 * What users see of it is in lanescope/_session.py.
 */
#include "core.h"

#include <lanescope_file.h>
#include <limits.h>

static PyObject *none_or_raise(lsc_core_state *state, lsc_status status) {
  if (status != LSC_OK) return lsc_core_raise(state, status);
  Py_RETURN_NONE;
}

/* 1 if C or Fortran has opened a default session, which is this recorder's now, too. */
static int join_default(lsc_core_recorder *self) {
  lsc_session session = self->is_default ? lsc_session_default() : 0;
  self->joined = session != 0;
  if (session) self->session = session;
  return self->joined;
}

static PyObject *recorder_open(PyObject *op, PyObject *args) {
  lsc_core_recorder *self = (lsc_core_recorder *)op;
  const char *label;
  int no_lanes;
  if (!PyArg_ParseTuple(args, "zp:open", &label, &no_lanes)) return NULL;
  if (lsc_session_is_open(self->session)) {
    PyErr_SetString(self->state->state_error, "a session is open already");
    return NULL;
  }
  if (join_default(self)) Py_RETURN_TRUE;
  lsc_session_options options = {.size = sizeof options, .label = label, .no_lanes = no_lanes};
  lsc_session session;
  lsc_status status = lsc_session_open(&options, &session);
  if (status != LSC_OK) return lsc_core_raise(self->state, status);
  self->session = session;
  if (self->is_default) lsc_session_set_default(session);
  Py_RETURN_FALSE;
}

static PyObject *recorder_pause(PyObject *op, PyObject *unused) {
  (void)unused;
  lsc_core_recorder *self = (lsc_core_recorder *)op;
  return none_or_raise(self->state, lsc_session_pause(self->session));
}

static PyObject *recorder_resume(PyObject *op, PyObject *unused) {
  (void)unused;
  lsc_core_recorder *self = (lsc_core_recorder *)op;
  return none_or_raise(self->state, lsc_session_resume(self->session));
}

static PyObject *recorder_attach(PyObject *op, PyObject *args) {
  lsc_core_recorder *self = (lsc_core_recorder *)op;
  lsc_session session = self->session;
  int comm;
  PyObject *path;
  double timeout;
  if (!PyArg_ParseTuple(args, "iO&d:attach", &comm, PyUnicode_FSConverter, &path, &timeout)) return NULL;
  PyThreadState *thread = PyEval_SaveThread();
  lsc_status status = lsc_attach_for_file(session, comm, PyBytes_AS_STRING(path), timeout);
  PyEval_RestoreThread(thread);
  Py_DECREF(path);
  return none_or_raise(self->state, status);
}

static int to_path_or_null(PyObject *value, void *path) {
  if (value != Py_None) return PyUnicode_FSConverter(value, path);
  *(PyObject **)path = NULL;
  return 1;
}

static PyObject *recorder_collect_at_exit(PyObject *op, PyObject *args, PyObject *kwargs) {
  static char *keywords[] = {"path", "timeout", "quiet", "python_version", "compress", NULL};
  lsc_core_recorder *self = (lsc_core_recorder *)op;
  lsc_save_options options = {.size = sizeof options};
  PyObject *path = NULL;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&|$dpzi:collect_at_exit", keywords, to_path_or_null, &path,
                                   &options.timeout, &options.quiet, &options.python_version, &options.compress)) {
    return NULL;
  }
  lsc_status status = lsc_collect_at_exit(self->session, path ? PyBytes_AS_STRING(path) : NULL, &options);
  Py_XDECREF(path);
  return none_or_raise(self->state, status);
}

/* Other threads record into it until it is closed, and into nothing afterwards. */
static lsc_status close_session(lsc_core_recorder *self, lsc_session session) {
  if (self->joined) {
    self->session = 0;
    return LSC_OK;
  }
  PyThreadState *thread = PyEval_SaveThread();
  lsc_status status = lsc_session_close(session);
  if (status != LSC_BUSY) lsc_detach(session);
  PyEval_RestoreThread(thread);
  if (status != LSC_BUSY && self->session == session) self->session = 0;
  return status;
}

static PyObject *recorder_close(PyObject *op, PyObject *unused) {
  (void)unused;
  lsc_core_recorder *self = (lsc_core_recorder *)op;
  return none_or_raise(self->state, close_session(self, self->session));
}

static PyObject *recorder_is_open(PyObject *op, PyObject *unused) {
  (void)unused;
  lsc_core_recorder *self = (lsc_core_recorder *)op;
  int is_open = lsc_session_is_open(self->session);
  if (!is_open) self->session = 0; /* closed by who opened it, or the parent's of a fork */
  return PyBool_FromLong(is_open);
}

static PyObject *core_mpi_is_active(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  return PyBool_FromLong(lsc_mpi_is_active());
}

/* What one save has to say beside its status. */
struct saved {
  char path[PATH_MAX];
  lsc_report *report;
  int rank, size;
  struct lsc_core_wait wait;
};

static PyObject *saved_tuple(lsc_core_state *state, struct saved *saved) {
  PyObject *report = Py_None;
  Py_INCREF(report);
  if (saved->report) {
    Py_DECREF(report);
    report = lsc_core_report_new(state, saved->report);
    if (!report) return NULL;
  }
  PyObject *path = PyUnicode_DecodeFSDefault(saved->path);
  if (path) return Py_BuildValue("NNii", path, report, saved->rank, saved->size);
  Py_DECREF(report);
  return NULL;
}

static lsc_status save(lsc_session session, const char *path, lsc_save_options *options, struct saved *saved) {
  options->report = &saved->report;
  options->written = saved->path;
  options->written_size = sizeof saved->path;
  options->interrupted = lsc_core_interrupted;
  options->interrupted_context = &saved->wait;
  saved->wait.thread = PyEval_SaveThread();
  lsc_rank_of(session, &saved->rank, &saved->size);
  lsc_status status = lsc_save(session, path, options);
  PyEval_RestoreThread(saved->wait.thread);
  return status;
}

/* After LSC_APART the calls are written, each rank's to a file of its own: there is nothing to keep the session for. */
static PyObject *recorder_save(PyObject *op, PyObject *args, PyObject *kwargs) {
  static char *keywords[] = {"path", "timeout", "replace", "quiet", "python_version", "close", "keep_events",
                             "leaving", "compress", NULL};
  lsc_core_recorder *self = (lsc_core_recorder *)op;
  lsc_session session = self->session;
  lsc_save_options options = {.size = sizeof options};
  struct saved saved = {.path = "", .report = NULL};
  PyObject *path = NULL;
  int close = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&|$dppzpppi:save", keywords, PyUnicode_FSConverter, &path,
                                   &options.timeout, &options.replace, &options.quiet, &options.python_version,
                                   &close, &options.keep_events, &options.leaving, &options.compress)) {
    return NULL;
  }
  lsc_status status = save(session, PyBytes_AS_STRING(path), &options, &saved);
  Py_DECREF(path);
  if (status != LSC_OK) lsc_core_raise_written(self->state, status, saved.path);
  if (close && (status == LSC_OK || status == LSC_APART)) close_session(self, session);
  if (lsc_core_raise_interrupt(&saved.wait)) {
    lsc_report_free(saved.report);
    return NULL;
  }
  return status == LSC_OK ? saved_tuple(self->state, &saved) : NULL;
}

static PyObject *recorder_collected_at_exit(PyObject *op, PyObject *unused) {
  (void)unused;
  lsc_core_recorder *self = (lsc_core_recorder *)op;
  struct saved saved = {.path = "", .report = NULL};
  lsc_rank_of(self->session, &saved.rank, &saved.size);
  lsc_status status = lsc_collected_at_exit(self->session, &saved.report, saved.path, sizeof saved.path);
  if (status == LSC_INACTIVE) Py_RETURN_NONE;
  return status == LSC_OK ? saved_tuple(self->state, &saved)
                          : lsc_core_raise_written(self->state, status, saved.path);
}

static PyObject *recorder_rank(PyObject *op, PyObject *unused) {
  (void)unused;
  int rank, size;
  lsc_rank_of(((lsc_core_recorder *)op)->session, &rank, &size);
  return Py_BuildValue("ii", rank, size);
}

static PyObject *recorder_uncollected(PyObject *op, PyObject *unused) {
  (void)unused;
  lsc_core_recorder *self = (lsc_core_recorder *)op;
  lsc_session session = self->session;
  uint64_t calls;
  PyThreadState *thread = PyEval_SaveThread();
  lsc_status status = lsc_uncollected(session, &calls);
  PyEval_RestoreThread(thread);
  return status == LSC_OK ? PyLong_FromUnsignedLongLong(calls) : lsc_core_raise(self->state, status);
}

static PyObject *recorder_region(PyObject *op, PyObject *name) {
  return (PyObject *)lsc_core_region_get((lsc_core_recorder *)op, name, NULL);
}

static PyMethodDef recorder_methods[] = {
    {"region", recorder_region, METH_O,
     "region($self, name, /)\n--\n\n"
     "The region of that name: `with lanescope.region(\"solve\"):` records one call of it."},
    {"open", recorder_open, METH_VARARGS, "open($self, label, no_lanes, /)\n--\n\n"
     "Opens a session, or joins the one that C or Fortran opened. Returns whether it joined."},
    {"pause", recorder_pause, METH_NOARGS, "pause($self)\n--\n\nCalls that begin from now on are not recorded."},
    {"resume", recorder_resume, METH_NOARGS, "resume($self)\n--\n\nThey are again."},
    {"attach", recorder_attach, METH_VARARGS,
     "attach($self, comm, path, timeout, /)\n--\n\nGives it the communicator with this Fortran handle; collective. path: "
     "of its file, for the message when a rank is missing."},
    {"collect_at_exit", (PyCFunction)(void (*)(void))recorder_collect_at_exit, METH_VARARGS | METH_KEYWORDS,
     "collect_at_exit($self, path, *, timeout, quiet, python_version, compress)\n--\n\n"
     "Has it saved at the start of MPI_Finalize, unless it was saved to this path before. None: not any more."},
    {"collected_at_exit", recorder_collected_at_exit, METH_NOARGS,
     "collected_at_exit($self)\n--\n\nWhat save would have returned then, or None if nothing was saved."},
    {"rank", recorder_rank, METH_NOARGS, "rank($self)\n--\n\n(rank, number of ranks) of its communicator."},
    {"uncollected", recorder_uncollected, METH_NOARGS,
     "uncollected($self)\n--\n\nHow many calls were completed since the last save."},
    {"save", (PyCFunction)(void (*)(void))recorder_save, METH_VARARGS | METH_KEYWORDS,
     "save($self, path, *, timeout, replace, quiet, python_version, close, keep_events, leaving, compress)\n--\n\n"
     "Writes what is new, and closes the session if asked to and if that went well. keep_events: the Report of a rank\n"
     "that is alone holds /events, too. leaving: waits for the others no longer than the grace.\n"
     "Returns (path of the file with this rank's calls, Report or None, rank, number of ranks)."},
    {"close", recorder_close, METH_NOARGS, "close($self)\n--\n\nCloses it and drops what was not saved."},
    {"is_open", recorder_is_open, METH_NOARGS, "is_open($self)\n--\n\nWhether it is open."},
    {NULL, NULL, 0, NULL},
};

static PyObject *recorder_handle(PyObject *op, void *unused) {
  (void)unused;
  return PyLong_FromUnsignedLongLong(((lsc_core_recorder *)op)->session);
}

#define CAPSULE_NAME "lanescope.session"

static void release_recorder(PyObject *capsule) {
  Py_XDECREF((PyObject *)PyCapsule_GetContext(capsule));
}

static PyObject *recorder_capsule(PyObject *op, void *unused) {
  (void)unused;
  PyObject *capsule = PyCapsule_New(&((lsc_core_recorder *)op)->session, CAPSULE_NAME, release_recorder);
  if (!capsule) return NULL;
  Py_INCREF(op);
  if (PyCapsule_SetContext(capsule, op) == 0) return capsule;
  Py_DECREF(op);
  Py_DECREF(capsule);
  return NULL;
}

static PyGetSetDef recorder_attributes[] = {
    {"capsule", recorder_capsule, NULL,
     "A capsule \"" CAPSULE_NAME "\": a pointer to the lsc_session, 0 if there is none.", NULL},
    {"handle", recorder_handle, NULL, "The handle of the session in C, 0 if there is none.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyObject *recorder_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  static char *keywords[] = {NULL};
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, ":Recorder", keywords)) return NULL;
  lsc_core_recorder *self = (lsc_core_recorder *)type->tp_alloc(type, 0);
  if (!self) return NULL;
  self->state = (lsc_core_state *)PyType_GetModuleState(type);
  self->regions = PyDict_New();
  if (self->regions) return (PyObject *)self;
  Py_DECREF(self);
  return NULL;
}

static int recorder_traverse(PyObject *op, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(op));
  Py_VISIT(((lsc_core_recorder *)op)->regions);
  return 0;
}

static int recorder_clear(PyObject *op) {
  Py_CLEAR(((lsc_core_recorder *)op)->regions);
  return 0;
}

static PyType_Slot recorder_slots[] = {
    {Py_tp_doc, "What regions record into: one session at a time."},
    {Py_tp_new, recorder_new},
    {Py_tp_dealloc, lsc_core_dealloc},
    {Py_tp_traverse, recorder_traverse},
    {Py_tp_clear, recorder_clear},
    {Py_tp_methods, recorder_methods},
    {Py_tp_getset, recorder_attributes},
    {0, NULL},
};

static PyType_Spec recorder_spec = {
    .name = "lanescope._core.Recorder",
    .basicsize = sizeof(lsc_core_recorder),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = recorder_slots,
};

static PyMethodDef mpi_functions[] = {
    {"mpi_is_active", core_mpi_is_active, METH_NOARGS,
     "mpi_is_active()\n--\n\nWhether MPI is initialized and not finalized in this process."},
    {NULL, NULL, 0, NULL},
};

int lsc_core_add_recorder(PyObject *module, lsc_core_state *state) {
  state->recorder_type = lsc_core_add_type(module, &recorder_spec);
  if (!state->recorder_type) return -1;
  state->recorder = (lsc_core_recorder *)PyObject_CallNoArgs((PyObject *)state->recorder_type);
  if (!state->recorder) return -1;
  state->recorder->is_default = 1;
  Py_INCREF(state->recorder);
  if (PyModule_AddObject(module, "recorder", (PyObject *)state->recorder) < 0) {
    Py_DECREF(state->recorder);
    return -1;
  }
  if (PyModule_AddIntConstant(module, "COMM_WORLD", LSC_COMM_WORLD) < 0) return -1;
  return PyModule_AddFunctions(module, mpi_functions);
}
