/* SPDX-License-Identifier: BSD-3-Clause */
/* The only place that includes NumPy. The file that calls import_array defines LSC_IMPORT_NUMPY before it. */
#ifndef LSC_NUMPY_API_H
#define LSC_NUMPY_API_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define NPY_NO_DEPRECATED_API NPY_1_19_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL lsc_core_numpy_api
#ifndef LSC_IMPORT_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

#endif
