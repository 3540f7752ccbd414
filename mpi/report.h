/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LSC_REPORT_H
#define LSC_REPORT_H

#include "lanescope_file.h"
#include "table.h"

/* A report that takes over the tables ([LSC_TABLE_COUNT], left empty), or NULL without memory. */
lsc_report *lsc_report_take(struct lsc_table *tables);

#endif
