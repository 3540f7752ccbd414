/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The compressed chunks of all ranks into the file, by rank 0: its own, then those of one rank after the other. Rank 0
 * calls a rank when it is its turn; then that sends chunk by chunk, all columns in a message, and is slowed down by who
 * receives. So rank 0 holds one chunk of one rank. A rank that fails still takes part, with nothing. What fails is
 * noted in the collection.
 */
#ifndef LSC_HAND_OVER_H
#define LSC_HAND_OVER_H

#include "collection.h"
#include "h5.h"
#include "pack.h"

struct lsc_hand_over {
  struct lsc_collection *c;
  const struct lsc_pack *pack;       /* of this rank */
  const struct lsc_chunks *chunks;
  const struct lsc_chunk_sums *sums; /* rank 0: of every chunk */
};

/* Of a rank that owns chunks, and is not rank 0. Collective with rank 0's lsc_hand_over_write. */
void lsc_hand_over_send(const struct lsc_hand_over *work);

/* Rank 0: writes all chunks into the columns of h5, which are selected by their numbers. */
void lsc_hand_over_write(const struct lsc_hand_over *work, struct lsc_h5 *h5);

/*
 * Rank 0: that the file has every chunk in its size, and the first and the last of each rank as they were compressed.
 * LSC_OK; LSC_HDF5; LSC_IO: it has not; LSC_NO_MEMORY.
 */
lsc_status lsc_hand_over_check(const struct lsc_hand_over *work, struct lsc_h5 *h5);

#endif
