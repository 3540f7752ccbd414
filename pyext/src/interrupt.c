/* SPDX-License-Identifier: BSD-3-Clause */
/* Signals of Python while the library waits for other ranks: their handlers run, and an exception ends the wait. */
#include "core.h"

int lsc_core_interrupted(void *context) {
  struct lsc_core_wait *wait = context;
  if (wait->type) return 1;
  PyEval_RestoreThread(wait->thread);
  if (PyErr_CheckSignals() < 0) PyErr_Fetch(&wait->type, &wait->error, &wait->traceback);
  wait->thread = PyEval_SaveThread();
  return wait->type != NULL;
}

int lsc_core_raise_interrupt(struct lsc_core_wait *wait) {
  PyObject *type, *before, *traceback;
  if (!wait->type) return 0;
  PyErr_Fetch(&type, &before, &traceback);
  if (type) {
    PyErr_NormalizeException(&type, &before, &traceback);
    PyErr_NormalizeException(&wait->type, &wait->error, &wait->traceback);
    PyException_SetContext(wait->error, before); /* takes it over */
  }
  Py_XDECREF(type);
  Py_XDECREF(traceback);
  PyErr_Restore(wait->type, wait->error, wait->traceback);
  return 1;
}
