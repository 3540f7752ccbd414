/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * class Call:
 *     "One call of a region, which may end out of order and on another thread; what Region.call() returns."
 *     def __enter__(self): self.token = scope_begin(session, self.id); return self
 *     def __exit__(self, *exception): scope_end(self.token)
 */
#include "core.h"

#include <lanescope_binding.h>

typedef struct {
  PyObject_HEAD
  lsc_core_region *region;
  lsc_token token;
} call_object;

PyObject *lsc_core_call_new(lsc_core_region *region) {
  PyTypeObject *type = region->recorder->state->call_type;
  if (!type) return PyErr_Format(PyExc_RuntimeError, "the module lanescope is being deleted");
  call_object *self = (call_object *)type->tp_alloc(type, 0);
  if (!self) return NULL;
  Py_INCREF(region);
  self->region = region;
  return (PyObject *)self;
}

static PyObject *call_enter(PyObject *op, PyObject *unused) {
  (void)unused;
  call_object *self = (call_object *)op;
  if (self->token.session) {
    return PyErr_Format(PyExc_RuntimeError, "this call of region %R has begun; region.call() makes another one",
                        self->region->name);
  }
  lsc_session session = lsc_core_session(self->region->recorder);
  if (session) lsc_scope_begin_as(session, LSC_API_PYTHON, self->region->id, &self->token);
  Py_INCREF(op);
  return op;
}

static PyObject *call_exit(PyObject *op, PyObject *const *args, Py_ssize_t count) {
  (void)args;
  (void)count;
  call_object *self = (call_object *)op;
  if (self->token.session) lsc_scope_end(self->token);
  memset(&self->token, 0, sizeof self->token);
  Py_RETURN_NONE;
}

static PyObject *call_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  (void)args;
  (void)kwargs;
  return PyErr_Format(PyExc_TypeError, "cannot create '%.100s' instances; region.call() makes one", type->tp_name);
}

static int call_traverse(PyObject *op, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(op));
  Py_VISIT(((call_object *)op)->region);
  return 0;
}

static void call_dealloc(PyObject *op) {
  PyTypeObject *type = Py_TYPE(op);
  PyObject_GC_UnTrack(op);
  Py_XDECREF(((call_object *)op)->region);
  type->tp_free(op);
  Py_DECREF(type);
}

static PyMethodDef call_methods[] = {
    {"__enter__", call_enter, METH_NOARGS, "Begins the call, on this lane."},
    {"__exit__", (PyCFunction)(void (*)(void))call_exit, METH_FASTCALL, "Ends it, on the lane where it began."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot call_slots[] = {
    {Py_tp_doc, "One call of a region, for `with`: it may end out of order, and on another thread than it began."},
    {Py_tp_new, call_new},
    {Py_tp_dealloc, call_dealloc},
    {Py_tp_traverse, call_traverse},
    {Py_tp_methods, call_methods},
    {0, NULL},
};

static PyType_Spec call_spec = {
    .name = "lanescope._core.Call",
    .basicsize = sizeof(call_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = call_slots,
};

int lsc_core_add_call(PyObject *module, lsc_core_state *state) {
  state->call_type = lsc_core_add_type(module, &call_spec);
  return state->call_type ? 0 : -1;
}
