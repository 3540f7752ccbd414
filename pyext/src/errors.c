/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * class Error(Exception): status = None  # or the int that the library returned
 * class StateError(Error): "called at the wrong time"
 * class CollectError(Error): "the file could not be written"; written = None  # or the path of this rank's own file
 * class NestingError(Error, ValueError): calls = None; lane = None  # rows and lane of the two calls
 */
#include "core.h"

static PyObject *add_exception(PyObject *module, const char *name, const char *doc, PyObject *base) {
  char full_name[64];
  PyOS_snprintf(full_name, sizeof full_name, "lanescope.%s", name);
  PyObject *members = Py_BuildValue("{s:O}", "status", Py_None);
  PyObject *type = members ? PyErr_NewExceptionWithDoc(full_name, doc, base, members) : NULL;
  Py_XDECREF(members);
  if (!type) return NULL;
  Py_INCREF(type);
  if (PyModule_AddObject(module, name, type) == 0) return type;
  Py_DECREF(type);
  Py_DECREF(type);
  return NULL;
}

/* Calls of one lane that overlap are bad data as well. */
static PyObject *add_nesting_error(PyObject *module, PyObject *error) {
  PyObject *bases = PyTuple_Pack(2, error, PyExc_ValueError);
  PyObject *type = bases ? add_exception(module, "NestingError",
                                         "Two calls of one lane overlap and neither holds the other. `calls`: the two, "
                                         "outer one first; `lane`: where.",
                                         bases)
                         : NULL;
  Py_XDECREF(bases);
  if (!type || (PyObject_SetAttrString(type, "calls", Py_None) == 0 &&
                PyObject_SetAttrString(type, "lane", Py_None) == 0)) {
    return type;
  }
  Py_DECREF(type);
  return NULL;
}

static int add_statuses(PyObject *module) {
  PyObject *statuses = PyDict_New();
  if (!statuses) return -1;
#define ADD_STATUS(name, value, text) {#name, value},
  static const struct {
    const char *name;
    long value;
  } table[] = {LSC_STATUS_TABLE(ADD_STATUS)};
#undef ADD_STATUS
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    PyObject *value = PyLong_FromLong(table[i].value);
    int failed = !value || PyDict_SetItemString(statuses, table[i].name + strlen("LSC_"), value) < 0;
    Py_XDECREF(value);
    if (failed) goto fail;
  }
  if (PyModule_AddObject(module, "STATUSES", statuses) == 0) return 0;
fail:
  Py_DECREF(statuses);
  return -1;
}

int lsc_core_add_errors(PyObject *module, lsc_core_state *state) {
  state->error = add_exception(
      module, "Error",
      "What lanescope raises beside TypeError and ValueError; `status` is a value of lanescope.Status.", NULL);
  if (!state->error) return -1;
  state->state_error = add_exception(module, "StateError",
                                     "Called at the wrong time: no session is open, or one is already.", state->error);
  if (!state->state_error) return -1;
  state->collect_error = add_exception(module, "CollectError",
                                       "The ranks could not write what they recorded into one file.", state->error);
  if (!state->collect_error) return -1;
  if (PyObject_SetAttrString(state->collect_error, "written", Py_None) < 0) return -1;
  state->nesting_error = add_nesting_error(module, state->error);
  if (!state->nesting_error) return -1;
  return add_statuses(module);
}

static PyObject *exception_of(const lsc_core_state *state, lsc_status status) {
  switch (status) {
    case LSC_BAD_NAME:
    case LSC_INVALID: return PyExc_ValueError;
    case LSC_INACTIVE:
    case LSC_BUSY:
    case LSC_NO_MPI: return state->state_error;
    case LSC_NO_MEMORY:
    case LSC_LIMIT: return state->error;
    default: return state->collect_error;
  }
}

PyObject *lsc_core_raise(lsc_core_state *state, lsc_status status) {
  const char *message = lsc_message();
  if (!*message) message = lsc_strerror(status);
  PyObject *type = exception_of(state, status), *text = NULL, *error = NULL, *number = NULL;
  text = PyUnicode_DecodeUTF8(message, (Py_ssize_t)strlen(message), "replace");
  if (!text) goto done;
  error = PyObject_CallFunctionObjArgs(type, text, NULL);
  if (!error) goto done;
  number = PyLong_FromLong(status);
  if (!number || PyObject_SetAttrString(error, "status", number) < 0) goto done;
  PyErr_SetObject(type, error);
done:
  Py_XDECREF(text);
  Py_XDECREF(error);
  Py_XDECREF(number);
  return NULL;
}

PyObject *lsc_core_raise_written(lsc_core_state *state, lsc_status status, const char *written) {
  PyObject *type, *error, *traceback;
  lsc_core_raise(state, status);
  if (status != LSC_APART || !PyErr_ExceptionMatches(state->collect_error)) return NULL;
  PyErr_Fetch(&type, &error, &traceback);
  PyErr_NormalizeException(&type, &error, &traceback);
  PyObject *path = PyUnicode_DecodeFSDefault(written);
  if (!path || PyObject_SetAttrString(error, "written", path) < 0) PyErr_Clear();
  Py_XDECREF(path);
  PyErr_Restore(type, error, traceback);
  return NULL;
}
