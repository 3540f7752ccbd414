/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * class LoopMethod:
 *     "What stands in the place of a method of BaseEventLoop, in front of what stood there: of create_task, or with
 *     `before`, which is called with the loop first, of run_forever. No frame of Python's is added to tracebacks."
 *     def __init__(self, original, before=None): ...
 *     def __call__(self, loop, coro, **options):
 *         wrapped = wrap(coro)
 *         task = self.original(loop, wrapped, **options)
 *         bind(wrapped, task)
 *         return task
 *     def __get__(self, loop, owner=None):
 *         return self if loop is None else types.MethodType(self, loop)
 * and wrap and bind, for task factories.
 */
#include "tracking.h"

#include <structmember.h>

typedef struct {
  PyObject_HEAD
  vectorcallfunc vectorcall;
  struct lsc_core_hooks *hooks;
  PyObject *original;
  PyObject *before; /* or NULL */
} loop_method;

#define MAX_ARGUMENTS 16

/* Whether asyncio takes it for a coroutine; -1 with an exception. */
static int is_coroutine(struct lsc_core_hooks *hooks, PyObject *object) {
  if (PyCoro_CheckExact(object)) return 1;
  if (!hooks->iscoroutine) return 0;
  PyObject *answer = PyObject_CallOneArg(hooks->iscoroutine, object);
  int result = answer ? PyObject_IsTrue(answer) : -1;
  Py_XDECREF(answer);
  return result;
}

/* The coroutine wrapped, or itself if it is none or is wrapped already. New reference or NULL. */
static PyObject *wrap(struct lsc_core_hooks *hooks, PyObject *coro, lsc_core_tracker *tracker) {
  int wanted = hooks->coroutine_type && !lsc_core_coroutine_has(hooks, coro, tracker) ? is_coroutine(hooks, coro) : 0;
  if (wanted < 0) return NULL;
  if (wanted) return lsc_core_coroutine_new(hooks, coro, tracker);
  Py_INCREF(coro);
  return coro;
}

/* Where the coroutine stands among the arguments, or -1. */
static Py_ssize_t place_of_coro(size_t count, PyObject *kwnames) {
  if (count > 1) return 1;
  for (Py_ssize_t i = 0; kwnames && i < PyTuple_GET_SIZE(kwnames); i++)
    if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, i), "coro") == 0) return (Py_ssize_t)count + i;
  return -1;
}

