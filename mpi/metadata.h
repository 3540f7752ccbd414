/* SPDX-License-Identifier: BSD-3-Clause */
/* Where and how the run took place: the attributes of /metadata. */
#ifndef LSC_METADATA_H
#define LSC_METADATA_H

#include "h5.h"
#include "lanescope_file.h"
#include "snapshot.h"

#define LSC_METADATA_MOST 60000 /* bytes of a value */

/* Writes every attribute into the current group of h5. options: may be NULL. LSC_OK, LSC_HDF5, LSC_NO_MEMORY. */
lsc_status lsc_metadata_write(struct lsc_h5 *h5, const struct lsc_snapshot *snapshot, int ranks,
                              const lsc_save_options *options);

#endif
