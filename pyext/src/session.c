/* SPDX-License-Identifier: BSD-3-Clause */
/* The session of this module: open, attach, save, close. What users see of it is in lanescope/_session.py. */
#include "core.h"

#include <lanescope_file.h>
#include <limits.h>

static PyObject *none_or_raise(lsc_core_state *state, lsc_status status) {
  if (status != LSC_OK) return lsc_core_raise(state, status);
  Py_RETURN_NONE;
}

static PyObject *core_open(PyObject *module, PyObject *args) {
  lsc_core_state *state = lsc_core_state_of(module);
  const char *label;
  if (!PyArg_ParseTuple(args, "z:open", &label)) return NULL;
  if (lsc_session_is_open(state->session)) {
    PyErr_SetString(state->state_error, "a session is open already");
    return NULL;
  }
  lsc_session_options options = {.size = sizeof options, .label = label};
  lsc_session session;
  lsc_status status = lsc_session_open(&options, &session);
  if (status == LSC_OK) state->session = session;
  return none_or_raise(state, status);
}

static PyObject *core_attach(PyObject *module, PyObject *args) {
  lsc_core_state *state = lsc_core_state_of(module);
  lsc_session session = state->session;
  int comm;
  double timeout;
  if (!PyArg_ParseTuple(args, "id:attach", &comm, &timeout)) return NULL;
  PyThreadState *thread = PyEval_SaveThread();
  lsc_status status = lsc_attach_fortran(session, comm, timeout);
  PyEval_RestoreThread(thread);
  return none_or_raise(state, status);
}

static PyObject *core_collect_at_exit(PyObject *module, PyObject *args, PyObject *kwargs) {
  static char *keywords[] = {"path", "timeout", "quiet", "python_version", NULL};
  lsc_core_state *state = lsc_core_state_of(module);
  lsc_save_options options = {.size = sizeof options};
  PyObject *path = NULL;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&|$dpz:collect_at_exit", keywords, PyUnicode_FSConverter, &path,
                                   &options.timeout, &options.quiet, &options.python_version)) {
    return NULL;
  }
  lsc_status status = lsc_collect_at_exit(state->session, PyBytes_AS_STRING(path), &options);
  Py_DECREF(path);
  return none_or_raise(state, status);
}

/* Other threads record into it until it is closed, and into nothing afterwards. */
static lsc_status close_session(lsc_core_state *state, lsc_session session) {
  PyThreadState *thread = PyEval_SaveThread();
  lsc_detach(session);
  lsc_status status = lsc_session_close(session);
  PyEval_RestoreThread(thread);
  if (status != LSC_BUSY && state->session == session) state->session = 0;
  return status;
}

static PyObject *core_close(PyObject *module, PyObject *unused) {
  (void)unused;
  lsc_core_state *state = lsc_core_state_of(module);
  return none_or_raise(state, close_session(state, state->session));
}

static PyObject *core_is_open(PyObject *module, PyObject *unused) {
  (void)unused;
  return PyBool_FromLong(lsc_session_is_open(lsc_core_state_of(module)->session));
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
  PyThreadState *thread = PyEval_SaveThread();
  lsc_rank_of(session, &saved->rank, &saved->size);
  lsc_status status = lsc_save(session, path, options);
  PyEval_RestoreThread(thread);
  return status;
}

/* After LSC_APART the calls are written, each rank's to a file of its own: there is nothing to keep the session for. */
static PyObject *core_save(PyObject *module, PyObject *args, PyObject *kwargs) {
  static char *keywords[] = {"path", "timeout", "replace", "quiet", "python_version", "close", NULL};
  lsc_core_state *state = lsc_core_state_of(module);
  lsc_session session = state->session;
  lsc_save_options options = {.size = sizeof options};
  struct saved saved = {.path = "", .report = NULL};
  PyObject *path = NULL;
  int close = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&|$dppzp:save", keywords, PyUnicode_FSConverter, &path,
                                   &options.timeout, &options.replace, &options.quiet, &options.python_version,
                                   &close)) {
    return NULL;
  }
  lsc_status status = save(session, PyBytes_AS_STRING(path), &options, &saved);
  Py_DECREF(path);
  if (status != LSC_OK) lsc_core_raise(state, status);
  if (close && (status == LSC_OK || status == LSC_APART)) close_session(state, session);
  return status == LSC_OK ? saved_tuple(state, &saved) : NULL;
}

static PyObject *core_collected_at_exit(PyObject *module, PyObject *unused) {
  (void)unused;
  lsc_core_state *state = lsc_core_state_of(module);
  struct saved saved = {.path = "", .report = NULL};
  lsc_rank_of(state->session, &saved.rank, &saved.size);
  lsc_status status = lsc_collected_at_exit(state->session, &saved.report, saved.path, sizeof saved.path);
  if (status == LSC_INACTIVE) Py_RETURN_NONE;
  return status == LSC_OK ? saved_tuple(state, &saved) : lsc_core_raise(state, status);
}

static PyObject *core_uncollected(PyObject *module, PyObject *unused) {
  (void)unused;
  lsc_core_state *state = lsc_core_state_of(module);
  lsc_session session = state->session;
  uint64_t calls;
  PyThreadState *thread = PyEval_SaveThread();
  lsc_status status = lsc_uncollected(session, &calls);
  PyEval_RestoreThread(thread);
  return status == LSC_OK ? PyLong_FromUnsignedLongLong(calls) : lsc_core_raise(state, status);
}

static PyMethodDef session_functions[] = {
    {"open", core_open, METH_VARARGS, "open(label, /)\n--\n\nOpens the module's session."},
    {"attach", core_attach, METH_VARARGS,
     "attach(comm, timeout, /)\n--\n\nGives it the communicator with this Fortran handle; collective."},
    {"collect_at_exit", (PyCFunction)(void (*)(void))core_collect_at_exit, METH_VARARGS | METH_KEYWORDS,
     "collect_at_exit(path, *, timeout, quiet, python_version)\n--\n\n"
     "Has it saved at the start of MPI_Finalize, unless it was saved to this path before."},
    {"collected_at_exit", core_collected_at_exit, METH_NOARGS,
     "collected_at_exit()\n--\n\nWhat save would have returned then, or None if nothing was saved."},
    {"uncollected", core_uncollected, METH_NOARGS,
     "uncollected()\n--\n\nHow many calls were completed since the last save."},
    {"save", (PyCFunction)(void (*)(void))core_save, METH_VARARGS | METH_KEYWORDS,
     "save(path, *, timeout, replace, quiet, python_version, close)\n--\n\n"
     "Writes what is new, and closes the session if asked to and if that went well.\n"
     "Returns (path of the file with this rank's calls, Report or None, rank, number of ranks)."},
    {"close", core_close, METH_NOARGS, "close()\n--\n\nCloses it and drops what was not saved."},
    {"is_open", core_is_open, METH_NOARGS, "is_open()\n--\n\nWhether it is open."},
    {"mpi_is_active", core_mpi_is_active, METH_NOARGS,
     "mpi_is_active()\n--\n\nWhether MPI is initialized and not finalized in this process."},
    {NULL, NULL, 0, NULL},
};

int lsc_core_add_session(PyObject *module) {
  if (PyModule_AddIntConstant(module, "COMM_WORLD", LSC_COMM_WORLD) < 0) return -1;
  return PyModule_AddFunctions(module, session_functions);
}
