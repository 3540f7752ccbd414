/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * class TaskCoroutine:
 *     "Stands for the coroutine of a task: what it is asked it asks the user's, and it notes when that one runs."
 *     def send(self, value):                  # throw and close likewise
 *         with self.step:
 *             return self.inner.send(value)
 *     def __await__(self): return self
 *     def __getattr__(self, name): return getattr(self.inner, name)
 *     __class__ = property(lambda self: type(self.inner))
 */
#include "coroutine.h"

#include <structmember.h>

/*
 * The collector finalizes what is garbage in the order in which it was tracked. The user's coroutine comes after the
 * one that stands for it, which then closes it within a step; else its regions would end on whichever lane runs.
 */
static void go_before(PyObject *inner) {
  if (!PyCoro_CheckExact(inner) || !PyObject_GC_IsTracked(inner)) return;
  PyObject_GC_UnTrack(inner);
  PyObject_GC_Track(inner);
}

PyObject *lsc_core_coroutine_new(struct lsc_core_hooks *hooks, PyObject *inner, lsc_core_tracker *tracker) {
  lsc_core_coroutine *self = PyObject_GC_New(lsc_core_coroutine, hooks->coroutine_type);
  if (!self) return NULL;
  memset((char *)self + sizeof(PyObject), 0, sizeof *self - sizeof(PyObject));
  self->hooks = hooks;
  Py_INCREF(inner);
  self->inner = inner;
  Py_XINCREF(tracker);
  self->tracker = tracker;
  PyObject_GC_Track(self);
  go_before(inner);
  return (PyObject *)self;
}

/* 1 if this call runs the coroutine as a step; 0 if it is within one, where the user's coroutine says what is wrong. */
static int begin_step(lsc_core_coroutine *self) {
  if (self->in_step) return 0;
  if (!self->is_open) lsc_core_coroutine_open(self);
  self->in_step = self->has_run = 1;
  lsc_core_lanes_enter(&self->lanes);
  return 1;
}

static void end_step(lsc_core_coroutine *self, int is_step, int is_over) {
  if (!is_step) return;
  lsc_core_lanes_leave(&self->lanes);
  self->in_step = 0;
  if (is_over) lsc_core_coroutine_finish(self);
}

/* After the garbage collector cleared it, a finalizer may still come here. */
static int is_there(const lsc_core_coroutine *self) {
  if (self->inner) return 1;
  PyErr_SetString(PyExc_RuntimeError, "the coroutine of a task is being deleted");
  return 0;
}

static PySendResult coroutine_am_send(PyObject *op, PyObject *value, PyObject **result) {
  lsc_core_coroutine *self = (lsc_core_coroutine *)op;
  *result = NULL;
  if (!is_there(self)) return PYGEN_ERROR;
  int is_step = begin_step(self);
  PySendResult what = PyIter_Send(self->inner, value, result);
  end_step(self, is_step, what != PYGEN_NEXT);
  return what;
}

/* A value that is a tuple or an exception would be taken apart, were it not put into its StopIteration here. */
static PyObject *stop(PyObject *value) {
  PyObject *exception = PyObject_CallOneArg(PyExc_StopIteration, value);
  if (exception) PyErr_SetObject(PyExc_StopIteration, exception);
  Py_XDECREF(exception);
  return NULL;
}

static PyObject *coroutine_send(PyObject *op, PyObject *value) {
  PyObject *result;
  PySendResult what = coroutine_am_send(op, value, &result);
  if (what != PYGEN_RETURN) return result;
  stop(result);
  Py_DECREF(result);
  return NULL;
}

static PyObject *coroutine_iternext(PyObject *op) { return coroutine_send(op, Py_None); }

static PyObject *coroutine_throw(PyObject *op, PyObject *const *args, Py_ssize_t count) {
  lsc_core_coroutine *self = (lsc_core_coroutine *)op;
  if (!is_there(self)) return NULL;
  if (count < 1 || count > 3) return PyErr_Format(PyExc_TypeError, "throw takes 1 to 3 arguments, not %zd", count);
  PyObject *stack[4] = {self->inner, args[0], count > 1 ? args[1] : NULL, count > 2 ? args[2] : NULL};
  int is_step = begin_step(self);
  PyObject *result = PyObject_VectorcallMethod(self->hooks->throw_, stack, (size_t)count + 1, NULL);
  end_step(self, is_step, !result);
  return result;
}

static PyObject *coroutine_close(PyObject *op, PyObject *unused) {
  (void)unused;
  lsc_core_coroutine *self = (lsc_core_coroutine *)op;
  if (!is_there(self)) return NULL;
  if (!self->has_run) {
    PyObject *nothing = PyObject_CallMethodNoArgs(self->inner, self->hooks->close);
    if (nothing) lsc_core_coroutine_finish(self);
    return nothing;
  }
  int is_step = self->is_over ? 0 : begin_step(self);
  PyObject *result = PyObject_CallMethodNoArgs(self->inner, self->hooks->close);
  end_step(self, is_step, 1);
  return result;
}

static PyObject *coroutine_await(PyObject *op) {
  Py_INCREF(op);
  return op;
}

static PyObject *coroutine_repr(PyObject *op) {
  lsc_core_coroutine *self = (lsc_core_coroutine *)op;
  return is_there(self) ? PyObject_Repr(self->inner) : NULL;
}

