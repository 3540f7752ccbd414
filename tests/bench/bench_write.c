/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What writing costs, on every rank of an MPI program at once: the ranks' rows and the whole collect, beside pwrite of
 * the same bytes into an equally preallocated file; medians. usage: bench_write FOLDER [calls a rank]
 */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench.h"
#include "lanescope_mpi.h"
#include "rows.h"
#include "snapshot.h"

#define REPETITIONS 5

/* Parts of a collect that are timed inside it: the linker puts functions of this program in their places. */
enum { SNAPSHOT, RESERVE, ROWS, WRITES, WHOLE, PARTS };

static double seconds_of[PARTS];

lsc_status __real_lsc_snapshot_take_watched(lsc_session session, const struct lsc_comparison *clocks,
                                            const struct lsc_snapshot_watch *watch, struct lsc_snapshot *snapshot);
lsc_status __wrap_lsc_snapshot_take_watched(lsc_session session, const struct lsc_comparison *clocks,
                                            const struct lsc_snapshot_watch *watch, struct lsc_snapshot *snapshot);
lsc_status __wrap_lsc_snapshot_take_watched(lsc_session session, const struct lsc_comparison *clocks,
                                            const struct lsc_snapshot_watch *watch, struct lsc_snapshot *snapshot) {
  double begin = bench_now();
  lsc_status status = __real_lsc_snapshot_take_watched(session, clocks, watch, snapshot);
  seconds_of[SNAPSHOT] = bench_now() - begin;
  return status;
}

int __real_posix_fallocate(int file, off_t offset, off_t length);
int __wrap_posix_fallocate(int file, off_t offset, off_t length);
int __wrap_posix_fallocate(int file, off_t offset, off_t length) {
  double begin = bench_now();
  int error = __real_posix_fallocate(file, offset, length);
  seconds_of[RESERVE] = bench_now() - begin;
  return error;
}

lsc_status __real_lsc_rows_write(struct lsc_h5 *h5, const struct lsc_fill *fill, uint64_t events);
lsc_status __wrap_lsc_rows_write(struct lsc_h5 *h5, const struct lsc_fill *fill, uint64_t events);
lsc_status __wrap_lsc_rows_write(struct lsc_h5 *h5, const struct lsc_fill *fill, uint64_t events) {
  double begin = bench_now();
  lsc_status status = __real_lsc_rows_write(h5, fill, events);
  seconds_of[ROWS] = bench_now() - begin;
  return status;
}

lsc_status __real_lsc_h5_write_rows(struct lsc_h5 *h5, int slot, uint64_t first, uint64_t count, const void *data);
lsc_status __wrap_lsc_h5_write_rows(struct lsc_h5 *h5, int slot, uint64_t first, uint64_t count, const void *data);
lsc_status __wrap_lsc_h5_write_rows(struct lsc_h5 *h5, int slot, uint64_t first, uint64_t count, const void *data) {
  double begin = bench_now();
  lsc_status status = __real_lsc_h5_write_rows(h5, slot, first, count, data);
  seconds_of[WRITES] += bench_now() - begin;
  return status;
}

static double slowest(double seconds) {
  double most;
  MPI_Allreduce(&seconds, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return most;
}

/*
 * The pages of the file, and for the collect those of its buffers, are memory that this kernel has at hand: both sides
 * find as many bytes touched and freed just before, or the host of a virtual machine would decide which one is faster.
 * 48 bytes a call go to the file.
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

struct times {
  double slowest[PARTS], own[PARTS]; /* seconds: on the rank where it took longest, and here */
};

static void collect(const char *path, long calls, struct times *times) {
  lsc_session session;
  const lsc_save_options options = {.size = sizeof options};
  bench_require(lsc_session_open(NULL, &session) == LSC_OK && lsc_attach(session, MPI_COMM_WORLD, 0) == LSC_OK,
                "opening a session");
  record(session, calls);
  back_memory(calls);
  seconds_of[WRITES] = 0;
  double begin = bench_now();
  lsc_status status = lsc_collect(session, MPI_COMM_WORLD, path, &options);
  seconds_of[WHOLE] = bench_now() - begin;
  if (status) fprintf(stderr, "%s\n", lsc_message());
  bench_require(status == LSC_OK, "lsc_collect");
  for (int i = 0; i < PARTS; i++) {
    times->own[i] = seconds_of[i];
    times->slowest[i] = slowest(seconds_of[i]);
  }
  lsc_detach(session);
  lsc_session_close(session);
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

static struct times medians(const struct times *times) {
  struct times result;
  for (int k = 0; k < PARTS; k++) {
    double slowest[REPETITIONS], own[REPETITIONS];
    for (int i = 0; i < REPETITIONS; i++) {
      slowest[i] = times[i].slowest[k];
      own[i] = times[i].own[k];
    }
    result.slowest[k] = bench_median(slowest, REPETITIONS);
    result.own[k] = bench_median(own, REPETITIONS);
  }
  return result;
}

static void report(const struct times *times, double floor, double megabytes, int size) {
  char title[120];
  const double *slowest = times->slowest, *own = times->own;
  snprintf(title, sizeof title, "Writing, %d rank%s, %.0f MB (MB/s; the floor is pwrite)", size, size > 1 ? "s" : "",
           megabytes);
  bench_head(title);
  bench_line("HDF5's writes alone", megabytes / slowest[WRITES], megabytes / floor, "0.80",
             slowest[WRITES] <= floor / 0.80);
  bench_line("the ranks' rows, made and written", megabytes / slowest[ROWS], megabytes / floor, "0.80",
             slowest[ROWS] <= floor / 0.80);
  bench_line("the whole collect", megabytes / slowest[WHOLE], megabytes / floor, "0.25", slowest[WHOLE] <= 4 * floor);
  printf("  rank 0, %.1f ms: snapshot %.1f, reserving %.1f, rows %.1f, the rest %.1f; pwrite %.1f\n", 1e3 * own[WHOLE],
         1e3 * own[SNAPSHOT], 1e3 * own[RESERVE], 1e3 * own[ROWS],
         1e3 * (own[WHOLE] - own[SNAPSHOT] - own[RESERVE] - own[ROWS]), 1e3 * floor);
}

int main(int argc, char **argv) {
  int rank, size;
  char path[512], plain[512];
  struct times times[REPETITIONS], typical;
  double floor[REPETITIONS];
  long calls = argc > 2 ? atol(argv[2]) : 1000000;
  struct stat file;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  snprintf(path, sizeof path, "%s/lanescope-bench.h5", argc > 1 ? argv[1] : ".");
  snprintf(plain, sizeof plain, "%s/lanescope-bench.raw", argc > 1 ? argv[1] : ".");
  for (int i = 0; i < REPETITIONS; i++) {
    collect(path, calls, &times[i]);
    bench_require(stat(path, &file) == 0, "looking at the file");
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) unlink(path);
    floor[i] = plain_write(plain, calls, (size_t)file.st_size, rank, size);
  }
  typical = medians(times);
  if (rank == 0) report(&typical, bench_median(floor, REPETITIONS), (double)file.st_size / 1e6, size);
  MPI_Finalize();
  return EXIT_SUCCESS;
}
