/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One collect under way on one rank, and the rules by which its steps go on:
 *   - a rank that fails on its own keeps the reason, takes part in every collective operation up to the next
 *     agreement, with empty data, and reports it there;
 *   - a rank for which a collective operation did not come through enters no other one before the agreement, and
 *     reports LSC_TIMEOUT, so that all go apart;
 *   - after an agreement every rank knows the same: all well, all leave, or apart.
 */
#ifndef LSC_COLLECTION_H
#define LSC_COLLECTION_H

#include "coll.h"
#include "create.h"
#include "fill.h"
#include "lanescope_file.h"
#include "metadata.h"
#include "publish.h"
#include "reserve.h"
#include "snapshot.h"
#include "step.h"
#include "table.h"
#include "unite.h"

/* The agreements, in order: X(AGREEMENT, name for messages). */
#define LSC_AGREEMENTS(X)                                                  \
  X(ARRIVE, "arrive")   /* arguments, target */                            \
  X(CUT, "snapshot")    /* clocks compared, snapshot taken */              \
  X(CREATE, "create")   /* tables merged, file made, seen by every rank */ \
  X(OPEN, "open")       /* the shared file */                              \
  X(LEAVE, "leave")     /* it again, after a failure: open on all? */      \
  X(WRITE, "write")     /* each rank's rows */                             \
  X(CLOSE, "close")     /* the shared file */                              \
  X(CHUNKS, "chunks")   /* instead of OPEN to CLOSE: memory for chunks */  \
  X(RESERVE, "reserve") /* all compressed, and their space reserved */     \
  X(PACKED, "packed")   /* all chunks written */                           \
  X(PUBLISH, "publish") /* the file stands under its name */

enum lsc_agreement {
#define LSC_X(agreement, name) LSC_AGREE_##agreement,
  LSC_AGREEMENTS(LSC_X)
#undef LSC_X
};

/* Tags of the collective operations, in order. */
enum lsc_collect_tag {
  LSC_TAG_CLOCK = 1,
  LSC_TAG_ORIGIN,
  LSC_TAG_FLAGS,
  LSC_TAG_NAMES,
  LSC_TAG_OFFSETS,
  LSC_TAG_COUNTS,
  LSC_TAG_TABLES,
  LSC_TAG_FILE,
  LSC_TAG_RANK_ROWS,
  LSC_TAG_ALL_ROWS,
  LSC_TAG_BORDER,
  LSC_TAG_SIZES,
  LSC_TAG_CHUNKS
};

struct lsc_collection {
  struct lsc_coll *coll;
  void *comm; /* a pointer to an MPI_Comm, or NULL */
  lsc_session session;
  struct lsc_comparison clocks; /* group and open: from the caller; now: of this collect, but of a rank alone */
  uint64_t session_id;          /* of rank 0's session, 0: unknown */
  const char *path;
  int part, part_of; /* lsc_write_part; part_of 0: the file is of the whole run */
  lsc_save_options options;
  int64_t arrival, timeout, grace; /* ns; arrival: how long this rank waits for the others to come */

  lsc_status status; /* of this rank since the last agreement */
  int broken;        /* a collective operation did not come through */
  int followed;      /* status is that of another rank, which reports it itself */
  char text[1024];   /* message of status */

  int has_snapshot;
  struct lsc_snapshot snapshot;
  char hostname[256];
  struct lsc_fill fill;
  struct lsc_names names; /* rank 0: united */
  struct lsc_reserve reserve; /* rank 0 */
  uint32_t *ids;          /* fill.region_ids */
  uint64_t events;        /* of all ranks */
  struct lsc_table_size mine[LSC_TABLE_COUNT];   /* of this rank */
  struct lsc_table_size sizes[LSC_TABLE_COUNT];  /* of all ranks */
  struct lsc_table merged[LSC_TABLE_COUNT]; /* rank 0: rows on their way to the file, or all of them */
  int keeps;                                /* rank 0: all of them */
  struct lsc_h5 *file;                      /* rank 0, in phase 1; a compressed file until it is whole */
  struct lsc_metadata metadata;             /* rank 0 */

  struct lsc_target target;    /* rank 0 */
  char *final, *temporary;     /* rank 0's target, as every rank knows it */
  uint64_t bytes;              /* size of the file, where it is made before it is shared */
  int level;                   /* zlib's, 0: /events is not compressed; rank 0's, which all know once it is shared */
};

/* Keeps a failure of this rank, with its step and its message, unless it has one already. Returns status. */
lsc_status lsc_collection_note(struct lsc_collection *c, lsc_status status);

/* Enters a step, and notes what a test build makes of it. Returns as lsc_step. */
lsc_status lsc_collection_enter(struct lsc_collection *c, enum lsc_step step);

/* Notes how a collective operation ended. */
lsc_status lsc_collection_came(struct lsc_collection *c, lsc_status status);

/* When a collective operation that begins now ends at the latest. */
int64_t lsc_collection_deadline(const struct lsc_collection *c);

/*
 * Agrees on a step and starts afresh. LSC_OK, or the status with which every rank that is there leaves, its message
 * set.
 */
lsc_status lsc_collection_agree(struct lsc_collection *c, enum lsc_agreement agreement);

/* merge.c: what is needed before the file is laid out; every rank learns its place among the others. Collective; notes
 * what fails. */
void lsc_collection_merge(struct lsc_collection *c);

/* gather.c: how large all ranks' tables are, and all of them into rank 0's file; then the snapshot forgets its lanes.
 * Collective; they note what fails. */
void lsc_collection_count_tables(struct lsc_collection *c);
void lsc_collection_gather(struct lsc_collection *c);
/* Bytes of tables beyond which rank 0 never keeps them for the report, and up to which it does so however little it
 * recorded itself; for tests. */
extern uint64_t lsc_report_most, lsc_report_least;

/*
 * store.c: the merged file under its temporary name, complete and closed on every rank. Collective. As
 * lsc_collection_agree.
 */
lsc_status lsc_collection_store(struct lsc_collection *c);

/* store_compressed.c: the same, once all know the level, which is not 0. */
lsc_status lsc_collection_store_compressed(struct lsc_collection *c);

#endif
