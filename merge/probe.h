/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LSC_PROBE_H
#define LSC_PROBE_H

#include "lanescope.h"

/*
 * Reads a file from its first to its last row in a process of its own, where HDF5 may crash or hang over what is
 * damaged. LSC_OK: reading it again does no harm, as long as it does not change. LSC_INVALID, LSC_HDF5, LSC_NO_MEMORY;
 * LSC_IO: no process could be made, or the file is none. silence_ms: how long the process may take for one piece of the
 * file.
 */
lsc_status lsc_probe(const char *path, int silence_ms);

#endif
