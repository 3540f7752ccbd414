/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables and event columns of a snapshot against sums over its rows. */
#include <math.h>
#include <string.h>

#include "fill.h"
#include "lanescope_binding.h"
#include "order.h"
#include "snapshots.h"
#include "unit.h"

enum { A, B, C, REGIONS };
static lsc_region_id region[REGIONS];
static lsc_session session;
static struct lsc_snapshot snapshot;
static struct lsc_table table[LSC_TABLE_COUNT];
static const uint32_t united[] = {40, 41};
static struct lsc_names names;
static struct lsc_fill fill;

static void call(lsc_api api, int r) {
  ck_assert_int_eq(lsc_begin_as(session, api, region[r]), LSC_OK);
  ck_assert_int_eq(lsc_end_as(session, api, region[r]), LSC_OK);
}

/* A(B B) A(B), two of B on the unknown lane, and C left open with a B inside. */
static void record(void) {
  static const char *name[] = {"a", "b", "c"};
  for (int i = 0; i < REGIONS; i++) ck_assert_int_eq(lsc_region(name[i], &region[i]), LSC_OK);
  ck_assert_int_eq(lsc_session_open(NULL, &session), LSC_OK);
  ck_assert_int_eq(lsc_thread_describe(session, "main", 99, 1), LSC_OK);
  for (int i = 2; i > 0; i--) {
    ck_assert_int_eq(lsc_begin(session, region[A]), LSC_OK);
    for (int k = 0; k < i; k++) call(LSC_API_C, B);
    ck_assert_int_eq(lsc_end(session, region[A]), LSC_OK);
  }
  for (int i = 0; i < 2; i++) call(LSC_API_FORTRAN, B);
  ck_assert_int_eq(lsc_begin_as(session, LSC_API_PYTHON, region[C]), LSC_OK);
  call(LSC_API_C, B);
}

/* Row by row, and each table as large as it is said to be. */
static void fill_tables(void) {
  for (int i = 0; i < LSC_TABLE_COUNT; i++) {
    const struct lsc_table_size size = lsc_fill_size(&fill, (enum lsc_table_id)i);
    lsc_table_init(&table[i], &lsc_table_descs[i]);
    for (size_t row = 0; row < size.rows; row++)
      ck_assert_int_eq(lsc_fill_rows(&fill, (enum lsc_table_id)i, row, 1, &table[i]), LSC_OK);
    ck_assert_uint_eq(table[i].rows, size.rows);
    ck_assert_uint_eq(lsc_table_text_bytes(&table[i]), size.text);
  }
}

static void setup(void) {
  record();
  const struct lsc_comparison clocks = {.group = 1, .now = {1, 0, lsc_now_ns(), 1000000, 5}};
  ck_assert_int_eq(lsc_snapshot_take_compared(session, &clocks, &snapshot), LSC_OK);
  ck_assert_int_eq(lsc_snapshot_events(&snapshot), LSC_OK);
  memset(&names, 0, sizeof names);
  for (int i = 0; i < 40; i++) ck_assert_int_eq(lsc_names_add(&names, "other", 5), LSC_OK);
  ck_assert_int_eq(lsc_names_add(&names, "a", 1), LSC_OK);
  ck_assert_int_eq(lsc_names_add(&names, "b", 1), LSC_OK);
  ck_assert_int_eq(lsc_names_add(&names, "c", 1), LSC_OK);
  fill = (struct lsc_fill){.snapshot = &snapshot,
                           .rank = 3,
                           .hostname = "node",
                           .pid = 77,
                           .origin_ns = snapshot.open_ns,
                           .event_offset = 100,
                           .region_ids = united,
                           .apis = snapshot.apis};
  fill_tables();
}

static void teardown(void) {
  for (int i = 0; i < LSC_TABLE_COUNT; i++) lsc_table_free(&table[i]);
  lsc_names_free(&names);
  lsc_snapshot_drop(&snapshot);
  lsc_session_close(session);
}

static const void *data(int id, int column) { return lsc_table_view(&table[id], column).data; }

