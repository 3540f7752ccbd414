/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The calls of a snapshot, in the order of their ids, block by block, as often as somebody wants to see them. Each walk
 * merges the streams again and finds the parents again, so that nothing has to be kept for a call but its row.
 */
#ifndef LSC_WALK_H
#define LSC_WALK_H

#include "snapshot.h"
#include "streams.h"

struct lsc_walk_item {
  uint64_t start; /* of the stream's next row; equal ones in the order of the streams */
  struct lsc_stream *stream;
};

struct lsc_walk {
  struct lsc_clock_map *map;
  struct lsc_streams *streams;
  struct lsc_walk_item *heap; /* binary, of streams that have a next row: the one that began first on top */
  size_t count;
  struct lsc_level *levels; /* [level_count] the stacks of all lanes, one behind the other, but for those that grew */
  size_t level_count;
  uint64_t near;   /* of two starts in one ns the later one is no more ticks behind the other */
  uint64_t last;   /* raw start of the last call of the block */
  int may_tie;     /* 1: two calls of the block are that near */
  size_t capacity; /* calls for which there is room in the block */
  uint32_t *place; /* [2 * capacity] room to sort it */
  struct lsc_block block;
};

/* For the walks over these streams, which are not freed before. LSC_OK, LSC_NO_MEMORY; to be freed also on failure. */
lsc_status lsc_walk_init(struct lsc_walk *walk, struct lsc_clock_map *map, struct lsc_streams *streams);
void lsc_walk_free(struct lsc_walk *walk);

/*
 * What grows with the lanes is freed between walks, and made again, unless it is there: then the walks that follow need
 * no more memory, since each lane's stack is as deep as in the one before. LSC_OK, LSC_NO_MEMORY.
 */
void lsc_walk_rest(struct lsc_walk *walk);
lsc_status lsc_walk_ready(struct lsc_walk *walk);

/* Back to the first call, of a walk that is ready. */
void lsc_walk_begin(struct lsc_walk *walk);
/*
 * The next block, in walk->block, which has no calls behind the last one. LSC_OK; LSC_NO_MEMORY, but not once a walk
 * has come to its end.
 */
lsc_status lsc_walk_next(struct lsc_walk *walk);

/*
 * Sorts calls of the block that began in one nanosecond by depth and renumbers them; their parents stay who they were.
 * walk_ties.c.
 */
void lsc_walk_order_ties(struct lsc_walk *walk);

#endif
