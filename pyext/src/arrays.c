/* SPDX-License-Identifier: BSD-3-Clause */
#include "numpy_api.h"

#include "core.h"

PyObject *lsc_core_integers(PyObject *object, const char *name) {
  PyArrayObject *any = (PyArrayObject *)PyArray_FROM_O(object);
  if (!any) return NULL;
  PyObject *result = NULL;
  if (PyArray_NDIM(any) != 1) {
    PyErr_Format(PyExc_ValueError, "%s must have one dimension, not %d", name, PyArray_NDIM(any));
  } else if (!PyArray_ISINTEGER(any) && PyArray_SIZE(any) > 0) {
    PyErr_Format(PyExc_TypeError, "%s must hold integers, not %s", name, PyArray_DESCR(any)->typeobj->tp_name);
  } else {
    result = PyArray_FROM_OTF((PyObject *)any, NPY_INT64, NPY_ARRAY_IN_ARRAY | NPY_ARRAY_FORCECAST);
  }
  Py_DECREF(any);
  return result;
}

static PyObject *lanes_of(PyArrayObject *threads, PyArrayObject *tasks) {
  npy_intp count = PyArray_SIZE(threads);
  if (tasks && PyArray_SIZE(tasks) != count) {
    return PyErr_Format(PyExc_ValueError, "thread_ids and task_ids differ in length: %zd and %zd", (Py_ssize_t)count,
                        (Py_ssize_t)PyArray_SIZE(tasks));
  }
  PyObject *lanes = PyArray_SimpleNew(1, &count, NPY_INT64);
  if (!lanes) return NULL;
  lsc_lane_ids((size_t)count, (const int64_t *)PyArray_DATA(threads),
               tasks ? (const int64_t *)PyArray_DATA(tasks) : NULL, (int64_t *)PyArray_DATA((PyArrayObject *)lanes));
  return lanes;
}

static PyObject *core_lane_ids(PyObject *module, PyObject *args, PyObject *kwargs) {
  (void)module;
  static char *keywords[] = {"thread_ids", "task_ids", NULL};
  PyObject *thread_ids, *task_ids = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:lane_ids", keywords, &thread_ids, &task_ids)) return NULL;
  PyArrayObject *threads = (PyArrayObject *)lsc_core_integers(thread_ids, "thread_ids");
  PyArrayObject *tasks =
      threads && task_ids != Py_None ? (PyArrayObject *)lsc_core_integers(task_ids, "task_ids") : NULL;
  PyObject *lanes = threads && (tasks || task_ids == Py_None) ? lanes_of(threads, tasks) : NULL;
  Py_XDECREF(threads);
  Py_XDECREF(tasks);
  return lanes;
}

static PyObject *core_now_ns(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  return PyLong_FromLongLong(lsc_now_ns());
}

static PyMethodDef array_functions[] = {
    {"lane_ids", (PyCFunction)(void (*)(void))core_lane_ids, METH_VARARGS | METH_KEYWORDS,
     "lane_ids(thread_ids, task_ids=None)\n--\n\n"
     "The lane of each call, int64: the task index where there is one, else -2 - thread index, -1 where that is "
     "unknown."},
    {"now_ns", core_now_ns, METH_NOARGS,
     "now_ns()\n--\n\nThe clock of every time in a file, in nanoseconds: CLOCK_MONOTONIC, as time.perf_counter_ns()."},
    {NULL, NULL, 0, NULL},
};

int lsc_core_add_arrays(PyObject *module) {
  return PyModule_AddFunctions(module, array_functions);
}
