/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who waits for the others: what ranks know of one another when no message gets through, because rank 0 is missing or
 * there is no communicator yet. All that they share then is the folder of the file. Beside `run.h5` a hidden folder
 * `.run.h5.waiting-<job>` has an empty file for each rank that has been waiting for long, named by its number.
 *
 * A rank enters once it has waited a quarter of its limit, or as soon as it sees that the folder is there, which it
 * looks for when it has waited 0.1 s and then now and then. While it waits it touches its entry, so that one that was
 * not touched for a while is that of a rank that is busy elsewhere or dead, in this run or an older one. Who gives up
 * first looks who is there, writes down who is missing in a file `missing` that only one can make, and the others take
 * it from there. Another such file, `spoken`, decides who of those that may prints the line. Every rank takes its entry
 * out when its collect ends, and who finds none but old ones left removes all.
 *
 * What may happen at the same time, and what comes of it:
 *   - Ranks that arrived together give up together. All entered long before, so the first finds them all; only one
 *     makes `missing`. A rank that had not, for its limit is short, gives others in its place a moment.
 *   - A rank arrives while others give up. If it comes into the folder before the last of them has gone, nobody removes
 *     that, since its entry is new, and it finds `missing` and `spoken`. If it comes later, it finds files of ranks
 *     that are older than its own entry: there was a line, and it makes `spoken` without printing one.
 *   - Two remove the folder: what is gone for one was removed by the other. A new entry among what is removed stays,
 *     and so does its folder. A folder that goes away under somebody who enters is made again.
 *   - A rank dies while it waits: it counts as there for as long as its entry would be touched again, at most 16 s.
 *   - A rank dies after it has entered: its entry stays until a later rank of the same job leaves the folder.
 *   - The job was started again under the same name after it was killed: entries are too old, and `missing`, `spoken`
 *     and the files of ranks count only if they are not older than this rank's session.
 *   - `missing` is there but its writer has died or is slow: who waits for its content does so for a moment, and then
 *     names nobody.
 *
 * Times are compared as the file server took them, by means of the own entry. Where there is no roll, since the folder
 * cannot be written, or is one of this machine alone and the job has others, everything is as without it. All ranks
 * must give the same path. In a healthy run a rank that waits 0.1 s for another looks for the folder, and makes none.
 */
#ifndef LSC_ROLL_H
#define LSC_ROLL_H

#include <stddef.h>
#include <stdint.h>

#include "roll_folder.h"

/* Of one collect, or one opening, of one rank. Times are in ns, on lsc_now_ns's clock. */
struct lsc_roll {
  /* From the caller; the path stays the caller's. */
  const char *path;
  int rank, size;
  int64_t opened;  /* when the session was opened */
  int64_t limit;   /* how long this rank waits for the others */
  int64_t timeout; /* as all ranks have it */
  /* Its own. */
  const char *step;
  int64_t step_began, wait_began, next_look;
  int64_t entered; /* by the file server's clock; 0: not yet */
  int is_broken;   /* there can be no roll */
  struct lsc_roll_folder folder;
  struct lsc_roll *outer; /* of the collect in whose `interrupted` this one is made */
};

/* The roll of what the calling thread waits for from now on, until lsc_roll_end. No file is touched. */
void lsc_roll_begin(struct lsc_roll *roll);

/* The calling thread comes to what the message calls `step`, a constant. Without a roll it does nothing. */
void lsc_roll_step(const char *step);

/* The calling thread is about to give the processor away while it waits for other ranks; begins: for the first time. */
void lsc_roll_wait(int begins);

/*
 * This rank has given up. text: why, and receives why by what the roll says, unless nothing can be found out, or
 * `is_verdict`: it comes from rank 0, and stays. Blocks little longer than a second at most. 0: there is no roll, and
 * the text is as it was.
 */
int lsc_roll_ask(struct lsc_roll *roll, int is_verdict, char *text, size_t size);

/* After lsc_roll_ask: 1 for one of the ranks that call this, if no line was printed before. */
int lsc_roll_speaks(struct lsc_roll *roll);

/* The rank waits no more. Leaves the message of the calling thread alone, as all the others do. */
void lsc_roll_end(struct lsc_roll *roll);

#endif
