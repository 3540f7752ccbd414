/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads a merged file with HDF5 alone, as another program would. What is not there ends the test program. */
#ifndef READBACK_H
#define READBACK_H

#include <stdint.h>

#include "lanescope_types.h"

typedef struct readback readback;

readback *readback_open(const char *path);
void readback_close(readback *file);

/* 1 if there is a group or dataset of this name. */
int readback_has(const readback *file, const char *name);
/* Rows of a dataset. */
size_t readback_rows(const readback *file, const char *name);

/* 1 if a dataset is in chunks that HDF5's filters shuffle and deflate. */
int readback_is_compressed(const readback *file, const char *name);

/* Every value of a dataset, valid until the file is closed. */
const int64_t *readback_i64(readback *file, const char *name);
const double *readback_f64(readback *file, const char *name);
const char *const *readback_str(readback *file, const char *name);
const lsc_stats *readback_stats(readback *file, const char *name);

/* Attributes with a scalar dataspace. object: "/" or a group. */
int64_t readback_attribute_i64(const readback *file, const char *object, const char *name);
const char *readback_attribute_str(readback *file, const char *object, const char *name);

#endif
