/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The floor of bench_python.py: an extension type that does nothing.
 *
 * class Noop:
 *     def __enter__(self): return self
 *     def __exit__(self, *exception): return None
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

static PyObject *noop_enter(PyObject *self, PyObject *unused) {
  (void)unused;
  Py_INCREF(self);
  return self;
}

static PyObject *noop_exit(PyObject *self, PyObject *const *args, Py_ssize_t count) {
  (void)self;
  (void)args;
  (void)count;
  Py_RETURN_NONE;
}

static PyMethodDef noop_methods[] = {
    {"__enter__", noop_enter, METH_NOARGS, NULL},
    {"__exit__", (PyCFunction)(void (*)(void))noop_exit, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot noop_slots[] = {
    {Py_tp_methods, noop_methods},
    {0, NULL},
};

static PyType_Spec noop_spec = {
    .name = "noop.Noop",
    .basicsize = sizeof(PyObject),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = noop_slots,
};

static int noop_exec(PyObject *module) {
  PyObject *type = PyType_FromModuleAndSpec(module, &noop_spec, NULL);
  if (!type) return -1;
  int result = PyModule_AddType(module, (PyTypeObject *)type);
  Py_DECREF(type);
  return result;
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, noop_exec},
    {0, NULL},
};

static struct PyModuleDef noop_module = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "noop",
    .m_slots = module_slots,
};

PyMODINIT_FUNC PyInit_noop(void) { return PyModuleDef_Init(&noop_module); }
