/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One rank's part of a compressed /events: the chunks that it owns, compressed in memory as they are complete, so that
 * only the rows of a few chunks are there as they were.
 */
#ifndef LSC_PACK_H
#define LSC_PACK_H

#include "chunks.h"
#include "coll.h"
#include "deflate.h"
#include "fill.h"

/* What is known of a chunk of every column: bytes, and their checksum; 0 of a column that is not in this file. */
struct lsc_chunk_sums {
  uint32_t size[LSC_EVENT_COLUMNS], crc[LSC_EVENT_COLUMNS];
};

struct lsc_packed {
  unsigned char *block; /* its rows, while it is not compressed; NULL: none yet, or no more */
  size_t filled;        /* rows in it */
  unsigned char *bytes; /* its columns, compressed, one behind the other, on a shelf; NULL: not yet */
};

struct lsc_shelf;

/* All zeros: nothing yet. */
struct lsc_pack {
  const struct lsc_fill *fill;
  const struct lsc_chunks *chunks;
  size_t width[LSC_EVENT_COLUMNS]; /* 0: not in this file */
  size_t row_bytes;                /* of all columns */
  struct lsc_deflate *deflate;
  struct lsc_buckets *buckets;     /* NULL: the rank has no rows */
  struct lsc_buffer lead;          /* leading rows of this rank, for the owner of their chunk */
  size_t lead_rows;
  size_t last_rows;                /* rows of this rank in its last chunk */
  uint64_t first;                  /* own chunks: first .. first + count - 1 */
  size_t count;
  struct lsc_packed *chunk;     /* [count] */
  struct lsc_chunk_sums *sums; /* [count] */
  unsigned char *spare;        /* a block that is not in use, or NULL */
  struct lsc_shelf *shelf;     /* memory of compressed chunks, the newest first */
  struct lsc_buffer out;       /* a chunk's columns as they are compressed */
};

/* Bytes of a chunk of all columns. */
size_t lsc_chunk_size(const struct lsc_chunk_sums *sums);

/* Gets what memory it needs from the beginning. level: zlib's, 1 to 9. LSC_OK, LSC_NO_MEMORY; to be freed also then. */
lsc_status lsc_pack_prepare(struct lsc_pack *pack, const struct lsc_fill *fill, const struct lsc_chunks *chunks,
                            int level);

/* Reads the rows of this rank, and compresses all its chunks but the last one. LSC_OK, LSC_NO_MEMORY. */
lsc_status lsc_pack_read(struct lsc_pack *pack);

/*
 * Rows of a chunk that is shared go to its owner. Collective; every rank has prepared. failed: this rank has failed
 * since, and takes its part with nothing; whoever waits for its rows then gets LSC_NO_MEMORY, and coll->passed_on is
 * set. LSC_OK; LSC_NO_MEMORY; LSC_TIMEOUT, LSC_MPI: the exchange did not come through.
 */
lsc_status lsc_pack_exchange(struct lsc_pack *pack, struct lsc_coll *coll, int tag, int failed, int64_t deadline);

/* Compresses the last chunk, now that the rows of others are in it. LSC_OK, LSC_NO_MEMORY. */
lsc_status lsc_pack_finish(struct lsc_pack *pack);

void lsc_pack_free(struct lsc_pack *pack);

#endif
