/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What compressing costs, on every rank of an MPI program at once, beside zlib's level 1 alone on the same shuffled
 * bytes; and how many bytes a call takes in the file. Two inputs: a loop of one region, and three nested regions on
 * four threads whose durations go from 100 ns to 10 µs. usage: bench_compress FOLDER [calls a rank]
 */
#include <math.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "bench.h"
#include "h5_read.h"
#include "lanescope_mpi.h"
#include "pack.h"
#include "table.h"

#define REPETITIONS 3
#define THREADS 4

static int rank, size;
static double packing;
static uint64_t first_row, own_rows;

/* The linker puts these in the place of lsc_pack_read and lsc_pack_finish, so that they are timed inside a collect. */
lsc_status __real_lsc_pack_read(struct lsc_pack *pack);
lsc_status __wrap_lsc_pack_read(struct lsc_pack *pack);
lsc_status __wrap_lsc_pack_read(struct lsc_pack *pack) {
  MPI_Barrier(MPI_COMM_WORLD);
  double begin = bench_now();
  lsc_status status = __real_lsc_pack_read(pack);
  packing = bench_now() - begin;
  first_row = pack->first * pack->chunks->rows;
  own_rows = pack->count * pack->chunks->rows;
  return status;
}

lsc_status __real_lsc_pack_finish(struct lsc_pack *pack);
lsc_status __wrap_lsc_pack_finish(struct lsc_pack *pack);
lsc_status __wrap_lsc_pack_finish(struct lsc_pack *pack) {
  double begin = bench_now();
  lsc_status status = __real_lsc_pack_finish(pack);
  packing += bench_now() - begin;
  return status;
}

