/* SPDX-License-Identifier: BSD-3-Clause */
/* Where and how the run took place: the attributes of /metadata. */
#ifndef LSC_METADATA_H
#define LSC_METADATA_H

#include "h5.h"
#include "lanescope_file.h"
#include "snapshot.h"
#include "table.h"

#define LSC_METADATA_MOST 60000 /* bytes of a value */

/* The attributes in memory: metadata_texts and metadata_numbers, each with the columns names and values. */
struct lsc_metadata {
  struct lsc_table texts, numbers;
};
void lsc_metadata_init(struct lsc_metadata *metadata);
void lsc_metadata_free(struct lsc_metadata *metadata);

/* What /metadata says of the run as a whole. */
struct lsc_metadata_run {
  int ranks;          /* in the file */
  unsigned apis;      /* bit k: API k made a call, on any of them */
  uint64_t session_id; /* 0: unknown */
  int part, part_of;  /* the file is of this one rank of a run of part_of ranks; part_of 0: it is of all */
  int is_compared;    /* of a part: its times and offset_ns are on rank 0's clock, off by no more than error_ns */
  int64_t offset_ns, error_ns;
};

/* Gathers every attribute of a session of this process. options: may be NULL. LSC_OK, LSC_NO_MEMORY. */
lsc_status lsc_metadata_fill(struct lsc_metadata *to, const struct lsc_snapshot *snapshot,
                             const struct lsc_metadata_run *run, const lsc_save_options *options);

/* Writes them into the current group of h5. LSC_OK, LSC_HDF5, LSC_NO_MEMORY. */
lsc_status lsc_metadata_write(struct lsc_h5 *h5, const struct lsc_metadata *metadata);

#endif
