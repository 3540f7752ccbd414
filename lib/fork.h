/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LSC_FORK_H
#define LSC_FORK_H

#include "lanescope.h"

/* From now on a child of fork() finds every lock free, every session closed and no thread registered. LSC_OK,
 * LSC_NO_MEMORY. */
lsc_status lsc_fork_watch(void);

#endif