static PyObject *create(loop_method *self, PyObject *const *args, size_t count, PyObject *kwnames, Py_ssize_t place) {
  PyObject *stack[MAX_ARGUMENTS], *coro = args[place];
  size_t all = count + (size_t)(kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
  PyObject *wrapped = wrap(self->hooks, coro, NULL);
  if (!wrapped) return NULL;
  memcpy(stack, args, all * sizeof *stack);
  stack[place] = wrapped;
  PyObject *task = PyObject_Vectorcall(self->original, stack, count, kwnames);
  if (task && wrapped != coro) lsc_core_coroutine_bind(wrapped, task);
  Py_DECREF(wrapped);
  return task;
}

static PyObject *create_task_call(PyObject *op, PyObject *const *args, size_t nargsf, PyObject *kwnames) {
  loop_method *self = (loop_method *)op;
  if (!self->original) return PyErr_Format(PyExc_RuntimeError, "create_task of a module that is being deleted");
  size_t count = (size_t)PyVectorcall_NARGS(nargsf);
  Py_ssize_t place = place_of_coro(count, kwnames);
  size_t all = count + (size_t)(kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
  if (!self->hooks->async.count || place < 0 || all > MAX_ARGUMENTS)
    return PyObject_Vectorcall(self->original, args, nargsf, kwnames);
  return create(self, args, count, kwnames, place);
}

static PyObject *run_forever_call(PyObject *op, PyObject *const *args, size_t nargsf, PyObject *kwnames) {
  loop_method *self = (loop_method *)op;
  if (!self->original || !self->before)
    return PyErr_Format(PyExc_RuntimeError, "run_forever of a module that is being deleted");
  if (PyVectorcall_NARGS(nargsf) > 0) {
    PyObject *done = PyObject_CallOneArg(self->before, args[0]);
    if (!done) return NULL;
    Py_DECREF(done);
  }
  return PyObject_Vectorcall(self->original, args, nargsf, kwnames);
}

static PyObject *method_get(PyObject *op, PyObject *instance, PyObject *owner) {
  (void)owner;
  if (instance && instance != Py_None) return PyMethod_New(op, instance);
  Py_INCREF(op);
  return op;
}

static PyObject *method_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  static char *keywords[] = {"original", "before", NULL};
  PyObject *original, *before = NULL;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:LoopMethod", keywords, &original, &before)) return NULL;
  loop_method *self = (loop_method *)type->tp_alloc(type, 0);
  if (!self) return NULL;
  self->vectorcall = before ? run_forever_call : create_task_call;
  self->hooks = ((lsc_core_state *)PyType_GetModuleState(type))->hooks;
  Py_INCREF(original);
  self->original = original;
  Py_XINCREF(before);
  self->before = before;
  return (PyObject *)self;
}

/* As the function that it stands for: its name, signature and documentation. */
static PyObject *method_getattro(PyObject *op, PyObject *name) {
  PyObject *value = PyObject_GenericGetAttr(op, name), *original = ((loop_method *)op)->original;
  if (value || !original || !PyErr_ExceptionMatches(PyExc_AttributeError)) return value;
  PyErr_Clear();
  return PyObject_GetAttr(original, name);
}

static PyObject *method_doc(PyObject *op, void *closure) {
  (void)closure;
  PyObject *original = ((loop_method *)op)->original;
  if (original) return PyObject_GetAttrString(original, "__doc__");
  Py_RETURN_NONE;
}

static PyGetSetDef method_attributes[] = {
    {"__doc__", method_doc, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static int method_traverse(PyObject *op, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(op));
  Py_VISIT(((loop_method *)op)->original);
  Py_VISIT(((loop_method *)op)->before);
  return 0;
}

static int method_clear(PyObject *op) {
  Py_CLEAR(((loop_method *)op)->original);
  Py_CLEAR(((loop_method *)op)->before);
  return 0;
}

static PyMemberDef method_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(loop_method, vectorcall), READONLY, NULL},
    {"__wrapped__", T_OBJECT, offsetof(loop_method, original), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot method_slots[] = {
    {Py_tp_new, method_new},           {Py_tp_dealloc, lsc_core_dealloc}, {Py_tp_traverse, method_traverse},
    {Py_tp_clear, method_clear},       {Py_tp_call, PyVectorcall_Call},   {Py_tp_descr_get, method_get},
    {Py_tp_getattro, method_getattro}, {Py_tp_members, method_members},   {Py_tp_getset, method_attributes},
    {0, NULL},
};

/* METHOD_DESCRIPTOR: `loop.create_task(…)` calls it with the loop in front, without a bound method. */
static PyType_Spec method_spec = {
    .name = "lanescope._core.LoopMethod",
    .basicsize = sizeof(loop_method),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
    .slots = method_slots,
};

static PyObject *core_wrap(PyObject *module, PyObject *args) {
  struct lsc_core_hooks *hooks = lsc_core_state_of(module)->hooks;
  PyObject *coro, *tracker;
  if (!PyArg_ParseTuple(args, "OO!:wrap", &coro, hooks->tracker_type, &tracker)) return NULL;
  return wrap(hooks, coro, (lsc_core_tracker *)tracker);
}

static PyObject *core_bind(PyObject *module, PyObject *args) {
  struct lsc_core_hooks *hooks = lsc_core_state_of(module)->hooks;
  PyObject *coroutine, *task;
  if (!PyArg_ParseTuple(args, "O!O:bind", hooks->coroutine_type, &coroutine, &task)) return NULL;
  lsc_core_coroutine_bind(coroutine, task);
  Py_RETURN_NONE;
}

static PyObject *core_use_asyncio(PyObject *module, PyObject *iscoroutine) {
  struct lsc_core_hooks *hooks = lsc_core_state_of(module)->hooks;
  Py_INCREF(iscoroutine);
  Py_XSETREF(hooks->iscoroutine, iscoroutine);
  Py_RETURN_NONE;
}

static PyMethodDef method_functions[] = {
    {"wrap", core_wrap, METH_VARARGS,
     "wrap(coro, tracker, /)\n--\n\nThe coroutine as the tracker follows it, or itself if it does already or is none."},
    {"bind", core_bind, METH_VARARGS,
     "bind(coroutine, task, /)\n--\n\nTells a wrapped coroutine its task, which is in the tables from then on."},
    {"use_asyncio", core_use_asyncio, METH_O,
     "use_asyncio(iscoroutine, /)\n--\n\nHow to know coroutines that are not the interpreter's own."},
    {NULL, NULL, 0, NULL},
};

int lsc_core_add_loop_method(PyObject *module, lsc_core_state *state) {
  state->hooks->loop_method_type = lsc_core_add_type(module, &method_spec);
  if (!state->hooks->loop_method_type) return -1;
  return PyModule_AddFunctions(module, method_functions);
}
