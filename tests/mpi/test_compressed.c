/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The same calls collected to a plain file and to compressed ones, whatever rows the ranks have and however long chunks
 * are: every column is the same, row by row.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "chunks.h"
#include "lanescope_mpi.h"
#include "readback.h"
#include "snapshot.h"
#include "table.h"

#define ROWS 8 /* of a chunk; some runs have others */

static int rank, ranks, keep;

void __real_lsc_snapshot_commit(struct lsc_snapshot *snapshot);
void __wrap_lsc_snapshot_commit(struct lsc_snapshot *snapshot);

/* While rows are kept, what was written can be written again. */
void __wrap_lsc_snapshot_commit(struct lsc_snapshot *snapshot) {
  if (keep) lsc_snapshot_drop(snapshot);
  else __real_lsc_snapshot_commit(snapshot);
}

static uint64_t next_random(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state * 0x2545F4914F6CDD1Du >> 16;
}

/*
 * So many calls on two levels of more regions than may have a chunk begun at a time, and through two APIs; the last one
 * of some stays open.
 */
static void record(lsc_session session, uint64_t calls, int stays_open) {
  enum { REGIONS = 10 };
  lsc_region_id region[REGIONS];
  for (int i = 0; i < REGIONS; i++) {
    const char name[] = {(char)('a' + i), 0};
    CHECK_STATUS(lsc_region(name, &region[i]), LSC_OK);
  }
  for (uint64_t i = 0; i + 1 < calls; i += 2) {
    lsc_begin(session, region[i % REGIONS]);
    lsc_begin_as(session, LSC_API_FORTRAN, region[(i + 1) % REGIONS]);
    lsc_end_as(session, LSC_API_FORTRAN, region[(i + 1) % REGIONS]);
    lsc_end(session, region[i % REGIONS]);
  }
  if (calls % 2) {
    lsc_begin(session, region[2]);
    lsc_end(session, region[2]);
  }
  if (stays_open) lsc_begin(session, region[0]);
}

static void collect(lsc_session session, const char *name, int level) {
  char path[512], written[512];
  snprintf(path, sizeof path, "%s", check_path(name));
  lsc_save_options options = {.size = sizeof options, .timeout = 60, .replace = 1, .compress = level,
                              .written = written, .written_size = sizeof written};
  CHECK_STATUS(lsc_collect(session, MPI_COMM_WORLD, path, &options), LSC_OK);
  CHECK(strcmp(written, path) == 0, "the calls were written to %s", written);
}

/* Values, whatever the type, as readback has them. */
static void compare_column(readback *plain, readback *packed, const char *name, const char *what) {
  size_t rows = readback_rows(plain, name);
  CHECK(readback_rows(packed, name) == rows, "%s: %s has %zu rows, not %zu", what, name, readback_rows(packed, name),
        rows);
  if (readback_rows(packed, name) != rows || !rows) return;
  const int64_t *from = readback_i64(plain, name), *to = readback_i64(packed, name);
  for (size_t i = 0; i < rows; i++) {
    CHECK(from[i] == to[i], "%s: row %zu of %s is %lld, not %lld", what, i, name, (long long)to[i], (long long)from[i]);
    if (from[i] != to[i]) return;
  }
}

static void compare(const char *name, const char *what, uint64_t events) {
  char path[512];
  snprintf(path, sizeof path, "%s", check_path("plain.h5"));
  readback *plain = readback_open(path), *packed = readback_open(check_path(name));
  CHECK(readback_rows(plain, "events/ranks") == events, "%s: not %llu rows", what, (unsigned long long)events);
  for (int k = 0; k < LSC_EVENT_COLUMNS; k++) {
    char column[64];
    snprintf(column, sizeof column, "events/%s", lsc_events_desc.column[k].name);
    CHECK(readback_has(plain, column) == readback_has(packed, column), "%s: %s is in one file", what, column);
    if (!readback_has(plain, column)) continue;
    CHECK(!readback_is_compressed(plain, column), "%s: %s", what, column);
    CHECK(readback_is_compressed(packed, column) == (events > 0), "%s: %s", what, column);
    compare_column(plain, packed, column, what);
  }
  static const char *const small[] = {"rank_table/calls", "rank_table/open_calls", "rank_region_index/event_offsets",
                                      "rank_region_index/event_counts", "lane_table/calls"};
  for (size_t i = 0; i < sizeof small / sizeof *small; i++) compare_column(plain, packed, small[i], what);
  readback_close(plain);
  readback_close(packed);
}

static void run(uint64_t mine, uint64_t chunk_rows, int level, const char *what) {
  lsc_session session;
  uint64_t events = 0;
  MPI_Allreduce(&mine, &events, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  CHECK_STATUS(lsc_session_open(NULL, &session), LSC_OK);
  CHECK_STATUS(lsc_attach(session, MPI_COMM_WORLD, 60), LSC_OK);
  record(session, mine, rank % 3 == 1);
  lsc_chunks_most_rows = chunk_rows;
  keep = 1;
  collect(session, "plain.h5", 0);
  collect(session, "packed.h5", level);
  keep = 0;
  collect(session, "again.h5", level);
  if (rank == 0) compare("packed.h5", what, events);
  if (rank == 0) compare("again.h5", what, events);
  lsc_detach(session);
  CHECK_STATUS(lsc_session_close(session), LSC_OK);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Around the borders of chunks, alike on all ranks. */
static void test_borders(void) {
  static const uint64_t counts[] = {0, 1, ROWS - 1, ROWS, ROWS + 1, 2 * ROWS - 1, 2 * ROWS, 3 * ROWS + 1};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    char what[64];
    snprintf(what, sizeof what, "%llu rows on each rank", (unsigned long long)counts[i]);
    run(counts[i], ROWS, 1, what);
  }
}

/* One rank alone has rows; one has none; one has nearly all of them. */
static void test_uneven(void) {
  for (int special = 0; special < ranks; special++) {
    run(rank == special ? 3 * ROWS + 3 : 0, ROWS, 1, "one rank has rows");
    run(rank == special ? 0 : ROWS + 3, ROWS, 9, "one rank has none");
    run(rank == special ? 50 * ROWS : 1, ROWS, 1, "one rank has most");
  }
  run((uint64_t)rank, ROWS, 1, "as many rows as the rank is high");
  run(5, 1000, 1, "one chunk for all");
  run(5, 1, 1, "a chunk a row");
}

static void test_random(void) {
  uint64_t state = 20260101;
  for (int trial = 0; trial < 20; trial++) {
    uint64_t chunk_rows = next_random(&state) % 40 + 1, mine = 0;
    int level = (int)(next_random(&state) % 9) + 1;
    for (int other = 0; other < ranks; other++) {
      uint64_t rows = next_random(&state) % 3 ? next_random(&state) % 100 : 0;
      if (other == rank) mine = rows;
    }
    run(mine, chunk_rows, level, "random rows");
  }
}

/* Rows for more than one chunk as they are when no test shortens them. */
static void test_long(uint64_t usual) {
  run(usual + 7, usual, 1, "long chunks");
  run(rank % 2 ? 3 : usual / 2 * 3, usual, 6, "long chunks and short ranks");
}

int main(int argc, char **argv) {
  uint64_t usual = lsc_chunks_most_rows;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  test_borders();
  test_uneven();
  test_random();
  test_long(usual);
  int result = check_result();
  MPI_Finalize();
  return result;
}