static void check_text(int id, int column, size_t row, const char *expected) {
  lsc_column_view view = lsc_table_view(&table[id], column);
  ck_assert_uint_eq(view.offsets[row + 1] - view.offsets[row], strlen(expected));
  ck_assert_mem_eq(view.text + view.offsets[row], expected, strlen(expected));
}

static int64_t start_of(uint32_t id) { return lsc_clock_map_ns(&snapshot.map, snapshot.row[id]->start); }
static int64_t end_of(uint32_t id) { return lsc_clock_map_ns(&snapshot.map, snapshot.row[id]->end); }

START_TEST(the_rank_accounts_for_every_call) {
  setup();
  ck_assert_uint_eq(table[LSC_TABLE_RANK].rows, 1);
  ck_assert_uint_eq(*(const uint32_t *)data(LSC_TABLE_RANK, LSC_RANK_RANKS), 3);
  ck_assert_uint_eq(*(const uint64_t *)data(LSC_TABLE_RANK, LSC_RANK_CALLS), 8);
  ck_assert_uint_eq(*(const uint64_t *)data(LSC_TABLE_RANK, LSC_RANK_OPEN_CALLS), 1);
  ck_assert_uint_eq(*(const uint64_t *)data(LSC_TABLE_RANK, LSC_RANK_DROPPED), 0);
  ck_assert_uint_eq(*(const uint32_t *)data(LSC_TABLE_RANK, LSC_RANK_THREADS), 1);
  ck_assert_int_eq(*(const int64_t *)data(LSC_TABLE_RANK, LSC_RANK_OFFSET), 1000000);
  ck_assert_int_eq(*(const int64_t *)data(LSC_TABLE_RANK, LSC_RANK_PID), 77);
  check_text(LSC_TABLE_RANK, LSC_RANK_HOSTNAME, 0, "node");
  check_text(LSC_TABLE_RANK, LSC_RANK_DROP_REASON, 0, "");
  teardown();
}
END_TEST

START_TEST(threads_and_lanes_carry_their_names) {
  setup();
  ck_assert_uint_eq(table[LSC_TABLE_THREAD].rows, 1);
  check_text(LSC_TABLE_THREAD, LSC_THREAD_NAME, 0, "main");
  ck_assert_int_eq(*(const int64_t *)data(LSC_TABLE_THREAD, LSC_THREAD_IDENT), 99);
  ck_assert_int_eq(*(const int8_t *)data(LSC_TABLE_THREAD, LSC_THREAD_DAEMON), 1);
  ck_assert_int_eq(*(const int64_t *)data(LSC_TABLE_THREAD, LSC_THREAD_END), -1);
  ck_assert_int_eq(*(const int64_t *)data(LSC_TABLE_THREAD, LSC_THREAD_START),
                   lsc_snapshot_thread(&snapshot, 0).start_ns - fill.origin_ns);
  ck_assert_uint_eq(table[LSC_TABLE_LANE].rows, 2);
  const int64_t *lanes = data(LSC_TABLE_LANE, LSC_LANE_LANES);
  const uint64_t *calls = data(LSC_TABLE_LANE, LSC_LANE_CALLS), *open = data(LSC_TABLE_LANE, LSC_LANE_OPEN_CALLS);
  ck_assert_int_eq(lanes[0], -1);
  ck_assert_int_eq(lanes[1], -2);
  ck_assert_uint_eq(calls[0], 2);
  ck_assert_uint_eq(calls[1], 6);
  ck_assert_uint_eq(open[1], 1);
  check_text(LSC_TABLE_LANE, LSC_LANE_KIND, 0, "unknown");
  check_text(LSC_TABLE_LANE, LSC_LANE_NAME, 0, "fortran");
  check_text(LSC_TABLE_LANE, LSC_LANE_KIND, 1, "thread");
  check_text(LSC_TABLE_LANE, LSC_LANE_NAME, 1, "main");
  teardown();
}
END_TEST

