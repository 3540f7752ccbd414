/* SPDX-License-Identifier: BSD-3-Clause */
/* verify FILE RANKS LANES: whether the file holds what test_ranks makes; LANES: 1 if its threads have lanes. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "compare.h"

#define THREADS 2
#define INNER 3

static void verify_rank(const struct merged *merged, int rank, int lanes) {
  size_t calls, outer = 0, inner = 0, of_thread[THREADS] = {0};
  struct stored *call = merged_of_rank(merged, rank, &calls);
  for (size_t i = 0; i < calls; ++i) {
    int is_outer = strcmp(call[i].region, "outer") == 0;
    outer += (size_t)is_outer;
    inner += strcmp(call[i].region, "inner") == 0;
    CHECK(call[i].id == (int64_t)i, "rank %d: call %zu", rank, i);
    CHECK((call[i].thread == -1) == !lanes && call[i].thread < THREADS, "rank %d: thread %lld", rank,
          (long long)call[i].thread);
    if (call[i].thread >= 0 && call[i].thread < THREADS) ++of_thread[call[i].thread];
    CHECK(is_outer == (call[i].parent == -1), "rank %d: parent %lld", rank, (long long)call[i].parent);
    if (is_outer || call[i].parent < 0 || (size_t)call[i].parent >= calls) continue;
    const struct stored *parent = &call[call[i].parent];
    CHECK(parent->thread == call[i].thread && parent->start <= call[i].start && call[i].end <= parent->end,
          "rank %d: call %zu is not within its parent", rank, i);
  }
  size_t wanted = THREADS * (size_t)(10 + rank);
  CHECK(outer == wanted && inner == INNER * wanted, "rank %d has %zu and %zu calls", rank, outer, inner);
  for (int i = 0; lanes && i < THREADS; ++i) {
    CHECK(of_thread[i] == calls / THREADS, "thread %d of rank %d has %zu calls", i, rank, of_thread[i]);
  }
  free(call);
}

int main(int argc, char **argv) {
  struct merged merged;
  if (argc != 4) return 2;
  MPI_Init(&argc, &argv);
  merged_open(&merged, argv[1]);
  int ranks = atoi(argv[2]);
  CHECK(readback_rows(merged.file, "rank_table/ranks") == (size_t)ranks && merged.opens == 0, "ranks, open calls");
  for (int rank = 0; rank < ranks; ++rank) verify_rank(&merged, rank, atoi(argv[3]));
  merged_close(&merged);
  int result = check_result();
  MPI_Finalize();
  return result;
}
