/* SPDX-License-Identifier: BSD-3-Clause */
/* The module's hooks: made, visited and cleared with it. */
#include "tracking.h"

static int intern_names(struct lsc_core_hooks *hooks) {
  const struct {
    PyObject **to;
    const char *text;
  } names[] = {
      {&hooks->get_name, "get_name"}, {&hooks->name, "name"},         {&hooks->qualname, "__qualname__"},
      {&hooks->throw_, "throw"},      {&hooks->close, "close"},       {&hooks->parent, "parent"},
      {&hooks->gr_frame, "gr_frame"}, {&hooks->run, "_run"},          {&hooks->hook_key, "lanescope.greenlet_hook"},
      {&hooks->end_key, "lanescope.thread_end"},
  };
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!(*names[i].to = PyUnicode_InternFromString(names[i].text))) return -1;
  return 0;
}

int lsc_core_add_tracking(PyObject *module, lsc_core_state *state) {
  state->hooks = PyMem_Calloc(1, sizeof *state->hooks);
  if (!state->hooks) {
    PyErr_NoMemory();
    return -1;
  }
  if (intern_names(state->hooks) < 0 || lsc_core_add_tracker(module, state) < 0 ||
      lsc_core_add_coroutine(module, state) < 0 || lsc_core_add_loop_method(module, state) < 0 ||
      lsc_core_add_thread_hook(module, state) < 0 || lsc_core_add_thread_end(module, state) < 0 ||
      lsc_core_add_greenlet_lanes(module, state) < 0) {
    return -1;
  }
  return lsc_core_add_greenlet_hook(module, state);
}

static int visit_trackers(lsc_core_trackers *list, visitproc visit, void *arg) {
  for (size_t i = 0; i < list->count; i++) Py_VISIT(list->tracker[i]);
  return 0;
}

int lsc_core_traverse_tracking(lsc_core_state *state, visitproc visit, void *arg) {
  struct lsc_core_hooks *hooks = state->hooks;
  if (!hooks) return 0;
  int result = visit_trackers(&hooks->installed, visit, arg);
  if (result == 0) result = visit_trackers(&hooks->async, visit, arg);
  if (result) return result;
  Py_VISIT(hooks->tracker_type);
  Py_VISIT(hooks->coroutine_type);
  Py_VISIT(hooks->loop_method_type);
  Py_VISIT(hooks->thread_hook_type);
  Py_VISIT(hooks->greenlet_hook_type);
  Py_VISIT(hooks->greenlet_lanes_type);
  Py_VISIT(hooks->thread_end_type);
  Py_VISIT(hooks->iscoroutine);
  Py_VISIT(hooks->settrace);
  Py_VISIT(hooks->gettrace);
  Py_VISIT(hooks->getcurrent);
  return 0;
}

static void clear_trackers(lsc_core_trackers *list) {
  while (list->count) Py_DECREF(list->tracker[--list->count]);
  PyMem_Free(list->tracker);
  list->tracker = NULL;
}

/* Interned names stay until the module goes: objects of its types may still be called, and ask for them. */
void lsc_core_clear_tracking(lsc_core_state *state) {
  struct lsc_core_hooks *hooks = state->hooks;
  if (!hooks) return;
  clear_trackers(&hooks->async);
  clear_trackers(&hooks->installed);
  hooks->greenlet_is_dead = NULL;
  Py_CLEAR(hooks->tracker_type);
  Py_CLEAR(hooks->coroutine_type);
  Py_CLEAR(hooks->loop_method_type);
  Py_CLEAR(hooks->thread_hook_type);
  Py_CLEAR(hooks->greenlet_hook_type);
  Py_CLEAR(hooks->greenlet_lanes_type);
  Py_CLEAR(hooks->thread_end_type);
  Py_CLEAR(hooks->iscoroutine);
  Py_CLEAR(hooks->settrace);
  Py_CLEAR(hooks->gettrace);
  Py_CLEAR(hooks->getcurrent);
}

void lsc_core_free_tracking(lsc_core_state *state) {
  struct lsc_core_hooks *hooks = state->hooks;
  if (!hooks) return;
  Py_CLEAR(hooks->get_name);
  Py_CLEAR(hooks->name);
  Py_CLEAR(hooks->qualname);
  Py_CLEAR(hooks->throw_);
  Py_CLEAR(hooks->close);
  Py_CLEAR(hooks->parent);
  Py_CLEAR(hooks->gr_frame);
  Py_CLEAR(hooks->run);
  Py_CLEAR(hooks->hook_key);
  Py_CLEAR(hooks->end_key);
  PyMem_Free(hooks);
  state->hooks = NULL;
}
