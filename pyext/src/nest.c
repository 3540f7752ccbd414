/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * def nest(starts, ends, lanes): return parents, depths
 * def depths(parents): return depths
 * def exclusive(durations, parents): return durations less those of the calls directly inside
 */
#include "numpy_api.h"

#include "core.h"
#include "nesting.h"

#define MOST_COLUMNS 3

/* Columns of one length: int64 arrays that belong to it. */
struct columns {
  int count;
  npy_intp rows;
  PyArrayObject *array[MOST_COLUMNS];
};

static void columns_free(struct columns *columns) {
  for (int i = 0; i < MOST_COLUMNS; i++) Py_CLEAR(columns->array[i]);
}

static const int64_t *values_of(const struct columns *columns, int i) {
  return (const int64_t *)PyArray_DATA(columns->array[i]);
}

/* 0, or -1 with an exception; what belongs to it is freed by the caller either way. */
static int columns_take(struct columns *columns, int count, char *const *names, PyObject *const *objects) {
  *columns = (struct columns){.count = count};
  for (int i = 0; i < count; i++) {
    columns->array[i] = (PyArrayObject *)lsc_core_integers(objects[i], names[i]);
    if (!columns->array[i]) return -1;
    npy_intp rows = PyArray_SIZE(columns->array[i]);
    if (!i) columns->rows = rows;
    if (rows == columns->rows) continue;
    PyErr_Format(PyExc_ValueError, "%s and %s differ in length: %zd and %zd", names[0], names[i],
                 (Py_ssize_t)columns->rows, (Py_ssize_t)rows);
    return -1;
  }
  return 0;
}

/* A NestingError that carries the rows of the two calls and their lane. */
static void raise_not_nested(const lsc_core_state *state, const struct columns *c,
                             const struct lsc_nesting_fault *fault) {
  const int64_t *start = values_of(c, 0), *end = values_of(c, 1), lane = values_of(c, 2)[fault->first];
  size_t a = fault->first, b = fault->second;
  PyObject *text = PyUnicode_FromFormat(
      "the calls of lane %lld are not properly nested: call %zu (%lld to %lld ns) begins inside call %zu (%lld to %lld "
      "ns) and ends after it",
      (long long)lane, b, (long long)start[b], (long long)end[b], a, (long long)start[a], (long long)end[a]);
  PyObject *error = text ? PyObject_CallFunctionObjArgs(state->nesting_error, text, NULL) : NULL;
  PyObject *calls = error ? Py_BuildValue("(nn)", (Py_ssize_t)a, (Py_ssize_t)b) : NULL;
  PyObject *number = calls ? PyLong_FromLongLong(lane) : NULL;
  if (number && PyObject_SetAttrString(error, "calls", calls) == 0 &&
      PyObject_SetAttrString(error, "lane", number) == 0) {
    PyErr_SetObject(state->nesting_error, error);
  }
  Py_XDECREF(text);
  Py_XDECREF(error);
  Py_XDECREF(calls);
  Py_XDECREF(number);
}

static void raise_fault(const lsc_core_state *state, lsc_nesting_status status, const struct columns *c,
                        const struct lsc_nesting_fault *fault) {
  switch (status) {
    case LSC_NOT_NESTED: raise_not_nested(state, c, fault); break;
    case LSC_BACKWARDS:
      PyErr_Format(PyExc_ValueError, "call %zu ends before it starts: %lld to %lld ns", fault->first,
                   (long long)values_of(c, 0)[fault->first], (long long)values_of(c, 1)[fault->first]);
      break;
    case LSC_NO_SUCH_ROW:
      PyErr_Format(PyExc_ValueError, "parents: call %zu has the parent %zd, and there are %zd calls", fault->first,
                   (Py_ssize_t)fault->second, (Py_ssize_t)c->rows);
      break;
    case LSC_IN_A_CIRCLE:
      PyErr_Format(PyExc_ValueError, "parents: call %zu is inside itself, by its parent %zd", fault->first,
                   (Py_ssize_t)fault->second);
      break;
    default: PyErr_NoMemory();
  }
}

/* (parents, depths) of the columns starts, ends, lanes. */
static PyObject *nested(const lsc_core_state *state, const struct columns *c) {
  npy_intp rows = c->rows;
  PyObject *parents = PyArray_SimpleNew(1, &rows, NPY_INT64), *depths = PyArray_SimpleNew(1, &rows, NPY_UINT32);
  struct lsc_nesting_fault fault;
  if (parents && depths) {
    int64_t *parent = (int64_t *)PyArray_DATA((PyArrayObject *)parents);
    uint32_t *depth = (uint32_t *)PyArray_DATA((PyArrayObject *)depths);
    PyThreadState *thread = PyEval_SaveThread();
    lsc_nesting_status status =
        lsc_nest((size_t)rows, values_of(c, 0), values_of(c, 1), values_of(c, 2), parent, depth, &fault);
    PyEval_RestoreThread(thread);
    if (status == LSC_NESTED) return Py_BuildValue("NN", parents, depths);
    raise_fault(state, status, c, &fault);
  }
  Py_XDECREF(parents);
  Py_XDECREF(depths);
  return NULL;
}

