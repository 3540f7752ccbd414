/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LSC_SAVE_H
#define LSC_SAVE_H

#include "lanescope_file.h"

/* lsc_collect over the session's communicator, or MPI_COMM_WORLD if it has none. While MPI runs. */
lsc_status lsc_collect_attached(lsc_session session, const char *path, const lsc_save_options *options);

#endif
