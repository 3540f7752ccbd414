/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What writing costs, on every rank of an MPI program at once: the ranks' rows and the whole collect, beside pwrite of
 * the same bytes into an equally preallocated file. usage: bench_write FOLDER [calls a rank]
 */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench.h"
#include "lanescope_mpi.h"
#include "rows.h"

#define REPETITIONS 5

static double rows_seconds;

/* The linker puts this in the place of lsc_rows_write, so that phase 2 is timed inside a collect. */
lsc_status __real_lsc_rows_write(struct lsc_h5 *h5, const struct lsc_fill *fill, uint64_t events);
lsc_status __wrap_lsc_rows_write(struct lsc_h5 *h5, const struct lsc_fill *fill, uint64_t events);
lsc_status __wrap_lsc_rows_write(struct lsc_h5 *h5, const struct lsc_fill *fill, uint64_t events) {
  double begin = bench_now();
  lsc_status status = __real_lsc_rows_write(h5, fill, events);
  rows_seconds = bench_now() - begin;
  return status;
}

static double slowest(double seconds) {
  double most;
  MPI_Allreduce(&seconds, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return most;
}

/*
 * The pages of the file, and for the collect those of its arrays, are memory that this kernel has at hand: both sides
 * find as many bytes touched and freed just before, or the host of a virtual machine would decide which one is faster.
 * 48 bytes a call go to the file and 12 to the arrays.
 */
static void back_memory(long calls) {
  bench_back_memory((size_t)calls * 64);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Three regions on one thread, nested two deep. */
static void record(lsc_session session, long calls) {
  lsc_region_id region[3];
  bench_require(!lsc_region("outer", &region[0]) && !lsc_region("left", &region[1]) && !lsc_region("right", &region[2]),
                "lsc_region");
  for (long i = 0; i < calls; i += 3) {
    lsc_begin(session, region[0]);
    for (int k = 1; k < 3; k++) {
      lsc_begin(session, region[k]);
      lsc_end(session, region[k]);
    }
    lsc_end(session, region[0]);
  }
}

static double collect(const char *path, long calls, double *rows) {
  lsc_session session;
  const lsc_save_options options = {.size = sizeof options};
  bench_require(lsc_session_open(NULL, &session) == LSC_OK && lsc_attach(session, MPI_COMM_WORLD, 0) == LSC_OK,
                "opening a session");
  record(session, calls);
  back_memory(calls);
  double begin = bench_now();
  lsc_status status = lsc_collect(session, MPI_COMM_WORLD, path, &options);
  double seconds = slowest(bench_now() - begin);
  if (status) fprintf(stderr, "%s\n", lsc_message());
  bench_require(status == LSC_OK, "lsc_collect");
  *rows = slowest(rows_seconds);
  lsc_detach(session);
  lsc_session_close(session);
  return seconds;
}

/* This rank's share of `bytes`, written in pieces as large as those of the collect. */
static double plain_write(const char *path, long calls, size_t bytes, int rank, int size) {
  enum { PIECE = 4 << 20 };
  static char piece[PIECE];
  size_t share = bytes / (size_t)size, at = share * (size_t)rank;
  memset(piece, rank + 1, sizeof piece);
  back_memory(calls);
  if (rank == 0) {
    int made = open(path, O_RDWR | O_CREAT | O_TRUNC, 0666);
    bench_require(made >= 0 && posix_fallocate(made, 0, (off_t)bytes) == 0 && close(made) == 0, "preallocating");
  }
  MPI_Barrier(MPI_COMM_WORLD);
  int file = open(path, O_RDWR);
  double begin = bench_now();
  for (size_t done = 0; done < share; done += PIECE) {
    size_t count = share - done < PIECE ? share - done : PIECE;
    bench_require(pwrite(file, piece, count, (off_t)(at + done)) == (ssize_t)count, "pwrite");
  }
  double seconds = slowest(bench_now() - begin);
  close(file);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) unlink(path);
  return seconds;
}

static void report(double rows, double whole, double floor, double megabytes, int size) {
  char title[120];
  snprintf(title, sizeof title, "Writing, %d rank%s, %.0f MB (MB/s; the floor is pwrite)", size, size > 1 ? "s" : "",
           megabytes);
  bench_head(title);
  bench_line("the ranks' rows", megabytes / rows, megabytes / floor, "0.80", rows <= floor / 0.80);
  bench_line("the whole collect", megabytes / whole, megabytes / floor, "0.25", whole <= 4 * floor);
}

int main(int argc, char **argv) {
  int rank, size;
  char path[512], plain[512];
  double rows[REPETITIONS], whole[REPETITIONS], floor[REPETITIONS];
  long calls = argc > 2 ? atol(argv[2]) : 1000000;
  struct stat file;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  snprintf(path, sizeof path, "%s/lanescope-bench.h5", argc > 1 ? argv[1] : ".");
  snprintf(plain, sizeof plain, "%s/lanescope-bench.raw", argc > 1 ? argv[1] : ".");
  for (int i = 0; i < REPETITIONS; i++) {
    whole[i] = collect(path, calls, &rows[i]);
    bench_require(stat(path, &file) == 0, "looking at the file");
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) unlink(path);
    floor[i] = plain_write(plain, calls, (size_t)file.st_size, rank, size);
  }
  if (rank == 0)
    report(bench_median(rows, REPETITIONS), bench_median(whole, REPETITIONS), bench_median(floor, REPETITIONS),
           (double)file.st_size / 1e6, size);
  MPI_Finalize();
  return EXIT_SUCCESS;
}
