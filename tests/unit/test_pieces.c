/* SPDX-License-Identifier: BSD-3-Clause */
/* Every rank's bytes to rank 0 in pieces: what arrives, how much of it is under way at a time, and who fails how. */
#include <stdlib.h>
#include <string.h>

#include "coll.h"
#include "message.h"
#include "sim.h"
#include "unit.h"

#define TAG 7
#define DEADLINE 1000000
#define MOST_UNDER_WAY 10 /* a constant, whatever the number of ranks */

static const int sizes[] = {1, 2, 3, 8, 9, 10, 64, 1000, 10000};
#define SIZES ((int)(sizeof sizes / sizeof *sizes))

static const struct sim_options manners[] = {
    {0}, {.seed = 1, .latency = 9}, {.seed = 2, .latency = 9}, {.synchronous = 1}};
#define MANNERS ((int)(sizeof manners / sizeof *manners))

/* What all ranks share. A piece is its rank and its number. */
struct exchange {
  lsc_status *status;    /* [size] how each rank came back */
  int fails;             /* this rank has failed before; -1: none */
  int fails_at;          /* rank 0's visit of this rank fails; -1: none */
  int breaks;            /* this rank has no memory for its second piece; -1: none */
  int rank, piece;       /* the visit that comes next */
  int given, taken, under_way;
};

struct mine {
  struct exchange *x;
  int rank, next;
};

static int pieces_of(int rank) { return rank % 4 ? rank % 4 : 1; }

static lsc_status next(void *ctx, struct lsc_buffer *out, int *more) {
  struct mine *mine = ctx;
  struct exchange *x = mine->x;
  int piece[2] = {mine->rank, mine->next++};
  ck_assert_int_eq(*more, 1);
  *more = mine->next < pieces_of(mine->rank);
  if (mine->rank == x->breaks && piece[1] == 1) return lsc_fail(LSC_NO_MEMORY, "no memory for a piece");
  x->given++;
  if (x->given - x->taken > x->under_way) x->under_way = x->given - x->taken;
  return lsc_buffer_append(out, piece, mine->rank % 5 ? sizeof piece : 0);
}

static lsc_status visit(void *ctx, int rank, struct lsc_reader *bytes) {
  struct exchange *x = ((struct mine *)ctx)->x;
  int piece[2];
  x->taken++;
  ck_assert_int_eq(rank, x->rank);
  if (rank % 5) {
    lsc_read(bytes, piece, sizeof piece);
    ck_assert(!bytes->failed && piece[0] == x->rank && piece[1] == x->piece);
  }
  ck_assert(bytes->next == bytes->end);
  if (++x->piece == pieces_of(rank)) {
    x->piece = 0;
    x->rank++;
  }
  return rank == x->fails_at ? lsc_fail(LSC_IO, "the disk is full") : LSC_OK;
}

static void body(struct lsc_coll *coll, void *arg) {
  struct exchange *x = arg;
  struct mine mine = {x, coll->rank, 0};
  const struct lsc_pieces pieces = {next, visit, &mine};
  lsc_status before = coll->rank == x->fails ? LSC_NO_MEMORY : LSC_OK;
  x->status[coll->rank] = lsc_coll_pieces(coll, TAG, before, &pieces, DEADLINE);
}

static void run(struct exchange *x, int size, const struct sim_options *manner, struct sim_stats *stats) {
  struct sim_options options = *manner;
  options.stats = stats;
  options.stack = 16384;
  x->status = calloc((size_t)size, sizeof *x->status);
  ck_assert_int_eq(sim_run(size, body, x, &options), 0);
}

static const struct exchange well = {.fails = -1, .fails_at = -1, .breaks = -1};

START_TEST(test_order) {
  int size = sizes[_i], pieces = 0;
  for (int r = 0; r < size; r++) pieces += pieces_of(r);
  for (int m = 0; m < MANNERS; m++) {
    struct exchange x = well;
    struct sim_stats stats;
    run(&x, size, &manners[m], &stats);
    for (int r = 0; r < size; r++) ck_assert_int_eq(x.status[r], LSC_OK);
    ck_assert_int_eq(x.rank, size);
    ck_assert_int_eq(x.taken, pieces);
    ck_assert_int_le(x.under_way, MOST_UNDER_WAY);
    ck_assert_uint_eq(stats.messages, (uint64_t)(2 * (pieces - 1) + size - 1));
    free(x.status);
  }
}
END_TEST

/* Rank 0 hears of it, the others come back well, and nobody waits. */
static void check_failure(const struct exchange *how, int failed, lsc_status of_zero) {
  for (int m = 0; m < MANNERS; m++) {
    struct exchange x = *how;
    struct sim_stats stats;
    run(&x, 20, &manners[m], &stats);
    for (int r = 1; r < 20; r++) ck_assert_int_eq(x.status[r], r == failed ? LSC_NO_MEMORY : LSC_OK);
    ck_assert_int_eq(x.status[0], of_zero);
    ck_assert_int_lt(stats.ended, DEADLINE);
    free(x.status);
  }
}

START_TEST(test_failed_before) {
  for (int rank = 0; rank < 20; rank++) {
    struct exchange x = well;
    x.fails = rank;
    check_failure(&x, rank, LSC_NO_MEMORY);
  }
}
END_TEST

START_TEST(test_visit_fails) {
  for (int rank = 0; rank < 20; rank++) {
    struct exchange x = well;
    x.fails_at = rank;
    check_failure(&x, -1, LSC_IO);
  }
}
END_TEST

START_TEST(test_no_second_piece) {
  for (int rank = 2; rank < 20; rank++) {
    struct exchange x = well;
    if (pieces_of(rank) < 2) continue;
    x.breaks = rank;
    check_failure(&x, rank, LSC_NO_MEMORY);
  }
}
END_TEST

START_TEST(test_dead_rank) {
  for (int dead = 0; dead < 20; dead++) {
    struct exchange x = well;
    struct sim_rank rank[20] = {{0}};
    struct sim_stats stats;
    const struct sim_options options = {.rank = rank, .stats = &stats};
    lsc_status status[20] = {0};
    rank[dead].dead = 1;
    x.status = status;
    ck_assert_int_eq(sim_run(20, body, &x, &options), 0);
    ck_assert_int_eq(status[0], dead ? LSC_TIMEOUT : LSC_OK);
    for (int r = 1; r < 20; r++) ck_assert(r == dead || status[r] == LSC_OK || status[r] == LSC_TIMEOUT);
    if (!dead) ck_assert_int_eq(status[19], LSC_TIMEOUT);
    ck_assert_int_le(stats.ended, DEADLINE);
  }
}
END_TEST

int main(void) {
  TCase *tcase = tcase_create("pieces");
  tcase_set_timeout(tcase, 60);
  tcase_add_loop_test(tcase, test_order, 0, SIZES);
  tcase_add_test(tcase, test_failed_before);
  tcase_add_test(tcase, test_visit_fails);
  tcase_add_test(tcase, test_no_second_piece);
  tcase_add_test(tcase, test_dead_rank);
  return unit_run("pieces", tcase);
}
