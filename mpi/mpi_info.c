/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi_info.h"

#include <mpi.h>
#include <pthread.h>
#include <string.h>

static char library[MPI_MAX_LIBRARY_VERSION_STRING];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void ask(void) {
  int length = 0;
  if (MPI_Get_library_version(library, &length) != MPI_SUCCESS) library[0] = '\0';
  library[strcspn(library, "\r\n")] = '\0';
}

const char *lsc_mpi_library(void) {
  pthread_once(&once, ask);
  return library;
}
