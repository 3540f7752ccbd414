/* SPDX-License-Identifier: BSD-3-Clause */
#include "core.h"

/* With the interned name, of which the interpreter's cache of attributes keeps one entry and not one a call. */
static PyObject *get(PyObject *object, const char *name) {
  PyObject *key = PyUnicode_InternFromString(name);
  PyObject *value = key ? PyObject_GetAttr(object, key) : NULL;
  Py_XDECREF(key);
  return value;
}

/*
 * threading.current_thread() makes an object for a thread that has none, which then is never removed; the table that it
 * looks into answers without. New reference, or NULL, with or without an exception.
 */
static PyObject *thread_object(unsigned long ident) {
  PyObject *name = NULL, *threading = NULL, *active = NULL, *key = NULL, *thread = NULL;
  name = PyUnicode_FromString("threading");
  threading = name ? PyImport_GetModule(name) : NULL;
  active = threading ? get(threading, "_active") : NULL;
  key = active ? PyLong_FromUnsignedLong(ident) : NULL;
  if (key && PyDict_Check(active)) thread = PyDict_GetItemWithError(active, key);
  Py_XINCREF(thread);
  Py_XDECREF(name);
  Py_XDECREF(threading);
  Py_XDECREF(active);
  Py_XDECREF(key);
  return thread;
}

/* The field is read before the property: then no Python code runs, which might record. New reference or NULL. */
static PyObject *attribute(PyObject *thread, const char *field, const char *property) {
  PyObject *value = get(thread, field);
  if (value) return value;
  PyErr_Clear();
  return get(thread, property);
}

/* The longest beginning of the text that is a whole number of UTF-8 characters and fits. */
static void cut_name(char *text) {
  if (strlen(text) <= LSC_MAX_NAME) return;
  size_t end = LSC_MAX_NAME;
  while (end > 0 && ((unsigned char)text[end] & 0xC0) == 0x80) end--;
  text[end] = '\0';
}

static void describe(lsc_session session, PyObject *thread, unsigned long ident) {
  PyObject *name = attribute(thread, "_name", "name");
  PyObject *daemon = name ? attribute(thread, "_daemonic", "daemon") : NULL;
  PyObject *bytes = daemon && PyUnicode_Check(name) ? PyUnicode_AsEncodedString(name, "utf-8", "replace") : NULL;
  if (bytes) {
    cut_name(PyBytes_AS_STRING(bytes));
    lsc_thread_describe(session, PyBytes_AS_STRING(bytes), (int64_t)ident, PyObject_IsTrue(daemon) == 1);
  }
  Py_XDECREF(name);
  Py_XDECREF(daemon);
  Py_XDECREF(bytes);
}

void lsc_core_describe_thread(lsc_session session) {
  if (!PyGILState_Check()) return;
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  unsigned long ident = PyThread_get_thread_ident();
  PyObject *thread = thread_object(ident);
  if (thread) describe(session, thread, ident);
  lsc_core_welcome_thread(thread);
  Py_XDECREF(thread);
  PyErr_Restore(type, value, traceback);
}
