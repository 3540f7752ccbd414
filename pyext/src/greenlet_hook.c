/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * class GreenletHook:
 *     "The trace function of greenlet.settrace on one thread, chained to the one that was there."
 *     def __call__(self, event, greenlets):
 *         origin, target = greenlets
 *         leave(self.current); self.current = self.lanes[target]; enter(self.current)
 *         if self.previous is not None:
 *             self.previous(event, greenlets)
 * When no tracker follows tasks any more, the next switch of the thread takes it away.
 */
#include "tracking.h"

#include <structmember.h>

#define CACHED 64 /* a power of two */

typedef struct {
  PyObject_HEAD
  vectorcallfunc vectorcall;
  struct lsc_core_hooks *hooks;
  PyObject *previous;               /* or NULL */
  PyObject *lanes;                  /* dict: address of a greenlet -> GreenletLanes */
  lsc_core_greenlet_lanes *current; /* of the greenlet that runs, or NULL; held */
  int is_off;                       /* it only passes on: no tracker needs it, or another one stands in front */
  lsc_core_greenlet_lanes *cached[CACHED]; /* by address, held */
} greenlet_hook;

static lsc_core_greenlet_lanes *look_up(greenlet_hook *self, PyObject *greenlet) {
  PyObject *key = PyLong_FromVoidPtr(greenlet);
  PyObject *known = key ? PyDict_GetItemWithError(self->lanes, key) : NULL;
  Py_XDECREF(key);
  Py_XINCREF(known);
  lsc_core_greenlet_lanes *lanes = (lsc_core_greenlet_lanes *)known;
  if (!lanes && !PyErr_Occurred()) lanes = lsc_core_greenlet_lanes_new(self->hooks, greenlet, self->lanes);
  if (!lanes) PyErr_Clear();
  return lanes;
}

/* The lanes of the greenlet, or NULL without memory. Borrowed: the cache holds them. */
static lsc_core_greenlet_lanes *lanes_of(greenlet_hook *self, PyObject *greenlet) {
  lsc_core_greenlet_lanes **place = &self->cached[(uintptr_t)greenlet / 16 % CACHED];
  if (!*place || (*place)->greenlet != greenlet) Py_XSETREF(*place, look_up(self, greenlet));
  lsc_core_greenlet_lanes *lanes = *place;
  if (lanes && lanes->version != self->hooks->version) lsc_core_greenlet_lanes_update(lanes, greenlet);
  return lanes;
}

/* A greenlet that has ended is over at once; one that goes on may be named now. */
static void look_at_origin(greenlet_hook *self, lsc_core_greenlet_lanes *lanes, PyObject *origin) {
  PyObject *dead = self->hooks->greenlet_is_dead ? self->hooks->greenlet_is_dead(origin, NULL) : NULL;
  if (!dead) PyErr_Clear();
  if (dead == Py_True && !lanes->is_over) {
    lanes->is_over = 1;
    lsc_core_lanes_finish(&lanes->lanes);
  } else if (!lanes->is_named) {
    lsc_core_greenlet_lanes_name(lanes, origin);
  }
  Py_XDECREF(dead);
}

/* Both in one tracker, the same: one reading of the clock serves for both. */
static int switch_in_one(lsc_core_lanes *from, lsc_core_lanes *to) {
  if (from->count != 1 || to->count != 1 || !from->one.entered) return 0;
  if (from->one.task.session != to->one.task.session) return 0;
  lsc_status status = lsc_task_switch_at(to->one.task.session, LSC_API_PYTHON, from->one.place, to->one.place);
  from->one.entered = 0;
  to->one.entered = status == LSC_OK;
  return 1;
}

static void switch_lanes(greenlet_hook *self, PyObject *origin, lsc_core_greenlet_lanes *to) {
  lsc_core_greenlet_lanes *from = self->current;
  if (from == to) return;
  if (!from || !to || !switch_in_one(&from->lanes, &to->lanes)) {
    if (from) lsc_core_lanes_leave(&from->lanes);
    if (to) lsc_core_lanes_enter(&to->lanes);
  }
  Py_XINCREF(to);
  self->current = to;
  if (from && !from->is_main && from->greenlet == origin) look_at_origin(self, from, origin);
  Py_XDECREF(from);
}

static int stands_in_front(greenlet_hook *self) {
  PyObject *now = PyObject_CallNoArgs(self->hooks->gettrace);
  Py_XDECREF(now);
  return now == (PyObject *)self;
}

