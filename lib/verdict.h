/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Agreement between two collective steps. Each rank reports how it fared, rank 0 decides, everybody gets the same
 * verdict:
 *   GO     all are here and well: the next step, which may be one that cannot time out, is safe to enter;
 *   FAIL   all are here, one has failed: all leave with its status;
 *   APART  a rank is missing, or nothing was heard from rank 0 in time: this group is never used again.
 *
 * A report is sent to rank 0 by every rank. When all are in, rank 0 asks each rank whether it is still there, since it
 * may have given up meanwhile; a rank that gives up says so, and who answered "here" waits for the verdict. A rank that
 * comes late finds the verdict waiting in its mailbox.
 */
#ifndef LSC_VERDICT_H
#define LSC_VERDICT_H

#include "coll.h"

/* The tag of its messages; other operations of the group use other tags. */
#define LSC_AGREE_TAG 32767

struct lsc_verdict {
  lsc_status status; /* LSC_OK: go; LSC_APART; else what the lowest failed rank reported */
  int rank;          /* the rank that failed, or the first that is missing; -1 when none or unknown */
  char text[1024];   /* its message; for LSC_APART which ranks are missing, at most some of them by number */
};

/*
 * One agreement. mine: LSC_OK, or why this rank cannot go on; message: its text for the others, or NULL, where
 * it knows of no reason of its own: then a rank that has one speaks first. step: its name, for messages.
 * LSC_TIMEOUT as `mine` makes the verdict APART. Rank 0 waits for reports until `deadline`, the others for the verdict
 * until `deadline` + grace (nanoseconds), and a rank that answered "here" for 3 * grace after it was asked. grace must
 * be long for a message and its answer: with 0 nobody answers in time. Returns verdict->status, with the text as
 * lsc_message.
 */
lsc_status lsc_agree(struct lsc_coll *coll, const char *step, lsc_status mine, const char *message, int64_t deadline,
                     int64_t grace, struct lsc_verdict *verdict);

#endif
