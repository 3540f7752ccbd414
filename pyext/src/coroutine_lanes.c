/* SPDX-License-Identifier: BSD-3-Clause */
/* The task of a wrapped coroutine in the tables: from when to when it is there, and what it is called. */
#include "coroutine.h"

static void link_live(lsc_core_coroutine *self) {
  self->next = self->hooks->live;
  self->link = &self->hooks->live;
  if (self->next) self->next->link = &self->next;
  self->hooks->live = self;
}

void lsc_core_coroutine_unlink(lsc_core_coroutine *self) {
  if (!self->link) return;
  *self->link = self->next;
  if (self->next) self->next->link = self->link;
  self->link = NULL;
}

/* What a weak reference, or NULL, leads to. New reference or NULL. */
static PyObject *referent(PyObject *reference) {
  PyObject *object = NULL;
#if PY_VERSION_HEX >= 0x030D0000
  if (reference && PyWeakref_GetRef(reference, &object) < 0) PyErr_Clear();
#else
  if (reference) object = PyWeakref_GetObject(reference);
  if (object == Py_None) object = NULL;
  Py_XINCREF(object);
#endif
  return object;
}

/* The name of the task, if it has another one than when it was last asked. New reference or NULL. */
static PyObject *new_name(lsc_core_coroutine *self) {
  PyObject *task = referent(self->task);
  if (!task) return NULL;
  PyObject *name = PyObject_CallMethodNoArgs(task, self->hooks->get_name);
  Py_DECREF(task);
  if (!name) PyErr_Clear();
  if (name != self->name) return name;
  Py_XDECREF(name);
  return NULL;
}

static void refresh_name(lsc_core_coroutine *self) {
  PyObject *name = new_name(self), *holder;
  if (!name) return;
  lsc_core_lanes_rename(&self->lanes, lsc_core_text(name, &holder), NULL);
  Py_XDECREF(holder);
  Py_XSETREF(self->name, name);
}

void lsc_core_refresh_names(struct lsc_core_hooks *hooks) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  lsc_core_coroutine *each = hooks->live, *next;
  for (Py_XINCREF(each); each; each = next) {
    refresh_name(each);
    next = each->link ? each->next : NULL;
    Py_XINCREF(next);
    Py_DECREF(each);
  }
  PyErr_Restore(type, value, traceback);
}

static PyObject *qualified_name(lsc_core_coroutine *self) {
  PyObject *name = lsc_core_attribute(self->inner, self->hooks->qualname);
  if (name && PyUnicode_Check(name)) return name;
  Py_XDECREF(name);
  return PyUnicode_FromString(Py_TYPE(self->inner)->tp_name);
}

void lsc_core_coroutine_open(lsc_core_coroutine *self) {
  struct lsc_core_hooks *hooks = self->hooks;
  PyObject *holders[2] = {NULL, NULL}, *coro = qualified_name(self);
  const char *name = lsc_core_text(self->name, &holders[0]), *coro_name = lsc_core_text(coro, &holders[1]);
  self->is_open = 1;
  if (self->tracker) lsc_core_lanes_open(&self->lanes, self->tracker, "task", name, coro_name);
  for (size_t i = 0; !self->tracker && i < hooks->async.count; i++)
    lsc_core_lanes_open(&self->lanes, hooks->async.tracker[i], "task", name, coro_name);
  Py_XDECREF(holders[0]);
  Py_XDECREF(holders[1]);
  Py_XDECREF(coro);
  PyErr_Clear();
  link_live(self);
}

void lsc_core_coroutine_finish(lsc_core_coroutine *self) {
  PyObject *type, *value, *traceback;
  if (self->is_over) return;
  self->is_over = 1;
  lsc_core_coroutine_unlink(self);
  PyErr_Fetch(&type, &value, &traceback);
  refresh_name(self);
  PyErr_Restore(type, value, traceback);
  lsc_core_lanes_finish(&self->lanes);
}

void lsc_core_coroutine_bind(PyObject *op, PyObject *task) {
  lsc_core_coroutine *self = (lsc_core_coroutine *)op;
  if (self->task || !self->inner) return;
  self->task = PyWeakref_NewRef(task, NULL);
  if (!self->task) PyErr_Clear();
  if (self->is_open) {
    refresh_name(self);
    return;
  }
  self->name = new_name(self);
  lsc_core_coroutine_open(self);
}

int lsc_core_coroutine_has(struct lsc_core_hooks *hooks, PyObject *object, lsc_core_tracker *tracker) {
  if (!Py_IS_TYPE(object, hooks->coroutine_type)) return 0;
  lsc_core_coroutine *self = (lsc_core_coroutine *)object;
  if (!tracker || self->tracker == tracker || lsc_core_lanes_has(&self->lanes, tracker->session)) return 1;
  for (size_t i = 0; !self->is_open && !self->tracker && i < hooks->async.count; i++)
    if (hooks->async.tracker[i] == tracker) return 1;
  return self->inner && lsc_core_coroutine_has(hooks, self->inner, tracker);
}
