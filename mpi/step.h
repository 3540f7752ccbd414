/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The steps of a collect that can fail on one rank. The code says which one it enters; a failure that is noted is that
 * of the step entered last, and its message names it. In a test build (LSC_TEST_POINTS) each step first asks the test.
 */
#ifndef LSC_STEP_H
#define LSC_STEP_H

#include "lanescope.h"

/*
 * In the order in which a rank enters them: X(STEP, WHO, name for messages). WHO: EACH rank, rank ZERO alone, a rank
 * that has ROWS, a rank that has rows and is not rank 0 (OTHERS); within PLAIN where /events is not compressed only,
 * within PACKED where it is only. There a rank whose rows are all in chunks of others does not hand over.
 */
#define LSC_STEPS(X)                                                 \
  X(ARGUMENTS, EACH, "check the arguments")                          \
  X(TARGET, ZERO, "find the folder")                                 \
  X(TEMPORARY, ZERO, "make the temporary file")                      \
  X(CLOCK, EACH, "compare the clocks")                               \
  X(SNAPSHOT, EACH, "take the snapshot")                             \
  X(ORIGIN, EACH, "share the origin of times")                       \
  X(FLAGS, EACH, "unite the columns")                                \
  X(NAMES, EACH, "unite the names")                                  \
  X(PLACES, EACH, "place the rows")                                  \
  X(TABLES, EACH, "fill the tables")                                 \
  X(COUNTS, EACH, "count the rows of the tables")                    \
  X(IMAGE, ZERO, "put the attributes together")                      \
  X(PUT, ZERO, "write the attributes")                               \
  X(RESERVE, ZERO, "reserve the space")                              \
  X(LAYOUT, ZERO, "lay out the columns")                             \
  X(GATHER, EACH, "gather the tables")                               \
  X(FILE_TABLES, ZERO, "write the tables")                           \
  X(FILE_END, PLAIN(ZERO), "put down the tables")                    \
  X(SHARE, EACH, "share the name of the file")                       \
  X(SEE, PLAIN(EACH), "see the file")                                \
  X(PREPARE, PLAIN(EACH), "prepare to open the file")                \
  X(OPEN, PLAIN(EACH), "open the file")                              \
  X(PIECE, PLAIN(ROWS), "find the columns")                          \
  X(WRITE, PLAIN(ROWS), "write the rows")                            \
  X(READ_BACK, PLAIN(ROWS), "read the rows back")                    \
  X(CLOSE, PLAIN(EACH), "close the file")                            \
  X(SYNC_ROWS, PLAIN(OTHERS), "sync the rows")                       \
  X(LOOK, PLAIN(EACH), "look at what was written")                   \
  X(RANK_ROWS, PACKED(EACH), "share the numbers of rows")            \
  X(ROOM, PACKED(EACH), "make room for the chunks")                  \
  X(COMPRESS, PACKED(ROWS), "compress the rows")                     \
  X(BORDER, PACKED(EACH), "share the chunks between ranks")          \
  X(SIZES, PACKED(EACH), "gather the sizes of the chunks")           \
  X(RESERVE_CHUNKS, PACKED(ZERO), "reserve the space of the chunks") \
  X(HAND_OVER, PACKED(OTHERS), "hand over the chunks")               \
  X(PUT_CHUNKS, PACKED(ZERO), "write the chunks")                    \
  X(CLOSE_CHUNKS, PACKED(ZERO), "close the compressed file")         \
  X(CHECK_CHUNKS, PACKED(ZERO), "read the chunks back")              \
  X(SYNC, ZERO, "sync the file")                                     \
  X(RENAME, ZERO, "rename the file")

enum lsc_step {
#define LSC_X(step, who, name) LSC_STEP_##step,
  LSC_STEPS(LSC_X)
#undef LSC_X
      LSC_STEP_COUNT
};

const char *lsc_step_name(enum lsc_step step);

/*
 * The calling thread enters a step, and forgets the message of an older failure. LSC_OK; in a test build whatever the
 * test makes of it, with its message.
 */
lsc_status lsc_step(enum lsc_step step);

/*
 * The two halves of lsc_step, for a step that no rank may leave out, since others are in it: what a test makes of it
 * comes afterwards.
 */
void lsc_step_enter(enum lsc_step step);
lsc_status lsc_step_result(void);

/* The step that the calling thread entered last. */
enum lsc_step lsc_step_now(void);

#if defined(LSC_TEST_POINTS)
/* Defined by the test. Called by any thread. */
lsc_status lsc_test_step(enum lsc_step step);
#endif

#endif
