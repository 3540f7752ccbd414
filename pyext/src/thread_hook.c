/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * class ThreadHook:
 *     "A profile function for threading.setprofile: registers a thread at its first event, then takes itself away."
 *     def __init__(self, previous): ...       # what threading.setprofile had, or None
 *     def __call__(self, frame, event, arg):
 *         for tracker in installed: tracker.register_thread()
 *         sys.setprofile(self.previous)
 *         if self.previous is not None:
 *             return self.previous(frame, event, arg)
 */
#include "tracking.h"

#include <structmember.h>

typedef struct {
  PyObject_HEAD
  vectorcallfunc vectorcall;
  struct lsc_core_hooks *hooks;
  PyObject *previous;
} thread_hook;

/* The list may change meanwhile: describing a thread runs Python code. */
static void register_thread(struct lsc_core_hooks *hooks) {
  for (size_t i = 0; i < hooks->installed.count; i++) {
    int64_t index;
    lsc_thread_register_as(hooks->installed.tracker[i]->session, LSC_API_PYTHON, &index);
  }
  lsc_core_watch_greenlets(hooks);
}

static int set_profile(PyObject *function) {
  if (function == Py_None) {
    PyEval_SetProfile(NULL, NULL);
    return 0;
  }
  PyObject *setprofile = PySys_GetObject("setprofile");
  PyObject *result = setprofile ? PyObject_CallOneArg(setprofile, function) : NULL;
  if (!result && !PyErr_Occurred()) PyErr_SetString(PyExc_RuntimeError, "sys.setprofile is gone");
  Py_XDECREF(result);
  return result ? 0 : -1;
}

static PyObject *hook_call(PyObject *op, PyObject *const *args, size_t nargsf, PyObject *kwnames) {
  thread_hook *self = (thread_hook *)op;
  PyObject *previous = self->previous ? self->previous : Py_None, *result = NULL;
  Py_INCREF(op);
  Py_INCREF(previous);
  register_thread(self->hooks);
  if (set_profile(previous) == 0) {
    result = Py_None;
    Py_INCREF(result);
    if (previous != Py_None) Py_SETREF(result, PyObject_Vectorcall(previous, args, nargsf, kwnames));
  }
  Py_DECREF(previous);
  Py_DECREF(op);
  return result;
}

static PyObject *hook_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  static char *keywords[] = {"previous", NULL};
  PyObject *previous;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O:ThreadHook", keywords, &previous)) return NULL;
  thread_hook *self = (thread_hook *)type->tp_alloc(type, 0);
  if (!self) return NULL;
  self->vectorcall = hook_call;
  self->hooks = ((lsc_core_state *)PyType_GetModuleState(type))->hooks;
  Py_INCREF(previous);
  self->previous = previous;
  return (PyObject *)self;
}

static int hook_traverse(PyObject *op, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(op));
  Py_VISIT(((thread_hook *)op)->previous);
  return 0;
}

static int hook_clear(PyObject *op) {
  Py_CLEAR(((thread_hook *)op)->previous);
  return 0;
}

static PyMemberDef hook_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(thread_hook, vectorcall), READONLY, NULL},
    {"previous", T_OBJECT, offsetof(thread_hook, previous), READONLY, "What stood in its place."},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot hook_slots[] = {
    {Py_tp_new, hook_new},     {Py_tp_dealloc, lsc_core_dealloc}, {Py_tp_traverse, hook_traverse},
    {Py_tp_clear, hook_clear}, {Py_tp_call, PyVectorcall_Call},   {Py_tp_members, hook_members},
    {0, NULL},
};

static PyType_Spec hook_spec = {
    .name = "lanescope._core.ThreadHook",
    .basicsize = sizeof(thread_hook),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = hook_slots,
};

int lsc_core_add_thread_hook(PyObject *module, lsc_core_state *state) {
  state->hooks->thread_hook_type = lsc_core_add_type(module, &hook_spec);
  return state->hooks->thread_hook_type ? 0 : -1;
}
