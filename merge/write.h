/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LSC_WRITE_H
#define LSC_WRITE_H

#include "tables.h"

/*
 * Writes the merged file, whole or not at all, reading the calls of one rank at a time once more. level: of zlib, 1 to
 * 9, or 0 for no compression; the space of what does not compress is taken until the end. LSC_OK; and the
 * statuses of lsc_target_open, lsc_create, lsc_rank_calls and lsc_target_publish.
 */
lsc_status lsc_union_write(const struct lsc_union *all, struct lsc_run *run, const char *path, int level);

#endif
