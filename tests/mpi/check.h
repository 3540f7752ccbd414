/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of an MPI test program: each prints what was wrong, and makes the program fail on every rank. */
#ifndef CHECK_H
#define CHECK_H

#include <mpi.h>
#include <stdio.h>

extern int check_failures;

#define CHECK(condition, ...)                                                                  \
  do {                                                                                         \
    if (!(condition) && ++check_failures <= 20) {                                              \
      int check_rank;                                                                          \
      MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);                                              \
      fprintf(stderr, "%s:%d: rank %d: not %s: ", __FILE__, __LINE__, check_rank, #condition); \
      fprintf(stderr, __VA_ARGS__);                                                            \
      fputc('\n', stderr);                                                                     \
    }                                                                                          \
  } while (0)

/* CHECK that a status is the expected one. */
#define CHECK_STATUS(call, expected)                                                                               \
  do {                                                                                                             \
    lsc_status check_status = (call);                                                                              \
    CHECK(check_status == (expected), "%s gave %d (%s): %s", #call, (int)check_status, lsc_strerror(check_status), \
          lsc_message());                                                                                          \
  } while (0)

/* The exit status: 0 if no rank of MPI_COMM_WORLD had a failure. Collective. */
int check_result(void);

/*
 * A path in a folder of this run's own, valid until the next call. It lies in LANESCOPE_TEST_FOLDER, whose maker looks
 * at the files; where that is not set, check_result removes it if all went well. The first call is collective.
 */
const char *check_path(const char *name);

#endif
