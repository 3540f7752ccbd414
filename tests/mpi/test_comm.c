/* SPDX-License-Identifier: BSD-3-Clause */
/* The collective operations over MPI: results, messages in pieces, time limits, late ranks. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check.h"
#include "comm.h"
#include "verdict.h"

#define SECOND INT64_C(1000000000)
#define PLENTY (30 * SECOND)

enum { TAG_BROADCAST, TAG_GATHER, TAG_SCAN, TAG_OR, TAG_PAIR, TAG_SILENT };

static unsigned char byte_at(size_t i, int rank) { return (unsigned char)(i * 31 + i / 251 + (size_t)rank * 7); }

static void fill(struct lsc_buffer *buffer, size_t size, int rank) {
  buffer->size = 0;
  unsigned char *bytes = lsc_buffer_reserve(buffer, size);
  for (size_t i = 0; i < size; ++i) bytes[i] = byte_at(i, rank);
  buffer->size = size;
}

static int holds(const unsigned char *bytes, size_t size, int rank) {
  for (size_t i = 0; i < size; ++i) {
    if (bytes[i] != byte_at(i, rank)) return 0;
  }
  return 1;
}

/* A group over a new duplicate of MPI_COMM_WORLD. */
static void make_group(struct lsc_group *group, unsigned uses) {
  MPI_Comm own;
  MPI_Comm_dup(MPI_COMM_WORLD, &own);
  MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN);
  CHECK_STATUS(lsc_group_init(group, own, uses), LSC_OK);
}

static void sleep_ms(long ms) {
  struct timespec time = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&time, NULL);
}

static void test_broadcast(struct lsc_group *group, size_t size) {
  struct lsc_buffer data = {0};
  if (group->coll.rank == 0) fill(&data, size, 5);
  CHECK_STATUS(lsc_coll_broadcast(&group->coll, TAG_BROADCAST, &data, lsc_now_ns() + PLENTY), LSC_OK);
  CHECK(data.size == size && holds(data.data, size, 5), "%zu bytes came of %zu", data.size, size);
  lsc_buffer_free(&data);
}

struct visits {
  int next;
  size_t size;
};

static lsc_status visit(void *ctx, int rank, struct lsc_reader *bytes) {
  struct visits *visits = ctx;
  size_t size = (size_t)(bytes->end - bytes->next), expected = visits->size + (size_t)rank;
  CHECK(rank == visits->next++, "rank %d", rank);
  CHECK(size == expected && holds(bytes->next, size, rank), "%zu bytes of rank %d", size, rank);
  return LSC_OK;
}

static void test_gather(struct lsc_group *group, size_t size) {
  struct lsc_buffer mine = {0};
  struct visits visits = {0, size};
  fill(&mine, size + (size_t)group->coll.rank, group->coll.rank);
  CHECK_STATUS(lsc_coll_gather(&group->coll, TAG_GATHER, &mine, visit, &visits, lsc_now_ns() + PLENTY), LSC_OK);
  CHECK(visits.next == (group->coll.rank == 0 ? group->coll.size : 0), "%d visits", visits.next);
  lsc_buffer_free(&mine);
}

static void test_scan_and_or(struct lsc_group *group) {
  uint64_t rank = (uint64_t)group->coll.rank, size = (uint64_t)group->coll.size;
  uint64_t values[2] = {rank + 1, UINT64_C(1) << 40}, prefix[2] = {9, 9}, totals[2] = {9, 9},
           bits[2] = {1u << rank, rank & 2};
  CHECK_STATUS(lsc_coll_scan(&group->coll, TAG_SCAN, 2, values, prefix, totals, lsc_now_ns() + PLENTY), LSC_OK);
  CHECK(prefix[0] == rank * (rank + 1) / 2 && prefix[1] == rank << 40, "%llu", (unsigned long long)prefix[0]);
  CHECK(totals[0] == size * (size + 1) / 2 && totals[1] == size << 40, "%llu", (unsigned long long)totals[0]);
  CHECK_STATUS(lsc_coll_or(&group->coll, TAG_OR, 2, bits, lsc_now_ns() + PLENTY), LSC_OK);
  CHECK(bits[0] == (1u << size) - 1 && bits[1] == (size > 2 ? 2 : 0), "%llu", (unsigned long long)bits[0]);
}

/* Several messages of one tag wait for their receiver, and come in their order, whatever their length. */
static void test_order(struct lsc_group *group) {
  static const size_t sizes[] = {0, 1, 2047, 2048, 2049, 70000, 3};
  struct lsc_buffer data = {0};
  int last = group->coll.size - 1;
  if (last == 0) return;
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
    if (group->coll.rank == 0) {
      fill(&data, sizes[i], (int)i);
      CHECK_STATUS(group->coll.send(&group->coll, last, TAG_PAIR, data.data, data.size, lsc_now_ns() + PLENTY), LSC_OK);
    } else if (group->coll.rank == last) {
      CHECK_STATUS(group->coll.recv(&group->coll, 0, TAG_PAIR, &data, lsc_now_ns() + PLENTY), LSC_OK);
      CHECK(data.size == sizes[i] && holds(data.data, data.size, (int)i), "message %zu: %zu bytes", i, data.size);
    }
  }
  lsc_buffer_free(&data);
}

