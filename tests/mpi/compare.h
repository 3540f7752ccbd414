/* SPDX-License-Identifier: BSD-3-Clause */
/* A merged file against the books that every rank of MPI_COMM_WORLD kept. */
#ifndef COMPARE_H
#define COMPARE_H

#include "log.h"
#include "readback.h"

/* A call as the file has it. */
struct stored {
  int64_t id, parent, region_id, thread, start, end, api, depth; /* end 0: open; depth -1: not stored */
  const char *region, *lane;
  int rank;
};

/* The file, and the calls of one rank in the order of their ids. */
struct merged {
  readback *file;
  size_t events, opens, threads;
  const int64_t *thread_rank, *thread_index;
  const char *const *thread_name;
  struct stored *call; /* every call of the file: events in their order, then open calls */
};

void merged_open(struct merged *merged, const char *path);
void merged_close(struct merged *merged);
/* The calls of one rank, by id: malloc'd. */
struct stored *merged_of_rank(const struct merged *merged, int rank, size_t *count);

/* Everything that follows from the calls of the file themselves: ids, order, lanes, regions, sums. */
void check_consistent(struct merged *merged, int ranks);

/* Checks on rank 0 that the file holds exactly what the ranks recorded, row by row. Collective over MPI_COMM_WORLD. */
void compare_with_books(const char *path, const struct books *mine);

#endif
