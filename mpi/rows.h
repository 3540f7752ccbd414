/* SPDX-License-Identifier: BSD-3-Clause */
/* Second phase of writing a file: each rank's own rows of /events. */
#ifndef LSC_ROWS_H
#define LSC_ROWS_H

#include "fill.h"
#include "h5.h"

/*
 * Writes the rows of this rank and reads the first and the last of each column back. events: rows of /events, of all
 * ranks. Not collective. LSC_OK; LSC_HDF5; LSC_IO: the file holds something else than what was written; LSC_NO_MEMORY.
 */
lsc_status lsc_rows_write(struct lsc_h5 *h5, const struct lsc_fill *fill, uint64_t events);

#endif
