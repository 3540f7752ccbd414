/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * class Report:
 *     "The tables of a file just written, as the rank that wrote it still has them in memory."
 *     def table(self, name, columns):
 *         return {column: <array that looks into the report, or list of str> for column in columns}
 *     def columns(self, name):
 *         return <tuple of the names of the table's columns; () if there is no such table>
 */
#include "numpy_api.h"

#include "core.h"

#include <lanescope_file.h>

typedef struct {
  PyObject_HEAD
  lsc_report *report;
} report_object;

static PyArray_Descr *new_dtype(const lsc_core_state *state, lsc_type type) {
  switch (type) {
    case LSC_I8: return PyArray_DescrFromType(NPY_INT8);
    case LSC_U8: return PyArray_DescrFromType(NPY_UINT8);
    case LSC_U32: return PyArray_DescrFromType(NPY_UINT32);
    case LSC_I64: return PyArray_DescrFromType(NPY_INT64);
    case LSC_U64: return PyArray_DescrFromType(NPY_UINT64);
    case LSC_F64: return PyArray_DescrFromType(NPY_FLOAT64);
    case LSC_STATS: Py_INCREF(state->stats_dtype); return (PyArray_Descr *)state->stats_dtype;
    case LSC_STR: break;
  }
  PyErr_Format(PyExc_SystemError, "a column of the unknown type %d", (int)type);
  return NULL;
}

/* A read-only array over the report's memory, which it keeps. */
static PyObject *array_of(PyObject *op, const lsc_core_state *state, const lsc_column_view *view) {
  PyArray_Descr *dtype = new_dtype(state, view->type);
  if (!dtype) return NULL;
  npy_intp rows = (npy_intp)view->rows;
  void *data = rows > 0 ? (void *)(uintptr_t)view->data : NULL;
  PyObject *array = PyArray_NewFromDescr(&PyArray_Type, dtype, 1, &rows, NULL, data, NPY_ARRAY_CARRAY, NULL);
  if (!array) return NULL;
  PyArray_CLEARFLAGS((PyArrayObject *)array, NPY_ARRAY_WRITEABLE);
  if (!data) return array;
  Py_INCREF(op);
  if (PyArray_SetBaseObject((PyArrayObject *)array, op) == 0) return array;
  Py_DECREF(array);
  return NULL;
}

static PyObject *list_of(const lsc_column_view *view) {
  PyObject *list = PyList_New((Py_ssize_t)view->rows);
  if (!list) return NULL;
  for (size_t i = 0; i < view->rows; i++) {
    uint64_t begin = view->offsets[i], end = view->offsets[i + 1];
    PyObject *text = PyUnicode_DecodeUTF8(view->text + begin, (Py_ssize_t)(end - begin), "replace");
    if (!text) {
      Py_DECREF(list);
      return NULL;
    }
    PyList_SET_ITEM(list, (Py_ssize_t)i, text);
  }
  return list;
}

static PyObject *column_of(PyObject *op, const char *table, PyObject *column) {
  const lsc_core_state *state = (lsc_core_state *)PyType_GetModuleState(Py_TYPE(op));
  const char *name = PyUnicode_AsUTF8(column);
  if (!name) return NULL;
  lsc_column_view view;
  if (lsc_report_column(((report_object *)op)->report, table, name, &view) != LSC_OK) {
    return PyErr_Format(PyExc_KeyError, "the report has no column %s/%s", table, name);
  }
  return view.type == LSC_STR ? list_of(&view) : array_of(op, state, &view);
}

static PyObject *report_table(PyObject *op, PyObject *args) {
  const char *table;
  PyObject *columns;
  if (!PyArg_ParseTuple(args, "sO:table", &table, &columns)) return NULL;
  PyObject *names = PySequence_Fast(columns, "columns must be a sequence of str");
  PyObject *result = names ? PyDict_New() : NULL;
  for (Py_ssize_t i = 0; result && i < PySequence_Fast_GET_SIZE(names); i++) {
    PyObject *name = PySequence_Fast_GET_ITEM(names, i);
    PyObject *values = column_of(op, table, name);
    if (!values || PyDict_SetItem(result, name, values) < 0) Py_CLEAR(result);
    Py_XDECREF(values);
  }
  Py_XDECREF(names);
  return result;
}

