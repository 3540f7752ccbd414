/* SPDX-License-Identifier: BSD-3-Clause */
/* One task in every tracker that follows it, and the texts that describe it. */
#include "tracking.h"

#include <string.h>

int lsc_core_lanes_has(lsc_core_lanes *lanes, lsc_session session) {
  for (unsigned i = 0; i < lanes->count; i++)
    if (lsc_core_lane_at(lanes, i)->task.session == session) return 1;
  return 0;
}

/* Where the next lane goes, or NULL without memory. */
static lsc_core_lane *make_room(lsc_core_lanes *lanes) {
  if (lanes->count == 0) return &lanes->one;
  lsc_core_lane *larger = PyMem_Realloc(lanes->many, (lanes->count + 1) * sizeof *larger);
  if (!larger) return NULL;
  if (!lanes->many) larger[0] = lanes->one;
  lanes->many = larger;
  return &larger[lanes->count];
}

void lsc_core_lanes_open(lsc_core_lanes *lanes, lsc_core_tracker *tracker, const char *kind, const char *name,
                         const char *coro_name) {
  lsc_core_lane lane = {.entered = 0};
  if (lsc_core_lanes_has(lanes, tracker->session)) return;
  lsc_core_lane *place = make_room(lanes);
  if (!place) return;
  if (lsc_task_open_at(tracker->session, kind, name, coro_name, &lane.task, &lane.place) != LSC_OK) return;
  *place = lane;
  lanes->count++;
}

void lsc_core_lanes_finish(lsc_core_lanes *lanes) {
  for (unsigned i = 0; i < lanes->count; i++) lsc_task_finish(lsc_core_lane_at(lanes, i)->task);
}

void lsc_core_lanes_rename(lsc_core_lanes *lanes, const char *name, const char *coro_name) {
  for (unsigned i = 0; i < lanes->count; i++) lsc_task_rename(lsc_core_lane_at(lanes, i)->task, name, coro_name);
}

void lsc_core_lanes_free(lsc_core_lanes *lanes) {
  PyMem_Free(lanes->many);
  *lanes = (lsc_core_lanes){.count = 0};
}

/* The longest beginning of the text that is a whole number of UTF-8 characters and fits. */
static void cut_text(char *text) {
  if (strlen(text) <= LSC_MAX_NAME) return;
  size_t end = LSC_MAX_NAME;
  while (end > 0 && ((unsigned char)text[end] & 0xC0) == 0x80) end--;
  text[end] = '\0';
}

const char *lsc_core_text(PyObject *object, PyObject **holder) {
  Py_ssize_t length;
  *holder = NULL;
  if (!object || !PyUnicode_Check(object)) return "";
  const char *text = PyUnicode_AsUTF8AndSize(object, &length);
  if (text && length <= LSC_MAX_NAME) return text;
  PyErr_Clear();
  *holder = PyUnicode_AsEncodedString(object, "utf-8", "replace");
  if (!*holder) {
    PyErr_Clear();
    return "";
  }
  cut_text(PyBytes_AS_STRING(*holder));
  return PyBytes_AS_STRING(*holder);
}

PyObject *lsc_core_attribute(PyObject *object, PyObject *attribute) {
  PyObject *value = PyObject_GetAttr(object, attribute);
  if (!value) PyErr_Clear();
  return value;
}
