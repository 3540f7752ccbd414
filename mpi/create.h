/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * First phase of writing a file, on one rank: everything but the rows of /events, for which the space is reserved. The
 * small tables come row by row: what they are going to need is reserved first, too.
 */
#ifndef LSC_CREATE_H
#define LSC_CREATE_H

#include "fill.h"
#include "h5.h"
#include "metadata.h"

struct lsc_contents {
  const struct lsc_table_size *sizes; /* [LSC_TABLE_COUNT] of all ranks */
  const struct lsc_fill *fill;        /* only its apis, threads and tasks: which columns there are */
  uint64_t events;                    /* rows of /events, of all ranks */
  int level;                          /* of zlib, 1 to 9: /events is compressed; 0: it is not */
  uint64_t reserved;                  /* bytes from the beginning of the file that are already reserved */
  const char *name;                   /* of the file that it is going to be, for messages */
  const struct lsc_metadata *metadata;
};

/*
 * Lays out the file `path`, in which nothing was written, and reserves its space on the disk, but for that of
 * compressed rows; h5: receives the file, open for lsc_create_rows, and is NULL on failure. LSC_OK; LSC_HDF5; LSC_IO:
 * no space, among others; LSC_NO_MEMORY. On failure the caller removes the file.
 */
lsc_status lsc_create(const char *path, const struct lsc_contents *contents, struct lsc_h5 **h5);

/* Rows first … first + count - 1 of a table in memory. */
struct lsc_table_rows {
  const struct lsc_table *table;
  size_t first, count;
};

/* Writes rows of a table to their place in the file, `row` and behind. fill: as above. LSC_OK; LSC_HDF5;
 * LSC_NO_MEMORY. */
lsc_status lsc_create_rows(struct lsc_h5 *h5, const struct lsc_fill *fill, enum lsc_table_id id, uint64_t row,
                           const struct lsc_table_rows *rows);

/*
 * Reserves space for `packed` more bytes, of all chunks of a compressed file that is open since lsc_create. name: of
 * the file that it is going to be. LSC_OK, LSC_IO.
 */
lsc_status lsc_create_reserve(const char *path, const char *name, uint64_t packed);

/* Opens every column of /events that the run has by its number (LSC_EVENT_…), as lsc_h5_select does. */
lsc_status lsc_create_select(struct lsc_h5 *h5, const struct lsc_fill *fill, uint64_t events);

/* Closes the file, whose size is now final. As lsc_h5_close; bytes: receives the size. */
lsc_status lsc_create_end(struct lsc_h5 *h5, const char *path, lsc_status status, uint64_t *bytes);

#endif
