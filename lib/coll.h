/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collective operations without MPI: two primitives that an implementation gives (over MPI, in one process, simulated),
 * and the trees over them. Every operation takes a deadline on lsc_now_ns's clock and comes back with LSC_TIMEOUT once
 * it has passed; after that the group is not to be used again by this rank, other than by lsc_agree's answers.
 *
 * An operation is called by every rank of the group in the same order, with the same tag.
 */
#ifndef LSC_COLL_H
#define LSC_COLL_H

#include "buffer.h"

struct lsc_coll {
  int rank, size;
  void *ctx;
  /* Comes back when `data` may be reused, at the latest at the deadline. Messages of one pair of ranks and one tag keep
   * their order. */
  lsc_status (*send)(struct lsc_coll *coll, int to, int tag, const void *data, size_t size, int64_t deadline);
  /* Replaces the content of `out` by the next message of that rank and tag. Looks at least once, also after the
   * deadline. */
  lsc_status (*recv)(struct lsc_coll *coll, int from, int tag, struct lsc_buffer *out, int64_t deadline);
  /* The clock of the deadlines; a simulation has its own. */
  int64_t (*now)(struct lsc_coll *coll);
  int passed_on; /* set to 1 when an operation fails here because another rank did; the caller sets it back */
  int firm;      /* 1: the other ranks count on this one until the deadline, so that no wait may be cut short */
};

/* One rank, in this process. No message is ever sent. */
void lsc_coll_self(struct lsc_coll *coll);

/* Rank 0's bytes to everybody, in binomial rounds: in on rank 0, out elsewhere. */
lsc_status lsc_coll_broadcast(struct lsc_coll *coll, int tag, struct lsc_buffer *data, int64_t deadline);

/* Called on rank 0 once a rank, in rank order, with that rank's bytes. Another status than LSC_OK ends the visits and
 * is the result. */
typedef lsc_status (*lsc_visit)(void *ctx, int rank, struct lsc_reader *bytes);
/* Every rank's bytes to rank 0. */
lsc_status lsc_coll_gather(struct lsc_coll *coll, int tag, const struct lsc_buffer *mine, lsc_visit visit, void *ctx,
                           int64_t deadline);

/*
 * The same for bytes that together may be too many for rank 0: in pieces, one rank after the other, each asked for when
 * rank 0 is about to take it, so that it holds a few pieces at a time.
 *
 * next: appends this rank's next piece; `more` is 1 on entry, and to be set to 0 if it is the last one. Called at least
 * once. visit: on rank 0, for each piece, in rank order. mine: how this rank fared before; one that failed gives
 * nothing, and its status is rank 0's. Once rank 0 has failed, it asks for nothing any more, and the others come back
 * with LSC_OK.
 */
struct lsc_pieces {
  lsc_status (*next)(void *ctx, struct lsc_buffer *out, int *more);
  lsc_visit visit;
  void *ctx;
};
lsc_status lsc_coll_pieces(struct lsc_coll *coll, int tag, lsc_status mine, const struct lsc_pieces *pieces,
                           int64_t deadline);

/* prefix[i] = sum of values[i] over the ranks below this one; totals[i] = over all ranks. `count` is the same
 * everywhere. */
lsc_status lsc_coll_scan(struct lsc_coll *coll, int tag, size_t count, const uint64_t *values, uint64_t *prefix,
                         uint64_t *totals, int64_t deadline);

/* values[i] becomes the bitwise or of every rank's, on every rank. */
lsc_status lsc_coll_or(struct lsc_coll *coll, int tag, size_t count, uint64_t *values, int64_t deadline);

/*
 * What the operations are made of, and lsc_unite_names. The tree: rank r's parent is r without its lowest set bit, so
 * that a subtree is a run of consecutive ranks, r first, and its children's runs follow one another.
 *
 * A rank that fails still takes its part in both sweeps and says so: up, to all its ancestors; down, to its whole
 * subtree. Each of them comes back with its status, so that nobody waits in vain for a rank that is there.
 */

/* A message: bytes, of which a rank whose status `mine` is not LSC_OK sends none, and that status. The receiver comes
 * back with it, and with passed_on set unless it had failed before (its own `mine`). */
lsc_status lsc_coll_pass(struct lsc_coll *coll, int to, int tag, lsc_status mine, struct lsc_buffer *data,
                         int64_t deadline);
lsc_status lsc_coll_take(struct lsc_coll *coll, int from, int tag, lsc_status mine, struct lsc_buffer *out,
                         int64_t deadline);

/* merge: takes over a child's bytes; children come in rank order. encode: appends the whole subtree's, for the parent.
 */
struct lsc_sweep {
  lsc_status (*merge)(void *ctx, struct lsc_reader *bytes);
  lsc_status (*encode)(void *ctx, struct lsc_buffer *out);
  void *ctx;
};
/* From the leaves to rank 0. mine: how this rank fared before. */
lsc_status lsc_coll_up(struct lsc_coll *coll, int tag, lsc_status mine, const struct lsc_sweep *sweep,
                       int64_t deadline);

/* Children of one rank at most: a rank is an int. */
#define LSC_MOST_CHILDREN 31
/* take: elsewhere than on rank 0, what the parent sent. give: appends what goes to a child; these are numbered from 0,
 * as they were merged. */
struct lsc_spread {
  lsc_status (*take)(void *ctx, struct lsc_reader *bytes);
  lsc_status (*give)(void *ctx, size_t child, struct lsc_buffer *out);
  void *ctx;
};
/* From rank 0 to the leaves, with bytes of its own for each rank. mine: how this rank fared before; it is what its
 * subtree hears of a failure. */
lsc_status lsc_coll_spread(struct lsc_coll *coll, int tag, lsc_status mine, const struct lsc_spread *spread,
                           int64_t deadline);
/* lsc_coll_broadcast, and of rank 0's `mine`, which becomes everybody's status. Elsewhere a failed `mine` is returned.
 */
lsc_status lsc_coll_down(struct lsc_coll *coll, int tag, lsc_status mine, struct lsc_buffer *data, int64_t deadline);

#endif
