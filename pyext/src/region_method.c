/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * class RegionMethod:
 *     "Region.__enter__ or __exit__. A plain method makes a bound object at each `with`; this one has it ready."
 *     def __get__(self, region, owner=None):
 *         return self if region is None else getattr(region, self.bound)
 *     def __call__(self, region, *args):
 *         return self.__get__(region)(*args)
 */
#include "core.h"

#include <structmember.h>

typedef struct {
  PyObject_HEAD
  vectorcallfunc vectorcall;
  PyTypeObject *region_type;
  PyObject *name;
  size_t bound;
} region_method;

static PyObject *bound_to(const region_method *self, PyObject *region) {
  if (!Py_IS_TYPE(region, self->region_type)) {
    return PyErr_Format(PyExc_TypeError, "%U needs a Region, not %.100s", self->name, Py_TYPE(region)->tp_name);
  }
  PyObject *bound = *(PyObject **)((char *)region + self->bound);
  if (!bound) PyErr_Format(PyExc_RuntimeError, "%U of a region that is being deleted", self->name);
  return bound;
}

static PyObject *region_method_get(PyObject *op, PyObject *region, PyObject *owner) {
  (void)owner;
  PyObject *result = !region || region == Py_None ? op : bound_to((region_method *)op, region);
  Py_XINCREF(result);
  return result;
}

static PyObject *region_method_call(PyObject *op, PyObject *const *args, size_t nargsf, PyObject *kwnames) {
  Py_ssize_t count = PyVectorcall_NARGS(nargsf);
  if (count < 1) return PyErr_Format(PyExc_TypeError, "%U needs a Region", ((region_method *)op)->name);
  PyObject *bound = bound_to((region_method *)op, args[0]);
  return bound ? PyObject_Vectorcall(bound, args + 1, (size_t)(count - 1), kwnames) : NULL;
}

static int region_method_traverse(PyObject *op, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(op));
  Py_VISIT(((region_method *)op)->region_type);
  return 0;
}

static int region_method_clear(PyObject *op) {
  Py_CLEAR(((region_method *)op)->region_type);
  return 0;
}

static void region_method_dealloc(PyObject *op) {
  PyTypeObject *type = Py_TYPE(op);
  PyObject_GC_UnTrack(op);
  region_method_clear(op);
  Py_XDECREF(((region_method *)op)->name);
  type->tp_free(op);
  Py_DECREF(type);
}

static PyMemberDef region_method_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(region_method, vectorcall), READONLY, NULL},
    {"__name__", T_OBJECT, offsetof(region_method, name), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyObject *region_method_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  (void)args;
  (void)kwargs;
  return PyErr_Format(PyExc_TypeError, "cannot create '%.100s' instances", type->tp_name);
}

static PyType_Slot region_method_slots[] = {
    {Py_tp_new, region_method_new},           {Py_tp_dealloc, region_method_dealloc},
    {Py_tp_traverse, region_method_traverse}, {Py_tp_clear, region_method_clear},
    {Py_tp_call, PyVectorcall_Call},          {Py_tp_descr_get, region_method_get},
    {Py_tp_members, region_method_members},   {0, NULL},
};

static PyType_Spec region_method_spec = {
    .name = "lanescope._core.RegionMethod",
    .basicsize = sizeof(region_method),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = region_method_slots,
};

PyTypeObject *lsc_core_region_method_type(PyObject *module) {
  return lsc_core_add_type(module, &region_method_spec);
}

PyObject *lsc_core_region_method_new(lsc_core_state *state, const char *name, size_t bound) {
  region_method *self = (region_method *)state->region_method_type->tp_alloc(state->region_method_type, 0);
  if (!self) return NULL;
  self->vectorcall = region_method_call;
  self->bound = bound;
  Py_INCREF(state->region_type);
  self->region_type = state->region_type;
  self->name = PyUnicode_FromString(name);
  if (self->name) return (PyObject *)self;
  Py_DECREF(self);
  return NULL;
}
