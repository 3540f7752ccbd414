/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * class Profiled:
 *     "A callable that records each call of another one; what `profile` puts in a function's place."
 *     def __init__(self, recorder, function, name, source_file, source_line): ...
 *     def __call__(self, *args, **kwargs):
 *         with self.region:
 *             return self.function(*args, **kwargs)
 *     def __get__(self, instance, owner=None):
 *         return self if instance is None else types.MethodType(self, instance)
 *     def __reduce__(self): return self.__qualname__  # as a function: by reference
 *     def __copy__(self): return self
 *     def __deepcopy__(self, memo): return self
 */
#include "core.h"

#include <lanescope_binding.h>
#include <structmember.h>

typedef struct {
  PyObject_HEAD
  vectorcallfunc vectorcall;
  lsc_core_recorder *recorder; /* stays until the object is deallocated */
  lsc_region_id id;
  PyObject *function;
  PyObject *region;
  PyObject *dict;
  PyObject *weak_references;
} profiled;

static PyObject *profiled_call(PyObject *op, PyObject *const *args, size_t nargsf, PyObject *kwnames) {
  const profiled *self = (profiled *)op;
  lsc_session session = lsc_core_session(self->recorder);
  if (!session) return PyObject_Vectorcall(self->function, args, nargsf, kwnames);
  lsc_begin_as(session, LSC_API_PYTHON, self->id);
  PyObject *result = PyObject_Vectorcall(self->function, args, nargsf, kwnames);
  lsc_end_as(session, LSC_API_PYTHON, self->id);
  return result;
}

/* After the garbage collector cleared it, a finalizer may still come here. */
static PyObject *cleared_call(PyObject *op, PyObject *const *args, size_t nargsf, PyObject *kwnames) {
  (void)op, (void)args, (void)nargsf, (void)kwnames;
  return PyErr_Format(PyExc_RuntimeError, "call of a profiled function that is being deleted");
}

static PyObject *profiled_get(PyObject *op, PyObject *instance, PyObject *owner) {
  (void)owner;
  if (instance && instance != Py_None) return PyMethod_New(op, instance);
  Py_INCREF(op);
  return op;
}

static PyObject *profiled_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  static char *keywords[] = {"recorder", "function", "name", "source_file", "source_line", NULL};
  lsc_core_state *state = (lsc_core_state *)PyType_GetModuleState(type);
  PyObject *recorder, *function, *name;
  lsc_core_source source;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!OOOi:Profiled", keywords, state->recorder_type, &recorder,
                                   &function, &name, &source.file, &source.line)) {
    return NULL;
  }
  lsc_core_region *region = lsc_core_region_get((lsc_core_recorder *)recorder, name, &source);
  if (!region) return NULL;
  profiled *self = (profiled *)type->tp_alloc(type, 0);
  if (!self) {
    Py_DECREF(region);
    return NULL;
  }
  self->vectorcall = profiled_call;
  Py_INCREF(recorder);
  self->recorder = (lsc_core_recorder *)recorder;
  self->id = region->id;
  self->region = (PyObject *)region;
  Py_INCREF(function);
  self->function = function;
  return (PyObject *)self;
}

static PyObject *profiled_reduce(PyObject *op, PyObject *unused) {
  (void)unused;
  return PyObject_GetAttrString(op, "__qualname__");
}

static PyObject *profiled_copy(PyObject *op, PyObject *unused) {
  (void)unused;
  Py_INCREF(op);
  return op;
}

static PyObject *profiled_repr(PyObject *op) {
  return PyUnicode_FromFormat("<lanescope.profile of %R>", ((profiled *)op)->function);
}

static int profiled_traverse(PyObject *op, visitproc visit, void *arg) {
  const profiled *self = (profiled *)op;
  Py_VISIT(Py_TYPE(op));
  Py_VISIT(self->recorder);
  Py_VISIT(self->function);
  Py_VISIT(self->region);
  Py_VISIT(self->dict);
  return 0;
}

static int profiled_clear(PyObject *op) {
  profiled *self = (profiled *)op;
  self->vectorcall = cleared_call;
  Py_CLEAR(self->function);
  Py_CLEAR(self->region);
  Py_CLEAR(self->dict);
  return 0;
}

static void profiled_dealloc(PyObject *op) {
  PyTypeObject *type = Py_TYPE(op);
  PyObject_GC_UnTrack(op);
  if (((profiled *)op)->weak_references) PyObject_ClearWeakRefs(op);
  profiled_clear(op);
  Py_XDECREF(((profiled *)op)->recorder);
  type->tp_free(op);
  Py_DECREF(type);
}

static PyMemberDef profiled_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(profiled, vectorcall), READONLY, NULL},
    {"__dictoffset__", T_PYSSIZET, offsetof(profiled, dict), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(profiled, weak_references), READONLY, NULL},
    {"region", T_OBJECT, offsetof(profiled, region), READONLY, "The region whose calls it records."},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef profiled_attributes[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef profiled_methods[] = {
    {"__reduce__", profiled_reduce, METH_NOARGS, NULL},
    {"__copy__", profiled_copy, METH_NOARGS, NULL},
    {"__deepcopy__", profiled_copy, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot profiled_slots[] = {
    {Py_tp_new, profiled_new},
    {Py_tp_dealloc, profiled_dealloc},
    {Py_tp_traverse, profiled_traverse},
    {Py_tp_clear, profiled_clear},
    {Py_tp_repr, profiled_repr},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_descr_get, profiled_get},
    {Py_tp_members, profiled_members},
    {Py_tp_getset, profiled_attributes},
    {Py_tp_methods, profiled_methods},
    {0, NULL},
};

/* METHOD_DESCRIPTOR: `object.method(…)` calls it with the object in front, without a bound method. */
static PyType_Spec profiled_spec = {
    .name = "lanescope._core.Profiled",
    .basicsize = sizeof(profiled),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
    .slots = profiled_slots,
};

int lsc_core_add_profiled(PyObject *module, lsc_core_state *state) {
  state->profiled_type = lsc_core_add_type(module, &profiled_spec);
  return state->profiled_type ? 0 : -1;
}