static PyObject *report_columns(PyObject *op, PyObject *name) {
  const lsc_report *report = ((report_object *)op)->report;
  const char *table = PyUnicode_AsUTF8(name), *column;
  PyObject *names = table ? PyList_New(0) : NULL;
  for (size_t i = 0; names && (column = lsc_report_column_name(report, table, i)); i++) {
    PyObject *text = PyUnicode_FromString(column);
    if (!text || PyList_Append(names, text) < 0) Py_CLEAR(names);
    Py_XDECREF(text);
  }
  PyObject *result = names ? PyList_AsTuple(names) : NULL;
  Py_XDECREF(names);
  return result;
}

PyObject *lsc_core_report_new(lsc_core_state *state, struct lsc_report *report) {
  report_object *self = (report_object *)state->report_type->tp_alloc(state->report_type, 0);
  if (!self) {
    lsc_report_free(report);
    return NULL;
  }
  self->report = report;
  return (PyObject *)self;
}

static PyObject *report_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  (void)args;
  (void)kwargs;
  return PyErr_Format(PyExc_TypeError, "cannot create '%.100s' instances", type->tp_name);
}

static int report_traverse(PyObject *op, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(op));
  return 0;
}

static void report_dealloc(PyObject *op) {
  PyTypeObject *type = Py_TYPE(op);
  PyObject_GC_UnTrack(op);
  lsc_report_free(((report_object *)op)->report);
  type->tp_free(op);
  Py_DECREF(type);
}

static PyMethodDef report_methods[] = {
    {"table", report_table, METH_VARARGS,
     "table($self, name, columns, /)\n--\n\nThe columns of a table by name: NumPy arrays, lists of str for text."},
    {"columns", report_columns, METH_O,
     "columns($self, name, /)\n--\n\nThe names of a table's columns, in the order of the file; () for no such table."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot report_slots[] = {
    {Py_tp_doc, "The tables of a file just written: the small ones, and events if that was asked for. Columns that it "
                "hands out keep it in memory."},
    {Py_tp_new, report_new},
    {Py_tp_dealloc, report_dealloc},
    {Py_tp_traverse, report_traverse},
    {Py_tp_methods, report_methods},
    {0, NULL},
};

static PyType_Spec report_spec = {
    .name = "lanescope._core.Report",
    .basicsize = sizeof(report_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = report_slots,
};

/* numpy.dtype of lsc_stats, whose members are all of eight bytes. */
static PyArray_Descr *new_stats_dtype(void) {
  _Static_assert(sizeof(lsc_stats) == 11 * 8, "the fields below are those of lsc_stats, without padding");
  PyArray_Descr *dtype = NULL;
  PyObject *fields = Py_BuildValue("[(ss)(ss)(ss)(ss)(ss)(ss)(ss)(ss)(ss)(ss)(ss)]", "total", "i8", "minimum", "i8",
                                   "maximum", "i8", "first", "i8", "last", "i8", "start_minimum", "i8", "end_maximum",
                                   "i8", "gpu_count", "u8", "gpu_total", "i8", "mean", "f8", "m2", "f8");
  if (fields) PyArray_DescrConverter(fields, &dtype);
  Py_XDECREF(fields);
  return dtype;
}

int lsc_core_add_report(PyObject *module, lsc_core_state *state) {
  state->stats_dtype = (PyObject *)new_stats_dtype();
  if (!state->stats_dtype) return -1;
  state->report_type = lsc_core_add_type(module, &report_spec);
  return state->report_type ? 0 : -1;
}
