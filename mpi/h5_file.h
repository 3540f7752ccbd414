/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files mpi/h5*.c share, and nobody else. */
#ifndef LSC_H5_FILE_H
#define LSC_H5_FILE_H

#include <hdf5.h>

#include "h5.h"

/* What the program had set up for HDF5's errors on this thread. */
struct lsc_h5_errors {
  hid_t stack;
  unsigned is_v2;
  H5E_auto2_t print_v2;
  H5E_auto1_t print_v1;
  void *data;
};

struct lsc_h5 {
  char *path, *name; /* name: of the file that it is going to be, for messages */
  hid_t file, group; /* group is the file itself at the root */
  hid_t access;      /* until the file is open */
  int descriptor;    /* of a prepared file, or -1 */
  int is_own;        /* on disk, opened to be changed by this process alone */
  struct {
    hid_t data, type;
    char path[64]; /* cut where it is longer; for messages */
  } slot[LSC_H5_SLOTS];
  struct lsc_h5_errors errors;
};

/*
 * LSC_HDF5, with a message: what could not be done to which part, and HDF5's own cause. To be called before any other
 * HDF5 function, which would empty the error stack.
 */
lsc_status lsc_h5_fail(const struct lsc_h5 *h5, const char *doing, const char *part);
/*
 * The same for a transfer, of which HDF5 and MPI-IO may not pass on why the system refused it. error: errno behind the
 * call, which was 0 before it; said if it can be the cause.
 */
lsc_status lsc_h5_fail_transfer(const struct lsc_h5 *h5, const char *doing, const char *part, int error);

/* A type that the caller closes, as it stands in the file (in_file 1) or in memory (0); negative on failure. */
hid_t lsc_h5_make_type(lsc_type type, int in_file);

#endif
