/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LSC_REPORT_H
#define LSC_REPORT_H

#include "fill.h"
#include "lanescope_file.h"
#include "metadata.h"
#include "table.h"

/*
 * A report that takes over the tables ([LSC_TABLE_COUNT]) and the metadata, which are left empty. fill: says which
 * columns there are. events: 1: also the rows of /events of this rank; without memory for them it goes without. NULL
 * without memory.
 */
lsc_report *lsc_report_take(struct lsc_table *tables, struct lsc_metadata *metadata, const struct lsc_fill *fill,
                            int events);

#endif