/* Sums over the rows of one region, written down the plain way. */
static void check_index_row(size_t row, lsc_region_id id, uint64_t offset) {
  const lsc_stats *stats = (const lsc_stats *)data(LSC_TABLE_INDEX, LSC_INDEX_STATS) + row;
  int64_t total = 0, minimum = INT64_MAX, maximum = INT64_MIN, children = 0, first = -1, last = -1,
          earliest = INT64_MAX, latest = 0;
  uint64_t count = 0;
  for (uint32_t i = 0; i < snapshot.calls; i++) {
    if (!call_is_completed(&snapshot, i)) continue;
    int64_t duration = end_of(i) - start_of(i);
    uint32_t parent = snapshot.parent[i];
    if (parent != LSC_NO_CALL && call_is_completed(&snapshot, parent) && lsc_row_region(snapshot.row[parent]) == id)
      children += duration;
    if (lsc_row_region(snapshot.row[i]) != id) continue;
    total += duration;
    if (duration < minimum) minimum = duration;
    if (duration > maximum) maximum = duration;
    if (start_of(i) < earliest) earliest = start_of(i);
    if (end_of(i) > latest) latest = end_of(i);
    if (count++ == 0) first = duration;
    last = duration;
  }
  double mean = (double)total / (double)count, m2 = 0;
  for (uint32_t i = 0; i < snapshot.calls; i++)
    if (call_is_completed(&snapshot, i) && lsc_row_region(snapshot.row[i]) == id)
      m2 += ((double)(end_of(i) - start_of(i)) - mean) * ((double)(end_of(i) - start_of(i)) - mean);
  ck_assert_uint_eq(((const uint64_t *)data(LSC_TABLE_INDEX, LSC_INDEX_COUNTS))[row], count);
  ck_assert_uint_eq(((const uint64_t *)data(LSC_TABLE_INDEX, LSC_INDEX_OFFSETS))[row], offset);
  ck_assert_int_eq(((const int64_t *)data(LSC_TABLE_INDEX, LSC_INDEX_EXCLUSIVE))[row], total - children);
  ck_assert_int_eq(stats->total, total);
  ck_assert_int_eq(stats->minimum, minimum);
  ck_assert_int_eq(stats->maximum, maximum);
  ck_assert_int_eq(stats->first, first);
  ck_assert_int_eq(stats->last, last);
  ck_assert_int_eq(stats->start_minimum, earliest);
  ck_assert_int_eq(stats->end_maximum, latest);
  ck_assert_double_eq_tol(stats->mean, mean, 1e-6 * mean);
  ck_assert_double_eq_tol(stats->m2, m2, 1e-6 * m2 + 1e-3);
}

START_TEST(the_index_holds_the_sums_of_its_calls) {
  setup();
  ck_assert_uint_eq(snapshot.regions, 2);
  ck_assert_uint_eq(table[LSC_TABLE_INDEX].rows, 2);
  const uint32_t *ids = data(LSC_TABLE_INDEX, LSC_INDEX_REGION_IDS);
  ck_assert_uint_eq(ids[0], 40);
  ck_assert_uint_eq(ids[1], 41);
  check_index_row(0, region[A], 100);
  check_index_row(1, region[B], 102);
  check_text(LSC_TABLE_INDEX, LSC_INDEX_TAGS, 0, "[]");
  ck_assert_int_eq(((const int64_t *)data(LSC_TABLE_INDEX, LSC_INDEX_LINES))[0], -1);
  teardown();
}
END_TEST

