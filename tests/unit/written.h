/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A thread that records and writes down what it recorded, the comparison of a file with that, and the state of HDF5 in
 * the process.
 */
#ifndef WRITTEN_H
#define WRITTEN_H

#include <stddef.h>
#include <stdint.h>

#include "lanescope.h"

#define LANE_REGIONS 4
#define LANE_MORE_REGIONS 32 /* what a lane may record if it is told to: regions of the file are written another way */

/* A call. Its start and its end each lay between two readings of lsc_now_ns. */
struct kept {
  int region, depth;
  int64_t parent; /* position in the lane, -1 at the top */
  int64_t start_low, start_high;
  int64_t end_low, end_high; /* 0: open */
};

struct lane {
  lsc_session session;
  int number; /* the thread is called "lane <number>" */
  int regions; /* how many it records: LANE_REGIONS at first */
  lsc_region_id region[LANE_MORE_REGIONS];
  struct kept *call;
  size_t calls, completed, capacity;
  int64_t open; /* position of the innermost open call, -1: none */
  uint64_t random;
};

void lane_init(struct lane *lane, lsc_session session, int number);
void lane_describe(struct lane *lane);
void lane_begin(struct lane *lane, int region);
void lane_end(struct lane *lane);
/* Some nested calls, `calls` of them, all of which are ended. */
void lane_record(struct lane *lane, size_t calls);
void lane_free(struct lane *lane);

/* Fails the test unless the file holds exactly these calls, and its tables agree with its rows. */
void check_written(const char *path, const struct lane *lanes, size_t count);

/*
 * Sets up an error stack, a printing function and a place in HDF5's numbering of handles, as a program may have them.
 */
struct hdf5_state {
  int64_t list, space, type; /* handles that are closed; HDF5 numbers each kind on and on */
};
struct hdf5_state hdf5_state_make(void);
/* The program's own error is still there, and no handle that was made meanwhile is still open. */
void hdf5_state_check(const struct hdf5_state *before);

#endif
