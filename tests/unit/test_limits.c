/* SPDX-License-Identifier: BSD-3-Clause */
/* What lies beyond 32 bits, met with little data: limits are lowered, or numbers are large without much behind them. */
#include <string.h>

#include "chunk.h"
#include "fill.h"
#include "lanescope_binding.h"
#include "sim.h"
#include "unit.h"

#define MOST_ROWS 200000 /* three of the largest chunks */
#define TRIES 250000
#define SHORT_THREADS 500
#define THREADS 3

static lsc_session session;
static lsc_region_id region;

static void open_session(void) {
  lsc_most_rows = MOST_ROWS;
  ck_assert_int_eq(lsc_region("limited", &region), LSC_OK);
  ck_assert_int_eq(lsc_session_open(NULL, &session), LSC_OK);
}

/* How many of TRIES calls were kept. */
static size_t try_calls(void) {
  size_t kept = 0;
  for (int i = 0; i < TRIES; i++) {
    lsc_status status = lsc_begin(session, region);
    unit_must(status == LSC_OK || status == LSC_NO_MEMORY);
    kept += status == LSC_OK;
    unit_must(lsc_end(session, region) == status);
  }
  return kept;
}

static void *try_on_thread(void *kept) {
  *(size_t *)kept = try_calls();
  return NULL;
}

static void *one_call(void *unused) {
  unit_must(lsc_begin(session, region) == LSC_OK && lsc_end(session, region) == LSC_OK);
  return unused;
}

static void check_reason(struct lsc_snapshot *snapshot, const char *reason) {
  struct lsc_fill fill = {.snapshot = snapshot, .hostname = "node"};
  struct lsc_table table;
  lsc_table_init(&table, &lsc_table_descs[LSC_TABLE_RANK]);
  ck_assert_int_eq(lsc_fill_rows(&fill, LSC_TABLE_RANK, 0, 1, &table), LSC_OK);
  lsc_column_view view = lsc_table_view(&table, LSC_RANK_DROP_REASON);
  ck_assert_uint_eq(view.offsets[1], strlen(reason));
  ck_assert_mem_eq(view.text, reason, strlen(reason));
  lsc_table_free(&table);
}

/* Takes a snapshot of what was kept, and counts the rest as dropped. */
static void check_and_commit(size_t kept, size_t tried) {
  struct lsc_snapshot snapshot;
  ck_assert_int_eq(lsc_snapshot_take(session, &snapshot), LSC_OK);
  ck_assert_uint_eq(snapshot.completed, kept);
  ck_assert_uint_eq(snapshot.dropped, tried - kept);
  check_reason(&snapshot, kept == tried ? "" : "about 200000 calls between two collects are the most");
  lsc_snapshot_commit(&snapshot);
}

/* More calls than a collect could number are refused one by one and counted; a collect makes room for others. */
START_TEST(calls_beyond_the_limit_are_counted) {
  open_session();
  for (int round = 0; round < 3; round++) {
    size_t kept = try_calls();
    ck_assert_uint_gt(kept, 0);
    ck_assert_uint_le(kept, MOST_ROWS);
    check_and_commit(kept, TRIES);
  }
  ck_assert_int_eq(lsc_session_close(session), LSC_OK);
}
END_TEST

START_TEST(the_limit_is_of_all_threads_together) {
  open_session();
  pthread_t thread[THREADS];
  size_t kept[THREADS], all = 0;
  for (int i = 0; i < THREADS; i++) thread[i] = unit_start(try_on_thread, &kept[i]);
  for (int i = 0; i < THREADS; i++) {
    pthread_join(thread[i], NULL);
    all += kept[i];
  }
  ck_assert_uint_gt(all, 0);
  ck_assert_uint_le(all, MOST_ROWS);
  check_and_commit(all, THREADS * TRIES);
  ck_assert_int_eq(lsc_session_close(session), LSC_OK);
}
END_TEST

/* What ended threads left of their chunks does not count, however many there were. */
START_TEST(threads_that_ended_count_as_what_they_hold) {
  open_session();
  lsc_most_rows = 2 * SHORT_THREADS;
  for (int i = 0; i < SHORT_THREADS; i++) {
    pthread_t thread = unit_start(one_call, NULL);
    pthread_join(thread, NULL);
  }
  check_and_commit(SHORT_THREADS, SHORT_THREADS);
  ck_assert_int_eq(lsc_session_close(session), LSC_OK);
}
END_TEST

/* Each rank has 3,000,000,000 rows and a fortieth bit: places are exact far beyond 2^32. */
#define RANKS 37
struct places {
  uint64_t prefix[RANKS][2], totals[RANKS][2];
  lsc_status status[RANKS];
};

static void scan_body(struct lsc_coll *coll, void *arg) {
  struct places *places = arg;
  const uint64_t mine[2] = {3000000000u + (unsigned)coll->rank, 1ull << 40};
  places->status[coll->rank] =
      lsc_coll_scan(coll, 1, 2, mine, places->prefix[coll->rank], places->totals[coll->rank], 1000);
}

START_TEST(places_are_exact_beyond_32_bits) {
  static struct places places;
  ck_assert_int_eq(sim_run(RANKS, scan_body, &places, NULL), 0);
  uint64_t sum = 0;
  for (int r = 0; r < RANKS; sum += 3000000000u + (unsigned)r++) {
    ck_assert_int_eq(places.status[r], LSC_OK);
    ck_assert_uint_eq(places.prefix[r][0], sum);
    ck_assert_uint_eq(places.prefix[r][1], (uint64_t)r << 40);
    ck_assert_uint_eq(places.totals[r][0], 3000000000u * (uint64_t)RANKS + RANKS * (RANKS - 1) / 2);
    ck_assert_uint_eq(places.totals[r][1], (uint64_t)RANKS << 40);
  }
}
END_TEST

UNIT_MAIN("limits", calls_beyond_the_limit_are_counted, the_limit_is_of_all_threads_together,
          threads_that_ended_count_as_what_they_hold, places_are_exact_beyond_32_bits)
