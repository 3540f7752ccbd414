/* SPDX-License-Identifier: BSD-3-Clause */
#include "compare.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"

/* How far a stored time may lie outside the readings around it: what the map between the two clocks may be wrong by. */
#define SLACK_NS 200000

/* Every rank's items on rank 0, in rank order: malloc'd. */
static void *gather(const void *mine, size_t count, size_t size, size_t *total) {
  int ranks, rank, bytes = (int)(count * size), sum = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int *sizes = calloc((size_t)ranks, sizeof *sizes), *places = calloc((size_t)ranks, sizeof *places);
  MPI_Gather(&bytes, 1, MPI_INT, sizes, 1, MPI_INT, 0, MPI_COMM_WORLD);
  for (int i = 0; rank == 0 && i < ranks; ++i) {
    places[i] = sum;
    sum += sizes[i];
  }
  void *all = malloc((size_t)sum + 1);
  MPI_Gatherv(mine, bytes, MPI_BYTE, all, sizes, places, MPI_BYTE, 0, MPI_COMM_WORLD);
  *total = (size_t)sum / size;
  free(sizes);
  free(places);
  return all;
}

/* One call of the file against one of the books. ids: of the calls of this lane so far. */
static void compare_call(const struct stored *got, const struct logged *want, const int64_t *ids, int64_t offset) {
  int64_t parent = want->parent < 0 ? -1 : ids[want->parent];
  CHECK(strcmp(got->region, want->region) == 0, "rank %d, lane %s: %s stands for %s", want->rank, want->lane,
        got->region, want->region);
  CHECK(got->api < 0 || got->api == want->api, "%s on %s: API %lld for %d", want->region, want->lane,
        (long long)got->api, want->api);
  CHECK(got->parent == parent, "%s on %s: parent %lld for %lld", want->region, want->lane, (long long)got->parent,
        (long long)parent);
  CHECK(got->depth < 0 || got->depth == want->depth, "%s on %s: depth %lld", want->region, want->lane,
        (long long)got->depth);
  CHECK((got->end == 0) == (want->end_high == 0), "%s on %s: open or not", want->region, want->lane);
  int64_t start = got->start - offset, end = got->end - offset;
  CHECK(start >= want->start_low - SLACK_NS && start <= want->start_high + SLACK_NS,
        "%s on %s: start is off by %lld ns", want->region, want->lane, (long long)(start - want->start_low));
  if (want->end_high == 0 || got->end == 0) return;
  CHECK(end >= want->end_low - SLACK_NS && end <= want->end_high + SLACK_NS, "%s on %s: end is off by %lld ns",
        want->region, want->lane, (long long)(end - want->end_low));
}

/* The calls of one lane, in order. Returns how many the books have. */
static size_t compare_lane(const struct stored *got, size_t gots, const struct logged *want, size_t wants,
                           const char *lane, int64_t offset) {
  int64_t *ids = calloc(wants + 1, sizeof *ids);
  size_t at = 0, found = 0;
  for (size_t i = 0; i < wants; ++i) {
    if (strcmp(want[i].lane, lane) != 0) continue;
    while (at < gots && strcmp(got[at].lane, lane) != 0) ++at;
    CHECK(at < gots, "rank %d, lane %s: %s is not in the file", want[i].rank, lane, want[i].region);
    if (at == gots) break;
    ids[found++] = got[at].id;
    compare_call(&got[at++], &want[i], ids, offset);
  }
  free(ids);
  return found;
}

static void compare_rank_row(readback *file, int rank, const struct logged *want, size_t wants, size_t threads) {
  int64_t open = 0;
  for (size_t i = 0; i < wants; ++i) open += want[i].end_high == 0;
  CHECK(readback_i64(file, "rank_table/ranks")[rank] == rank, "row %d of /rank_table", rank);
  CHECK(readback_i64(file, "rank_table/calls")[rank] == (int64_t)wants - open, "rank %d", rank);
  CHECK(readback_i64(file, "rank_table/open_calls")[rank] == open, "rank %d", rank);
  CHECK(readback_i64(file, "rank_table/threads")[rank] == (int64_t)threads, "rank %d", rank);
  CHECK(readback_i64(file, "rank_table/dropped_calls")[rank] == 0, "rank %d", rank);
  CHECK(readback_i64(file, "rank_table/status")[rank] == 0, "rank %d", rank);
}