static double slowest(double seconds) {
  double most;
  MPI_Allreduce(&seconds, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return most;
}

static lsc_session session;
static lsc_region_id region[3];

static void record_flat(long calls) {
  for (long i = 0; i < calls; i++) {
    lsc_begin(session, region[0]);
    lsc_end(session, region[0]);
  }
}

static void last(double seconds) {
  double end = bench_now() + seconds;
  while (bench_now() < end) continue;
}

struct share {
  long calls;
  unsigned short seed[3];
};

static void *record_share(void *argument) {
  struct share *share = argument;
  for (long i = 0; i < share->calls; i += 3) {
    for (int k = 0; k < 3; k++) lsc_begin(session, region[k]);
    last(1e-7 * pow(100, erand48(share->seed)));
    for (int k = 3; k-- > 0;) lsc_end(session, region[k]);
  }
  return NULL;
}

static void record_nested(long calls) {
  pthread_t thread[THREADS];
  struct share share[THREADS];
  for (int i = 0; i < THREADS; i++) {
    share[i] = (struct share){calls / THREADS, {1, (unsigned short)i, (unsigned short)rank}};
    bench_require(pthread_create(&thread[i], NULL, record_share, &share[i]) == 0, "pthread_create");
  }
  for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
}

/* Seconds of the slowest rank for the collect; *pack: for compressing. */
static double collect(const char *path, void (*record)(long), long calls, double *pack) {
  const lsc_save_options options = {.size = sizeof options, .compress = 1};
  bench_require(lsc_session_open(NULL, &session) == LSC_OK && lsc_attach(session, MPI_COMM_WORLD, 0) == LSC_OK,
                "opening a session");
  record(calls);
  bench_back_memory((size_t)calls * 64);
  MPI_Barrier(MPI_COMM_WORLD);
  double begin = bench_now();
  lsc_status status = lsc_collect(session, MPI_COMM_WORLD, path, &options);
  double seconds = slowest(bench_now() - begin);
  if (status) fprintf(stderr, "%s\n", lsc_message());
  bench_require(status == LSC_OK, "lsc_collect");
  *pack = slowest(packing);
  lsc_detach(session);
  lsc_session_close(session);
  return seconds;
}

static void shuffle(const unsigned char *values, size_t width, size_t rows, unsigned char *out) {
  for (size_t byte = 0; byte < width; byte++) {
    for (size_t i = 0; i < rows; i++) *out++ = values[i * width + byte];
  }
}

/* Seconds of zlib alone for one column of the rows that this rank compressed. */
static double deflate_column(struct lsc_h5 *h5, int column, uint64_t rows, size_t *bytes) {
  static unsigned char values[LSC_CHUNK_ROWS * 8], shuffled[LSC_CHUNK_ROWS * 8], out[LSC_CHUNK_ROWS * 9];
  const struct lsc_column_desc *desc = &lsc_events_desc.column[column];
  size_t width = lsc_type_size(desc->type);
  char path[64];
  double seconds = 0;
  snprintf(path, sizeof path, "%s/%s", lsc_events_desc.group, desc->name);
  if (!lsc_h5_has(h5, path)) return 0;
  bench_require(lsc_h5_select(h5, column, path, desc->type, rows) == LSC_OK, "lsc_h5_select");
  for (uint64_t row = first_row; row < first_row + own_rows && row < rows; row += LSC_CHUNK_ROWS) {
    size_t count = rows - row < LSC_CHUNK_ROWS ? (size_t)(rows - row) : LSC_CHUNK_ROWS;
    uLongf room = sizeof out;
    bench_require(lsc_h5_read_rows(h5, column, row, count, values) == LSC_OK, "lsc_h5_read_rows");
    shuffle(values, width, count, shuffled);
    double begin = bench_now();
    bench_require(compress2(out, &room, shuffled, count * width, 1) == Z_OK, "compress2");
    seconds += bench_now() - begin;
    *bytes += count * width;
  }
  return seconds;
}

/* Every rank at once, as the collect has it. bytes: of the rows of this rank. */
static double zlib_alone(const char *path, size_t *bytes) {
  struct lsc_h5 *h5;
  uint64_t rows;
  double seconds = 0;
  *bytes = 0;
  bench_require(lsc_h5_open_read(&h5, path) == LSC_OK, "opening the file");
  bench_require(lsc_h5_count_rows(h5, "events/start_times", LSC_I64, &rows) == LSC_OK, "lsc_h5_count_rows");
  MPI_Barrier(MPI_COMM_WORLD);
  for (int k = 0; k < LSC_EVENT_COLUMNS; k++) seconds += deflate_column(h5, k, rows, bytes);
  lsc_h5_close(h5, LSC_OK);
  return slowest(seconds);
}

static void measure(const char *path, const char *name, void (*record)(long), long calls, double most_bytes) {
  double pack[REPETITIONS], whole[REPETITIONS], floor[REPETITIONS];
  struct stat file;
  size_t bytes = 0, all = 0;
  char title[120], bar[16];
  for (int i = 0; i < REPETITIONS; i++) {
    whole[i] = collect(path, record, calls, &pack[i]);
    bench_require(stat(path, &file) == 0, "looking at the file");
    floor[i] = zlib_alone(path, &bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) unlink(path);
  }
  MPI_Reduce(&bytes, &all, 1, MPI_UNSIGNED_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank) return;
  double megabytes = (double)all / 1e6, alone = bench_median(floor, REPETITIONS);
  double packs = bench_median(pack, REPETITIONS), wholes = bench_median(whole, REPETITIONS);
  double each = (double)file.st_size / ((double)calls * size);
  snprintf(title, sizeof title, "Compressing, %d rank%s, %s, %.0f MB (MB/s; the floor is zlib's level 1)", size,
           size > 1 ? "s" : "", name, megabytes);
  snprintf(bar, sizeof bar, "%.2f", most_bytes / 48);
  bench_head(title);
  bench_line("the rows into chunks", megabytes / packs, megabytes / alone, "0.80", packs <= alone / 0.80);
  bench_line("the whole collect", megabytes / wholes, megabytes / alone, "", 1);
  bench_line("bytes a call (the floor is a plain file's)", each, (double)all / ((double)calls * size), bar,
             each <= most_bytes);
}

int main(int argc, char **argv) {
  char path[512];
  long calls = argc > 2 ? atol(argv[2]) : 480000;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  snprintf(path, sizeof path, "%s/lanescope-bench.h5", argc > 1 ? argv[1] : ".");
  bench_require(!lsc_region("outer", &region[0]) && !lsc_region("middle", &region[1]), "lsc_region");
  bench_require(!lsc_region("inner", &region[2]), "lsc_region");
  measure(path, "a loop", record_flat, calls, 3);
  measure(path, "nested", record_nested, calls, 6);
  MPI_Finalize();
  return EXIT_SUCCESS;
}
