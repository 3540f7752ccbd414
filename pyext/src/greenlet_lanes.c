/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * class GreenletLanes:
 *     "A greenlet of one thread, as tasks of the trackers. It has no lane if it is the thread's main greenlet."
 *     def __call__(self, reference):          # of the weak reference: the greenlet is gone
 *         finish(self.lanes); del self.owner[self.greenlet]
 */
#include "tracking.h"

#include <structmember.h>

static PyObject *lanes_gone(PyObject *op, PyObject *const *args, size_t nargsf, PyObject *kwnames) {
  (void)args, (void)nargsf, (void)kwnames;
  lsc_core_greenlet_lanes *self = (lsc_core_greenlet_lanes *)op;
  PyObject *owner = self->owner, *key = self->greenlet && owner ? PyLong_FromVoidPtr(self->greenlet) : NULL;
  Py_INCREF(op);
  self->greenlet = NULL;
  lsc_core_lanes_finish(&self->lanes);
  if (!key || PyDict_DelItem(owner, key) < 0) PyErr_Clear();
  Py_XDECREF(key);
  Py_DECREF(op);
  Py_RETURN_NONE;
}

/* The main greenlet has no parent. */
static int is_main(struct lsc_core_hooks *hooks, PyObject *greenlet) {
  PyObject *parent = lsc_core_attribute(greenlet, hooks->parent);
  int result = !parent || parent == Py_None;
  Py_XDECREF(parent);
  return result;
}

/* A name that the greenlet has itself, as gevent's do. New reference or NULL. */
static PyObject *own_name(struct lsc_core_hooks *hooks, PyObject *greenlet) {
  PyObject *name = lsc_core_attribute(greenlet, hooks->name);
  if (name && PyUnicode_Check(name)) return name;
  Py_XDECREF(name);
  return NULL;
}

/* The function that a greenlet of gevent runs. New reference or NULL. */
static PyObject *own_function(struct lsc_core_hooks *hooks, PyObject *greenlet) {
  PyObject *function = lsc_core_attribute(greenlet, hooks->run);
  PyObject *name = function ? lsc_core_attribute(function, hooks->qualname) : NULL;
  Py_XDECREF(function);
  return name;
}

static void open_in(lsc_core_greenlet_lanes *self, lsc_core_tracker *tracker, PyObject *name, PyObject *function) {
  uint32_t threads = 0, tasks = 0;
  PyObject *holders[2];
  char numbered[32];
  lsc_lanes_count(tracker->session, &threads, &tasks);
  PyOS_snprintf(numbered, sizeof numbered, "greenlet-%u", tasks);
  const char *text = name ? lsc_core_text(name, &holders[0]) : (holders[0] = NULL, numbered);
  lsc_core_lanes_open(&self->lanes, tracker, "greenlet", text, lsc_core_text(function, &holders[1]));
  Py_XDECREF(holders[0]);
  Py_XDECREF(holders[1]);
}

void lsc_core_greenlet_lanes_update(lsc_core_greenlet_lanes *self, PyObject *greenlet) {
  struct lsc_core_hooks *hooks = self->hooks;
  self->version = hooks->version;
  if (self->is_main) return;
  PyObject *name = own_name(hooks, greenlet), *function = own_function(hooks, greenlet);
  if (function) self->is_named = 1;
  for (size_t i = 0; i < hooks->async.count; i++) open_in(self, hooks->async.tracker[i], name, function);
  Py_XDECREF(name);
  Py_XDECREF(function);
}

/* The outermost code of a greenlet that is switched away. New reference or NULL. */
static PyCodeObject *outermost_code(struct lsc_core_hooks *hooks, PyObject *greenlet) {
  PyObject *object = lsc_core_attribute(greenlet, hooks->gr_frame);
  if (!object || !PyFrame_Check(object)) {
    Py_XDECREF(object);
    return NULL;
  }
  PyFrameObject *frame = (PyFrameObject *)object, *outer;
  while ((outer = PyFrame_GetBack(frame))) Py_SETREF(frame, outer);
  PyCodeObject *code = PyFrame_GetCode(frame);
  Py_DECREF(frame);
  return code;
}

void lsc_core_greenlet_lanes_name(lsc_core_greenlet_lanes *self, PyObject *greenlet) {
  PyObject *holder;
  PyCodeObject *code = outermost_code(self->hooks, greenlet);
  self->is_named = 1;
  if (!code) return;
#if PY_VERSION_HEX >= 0x030B0000
  PyObject *name = code->co_qualname;
#else
  PyObject *name = code->co_name;
#endif
  lsc_core_lanes_rename(&self->lanes, NULL, lsc_core_text(name, &holder));
  Py_XDECREF(holder);
  Py_DECREF(code);
}

lsc_core_greenlet_lanes *lsc_core_greenlet_lanes_new(struct lsc_core_hooks *hooks, PyObject *greenlet,
                                                     PyObject *owner) {
  PyTypeObject *type = hooks->greenlet_lanes_type;
  lsc_core_greenlet_lanes *self = (lsc_core_greenlet_lanes *)type->tp_alloc(type, 0);
  PyObject *key = self ? PyLong_FromVoidPtr(greenlet) : NULL;
  if (!key) goto fail;
  self->vectorcall = lanes_gone;
  self->hooks = hooks;
  self->greenlet = greenlet;
  Py_INCREF(owner);
  self->owner = owner;
  self->reference = PyWeakref_NewRef(greenlet, (PyObject *)self);
  if (!self->reference || PyDict_SetItem(owner, key, (PyObject *)self) < 0) goto fail;
  Py_DECREF(key);
  self->is_main = is_main(hooks, greenlet);
  lsc_core_greenlet_lanes_update(self, greenlet);
  return self;
fail:
  Py_XDECREF(key);
  Py_XDECREF(self);
  return NULL;
}

static int lanes_traverse(PyObject *op, visitproc visit, void *arg) {
  lsc_core_greenlet_lanes *self = (lsc_core_greenlet_lanes *)op;
  Py_VISIT(Py_TYPE(op));
  Py_VISIT(self->reference);
  Py_VISIT(self->owner);
  return 0;
}

static int lanes_clear(PyObject *op) {
  lsc_core_greenlet_lanes *self = (lsc_core_greenlet_lanes *)op;
  Py_CLEAR(self->reference);
  Py_CLEAR(self->owner);
  return 0;
}

static void lanes_dealloc(PyObject *op) {
  PyTypeObject *type = Py_TYPE(op);
  PyObject_GC_UnTrack(op);
  lanes_clear(op);
  lsc_core_lanes_free(&((lsc_core_greenlet_lanes *)op)->lanes);
  type->tp_free(op);
  Py_DECREF(type);
}

static PyMemberDef lanes_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(lsc_core_greenlet_lanes, vectorcall), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot lanes_slots[] = {
    {Py_tp_dealloc, lanes_dealloc},   {Py_tp_traverse, lanes_traverse}, {Py_tp_clear, lanes_clear},
    {Py_tp_call, PyVectorcall_Call}, {Py_tp_members, lanes_members},   {0, NULL},
};

static PyType_Spec lanes_spec = {
    .name = "lanescope._core.GreenletLanes",
    .basicsize = sizeof(lsc_core_greenlet_lanes),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = lanes_slots,
};

int lsc_core_add_greenlet_lanes(PyObject *module, lsc_core_state *state) {
  state->hooks->greenlet_lanes_type = lsc_core_add_type(module, &lanes_spec);
  return state->hooks->greenlet_lanes_type ? 0 : -1;
}
