/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * class Region:
 *     "A named stretch of code; there is one object for each name."
 *     def __new__(cls, name): return region(name)
 *     def __enter__(self): begin(session, self.id); return self
 *     def __exit__(self, *exception): end(session, self.id)  # of self.last, where that is not on top of this lane
 *     def call(self): return Call(self)
 *     def __reduce__(self): return Region, (self.name,)
 */
#include "core.h"

#include <lanescope_binding.h>
#include <structmember.h>

static PyObject *region_enter(PyObject *op, PyObject *unused) {
  (void)unused;
  lsc_core_region *self = (lsc_core_region *)op;
  lsc_session session = lsc_core_session(self->recorder);
  if (session) lsc_begin_marked(session, LSC_API_PYTHON, self->id, &self->last);
  Py_INCREF(op);
  return op;
}

/* A call that is not on top of this lane: it was begun on another one, or out of order. */
static void end_elsewhere(lsc_core_region *self, lsc_status status) {
  if (status == LSC_NO_BEGIN || status == LSC_CROSSED) lsc_end_marked(self->last);
}

static PyObject *region_exit(PyObject *op, PyObject *const *args, Py_ssize_t count) {
  (void)args;
  (void)count;
  lsc_core_region *self = (lsc_core_region *)op;
  lsc_session session = lsc_core_session(self->recorder);
  if (session) {
    lsc_status status = lsc_end_as(session, LSC_API_PYTHON, self->id);
    if (status != LSC_OK) end_elsewhere(self, status);
    self->last.row = NULL;
  }
  Py_RETURN_NONE;
}

static PyMethodDef enter_def = {"__enter__", region_enter, METH_NOARGS, "Begins a call of the region on this thread."};
static PyMethodDef exit_def = {"__exit__", (PyCFunction)(void (*)(void))region_exit, METH_FASTCALL, "Ends it."};

static const char *utf8_or_null(PyObject *text) {
  Py_ssize_t length = 0;
  const char *bytes = text && PyUnicode_Check(text) ? PyUnicode_AsUTF8AndSize(text, &length) : NULL;
  if (bytes && length <= LSC_MAX_NAME && (size_t)length == strlen(bytes)) return bytes;
  PyErr_Clear();
  return NULL;
}

static lsc_status define(PyObject *name, const lsc_core_source *source, lsc_region_id *id) {
  Py_ssize_t length;
  const char *bytes = PyUnicode_AsUTF8AndSize(name, &length);
  if (!bytes) return LSC_BAD_NAME;
  lsc_region_info info = {
      .size = sizeof info,
      .name = bytes,
      .name_length = (size_t)length,
      .source_file = utf8_or_null(source->file),
      .source_line = source->line,
  };
  return lsc_region_define(&info, id);
}

static lsc_status define_here(PyObject *name, lsc_region_id *id) {
  PyFrameObject *frame = PyEval_GetFrame();
  if (!frame) return define(name, &(lsc_core_source){NULL, 0}, id);
  PyCodeObject *code = PyFrame_GetCode(frame);
  lsc_core_source source = {code->co_filename, PyFrame_GetLineNumber(frame)};
  lsc_status status = define(name, &source, id);
  Py_DECREF(code);
  return status;
}

static lsc_core_region *region_new(lsc_core_recorder *recorder, PyObject *name, lsc_region_id id) {
  PyTypeObject *type = recorder->state->region_type;
  lsc_core_region *self = (lsc_core_region *)type->tp_alloc(type, 0);
  if (!self) return NULL;
  Py_INCREF(recorder);
  self->recorder = recorder;
  self->id = id;
  Py_INCREF(name);
  self->name = name;
  self->enter = PyCFunction_New(&enter_def, (PyObject *)self);
  self->exit = self->enter ? PyCFunction_New(&exit_def, (PyObject *)self) : NULL;
  /* A finalizer that ran meanwhile may have made the region of this name. */
  PyObject *kept = self->exit ? PyDict_SetDefault(recorder->regions, name, (PyObject *)self) : NULL;
  Py_XINCREF(kept);
  Py_DECREF(self);
  return (lsc_core_region *)kept;
}

static lsc_core_region *region_make(lsc_core_recorder *recorder, PyObject *name, const lsc_core_source *source) {
  lsc_region_id id;
  lsc_status status = source ? define(name, source, &id) : define_here(name, &id);
  if (status == LSC_OK) return region_new(recorder, name, id);
  if (!PyErr_Occurred()) lsc_core_raise(recorder->state, status);
  return NULL;
}