/* The last rank sleeps: rank 0's long send and its receive end at their deadline, and its short send does not wait. */
static void test_timeouts(void) {
  struct lsc_group group;
  struct lsc_buffer data = {0};
  make_group(&group, 3);
  int last = group.coll.size - 1;
  if (last > 0 && group.coll.rank == 0) {
    int64_t before = lsc_now_ns();
    CHECK_STATUS(group.coll.recv(&group.coll, last, TAG_SILENT, &data, before + SECOND / 5), LSC_TIMEOUT);
    CHECK(lsc_now_ns() - before >= SECOND / 5, "it came back before its deadline");
    fill(&data, 100, 1);
    CHECK_STATUS(group.coll.send(&group.coll, last, TAG_PAIR, data.data, data.size, lsc_now_ns()), LSC_OK);
    fill(&data, 1000000, 2);
    CHECK_STATUS(group.coll.send(&group.coll, last, TAG_GATHER, data.data, data.size, lsc_now_ns() + SECOND / 5),
                 LSC_TIMEOUT);
    memset(data.data, 0xff, data.size);
    MPI_Barrier(MPI_COMM_WORLD);
  } else {
    MPI_Barrier(MPI_COMM_WORLD);
    if (last > 0 && group.coll.rank == last) {
      CHECK_STATUS(group.coll.recv(&group.coll, 0, TAG_PAIR, &data, lsc_now_ns()), LSC_OK);
      CHECK(data.size == 100 && holds(data.data, 100, 1), "%zu bytes", data.size);
      CHECK_STATUS(group.coll.recv(&group.coll, 0, TAG_GATHER, &data, lsc_now_ns() + PLENTY), LSC_OK);
      CHECK(data.size == 1000000 && holds(data.data, data.size, 2), "a send that timed out changed with its buffer");
    }
  }
  lsc_buffer_free(&data);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void test_verdicts(struct lsc_group *group) {
  struct lsc_verdict verdict;
  CHECK_STATUS(lsc_agree(&group->coll, "go", LSC_OK, NULL, lsc_now_ns() + PLENTY, SECOND, &verdict), LSC_OK);
  CHECK(verdict.rank == -1, "rank %d failed", verdict.rank);
  int last = group->coll.size - 1;
  lsc_status mine = group->coll.rank == last ? LSC_IO : LSC_OK;
  CHECK_STATUS(lsc_agree(&group->coll, "fail", mine, "the disk is full", lsc_now_ns() + PLENTY, SECOND, &verdict),
               LSC_IO);
  CHECK(verdict.rank == last && strstr(verdict.text, "the disk is full"), "rank %d: %s", verdict.rank, verdict.text);
}

/* A rank that comes when the others have given up hears so, and at once. */
static void test_late(int late) {
  struct lsc_group group;
  struct lsc_verdict verdict;
  make_group(&group, 0);
  if (group.coll.size > 1) {
    if (group.coll.rank == late) sleep_ms(3000);
    int64_t patience = group.coll.rank == late ? PLENTY : SECOND / 2, before = lsc_now_ns();
    CHECK_STATUS(lsc_agree(&group.coll, "late", LSC_OK, NULL, before + patience, SECOND / 4, &verdict), LSC_APART);
    CHECK(lsc_now_ns() - before < 20 * SECOND, "the late rank waited for its own deadline");
    if (late > 0 && group.coll.rank == 0)
      CHECK(verdict.rank == late, "rank %d is missing: %s", verdict.rank, verdict.text);
    CHECK(group.coll.rank == 0 || late == 0 || !group.zero_silent, "rank 0 spoke and was not heard");
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/* What a failed use left in the mailboxes is not taken for a message of the next use. */
static void test_left_over(void) {
  struct lsc_group first, second;
  struct lsc_buffer data = {0};
  make_group(&first, 6);
  CHECK_STATUS(lsc_group_init(&second, first.comm, 7), LSC_OK);
  if (first.coll.rank == 0) {
    fill(&data, 10, 1);
    for (int to = 1; to < first.coll.size; ++to) {
      CHECK_STATUS(first.coll.send(&first.coll, to, TAG_BROADCAST, data.data, data.size, lsc_now_ns() + PLENTY),
                   LSC_OK);
    }
  }
  test_broadcast(&second, 20);
  lsc_buffer_free(&data);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void test_errors(struct lsc_group *group) {
  char byte = 0;
  struct lsc_buffer out = {0};
  CHECK_STATUS(group->coll.send(&group->coll, group->coll.size, TAG_PAIR, &byte, 1, lsc_now_ns() + SECOND), LSC_MPI);
  CHECK(strstr(lsc_message(), "MPI_Isend: MPI_ERR_RANK") || strstr(lsc_message(), "MPI_Isend: Invalid rank"), "%s",
        lsc_message());
  CHECK(!strchr(lsc_message(), '\n'), "%s", lsc_message());
  CHECK_STATUS(group->coll.recv(&group->coll, group->coll.size, TAG_PAIR, &out, lsc_now_ns() + SECOND), LSC_MPI);
  CHECK_STATUS(group->coll.send(&group->coll, 0, LSC_GROUP_TAGS, &byte, 1, lsc_now_ns() + SECOND), LSC_INVALID);
  lsc_buffer_free(&out);
}

int main(int argc, char **argv) {
  static const size_t sizes[] = {0, 1, 2044, 2045, 2048, 2049, 3000, 100000};
  struct lsc_group group;
  MPI_Init(&argc, &argv);
  make_group(&group, 0);
  size_t whole = lsc_comm_piece;
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
    for (size_t piece = 999; piece <= whole; piece = piece < whole ? whole : whole + 1) {
      lsc_comm_piece = piece;
      test_broadcast(&group, sizes[i]);
      test_gather(&group, sizes[i]);
      test_order(&group);
    }
  }
  test_scan_and_or(&group);
  test_errors(&group);
  test_verdicts(&group);
  test_left_over();
  test_timeouts();
  test_late(group.coll.size - 1);
  test_late(0);
  int result = check_result();
  MPI_Finalize();
  return result;
}