static PyObject *core_nest(PyObject *module, PyObject *args, PyObject *kwargs) {
  static char *keywords[] = {"starts", "ends", "lanes", NULL};
  PyObject *objects[MOST_COLUMNS], *result = NULL;
  struct columns columns;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOO:nest", keywords, &objects[0], &objects[1], &objects[2])) {
    return NULL;
  }
  if (columns_take(&columns, 3, keywords, objects) == 0) result = nested(lsc_core_state_of(module), &columns);
  columns_free(&columns);
  return result;
}

static PyObject *depths_of(const lsc_core_state *state, const struct columns *c) {
  npy_intp rows = c->rows;
  PyObject *depths = PyArray_SimpleNew(1, &rows, NPY_UINT32);
  struct lsc_nesting_fault fault;
  if (!depths) return NULL;
  uint32_t *depth = (uint32_t *)PyArray_DATA((PyArrayObject *)depths);
  lsc_nesting_status status = lsc_nesting_depths((size_t)rows, values_of(c, 0), depth, &fault);
  if (status == LSC_NESTED) return depths;
  raise_fault(state, status, c, &fault);
  Py_DECREF(depths);
  return NULL;
}

static PyObject *core_depths(PyObject *module, PyObject *args, PyObject *kwargs) {
  static char *keywords[] = {"parents", NULL};
  PyObject *objects[MOST_COLUMNS], *result = NULL;
  struct columns columns;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O:depths", keywords, &objects[0])) return NULL;
  if (columns_take(&columns, 1, keywords, objects) == 0) result = depths_of(lsc_core_state_of(module), &columns);
  columns_free(&columns);
  return result;
}

static PyObject *exclusive_of(const lsc_core_state *state, const struct columns *c) {
  npy_intp rows = c->rows;
  const int64_t *duration = values_of(c, 0), *parent = values_of(c, 1);
  PyObject *result = PyArray_NewCopy(c->array[0], NPY_CORDER);
  if (!result) return NULL;
  int64_t *exclusive = (int64_t *)PyArray_DATA((PyArrayObject *)result);
  for (npy_intp i = 0; i < rows; i++) {
    if (parent[i] == LSC_NO_PARENT) continue;
    if (parent[i] < 0 || parent[i] >= rows) {
      struct lsc_nesting_fault fault = {(size_t)i, (size_t)parent[i]};
      raise_fault(state, LSC_NO_SUCH_ROW, c, &fault);
      Py_DECREF(result);
      return NULL;
    }
    exclusive[parent[i]] -= duration[i];
  }
  return result;
}

static PyObject *core_exclusive(PyObject *module, PyObject *args, PyObject *kwargs) {
  static char *keywords[] = {"durations", "parents", NULL};
  PyObject *objects[MOST_COLUMNS], *result = NULL;
  struct columns columns;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO:exclusive", keywords, &objects[0], &objects[1])) return NULL;
  if (columns_take(&columns, 2, keywords, objects) == 0) result = exclusive_of(lsc_core_state_of(module), &columns);
  columns_free(&columns);
  return result;
}

static PyMethodDef nest_functions[] = {
    {"nest", (PyCFunction)(void (*)(void))core_nest, METH_VARARGS | METH_KEYWORDS,
     "nest(starts, ends, lanes)\n--\n\n"
     "Which call is around which, from their times: (parents, depths), arrays of int64 and uint32, a row a call.\n\n"
     "starts, ends: ns; lanes: only calls of one lane nest, and those of lane -1 never do. parents: the row of the\n"
     "innermost call around it, or -1. Calls that touch are siblings; of two that start together the longer is\n"
     "outer, of equal ones the first. O(n log n) over all lanes together. NestingError: two calls of a lane overlap\n"
     "and neither holds the other; its `calls` are their rows, its `lane` the lane. ValueError: lengths differ, or an\n"
     "end is before its start."},
    {"depths", (PyCFunction)(void (*)(void))core_depths, METH_VARARGS | METH_KEYWORDS,
     "depths(parents)\n--\n\n"
     "How many calls are around each, uint32, from the rows of their parents (-1: none), in any order.\n\n"
     "ValueError: a parent is no row, or a call is inside itself."},
    {"exclusive", (PyCFunction)(void (*)(void))core_exclusive, METH_VARARGS | METH_KEYWORDS,
     "exclusive(durations, parents)\n--\n\n"
     "Each duration less those of the calls directly inside, int64. ValueError: a parent is no row."},
    {NULL, NULL, 0, NULL},
};

int lsc_core_add_nest(PyObject *module) {
  return PyModule_AddFunctions(module, nest_functions);
}
