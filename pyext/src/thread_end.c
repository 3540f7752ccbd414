/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * class ThreadEnd:
 *     "Lies in the dictionary of a thread's state, which goes with the thread, before join() returns."
 *     def __del__(self): thread_over()
 */
#include "tracking.h"

typedef struct {
  PyObject_HEAD
  unsigned long ident;
} thread_end;

/* The dictionaries of other threads are cleared at the end of the interpreter, or by a child of a fork. */
static void end_dealloc(PyObject *op) {
  PyTypeObject *type = Py_TYPE(op);
  if (((thread_end *)op)->ident == PyThread_get_thread_ident()) lsc_thread_over();
  type->tp_free(op);
  Py_DECREF(type);
}

static PyType_Slot end_slots[] = {
    {Py_tp_dealloc, end_dealloc},
    {0, NULL},
};

static PyType_Spec end_spec = {
    .name = "lanescope._core.ThreadEnd",
    .basicsize = sizeof(thread_end),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = end_slots,
};

int lsc_core_add_thread_end(PyObject *module, lsc_core_state *state) {
  state->hooks->thread_end_type = lsc_core_add_type(module, &end_spec);
  return state->hooks->thread_end_type ? 0 : -1;
}

/* The module's hooks, or NULL. The module stays: sys.modules has it. */
static struct lsc_core_hooks *find_hooks(void) {
  PyObject *name = PyUnicode_InternFromString("lanescope._core");
  PyObject *module = name ? PyImport_GetModule(name) : NULL;
  lsc_core_state *state = module ? lsc_core_state_of(module) : NULL;
  struct lsc_core_hooks *hooks = state ? state->hooks : NULL;
  Py_XDECREF(name);
  Py_XDECREF(module);
  return hooks;
}

/*
 * 1 for a thread that `threading` made: it ends with its state. A thread from elsewhere may have one state after the
 * other, and the main thread goes on without one.
 */
static int was_started(PyObject *thread) {
  static const char *const others[] = {"_DummyThread", "_MainThread"};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (strcmp(Py_TYPE(thread)->tp_name, others[i]) == 0) return 0;
  return 1;
}

static void note_end(struct lsc_core_hooks *hooks) {
  PyObject *dictionary = PyThreadState_GetDict();
  if (!dictionary || !hooks->thread_end_type || PyDict_GetItemWithError(dictionary, hooks->end_key)) return;
  thread_end *end = (thread_end *)hooks->thread_end_type->tp_alloc(hooks->thread_end_type, 0);
  if (!end) return;
  end->ident = PyThread_get_thread_ident();
  PyDict_SetItem(dictionary, hooks->end_key, (PyObject *)end);
  Py_DECREF(end);
}

void lsc_core_welcome_thread(PyObject *thread) {
  struct lsc_core_hooks *hooks = find_hooks();
  if (hooks) {
    if (thread && was_started(thread)) note_end(hooks);
    lsc_core_watch_greenlets(hooks);
  }
  PyErr_Clear();
}
