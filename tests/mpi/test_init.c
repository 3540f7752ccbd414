/* SPDX-License-Identifier: BSD-3-Clause */
/* lsc_init to lsc_finalize over communicators: which ranks are in the file, and what MPI_Finalize leaves to be done. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "lanescope_mpi.h"
#include "readback.h"

static int rank, ranks;

static void call(int times) {
  for (int i = 0; i < times; i++) {
    LSC_BEGIN("call");
    LSC_END("call");
  }
}

/* Rank k has made first + k * step calls. */
static void check_file(const char *name, int size, int first, int step) {
  if (rank) return;
  readback *file = readback_open(check_path(name));
  const int64_t *calls = readback_i64(file, "rank_table/calls");
  CHECK(readback_rows(file, "rank_table/calls") == (size_t)size, "%s has not %d ranks", name, size);
  for (int i = 0; i < size && i < (int)readback_rows(file, "rank_table/calls"); i++)
    CHECK(calls[i] == first + i * step, "%s: rank %d has %lld calls", name, i, (long long)calls[i]);
  readback_close(file);
}

static void test_world(void) {
  CHECK_STATUS(lsc_init(check_path("world.h5"), NULL), LSC_OK);
  call(3 + rank);
  CHECK_STATUS(lsc_flush(), LSC_OK);
  call(5);
  CHECK_STATUS(lsc_init(check_path("joined.h5"), NULL), LSC_OK);
  CHECK_STATUS(lsc_finalize(), LSC_OK);
  CHECK_STATUS(lsc_finalize(), LSC_OK);
  CHECK_STATUS(lsc_finalize(), LSC_INACTIVE);
  check_file("world.1.h5", ranks, 3, 1);
  check_file("world.h5", ranks, 5, 0);
  CHECK(access(check_path("joined.h5"), F_OK) != 0, "who joined wrote a file");
}

/* Only the lower half of the ranks, whose communicator is freed at once. */
static void test_half(void) {
  MPI_Comm half;
  int size = (ranks + 1) / 2, is_in = rank < size;
  MPI_Comm_split(MPI_COMM_WORLD, is_in ? 0 : MPI_UNDEFINED, rank, &half);
  if (is_in) {
    int handle = MPI_Comm_c2f(half);
    lsc_init_options options = {.size = sizeof options, .comm = &handle, .label = "half"};
    CHECK_STATUS(lsc_init(check_path("half.h5"), &options), LSC_OK);
    MPI_Comm_free(&half);
    call(1 + 2 * rank);
    CHECK_STATUS(lsc_finalize(), LSC_OK);
  }
  check_file("half.h5", size, 1, 2);
}

static void test_null(void) {
  int handle = MPI_Comm_c2f(MPI_COMM_NULL);
  lsc_init_options options = {.size = sizeof options, .comm = &handle};
  CHECK_STATUS(lsc_init(check_path("null.h5"), &options), LSC_INVALID);
  CHECK(lsc_session_default() == 0, "a session is open");
  CHECK_STATUS(lsc_finalize(), LSC_INACTIVE);
}

/* After MPI_Finalize, on the rank that reads the files. */
static int check_late(const char *path, size_t calls) {
  if (access(path, R_OK) != 0) {
    fprintf(stderr, "rank %d: there is no %s\n", rank, path);
    return 1;
  }
  readback *file = readback_open(path);
  size_t found = readback_rows(file, "events/start_times");
  readback_close(file);
  if (found != calls) fprintf(stderr, "%s: %zu calls, not %zu\n", path, found, calls);
  unlink(path);
  return found != calls;
}

/* Nobody finalizes before MPI does: the file is there, and what comes later has a file of its own. */
static int finalize_late(void) {
  char early[512], late[512];
  const char *parent = getenv("TMPDIR");
  long number = (long)getpid();
  if (!parent || !*parent) parent = "/tmp";
  MPI_Bcast(&number, 1, MPI_LONG, 0, MPI_COMM_WORLD);
  snprintf(early, sizeof early, "%s/lanescope-init-%ld.h5", parent, number);
  snprintf(late, sizeof late, "%s/lanescope-init-%ld.late.h5", parent, number);
  if (ranks > 1) snprintf(late, sizeof late, "%s/lanescope-init-%ld.late.rank%d.h5", parent, number, rank);
  CHECK_STATUS(lsc_init(early, NULL), LSC_OK);
  call(2);
  int failed = check_result();
  MPI_Finalize();
  call(4);
  lsc_status status = lsc_finalize();
  if (status != LSC_OK) fprintf(stderr, "rank %d: lsc_finalize: %s\n", rank, lsc_message());
  failed |= status != LSC_OK || check_late(late, 4);
  return rank == 0 ? failed | check_late(early, (size_t)ranks * 2) : failed;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  check_path("");
  test_world();
  test_half();
  test_null();
  return finalize_late();
}
