/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of /events one after the other, as chunks that are compressed and written when they are full. */
#ifndef LSC_CHUNK_WRITER_H
#define LSC_CHUNK_WRITER_H

#include "deflate.h"
#include "fill.h"
#include "h5.h"

struct lsc_chunk_writer {
  struct lsc_h5 *h5; /* its columns are selected by their numbers */
  struct lsc_deflate *deflate;
  uint64_t events, row;            /* of all; first one of the chunk under way */
  size_t rows, filled;             /* of a chunk */
  unsigned char *block;
  void *values[LSC_EVENT_COLUMNS]; /* NULL: not in this file */
  struct lsc_buffer bytes;
};

/* level: of zlib, 1 to 9. LSC_OK, LSC_NO_MEMORY; to be freed also then. */
lsc_status lsc_chunk_writer_init(struct lsc_chunk_writer *writer, struct lsc_h5 *h5, const struct lsc_fill *columns,
                                 uint64_t events, int level);
void lsc_chunk_writer_free(struct lsc_chunk_writer *writer);

/* How many rows fit into the chunk under way, at least 1, and where those of a column go. */
size_t lsc_chunk_writer_room(const struct lsc_chunk_writer *writer);
void *lsc_chunk_writer_place(const struct lsc_chunk_writer *writer, int column);

/* So many rows are in their places. LSC_OK, LSC_HDF5, LSC_NO_MEMORY. */
lsc_status lsc_chunk_writer_filled(struct lsc_chunk_writer *writer, size_t count);

/* The most bytes of all chunks of the columns that there are. */
uint64_t lsc_chunk_writer_bound(const struct lsc_fill *columns, uint64_t events);

#endif
