/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LSC_SAVE_H
#define LSC_SAVE_H

#include "lanescope_file.h"

/*
 * lsc_write to the path of this rank of `size`; rank 0 says in one line that each does so, and why. path: may be NULL,
 * which is LSC_INVALID. rank, size: as the launcher has them.
 */
lsc_status lsc_write_of_rank(lsc_session session, const char *path, int rank, int size, const char *why,
                             const lsc_save_options *options);

/* lsc_collect over the session's communicator, MPI_COMM_WORLD if it never had one; apart if it was abandoned. While MPI
 * runs. */
lsc_status lsc_collect_attached(lsc_session session, const char *path, const lsc_save_options *options);

#endif