/* names: of the rank's threads. Their rows are dense from 0 on, and each name is there once. */
static void compare_threads(const struct merged *merged, int rank, char (*names)[LOG_NAME], size_t count) {
  size_t rows = 0;
  for (size_t i = 0; i < merged->threads; ++i) {
    if (merged->thread_rank[i] != rank) continue;
    CHECK(merged->thread_index[i] == (int64_t)rows, "rank %d: thread %zu", rank, rows);
    size_t k = 0;
    while (k < count && strcmp(names[k], merged->thread_name[i]) != 0) ++k;
    CHECK(k < count, "rank %d has a thread %s in the file, or has it twice", rank, merged->thread_name[i]);
    if (k < count) names[k][0] = '\0';
    ++rows;
  }
  CHECK(rows == count, "rank %d has %zu threads in the file, not %zu", rank, rows, count);
}

static void compare_rank(const struct merged *merged, int rank, const struct books *books) {
  size_t calls, compared = 0;
  struct stored *call = merged_of_rank(merged, rank, &calls);
  int64_t offset = readback_i64(merged->file, "rank_table/clock_offset_ns")[rank];
  compare_rank_row(merged->file, rank, books->call, books->calls, books->threads);
  CHECK(calls == books->calls, "rank %d has %zu calls in the file, not %zu", rank, calls, books->calls);
  compared += compare_lane(call, calls, books->call, books->calls, LOG_NO_THREAD, offset);
  for (size_t i = 0; i < books->threads; ++i) {
    compared += compare_lane(call, calls, books->call, books->calls, books->thread[i], offset);
  }
  CHECK(compared == calls, "rank %d: %zu of %zu calls were compared", rank, compared, calls);
  compare_threads(merged, rank, books->thread, books->threads);
  free(call);
}

struct thread_of {
  int32_t rank;
  char name[LOG_NAME];
};

/* The part of rank `rank` of what was gathered. */
static struct books part_of(int rank, const struct logged *call, size_t calls, const struct thread_of *thread,
                            size_t threads) {
  struct books books = {.call = calloc(calls + 1, sizeof *call), .thread = calloc(threads + 1, LOG_NAME)};
  for (size_t i = 0; i < calls; ++i) {
    if (call[i].rank == rank) books.call[books.calls++] = call[i];
  }
  for (size_t i = 0; i < threads; ++i) {
    if (thread[i].rank == rank) memcpy(books.thread[books.threads++], thread[i].name, LOG_NAME);
  }
  return books;
}

static void compare_all(const char *path, const struct logged *call, size_t calls, const struct thread_of *thread,
                        size_t threads) {
  struct merged merged;
  int ranks;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  merged_open(&merged, path);
  CHECK(readback_attribute_i64(merged.file, "/", "scope_profiler_schema") == 2, "schema");
  CHECK(strcmp(readback_attribute_str(merged.file, "/", "storage_layout"), "columnar") == 0, "layout");
  CHECK(readback_attribute_i64(merged.file, "/", "lanescope_format") == 1, "format");
  CHECK(readback_attribute_i64(merged.file, "metadata", "mpi_size") == ranks, "mpi_size");
  CHECK(readback_rows(merged.file, "rank_table/ranks") == (size_t)ranks, "/rank_table");
  CHECK(merged.events + merged.opens == calls, "%zu and %zu rows for %zu calls", merged.events, merged.opens, calls);
  for (int rank = 0; rank < ranks; ++rank) {
    struct books books = part_of(rank, call, calls, thread, threads);
    compare_rank(&merged, rank, &books);
    books_free(&books);
  }
  check_consistent(&merged, ranks);
  merged_close(&merged);
}

void compare_with_books(const char *path, const struct books *mine) {
  int rank;
  size_t calls, threads;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  struct thread_of *names = calloc(mine->threads + 1, sizeof *names);
  for (size_t i = 0; i < mine->threads; ++i) {
    names[i].rank = rank;
    memcpy(names[i].name, mine->thread[i], LOG_NAME);
  }
  for (size_t i = 0; i < mine->calls; ++i) mine->call[i].rank = rank;
  struct logged *call = gather(mine->call, mine->calls, sizeof *call, &calls);
  struct thread_of *thread = gather(names, mine->threads, sizeof *thread, &threads);
  if (rank == 0) compare_all(path, call, calls, thread, threads);
  free(names);
  free(call);
  free(thread);
  MPI_Barrier(MPI_COMM_WORLD);
}
