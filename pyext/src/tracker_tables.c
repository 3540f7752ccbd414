/* SPDX-License-Identifier: BSD-3-Clause */
/* The lane tables of a tracker as columns: NumPy arrays, copied from the library's, and lists of str. */
#include "numpy_api.h"

#include "tracking.h"

struct column {
  const char *name;
  lsc_type type;
};

static const struct column thread_columns[] = {
    {"index", LSC_I64}, {"ident", LSC_I64},    {"native_id", LSC_I64}, {"name", LSC_STR},   {"daemon", LSC_I8},
    {"start_ns", LSC_I64}, {"end_ns", LSC_I64}, {"cpu_ns", LSC_I64},    {NULL, LSC_I64},
};

static const struct column task_columns[] = {
    {"index", LSC_I64},      {"kind", LSC_STR},       {"name", LSC_STR},    {"coro_name", LSC_STR},
    {"thread_index", LSC_I64}, {"created_ns", LSC_I64}, {"done_ns", LSC_I64}, {"steps", LSC_I64},
    {"running_ns", LSC_I64}, {"suspended_ns", LSC_I64}, {NULL, LSC_I64},
};

static PyObject *list_of(const lsc_column_view *view) {
  PyObject *list = PyList_New((Py_ssize_t)view->rows);
  for (size_t i = 0; list && i < view->rows; i++) {
    uint64_t begin = view->offsets[i], end = view->offsets[i + 1];
    PyObject *text = PyUnicode_DecodeUTF8(view->text + begin, (Py_ssize_t)(end - begin), "replace");
    if (text) PyList_SET_ITEM(list, (Py_ssize_t)i, text);
    else Py_CLEAR(list);
  }
  return list;
}

static PyObject *values_of(const lsc_column_view *view) {
  if (view->type == LSC_STR) return list_of(view);
  npy_intp rows = (npy_intp)view->rows;
  PyObject *array = PyArray_SimpleNew(1, &rows, view->type == LSC_I8 ? NPY_INT8 : NPY_INT64);
  if (array && rows > 0) {
    PyArrayObject *values = (PyArrayObject *)array;
    memcpy(PyArray_DATA(values), view->data, (size_t)PyArray_NBYTES(values));
  }
  return array;
}

/* lanes NULL: no rows. */
static PyObject *table_of(const lsc_lanes *lanes, const char *table, const struct column *columns) {
  PyObject *result = PyDict_New();
  for (; result && columns->name; columns++) {
    lsc_column_view view = {.type = columns->type};
    if (lanes) lsc_lanes_column(lanes, table, columns->name, &view);
    PyObject *values = values_of(&view);
    if (!values || PyDict_SetItemString(result, columns->name, values) < 0) Py_CLEAR(result);
    Py_XDECREF(values);
  }
  return result;
}

static PyObject *tables_of(const lsc_lanes *lanes) {
  PyObject *threads = table_of(lanes, "thread_table", thread_columns);
  PyObject *tasks = threads ? table_of(lanes, "task_table", task_columns) : NULL;
  if (tasks) return Py_BuildValue("{s:N,s:N}", "threads", threads, "tasks", tasks);
  Py_XDECREF(threads);
  return NULL;
}

static PyObject *read_tables(lsc_core_tracker *tracker, const lsc_lane_range *range, long long origin_ns) {
  lsc_lanes *lanes = NULL;
  lsc_session session = tracker->session;
  lsc_status status;
  if (!lsc_session_is_open(session)) return tables_of(NULL);
  Py_BEGIN_ALLOW_THREADS;
  status = lsc_lanes_read(session, range, origin_ns, &lanes);
  Py_END_ALLOW_THREADS;
  if (status != LSC_OK && status != LSC_INACTIVE) return lsc_core_raise(tracker->state, status);
  PyObject *tables = tables_of(lanes);
  lsc_lanes_free(lanes);
  return tables;
}

static lsc_core_tracker *tracker_of(PyObject *module, PyObject *object) {
  if (Py_IS_TYPE(object, lsc_core_state_of(module)->hooks->tracker_type)) return (lsc_core_tracker *)object;
  PyErr_Format(PyExc_TypeError, "a Tracker is needed, not %.100s", Py_TYPE(object)->tp_name);
  return NULL;
}

