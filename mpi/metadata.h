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

/*
 * Writes every attribute into the current group of h5, and puts it into `kept`, which is initialized. options: may be
 * NULL. LSC_OK, LSC_HDF5, LSC_NO_MEMORY.
 */
lsc_status lsc_metadata_write(struct lsc_h5 *h5, const struct lsc_snapshot *snapshot, int ranks,
                              const lsc_save_options *options, struct lsc_metadata *kept);

#endif