lsc_core_region *lsc_core_region_get(lsc_core_recorder *recorder, PyObject *name, const lsc_core_source *source) {
  if (!PyUnicode_Check(name)) {
    PyErr_Format(PyExc_TypeError, "the name of a region must be a str, not %.100s", Py_TYPE(name)->tp_name);
    return NULL;
  }
  if (!recorder || !recorder->regions || !recorder->state->region_type) {
    PyErr_SetString(PyExc_RuntimeError, "the module lanescope is being deleted");
    return NULL;
  }
  PyObject *exact = PyUnicode_FromObject(name);
  if (!exact) return NULL;
  PyObject *region = PyDict_GetItemWithError(recorder->regions, exact);
  Py_XINCREF(region);
  if (!region && !PyErr_Occurred()) region = (PyObject *)region_make(recorder, exact, source);
  Py_DECREF(exact);
  return (lsc_core_region *)region;
}

static PyObject *region_type_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  static char *keywords[] = {"name", NULL};
  PyObject *name;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O:Region", keywords, &name)) return NULL;
  return (PyObject *)lsc_core_region_get(((lsc_core_state *)PyType_GetModuleState(type))->recorder, name, NULL);
}

static PyObject *region_reduce(PyObject *op, PyObject *unused) {
  (void)unused;
  const lsc_core_recorder *recorder = ((lsc_core_region *)op)->recorder;
  if (recorder != recorder->state->recorder) {
    return PyErr_Format(PyExc_TypeError, "cannot pickle region %R: it belongs to a ProfileManager of this process",
                        ((lsc_core_region *)op)->name);
  }
  return Py_BuildValue("O(O)", Py_TYPE(op), ((lsc_core_region *)op)->name);
}

static PyObject *region_repr(PyObject *op) {
  return PyUnicode_FromFormat("<lanescope.Region %R>", ((lsc_core_region *)op)->name);
}

static int region_traverse(PyObject *op, visitproc visit, void *arg) {
  const lsc_core_region *self = (lsc_core_region *)op;
  Py_VISIT(Py_TYPE(op));
  Py_VISIT(self->recorder);
  Py_VISIT(self->enter);
  Py_VISIT(self->exit);
  return 0;
}

static int region_clear(PyObject *op) {
  lsc_core_region *self = (lsc_core_region *)op;
  Py_CLEAR(self->enter);
  Py_CLEAR(self->exit);
  return 0;
}

static void region_dealloc(PyObject *op) {
  PyTypeObject *type = Py_TYPE(op);
  PyObject_GC_UnTrack(op);
  region_clear(op);
  Py_XDECREF(((lsc_core_region *)op)->name);
  Py_XDECREF(((lsc_core_region *)op)->recorder);
  type->tp_free(op);
  Py_DECREF(type);
}

static PyMemberDef region_members[] = {
    {"name", T_OBJECT, offsetof(lsc_core_region, name), READONLY, "The name under which its calls stand in the file."},
    {NULL, 0, 0, 0, NULL},
};

static PyObject *region_call(PyObject *op, PyObject *unused) {
  (void)unused;
  return lsc_core_call_new((lsc_core_region *)op);
}

static PyMethodDef region_methods[] = {
    {"call", region_call, METH_NOARGS,
     "call($self)\n--\n\n"
     "One call of the region, for `with region.call():`, where it may end out of order or on another thread."},
    {"__reduce__", region_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot region_slots[] = {
    {Py_tp_doc, "A named stretch of code, entered by `with`. There is one object for each name."},
    {Py_tp_new, region_type_new},
    {Py_tp_dealloc, region_dealloc},
    {Py_tp_traverse, region_traverse},
    {Py_tp_clear, region_clear},
    {Py_tp_repr, region_repr},
    {Py_tp_members, region_members},
    {Py_tp_methods, region_methods},
    {0, NULL},
};

static PyType_Spec region_spec = {
    .name = "lanescope.Region",
    .basicsize = sizeof(lsc_core_region),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = region_slots,
};

static int add_method(lsc_core_state *state, const char *name, size_t bound) {
  PyObject *method = lsc_core_region_method_new(state, name, bound);
  if (!method) return -1;
  int result = PyObject_SetAttrString((PyObject *)state->region_type, name, method);
  Py_DECREF(method);
  return result;
}

int lsc_core_add_region(PyObject *module, lsc_core_state *state) {
  state->region_method_type = lsc_core_region_method_type(module);
  if (!state->region_method_type) return -1;
  state->region_type = lsc_core_add_type(module, &region_spec);
  if (!state->region_type) return -1;
  if (add_method(state, "__enter__", offsetof(lsc_core_region, enter)) < 0 ||
      add_method(state, "__exit__", offsetof(lsc_core_region, exit)) < 0) {
    return -1;
  }
  return 0;
}
