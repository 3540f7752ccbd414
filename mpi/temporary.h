/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names of temporary files that say which process of which host made them:
 * `.NAME.<host>-<pid namespace>-<pid>-<random>.lanescope-tmp`.
 */
#ifndef LSC_TEMPORARY_H
#define LSC_TEMPORARY_H

/* A name in `folder` for a file that is to become `name`; malloc'd, NULL without memory. No file is made. */
char *lsc_temporary_name(const char *folder, const char *name);

/*
 * Removes from a folder the temporary files of processes of this host that are no more, and what ranks that waited for
 * the file `name` there (mpi/roll.h) have left in a job that was killed.
 */
void lsc_temporary_clean(const char *folder, const char *name);

#endif
