/* SPDX-License-Identifier: BSD-3-Clause */
#define LSC_IMPORT_NUMPY
#include "numpy_api.h"

#include "core.h"

#include <lanescope_binding.h>

PyTypeObject *lsc_core_add_type(PyObject *module, PyType_Spec *spec) {
  PyTypeObject *type = (PyTypeObject *)PyType_FromModuleAndSpec(module, spec, NULL);
  if (!type) return NULL;
  if (PyModule_AddType(module, type) == 0) return type;
  Py_DECREF(type);
  return NULL;
}

void lsc_core_dealloc(PyObject *op) {
  PyTypeObject *type = Py_TYPE(op);
  PyObject_GC_UnTrack(op);
  type->tp_clear(op);
  type->tp_free(op);
  Py_DECREF(type);
}

static int core_exec(PyObject *module) {
  lsc_core_state *state = lsc_core_state_of(module);
  import_array1(-1);
  if (lsc_core_add_errors(module, state) < 0 || lsc_core_add_region(module, state) < 0 ||
      lsc_core_add_call(module, state) < 0 || lsc_core_add_profiled(module, state) < 0 ||
      lsc_core_add_report(module, state) < 0 || lsc_core_add_recorder(module, state) < 0 ||
      lsc_core_add_arrays(module) < 0 || lsc_core_add_nest(module) < 0 || lsc_core_add_tracking(module, state) < 0 ||
      PyModule_AddStringConstant(module, "__version__", lsc_version()) < 0) {
    return -1;
  }
  lsc_status status = lsc_on_first_use(LSC_API_PYTHON, lsc_core_describe_thread);
  if (status == LSC_OK) return 0;
  lsc_core_raise(state, status);
  return -1;
}

static int core_traverse(PyObject *module, visitproc visit, void *arg) {
  lsc_core_state *state = lsc_core_state_of(module);
  Py_VISIT(state->recorder);
  Py_VISIT(state->recorder_type);
  Py_VISIT(state->region_method_type);
  Py_VISIT(state->call_type);
  Py_VISIT(state->region_type);
  Py_VISIT(state->profiled_type);
  Py_VISIT(state->report_type);
  Py_VISIT(state->error);
  Py_VISIT(state->state_error);
  Py_VISIT(state->collect_error);
  Py_VISIT(state->nesting_error);
  Py_VISIT(state->stats_dtype);
  return lsc_core_traverse_tracking(state, visit, arg);
}

static int core_clear(PyObject *module) {
  lsc_core_state *state = lsc_core_state_of(module);
  Py_CLEAR(state->recorder);
  Py_CLEAR(state->recorder_type);
  Py_CLEAR(state->region_method_type);
  Py_CLEAR(state->call_type);
  Py_CLEAR(state->region_type);
  Py_CLEAR(state->profiled_type);
  Py_CLEAR(state->report_type);
  Py_CLEAR(state->error);
  Py_CLEAR(state->state_error);
  Py_CLEAR(state->collect_error);
  Py_CLEAR(state->nesting_error);
  Py_CLEAR(state->stats_dtype);
  lsc_core_clear_tracking(state);
  return 0;
}

static void core_free(void *module) {
  core_clear((PyObject *)module);
  lsc_core_free_tracking(lsc_core_state_of((PyObject *)module));
}

static PyModuleDef_Slot core_slots[] = {
    {Py_mod_exec, core_exec},
    {0, NULL},
};

static struct PyModuleDef core_module = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "lanescope._core",
    .m_doc = "The recorder of the package lanescope.",
    .m_size = sizeof(lsc_core_state),
    .m_slots = core_slots,
    .m_traverse = core_traverse,
    .m_clear = core_clear,
    .m_free = core_free,
};

PyMODINIT_FUNC PyInit__core(void) {
  return PyModuleDef_Init(&core_module);
}