static PyObject *core_lane_tables(PyObject *module, PyObject *args) {
  PyObject *object;
  long long origin_ns = 0;
  if (!PyArg_ParseTuple(args, "O|L:lane_tables", &object, &origin_ns)) return NULL;
  lsc_core_tracker *tracker = tracker_of(module, object);
  if (!tracker) return NULL;
  lsc_core_refresh_names(lsc_core_state_of(module)->hooks);
  return read_tables(tracker, NULL, origin_ns);
}

static PyObject *core_lane_row(PyObject *module, PyObject *args) {
  PyObject *object;
  unsigned int thread, threads, task, tasks;
  if (!PyArg_ParseTuple(args, "OIIII:lane_row", &object, &thread, &threads, &task, &tasks)) return NULL;
  lsc_core_tracker *tracker = tracker_of(module, object);
  if (!tracker) return NULL;
  if (tasks) lsc_core_refresh_names(lsc_core_state_of(module)->hooks);
  return read_tables(tracker, &(lsc_lane_range){thread, threads, task, tasks}, 0);
}

static PyObject *core_lane_counts(PyObject *module, PyObject *object) {
  uint32_t threads = 0, tasks = 0;
  lsc_core_tracker *tracker = tracker_of(module, object);
  if (!tracker) return NULL;
  lsc_lanes_count(tracker->session, &threads, &tasks);
  return Py_BuildValue("II", threads, tasks);
}

static PyObject *core_thread_task(PyObject *module, PyObject *args) {
  PyObject *object;
  unsigned int thread;
  int64_t task = -1;
  if (!PyArg_ParseTuple(args, "OI:thread_task", &object, &thread)) return NULL;
  lsc_core_tracker *tracker = tracker_of(module, object);
  if (!tracker) return NULL;
  lsc_thread_task(tracker->session, thread, &task);
  return PyLong_FromLongLong(task);
}

static PyObject *core_task_step(PyObject *module, PyObject *args) {
  PyObject *object;
  unsigned int task;
  int64_t started_ns = 0, ended_ns = 0;
  if (!PyArg_ParseTuple(args, "OI:task_step", &object, &task)) return NULL;
  lsc_core_tracker *tracker = tracker_of(module, object);
  if (!tracker) return NULL;
  lsc_task_step(tracker->session, task, &started_ns, &ended_ns);
  return Py_BuildValue("LL", (long long)started_ns, (long long)ended_ns);
}

static PyObject *core_refresh_names(PyObject *module, PyObject *unused) {
  (void)unused;
  lsc_core_refresh_names(lsc_core_state_of(module)->hooks);
  Py_RETURN_NONE;
}

static PyMethodDef table_functions[] = {
    {"lane_tables", core_lane_tables, METH_VARARGS,
     "lane_tables(tracker, origin_ns=0, /)\n--\n\n{\"threads\": columns, \"tasks\": columns}, as they are now."},
    {"lane_row", core_lane_row, METH_VARARGS,
     "lane_row(tracker, thread, threads, task, tasks, /)\n--\n\n"
     "The same with so many rows from these indices on alone."},
    {"lane_counts", core_lane_counts, METH_O,
     "lane_counts(tracker, /)\n--\n\nHow many threads and tasks it has; 0, 0 while its session is not open."},
    {"thread_task", core_thread_task, METH_VARARGS,
     "thread_task(tracker, thread, /)\n--\n\nThe index of the task whose step runs on that thread now, or -1."},
    {"refresh_names", core_refresh_names, METH_NOARGS,
     "refresh_names()\n--\n\nTells all tables what the tasks that go on are called by now: before a session is saved."},
    {"task_step", core_task_step, METH_VARARGS,
     "task_step(tracker, task, /)\n--\n\nWhen the task's last step began, and when the last one ended, or 0; in ns."},
    {NULL, NULL, 0, NULL},
};

int lsc_core_add_tracker_tables(PyObject *module) {
  return PyModule_AddFunctions(module, table_functions);
}