START_TEST(an_open_call_is_a_row_of_its_own) {
  setup();
  ck_assert_uint_eq(table[LSC_TABLE_OPEN].rows, 1);
  uint32_t id = snapshot.open_call[0].call;
  ck_assert_int_eq(*(const int64_t *)data(LSC_TABLE_OPEN, LSC_OPEN_START), start_of(id));
  ck_assert_int_eq(*(const int64_t *)data(LSC_TABLE_OPEN, LSC_OPEN_CALL_IDS), id);
  ck_assert_int_eq(*(const int64_t *)data(LSC_TABLE_OPEN, LSC_OPEN_PARENT_IDS), -1);
  ck_assert_uint_eq(*(const uint8_t *)data(LSC_TABLE_OPEN, LSC_OPEN_APIS), LSC_API_PYTHON);
  ck_assert_uint_eq(*(const uint32_t *)data(LSC_TABLE_OPEN, LSC_OPEN_REGION_IDS), LSC_NO_NAME);
  struct lsc_name_index index = {.names = &names};
  ck_assert_int_eq(lsc_fill_open_regions(&table[LSC_TABLE_OPEN], 1, &index), LSC_OK);
  ck_assert_uint_eq(*(const uint32_t *)data(LSC_TABLE_OPEN, LSC_OPEN_REGION_IDS), LSC_NO_NAME);
  ck_assert_int_eq(lsc_fill_open_regions(&table[LSC_TABLE_OPEN], 0, &index), LSC_OK);
  lsc_name_index_free(&index);
  ck_assert_uint_eq(*(const uint32_t *)data(LSC_TABLE_OPEN, LSC_OPEN_REGION_IDS), 42);
  check_text(LSC_TABLE_OPEN, LSC_OPEN_REGION_NAMES, 0, "c");
  teardown();
}
END_TEST

START_TEST(event_columns_come_in_pieces_of_any_length) {
  setup();
  for (size_t piece = 1; piece <= snapshot.completed; piece++)
    for (size_t first = 0; first + piece <= snapshot.completed; first++) {
      int64_t start[8], end[8], thread[8], call_id[8], parent[8];
      uint32_t rank[8], id[8];
      uint8_t api[8];
      void *column[LSC_EVENT_COLUMNS] = {
          [LSC_EVENT_START] = start,      [LSC_EVENT_END] = end,           [LSC_EVENT_RANKS] = rank,
          [LSC_EVENT_REGION_IDS] = id,    [LSC_EVENT_THREADS] = thread,    [LSC_EVENT_CALL_IDS] = call_id,
          [LSC_EVENT_PARENT_IDS] = parent, [LSC_EVENT_APIS] = api};
      lsc_fill_events(&fill, first, piece, column);
      for (size_t i = 0; i < piece; i++) {
        uint32_t call = snapshot.event[first + i];
        const struct lsc_row *row = snapshot.row[call];
        ck_assert_int_eq(start[i], start_of(call));
        ck_assert_int_eq(end[i], end_of(call));
        ck_assert_uint_eq(rank[i], 3);
        ck_assert_uint_eq(id[i], lsc_row_region(row) == region[A] ? 40 : 41);
        ck_assert_int_eq(thread[i], lsc_row_api(row) == LSC_API_FORTRAN ? -1 : 0);
        ck_assert_int_eq(call_id[i], call);
        ck_assert_int_eq(parent[i], snapshot.parent[call] == LSC_NO_CALL ? -1 : (int64_t)snapshot.parent[call]);
        ck_assert_uint_eq(api[i], lsc_row_api(row));
      }
    }
  ck_assert_int_eq(lsc_fill_has_event_column(&fill, LSC_EVENT_APIS), 1);
  ck_assert_int_eq(lsc_fill_has_event_column(&fill, LSC_EVENT_TASKS), 0);
  fill.apis = 2;
  ck_assert_int_eq(lsc_fill_has_event_column(&fill, LSC_EVENT_APIS), 0);
  teardown();
}
END_TEST

START_TEST(a_known_time_is_never_minus_one) {
  setup();
  snapshot.thread[0].now->end_ns = fill.origin_ns - 1;
  for (int i = 0; i < LSC_TABLE_COUNT; i++) lsc_table_free(&table[i]);
  fill_tables();
  ck_assert_int_eq(*(const int64_t *)data(LSC_TABLE_THREAD, LSC_THREAD_END), -2);
  teardown();
}
END_TEST

UNIT_MAIN("fill", the_rank_accounts_for_every_call, threads_and_lanes_carry_their_names,
          the_index_holds_the_sums_of_its_calls, an_open_call_is_a_row_of_its_own,
          event_columns_come_in_pieces_of_any_length, a_known_time_is_never_minus_one)
