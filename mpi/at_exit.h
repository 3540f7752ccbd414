/* SPDX-License-Identifier: BSD-3-Clause */
/* What the collect at the start of MPI_Finalize has to know. Every function may be called from any thread. */
#ifndef LSC_AT_EXIT_H
#define LSC_AT_EXIT_H

#include "lanescope_file.h"

/* The session was collected to this path, as it was given, on every rank: nothing is left for the end to do. Local. */
void lsc_at_exit_done(lsc_session session, const char *path);

/* Nothing is collected by itself, and what was is forgotten. */
void lsc_at_exit_forget(lsc_session session);

#endif
