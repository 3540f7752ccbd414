/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Space of a file on the disk, so that no write behind it finds the disk full. A file system clears the pages that it
 * reserves, or some do, which takes half as long as to write them: where a core is free, a thread does so for as much
 * as is already known to be needed, while the calls are summed up.
 */
#ifndef LSC_RESERVE_H
#define LSC_RESERVE_H

#include <pthread.h>
#include <stdint.h>

#include "lanescope.h"

/*
 * Bytes from .. from + bytes - 1 of an open file. name: of the file, for messages. LSC_OK, also where the file system
 * has no way to reserve; LSC_IO.
 */
lsc_status lsc_reserve_space(int file, const char *name, uint64_t from, uint64_t bytes);

/* All zeros: none. */
struct lsc_reserve {
  pthread_t thread;
  int is_running;
  int file;
  int error; /* of posix_fallocate */
  uint64_t bytes;
};

/* Begins to reserve that many bytes from the beginning of the file, if it is many and a core is free. */
void lsc_reserve_begin(struct lsc_reserve *reserve, const char *path, uint64_t bytes);
/*
 * Waits for the end: how many are reserved. None after a failure, of which who then reserves all of it hears. Harmless
 * where nothing was begun.
 */
uint64_t lsc_reserve_end(struct lsc_reserve *reserve);

#endif
