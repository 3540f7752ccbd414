/* SPDX-License-Identifier: BSD-3-Clause */
/* First phase of writing a file, on one rank: everything but the rows of /events, for which the space is reserved. */
#ifndef LSC_CREATE_H
#define LSC_CREATE_H

#include "fill.h"
#include "metadata.h"

struct lsc_contents {
  const struct lsc_table *tables; /* [LSC_TABLE_COUNT] merged over the ranks */
  const struct lsc_fill *fill;    /* only its apis, threads and tasks: which columns there are */
  uint64_t events;                /* rows of /events, of all ranks */
  const char *name;               /* of the file that it is going to be, for messages */
  const struct lsc_metadata *metadata;
};

/*
 * Fills the empty file `path` and reserves its space on the disk. bytes: receives its final size. LSC_OK; LSC_HDF5;
 * LSC_IO: no space, among others; LSC_NO_MEMORY. On failure the caller removes the file.
 */
lsc_status lsc_create(const char *path, const struct lsc_contents *contents, uint64_t *bytes);

#endif