static PyObject *coroutine_getattro(PyObject *op, PyObject *name) {
  lsc_core_coroutine *self = (lsc_core_coroutine *)op;
  PyObject *value = PyObject_GenericGetAttr(op, name);
  if (value || !self->inner || !PyErr_ExceptionMatches(PyExc_AttributeError)) return value;
  PyErr_Clear();
  return PyObject_GetAttr(self->inner, name);
}

static PyObject *get_inner(PyObject *op, void *name) {
  lsc_core_coroutine *self = (lsc_core_coroutine *)op;
  return is_there(self) ? PyObject_GetAttrString(self->inner, (const char *)name) : NULL;
}

static int set_inner(PyObject *op, PyObject *value, void *name) {
  lsc_core_coroutine *self = (lsc_core_coroutine *)op;
  return is_there(self) ? PyObject_SetAttrString(self->inner, (const char *)name, value) : -1;
}

static PyObject *get_class(PyObject *op, void *closure) {
  (void)closure;
  PyObject *inner = ((lsc_core_coroutine *)op)->inner;
  PyObject *type = (PyObject *)(inner ? Py_TYPE(inner) : Py_TYPE(op));
  Py_INCREF(type);
  return type;
}

static int coroutine_traverse(PyObject *op, visitproc visit, void *arg) {
  lsc_core_coroutine *self = (lsc_core_coroutine *)op;
  Py_VISIT(Py_TYPE(op));
  Py_VISIT(self->inner);
  Py_VISIT(self->task);
  Py_VISIT(self->name);
  Py_VISIT(self->tracker);
  return 0;
}

static int coroutine_clear(PyObject *op) {
  lsc_core_coroutine *self = (lsc_core_coroutine *)op;
  Py_CLEAR(self->inner);
  Py_CLEAR(self->task);
  Py_CLEAR(self->name);
  Py_CLEAR(self->tracker);
  return 0;
}

/* Closes the user's coroutine, which nobody else has, as its own finalizer would, but within a step of the task. */
static void close_in_step(lsc_core_coroutine *self) {
  lsc_core_lanes_enter(&self->lanes);
  PyObject *nothing = PyObject_CallMethodNoArgs(self->inner, self->hooks->close);
  if (!nothing) PyErr_WriteUnraisable(self->inner);
  Py_XDECREF(nothing);
  lsc_core_lanes_leave(&self->lanes);
}

static void coroutine_finalize(PyObject *op) {
  lsc_core_coroutine *self = (lsc_core_coroutine *)op;
  PyObject *type, *value, *traceback;
  if (self->is_over) return;
  PyErr_Fetch(&type, &value, &traceback);
  if (self->has_run && self->inner && Py_REFCNT(self->inner) == 1) close_in_step(self);
  lsc_core_coroutine_finish(self);
  PyErr_Restore(type, value, traceback);
}

static void coroutine_dealloc(PyObject *op) {
  lsc_core_coroutine *self = (lsc_core_coroutine *)op;
  PyTypeObject *type = Py_TYPE(op);
  if (PyObject_CallFinalizerFromDealloc(op) < 0) return;
  PyObject_GC_UnTrack(op);
  lsc_core_coroutine_unlink(self);
  if (self->weak_references) PyObject_ClearWeakRefs(op);
  coroutine_clear(op);
  lsc_core_lanes_free(&self->lanes);
  type->tp_free(op);
  Py_DECREF(type);
}

static PyMethodDef coroutine_methods[] = {
    {"send", coroutine_send, METH_O, "As of the user's coroutine, noted as a step of its task."},
    {"throw", (PyCFunction)(void (*)(void))coroutine_throw, METH_FASTCALL, "Likewise."},
    {"close", coroutine_close, METH_NOARGS, "Likewise."},
    {NULL, NULL, 0, NULL},
};

#define INNER(name) {#name, get_inner, NULL, NULL, #name}
#define INNER_SETTABLE(name) {#name, get_inner, set_inner, NULL, #name}
static PyGetSetDef coroutine_attributes[] = {
    {"__class__", get_class, NULL, NULL, NULL},
    INNER_SETTABLE(__name__),
    INNER_SETTABLE(__qualname__),
    INNER(__doc__),
    INNER(cr_frame),
    INNER(cr_code),
    INNER(cr_await),
    INNER(cr_running),
    INNER(cr_origin),
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef coroutine_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(lsc_core_coroutine, weak_references), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot coroutine_slots[] = {
    {Py_tp_dealloc, coroutine_dealloc},
    {Py_tp_finalize, coroutine_finalize},
    {Py_tp_traverse, coroutine_traverse},
    {Py_tp_clear, coroutine_clear},
    {Py_tp_repr, coroutine_repr},
    {Py_tp_getattro, coroutine_getattro},
    {Py_tp_iternext, coroutine_iternext},
    {Py_tp_methods, coroutine_methods},
    {Py_tp_getset, coroutine_attributes},
    {Py_tp_members, coroutine_members},
    {Py_am_await, coroutine_await},
    {Py_am_send, coroutine_am_send},
    {0, NULL},
};

static PyType_Spec coroutine_spec = {
    .name = "lanescope._core.TaskCoroutine",
    .basicsize = sizeof(lsc_core_coroutine),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = coroutine_slots,
};

int lsc_core_add_coroutine(PyObject *module, lsc_core_state *state) {
  state->hooks->coroutine_type = lsc_core_add_type(module, &coroutine_spec);
  return state->hooks->coroutine_type ? 0 : -1;
}
