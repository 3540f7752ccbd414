/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A file that appears whole under its name or not at all: it is written under a temporary name in the same folder and
 * renamed. Not thread-safe for one target.
 */
#ifndef LSC_PUBLISH_H
#define LSC_PUBLISH_H

#include "lanescope.h"

/* All zeros: none. */
struct lsc_target {
  char *path;      /* absolute, symbolic links followed: the file that is replaced */
  char *temporary; /* absolute, of this process alone, hidden, in the folder of `path`; empty at first */
};

/*
 * Finds out where `path` leads, removes what dead processes of this host left in the folder, and makes the temporary
 * file, empty. LSC_OK; LSC_INVALID: path is NULL or empty; LSC_IO: a folder is missing or not writable, or `path` is
 * something else than a file; LSC_NO_MEMORY. On failure *target is all zeros.
 */
lsc_status lsc_target_open(struct lsc_target *target, const char *path);

/*
 * Puts the temporary file in the place of the target: synced, with the mode of the file that it replaces, else as it
 * was made. LSC_OK; LSC_IO, LSC_NO_MEMORY: the old file is untouched.
 */
lsc_status lsc_target_publish(struct lsc_target *target);

/* Removes the temporary file, unless it was published, and frees the names. */
void lsc_target_close(struct lsc_target *target);

/* The content of a file to the disk, where the file system can. LSC_OK, LSC_IO. */
lsc_status lsc_file_sync(const char *path);

#endif
