/* SPDX-License-Identifier: BSD-3-Clause */
/* Who makes which chunk, against a table that has every row with its rank. */
#include <stdlib.h>
#include <string.h>

#include "chunks.h"
#include "unit.h"

#define MOST_RANKS 40
#define MOST_ROWS 4000

struct run {
  int ranks;
  uint64_t counts[MOST_RANKS];
  int rank_of[MOST_ROWS]; /* by row of /events */
  uint64_t events;
};

static uint64_t next_random(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state * 0x2545F4914F6CDD1Du >> 16;
}

static void make_rows(struct run *run) {
  run->events = 0;
  for (int rank = 0; rank < run->ranks; rank++) {
    for (uint64_t i = 0; i < run->counts[rank]; i++) run->rank_of[run->events++] = rank;
  }
}

/* What the rank must own and hand over, row by row. */
static void check_rank(const struct run *run, const struct lsc_chunks *chunks, int rank) {
  uint64_t owned = 0, lead = 0;
  int owner = -1, last_follower = rank;
  for (uint64_t row = 0; row < run->events; row++) {
    int maker = run->rank_of[row / chunks->rows * chunks->rows];
    if (run->rank_of[row] == rank && row % chunks->rows == 0) {
      ck_assert_uint_eq(lsc_chunks_first(chunks, rank) + owned, row / chunks->rows);
      owned++;
    }
    if (run->rank_of[row] == rank && maker != rank) {
      lead++;
      owner = maker;
    }
    if (maker == rank && run->rank_of[row] > last_follower) last_follower = run->rank_of[row];
  }
  ck_assert_uint_eq(lsc_chunks_end(chunks, rank) - lsc_chunks_first(chunks, rank), owned);
  ck_assert_uint_eq(lsc_chunks_lead(chunks, rank), lead);
  ck_assert_int_eq(lsc_chunks_owner(chunks, rank), owner);
  for (int other = last_follower + 1; other < lsc_chunks_followers(chunks, rank); other++) {
    ck_assert_uint_eq(lsc_chunks_lead(chunks, other), 0);
  }
  ck_assert_int_gt(lsc_chunks_followers(chunks, rank), last_follower);
}

/* Of an owner and the one to which it hands its leading rows one receives first, and one sends. */
static void check_turns(const struct lsc_chunks *chunks, int rank) {
  int owner = lsc_chunks_owner(chunks, rank);
  if (owner < 0 || lsc_chunks_first(chunks, rank) == lsc_chunks_end(chunks, rank)) return;
  ck_assert_int_eq(lsc_chunks_turn(chunks, rank), lsc_chunks_turn(chunks, owner) + 1);
}

static void check_run(struct run *run, uint64_t rows) {
  struct lsc_chunks chunks;
  lsc_chunks_most_rows = rows;
  make_rows(run);
  ck_assert_int_eq(lsc_chunks_init(&chunks, run->counts, run->ranks), LSC_OK);
  ck_assert_uint_eq(chunks.rows, run->events < rows ? run->events : rows);
  for (int rank = 0; rank < run->ranks; rank++) {
    check_rank(run, &chunks, rank);
    check_turns(&chunks, rank);
  }
  lsc_chunks_free(&chunks);
}

START_TEST(test_random_counts) {
  static struct run run;
  uint64_t state = 12345;
  for (int trial = 0; trial < 2000; trial++) {
    run.ranks = (int)(next_random(&state) % MOST_RANKS) + 1;
    uint64_t most = next_random(&state) % 100 + 1, rows = next_random(&state) % 120 + 1;
    for (int rank = 0; rank < run.ranks; rank++) {
      run.counts[rank] = next_random(&state) % 3 ? next_random(&state) % most : 0;
    }
    check_run(&run, rows);
  }
}
END_TEST

START_TEST(test_borders) {
  static struct run run;
  for (uint64_t count = 0; count <= 17; count++) {
    run.ranks = 5;
    for (int rank = 0; rank < 5; rank++) run.counts[rank] = count;
    check_run(&run, 8);
    run.counts[2] = 0;
    check_run(&run, 8);
  }
}
END_TEST

START_TEST(test_no_rows) {
  struct lsc_chunks chunks;
  const uint64_t counts[3] = {0};
  ck_assert_int_eq(lsc_chunks_init(&chunks, counts, 3), LSC_OK);
  for (int rank = 0; rank < 3; rank++) {
    ck_assert_uint_eq(lsc_chunks_end(&chunks, rank), 0);
    ck_assert_uint_eq(lsc_chunks_lead(&chunks, rank), 0);
  }
  lsc_chunks_free(&chunks);
}
END_TEST

UNIT_MAIN("chunks", test_random_counts, test_borders, test_no_rows)
