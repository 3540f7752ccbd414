/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reading files that may hold anything: cut off, damaged, made by somebody else. Whatever they say of themselves is
 * compared with what format.md promises before memory is taken for it, and nothing outside of the file is followed.
 * HDF5 itself may still fall over the bytes of a damaged file: who cannot bear that reads it in a process of its own
 * first.
 *
 * LSC_INVALID: not as the format has it; LSC_HDF5: HDF5 cannot read it; LSC_NO_MEMORY. All with a message that names
 * the file.
 */
#ifndef LSC_H5_READ_H
#define LSC_H5_READ_H

#include "h5.h"
#include "table.h"

/* Opens a file to read it; lsc_h5_select, lsc_h5_read_rows and lsc_h5_close are for it, too. */
lsc_status lsc_h5_open_read(struct lsc_h5 **h5, const char *path);

/* 1 if `path` (`group` or `group/name`) leads to an object of this file by hard links, else 0. */
int lsc_h5_has(struct lsc_h5 *h5, const char *path);

/* A scalar attribute, i64, of the object at path ("/": the root). */
lsc_status lsc_h5_read_int(struct lsc_h5 *h5, const char *path, const char *name, int64_t *value);

/*
 * All attributes of an object, of types i64 and str: a row each of `numbers` or `texts`, of which column 0 is the name
 * and column 1 the value.
 */
lsc_status lsc_h5_read_attributes(struct lsc_h5 *h5, const char *path, struct lsc_table *texts,
                                  struct lsc_table *numbers);

/*
 * The rows of a one-dimensional dataset of exactly this type, stored in this file. No more than the bytes of the file
 * could hold, also compressed.
 */
lsc_status lsc_h5_count_rows(struct lsc_h5 *h5, const char *path, lsc_type type, uint64_t *rows);

/* The whole dataset into a column of a table that has no values yet; texts are UTF-8 without NUL. */
lsc_status lsc_h5_read_column(struct lsc_h5 *h5, const char *path, uint64_t rows, struct lsc_table *table, int column);

#endif
