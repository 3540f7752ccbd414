/* SPDX-License-Identifier: BSD-3-Clause */
/* A test's own folder, in which it runs. */
#ifndef FOLDER_H
#define FOLDER_H

#include <limits.h>

extern char folder[PATH_MAX]; /* its path, without links */

/* Makes the folder and goes there; removes it with all that is in it. */
void enter_folder(void);
void leave_folder(void);

/* How many of the library's temporary files are in it. */
int temporaries(void);

#endif