/* Ends its part. It goes if it stands where greenlet asks; below another one, which calls it, it only passes on. */
static void stand_down(greenlet_hook *self) {
  if (self->current) lsc_core_lanes_leave(&self->current->lanes);
  Py_CLEAR(self->current);
  self->is_off = 1;
  if (stands_in_front(self)) {
    PyObject *old = PyObject_CallOneArg(self->hooks->settrace, self->previous ? self->previous : Py_None);
    Py_XDECREF(old);
  }
  PyErr_Clear();
}

/* greenlet gives (event, (origin, target)). */
static PyObject *hook_call(PyObject *op, PyObject *const *args, size_t nargsf, PyObject *kwnames) {
  greenlet_hook *self = (greenlet_hook *)op;
  PyObject *both = PyVectorcall_NARGS(nargsf) == 2 ? args[1] : NULL, *result = Py_None;
  if (!both || !PyTuple_CheckExact(both) || PyTuple_GET_SIZE(both) != 2)
    return PyErr_Format(PyExc_TypeError, "a trace function of greenlet is called with (event, (origin, target))");
  Py_INCREF(op);
  if (!self->is_off && !self->hooks->async.count)
    stand_down(self);
  else if (!self->is_off && self->lanes)
    switch_lanes(self, PyTuple_GET_ITEM(both, 0), lanes_of(self, PyTuple_GET_ITEM(both, 1)));
  PyObject *previous = self->previous;
  Py_INCREF(result);
  if (previous) {
    Py_INCREF(previous);
    Py_SETREF(result, PyObject_Vectorcall(previous, args, nargsf, kwnames));
    Py_DECREF(previous);
  }
  Py_DECREF(op);
  return result;
}

/* A thread that is in some greenlet already goes on as its task. */
static void enter_current(greenlet_hook *self) {
  PyObject *greenlet = PyObject_CallNoArgs(self->hooks->getcurrent);
  lsc_core_greenlet_lanes *lanes = greenlet ? lanes_of(self, greenlet) : NULL;
  Py_XINCREF(lanes);
  Py_XSETREF(self->current, lanes);
  if (lanes) lsc_core_lanes_enter(&lanes->lanes);
  Py_XDECREF(greenlet);
}

/* Puts a new hook in front of what is there. 0, or -1 with an exception. */
static int put_in_front(greenlet_hook *self) {
  PyObject *previous = PyObject_CallOneArg(self->hooks->settrace, (PyObject *)self);
  if (!previous) return -1;
  if (previous == Py_None) Py_CLEAR(previous);
  self->previous = previous;
  enter_current(self);
  return PyErr_Occurred() ? -1 : 0;
}

/* old: the hook that the thread had, whose greenlets the new one knows, or NULL. */
static greenlet_hook *new_hook(struct lsc_core_hooks *hooks, greenlet_hook *old) {
  greenlet_hook *self = (greenlet_hook *)hooks->greenlet_hook_type->tp_alloc(hooks->greenlet_hook_type, 0);
  if (!self) return NULL;
  self->vectorcall = hook_call;
  self->hooks = hooks;
  self->lanes = old && old->lanes ? old->lanes : PyDict_New();
  if (old) Py_XINCREF(old->lanes);
  if (self->lanes) return self;
  Py_DECREF(self);
  return NULL;
}

/* The hook of this thread, which its dictionary keeps. Borrowed, or NULL, with or without an exception. */
static greenlet_hook *hook_of_thread(struct lsc_core_hooks *hooks) {
  PyObject *thread = PyThreadState_GetDict();
  return thread ? (greenlet_hook *)PyDict_GetItemWithError(thread, hooks->hook_key) : NULL;
}

/*
 * An old hook may stand below a function of the application or nowhere any more, which nobody can tell: from now on it
 * passes on, and a new one stands in front.
 */
static void watch(struct lsc_core_hooks *hooks) {
  greenlet_hook *old = hook_of_thread(hooks);
  if (old && !old->is_off && stands_in_front(old)) return;
  if (old && !old->is_off) stand_down(old);
  greenlet_hook *self = PyErr_Occurred() ? NULL : new_hook(hooks, old);
  if (self && PyDict_SetItem(PyThreadState_GetDict(), hooks->hook_key, (PyObject *)self) == 0) put_in_front(self);
  Py_XDECREF(self);
}

void lsc_core_watch_greenlets(struct lsc_core_hooks *hooks) {
  PyObject *type, *value, *traceback;
  if (!hooks->async.count || !hooks->settrace || !hooks->greenlet_hook_type || !PyThreadState_GetDict()) return;
  PyErr_Fetch(&type, &value, &traceback);
  watch(hooks);
  PyErr_Restore(type, value, traceback);
}

