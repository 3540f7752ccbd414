/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One rank's part of a compressed /events: the chunks that it owns, compressed in memory, one after the other, so that
 * no more than the rows of one chunk are there as they were.
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

/* All zeros: nothing yet. */
struct lsc_pack {
  const struct lsc_fill *fill;
  const struct lsc_chunks *chunks;
  size_t width[LSC_EVENT_COLUMNS]; /* 0: not in this file */
  struct lsc_deflate *deflate;
  unsigned char *block;             /* a chunk of every column, as it is in memory */
  void *values[LSC_EVENT_COLUMNS];  /* in block; NULL: not in this file */
  struct lsc_buffer lead;           /* leading rows of this rank, for the owner of their chunk */
  size_t last_rows;                 /* rows of this rank in its last chunk */
  uint64_t first;                   /* own chunks: first .. first + count - 1 */
  size_t count;
  struct lsc_chunk_sums *sums; /* [count] */
  size_t *at;                  /* [count] where in bytes a chunk begins; its columns follow one another */
  struct lsc_buffer bytes;
};

/* Bytes of a chunk of all columns. */
size_t lsc_chunk_size(const struct lsc_chunk_sums *sums);

/*
 * Gets the memory, the order of the rows, and those that go to another rank. level: zlib's, 1 to 9. LSC_OK,
 * LSC_NO_MEMORY; to be freed also then.
 */
lsc_status lsc_pack_prepare(struct lsc_pack *pack, const struct lsc_fill *fill, const struct lsc_chunks *chunks,
                            int level);

/*
 * Rows of a chunk that is shared go to its owner. Collective; every rank has prepared. failed: this rank has failed
 * since, and takes its part with nothing; whoever waits for its rows then gets LSC_NO_MEMORY, and coll->passed_on is
 * set. LSC_OK; LSC_NO_MEMORY; LSC_TIMEOUT, LSC_MPI: the exchange did not come through.
 */
lsc_status lsc_pack_exchange(struct lsc_pack *pack, struct lsc_coll *coll, int tag, int failed, int64_t deadline);

/* Compresses the chunks of this rank, the last one first. LSC_OK, LSC_NO_MEMORY. */
lsc_status lsc_pack_compress(struct lsc_pack *pack);

void lsc_pack_free(struct lsc_pack *pack);

#endif