/* On the calling thread; each other thread's goes at its next switch. */
static void unwatch_greenlets(struct lsc_core_hooks *hooks) {
  greenlet_hook *self = hooks->settrace ? hook_of_thread(hooks) : NULL;
  if (self && !self->is_off) stand_down(self);
  PyErr_Clear();
}

static int hook_traverse(PyObject *op, visitproc visit, void *arg) {
  greenlet_hook *self = (greenlet_hook *)op;
  Py_VISIT(Py_TYPE(op));
  Py_VISIT(self->previous);
  Py_VISIT(self->lanes);
  Py_VISIT(self->current);
  for (int i = 0; i < CACHED; i++) Py_VISIT(self->cached[i]);
  return 0;
}

static int hook_clear(PyObject *op) {
  greenlet_hook *self = (greenlet_hook *)op;
  Py_CLEAR(self->previous);
  Py_CLEAR(self->lanes);
  Py_CLEAR(self->current);
  for (int i = 0; i < CACHED; i++) Py_CLEAR(self->cached[i]);
  return 0;
}

static PyMemberDef hook_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(greenlet_hook, vectorcall), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot hook_slots[] = {
    {Py_tp_dealloc, lsc_core_dealloc}, {Py_tp_traverse, hook_traverse}, {Py_tp_clear, hook_clear},
    {Py_tp_call, PyVectorcall_Call},   {Py_tp_members, hook_members},   {0, NULL},
};

static PyType_Spec hook_spec = {
    .name = "lanescope._core.GreenletHook",
    .basicsize = sizeof(greenlet_hook),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = hook_slots,
};

/* How to ask a greenlet whether it is dead, without the look-up at each switch; or NULL. */
static getter dead_getter(PyObject *type) {
  PyObject *descriptor = PyObject_GetAttrString(type, "dead");
  getter result = NULL;
  if (!descriptor) PyErr_Clear();
  else if (Py_IS_TYPE(descriptor, &PyGetSetDescr_Type)) result = ((PyGetSetDescrObject *)descriptor)->d_getset->get;
  Py_XDECREF(descriptor);
  return result;
}

static PyObject *core_use_greenlet(PyObject *module, PyObject *greenlet) {
  struct lsc_core_hooks *hooks = lsc_core_state_of(module)->hooks;
  PyObject *type = PyObject_GetAttrString(greenlet, "greenlet");
  if (!type) return NULL;
  hooks->greenlet_is_dead = dead_getter(type);
  Py_DECREF(type);
  Py_XSETREF(hooks->gettrace, PyObject_GetAttrString(greenlet, "gettrace"));
  Py_XSETREF(hooks->getcurrent, PyObject_GetAttrString(greenlet, "getcurrent"));
  Py_XSETREF(hooks->settrace, PyObject_GetAttrString(greenlet, "settrace"));
  if (hooks->gettrace && hooks->getcurrent && hooks->settrace) Py_RETURN_NONE;
  Py_CLEAR(hooks->settrace);
  return NULL;
}

static PyObject *core_watch_greenlets(PyObject *module, PyObject *unused) {
  (void)unused;
  lsc_core_watch_greenlets(lsc_core_state_of(module)->hooks);
  Py_RETURN_NONE;
}

static PyObject *core_unwatch_greenlets(PyObject *module, PyObject *unused) {
  (void)unused;
  unwatch_greenlets(lsc_core_state_of(module)->hooks);
  Py_RETURN_NONE;
}

static PyMethodDef hook_functions[] = {
    {"use_greenlet", core_use_greenlet, METH_O, "use_greenlet(module, /)\n--\n\nGives the hooks the module greenlet."},
    {"watch_greenlets", core_watch_greenlets, METH_NOARGS,
     "watch_greenlets()\n--\n\nFollows the switches of the calling thread, while a tracker follows tasks."},
    {"unwatch_greenlets", core_unwatch_greenlets, METH_NOARGS,
     "unwatch_greenlets()\n--\n\n"
     "Restores the calling thread's trace function. Other threads do so at their next switch."},
    {NULL, NULL, 0, NULL},
};

int lsc_core_add_greenlet_hook(PyObject *module, lsc_core_state *state) {
  state->hooks->greenlet_hook_type = lsc_core_add_type(module, &hook_spec);
  if (!state->hooks->greenlet_hook_type) return -1;
  return PyModule_AddFunctions(module, hook_functions);
}
