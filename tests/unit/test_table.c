/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "table.h"
#include "unit.h"

START_TEST(test_buffer_grows) {
  struct lsc_buffer buffer = {0};
  for (unsigned i = 0; i < 10000; i++) ck_assert_int_eq(lsc_buffer_append(&buffer, &i, sizeof i), LSC_OK);
  ck_assert_uint_eq(buffer.size, 10000 * sizeof(unsigned));
  for (unsigned i = 0; i < 10000; i++) ck_assert_int_eq(memcmp(buffer.data + i * sizeof i, &i, sizeof i), 0);
  ck_assert_int_eq(lsc_buffer_append(&buffer, NULL, 0), LSC_OK);
  lsc_buffer_free(&buffer);
  ck_assert_ptr_null(buffer.data);
  ck_assert_uint_eq(buffer.size + buffer.capacity, 0);
}
END_TEST

START_TEST(test_buffer_without_memory) {
  struct lsc_buffer buffer = {0};
  ck_assert_int_eq(lsc_buffer_append(&buffer, "abc", 3), LSC_OK);
  ck_assert_ptr_null(lsc_buffer_reserve(&buffer, SIZE_MAX));
  ck_assert_ptr_null(lsc_buffer_reserve(&buffer, SIZE_MAX - 2));
  ck_assert_uint_eq(buffer.size, 3);
  ck_assert_int_eq(memcmp(buffer.data, "abc", 3), 0);
  lsc_buffer_free(&buffer);
}
END_TEST

START_TEST(test_reserve_keeps_size) {
  struct lsc_buffer buffer = {0};
  unsigned char *room = lsc_buffer_reserve(&buffer, 1000);
  ck_assert_ptr_eq(room, buffer.data);
  memset(room, 1, 1000);
  ck_assert_uint_eq(buffer.size, 0);
  ck_assert_uint_ge(buffer.capacity, 1000);
  lsc_buffer_free(&buffer);
}
END_TEST

START_TEST(test_reader) {
  const unsigned char bytes[] = {1, 2, 3, 4, 5};
  struct lsc_reader reader = {bytes, bytes + 5, 0};
  unsigned char out[4] = {9, 9, 9, 9};
  lsc_read(&reader, out, 2);
  ck_assert_int_eq(out[0] * 10 + out[1], 12);
  ck_assert_ptr_eq(lsc_read_view(&reader, 1), bytes + 2);
  ck_assert_ptr_nonnull(lsc_read_view(&reader, 0));
  lsc_read(&reader, out, 3);
  ck_assert_int_eq(reader.failed, 1);
  ck_assert_int_eq(out[0] | out[1] | out[2], 0);
  ck_assert_int_eq(out[3], 9);
  ck_assert_ptr_null(lsc_read_view(&reader, 1));
}
END_TEST

/* The descriptors against the wording of the format: counts by hand, and a name and a type of each table. */
START_TEST(test_descriptors) {
  static const struct {
    int table, columns, column;
    const char *group, *name;
    lsc_type type;
  } wanted[] = {{LSC_TABLE_RANK, 15, LSC_RANK_DRIFT, "rank_table", "clock_drift_ppb", LSC_F64},
                {LSC_TABLE_THREAD, 9, LSC_THREAD_DAEMON, "thread_table", "daemon", LSC_I8},
                {LSC_TABLE_TASK, 11, LSC_TASK_CORO_NAME, "task_table", "coro_name", LSC_STR},
                {LSC_TABLE_LANE, 9, LSC_LANE_BUSY, "lane_table", "busy_ns", LSC_I64},
                {LSC_TABLE_REGION, 1, LSC_REGION_NAMES, "region_table", "names", LSC_STR},
                {LSC_TABLE_INDEX, 10, LSC_INDEX_STATS, "rank_region_index", "summary_statistics", LSC_STATS},
                {LSC_TABLE_OPEN, 11, LSC_OPEN_DEPTH, "open_calls", "depth", LSC_U32}};
  ck_assert_int_eq(LSC_TABLE_COUNT, 7);
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
    const struct lsc_table_desc *desc = &lsc_table_descs[wanted[i].table];
    ck_assert_str_eq(desc->group, wanted[i].group);
    ck_assert_int_eq(desc->columns, wanted[i].columns);
    ck_assert_str_eq(desc->column[wanted[i].column].name, wanted[i].name);
    ck_assert_int_eq(desc->column[wanted[i].column].type, wanted[i].type);
  }
  ck_assert_str_eq(lsc_events_desc.group, "events");
  ck_assert_int_eq(lsc_events_desc.columns, 10);
  ck_assert_str_eq(lsc_events_desc.column[LSC_EVENT_APIS].name, "apis");
}
END_TEST

START_TEST(test_type_sizes) {
  static const size_t wanted[] = {[LSC_I8] = 1,  [LSC_U8] = 1,  [LSC_U32] = 4, [LSC_I64] = 8,
                                  [LSC_U64] = 8, [LSC_F64] = 8, [LSC_STR] = 8, [LSC_STATS] = 88};
  for (int type = LSC_I8; type <= LSC_STATS; type++) {
    ck_assert_uint_eq(lsc_type_size((lsc_type)type), wanted[type]);
  }
}
END_TEST

/* Row `i` of a thread table: every integer width, a text that may be empty, and negative values. */
static void put_thread(struct lsc_table *t, unsigned i) {
  static const char *const name[] = {"main", "", "worker-\xc3\xa9", "w"};
  ck_assert_int_eq(lsc_table_put(t, LSC_THREAD_RANKS, &i), LSC_OK);
  ck_assert_int_eq(lsc_table_put_i64(t, LSC_THREAD_INDEX, i), LSC_OK);
  ck_assert_int_eq(lsc_table_put_int(t, LSC_THREAD_IDENT, -5 - (int64_t)i), LSC_OK);
  ck_assert_int_eq(lsc_table_put_i64(t, LSC_THREAD_NATIVE_ID, INT64_MAX - i), LSC_OK);
  ck_assert_int_eq(lsc_table_put_text(t, LSC_THREAD_NAME, name[i % 4], strlen(name[i % 4])), LSC_OK);
  ck_assert_int_eq(lsc_table_put_int(t, LSC_THREAD_DAEMON, i % 2), LSC_OK);
  ck_assert_int_eq(lsc_table_put_i64(t, LSC_THREAD_START, -2), LSC_OK);
  ck_assert_int_eq(lsc_table_put_i64(t, LSC_THREAD_END, -1), LSC_OK);
  ck_assert_int_eq(lsc_table_put_i64(t, LSC_THREAD_CPU, 7 * (int64_t)i), LSC_OK);
  lsc_table_end_row(t);
}

static void fill_threads(struct lsc_table *t, unsigned from, unsigned to) {
  lsc_table_init(t, &lsc_table_descs[LSC_TABLE_THREAD]);
  for (unsigned i = from; i < to; i++) put_thread(t, i);
}

static void check_same(const struct lsc_table *a, const struct lsc_table *b) {
  ck_assert_uint_eq(a->rows, b->rows);
  for (int c = 0; c < a->desc->columns; c++) {
    lsc_column_view x = lsc_table_view(a, c), y = lsc_table_view(b, c);
    ck_assert_uint_eq(x.rows, a->rows);
    ck_assert_uint_eq(a->column[c].data.size, b->column[c].data.size);
    ck_assert_uint_eq(a->column[c].text.size, b->column[c].text.size);
    if (x.type == LSC_STR) {
      ck_assert_int_eq(memcmp(x.offsets, y.offsets, (x.rows + 1) * sizeof *x.offsets), 0);
      ck_assert_int_eq(memcmp(x.text, y.text, x.offsets[x.rows]), 0);
    } else if (x.rows) {
      ck_assert_int_eq(memcmp(x.data, y.data, x.rows * lsc_type_size(x.type)), 0);
    }
  }
}

static lsc_status decode(struct lsc_table *t, const unsigned char *data, size_t size) {
  struct lsc_reader reader = {data, data + size, 0};
  return lsc_table_decode_append(t, &reader);
}

START_TEST(test_views) {
  struct lsc_table t;
  fill_threads(&t, 0, 4);
  lsc_column_view name = lsc_table_view(&t, LSC_THREAD_NAME), ident = lsc_table_view(&t, LSC_THREAD_IDENT);
  ck_assert_int_eq(name.type, LSC_STR);
  ck_assert_uint_eq(name.rows, 4);
  ck_assert_uint_eq(name.offsets[0], 0);
  ck_assert_uint_eq(name.offsets[1], 4);
  ck_assert_uint_eq(name.offsets[2], 4);
  ck_assert_uint_eq(name.offsets[3], 13);
  ck_assert_int_eq(memcmp(name.text, "mainworker-\xc3\xa9w", 14), 0);
  ck_assert_int_eq(((const int64_t *)ident.data)[3], -8);
  ck_assert_int_eq(((const int8_t *)lsc_table_view(&t, LSC_THREAD_DAEMON).data)[1], 1);
  ck_assert_uint_eq(((const uint32_t *)lsc_table_view(&t, LSC_THREAD_RANKS).data)[2], 2);
  lsc_table_free(&t);
  ck_assert_uint_eq(lsc_table_view(&t, LSC_THREAD_NAME).offsets[0], 0);
  ck_assert_uint_eq(lsc_table_view(&t, LSC_THREAD_NAME).rows, 0);
}
END_TEST

START_TEST(test_wrong_types) {
  struct lsc_table t;
  int64_t value = 1;
  lsc_table_init(&t, &lsc_table_descs[LSC_TABLE_THREAD]);
  ck_assert_int_eq(lsc_table_put(&t, LSC_THREAD_NAME, &value), LSC_INVALID);
  ck_assert_int_eq(lsc_table_put_int(&t, LSC_THREAD_NAME, 1), LSC_INVALID);
  ck_assert_int_eq(lsc_table_put_i64(&t, LSC_THREAD_RANKS, 1), LSC_INVALID);
  ck_assert_int_eq(lsc_table_put_text(&t, LSC_THREAD_INDEX, "x", 1), LSC_INVALID);
  for (int c = 0; c < t.desc->columns; c++) ck_assert_uint_eq(t.column[c].data.size + t.column[c].text.size, 0);
  lsc_table_free(&t);
}
END_TEST

/* Three ranks' tables, one of them empty, appended to one: as if one rank had filled it. */
START_TEST(test_append) {
  static const unsigned cut[] = {0, 5, 5, 12};
  struct lsc_table all, wanted;
  fill_threads(&wanted, 0, 12);
  lsc_table_init(&all, wanted.desc);
  for (int i = 0; i < 3; i++) {
    struct lsc_table part;
    struct lsc_buffer bytes = {0};
    fill_threads(&part, cut[i], cut[i + 1]);
    ck_assert_int_eq(lsc_table_encode(&part, &bytes), LSC_OK);
    ck_assert_int_eq(decode(&all, bytes.data, bytes.size), LSC_OK);
    lsc_buffer_free(&bytes);
    lsc_table_free(&part);
  }
  check_same(&all, &wanted);
  lsc_table_free(&all);
  lsc_table_free(&wanted);
}
END_TEST

/* One table in runs of rows, as a view shows them, appended to one that was used before. */
START_TEST(test_rows) {
  static const unsigned cut[] = {0, 5, 5, 12};
  struct lsc_table whole, again;
  fill_threads(&whole, 0, 12);
  fill_threads(&again, 0, 7);
  lsc_table_clear(&again);
  ck_assert_uint_eq(again.rows + lsc_table_text_bytes(&again), 0);
  for (int i = 0; i < 3; i++) {
    struct lsc_buffer bytes = {0};
    struct lsc_table part;
    size_t first = cut[i], count = cut[i + 1] - cut[i];
    fill_threads(&part, cut[i], cut[i + 1]);
    ck_assert_int_eq(lsc_table_encode(&part, &bytes), LSC_OK);
    lsc_table_free(&part);
    ck_assert_int_eq(decode(&again, bytes.data, bytes.size), LSC_OK);
    lsc_column_view texts = lsc_table_view_rows(&whole, LSC_THREAD_NAME, first, count);
    lsc_column_view all = lsc_table_view(&whole, LSC_THREAD_NAME);
    for (size_t k = 0; k <= count; k++) ck_assert_uint_eq(texts.offsets[k], all.offsets[first + k]);
    lsc_buffer_free(&bytes);
  }
  check_same(&again, &whole);
  ck_assert_uint_eq(lsc_table_text_bytes(&again), lsc_table_text_bytes(&whole));
  lsc_table_free(&again);
  lsc_table_free(&whole);
}
END_TEST

START_TEST(test_reader_goes_on_behind) {
  struct lsc_table a, b, again;
  struct lsc_buffer bytes = {0};
  fill_threads(&a, 0, 3);
  fill_threads(&b, 3, 4);
  ck_assert_int_eq(lsc_table_encode(&a, &bytes), LSC_OK);
  ck_assert_int_eq(lsc_table_encode(&b, &bytes), LSC_OK);
  struct lsc_reader reader = {bytes.data, bytes.data + bytes.size, 0};
  lsc_table_init(&again, a.desc);
  ck_assert_int_eq(lsc_table_decode_append(&again, &reader), LSC_OK);
  check_same(&again, &a);
  lsc_table_free(&again);
  ck_assert_int_eq(lsc_table_decode_append(&again, &reader), LSC_OK);
  check_same(&again, &b);
  ck_assert_ptr_eq(reader.next, reader.end);
  lsc_table_free(&again);
  lsc_table_free(&a);
  lsc_table_free(&b);
  lsc_buffer_free(&bytes);
}
END_TEST

static void put_stats(struct lsc_table *t, int i, const lsc_stats *stats) {
  uint64_t big = UINT64_MAX - (uint64_t)i;
  ck_assert_int_eq(lsc_table_put_int(t, LSC_INDEX_REGION_IDS, i), LSC_OK);
  ck_assert_int_eq(lsc_table_put_int(t, LSC_INDEX_RANKS, UINT32_MAX), LSC_OK);
  ck_assert_int_eq(lsc_table_put(t, LSC_INDEX_OFFSETS, &big), LSC_OK);
  ck_assert_int_eq(lsc_table_put_int(t, LSC_INDEX_COUNTS, i), LSC_OK);
  ck_assert_int_eq(lsc_table_put_i64(t, LSC_INDEX_LINES, -1), LSC_OK);
  for (int c = LSC_INDEX_FILES; c <= LSC_INDEX_TAGS; c++) ck_assert_int_eq(lsc_table_put_text(t, c, "", 0), LSC_OK);
  ck_assert_int_eq(lsc_table_put_i64(t, LSC_INDEX_EXCLUSIVE, i), LSC_OK);
  ck_assert_int_eq(lsc_table_put(t, LSC_INDEX_STATS, stats), LSC_OK);
  lsc_table_end_row(t);
}

START_TEST(test_compound) {
  const lsc_stats stats = {.total = 1, .minimum = -2, .gpu_count = UINT64_MAX, .mean = 0.5, .m2 = 1e300};
  struct lsc_table t, again;
  struct lsc_buffer bytes = {0};
  lsc_table_init(&t, &lsc_table_descs[LSC_TABLE_INDEX]);
  lsc_table_init(&again, t.desc);
  for (int i = 0; i < 3; i++) put_stats(&t, i, &stats);
  ck_assert_int_eq(lsc_table_encode(&t, &bytes), LSC_OK);
  ck_assert_int_eq(decode(&again, bytes.data, bytes.size), LSC_OK);
  check_same(&t, &again);
  ck_assert_double_eq(((const lsc_stats *)lsc_table_view(&again, LSC_INDEX_STATS).data)[2].m2, 1e300);
  ck_assert_uint_eq(((const uint64_t *)lsc_table_view(&again, LSC_INDEX_OFFSETS).data)[1], UINT64_MAX - 1);
  lsc_table_free(&t);
  lsc_table_free(&again);
  lsc_buffer_free(&bytes);
}
END_TEST

START_TEST(test_missing_value) {
  struct lsc_table t;
  struct lsc_buffer bytes = {0};
  fill_threads(&t, 0, 3);
  ck_assert_int_eq(lsc_table_put_i64(&t, LSC_THREAD_CPU, 1), LSC_OK);
  ck_assert_int_eq(lsc_table_encode(&t, &bytes), LSC_INVALID);
  ck_assert_uint_eq(bytes.size, 0);
  lsc_table_end_row(&t);
  ck_assert_int_eq(lsc_table_encode(&t, &bytes), LSC_INVALID);
  lsc_table_free(&t);
  lsc_buffer_free(&bytes);
}
END_TEST

static void check_texts(const struct lsc_table *t, int column) {
  lsc_column_view view = lsc_table_view(t, column);
  ck_assert_uint_eq(view.offsets[0], 0);
  for (size_t i = 0; i < view.rows; i++) ck_assert_uint_le(view.offsets[i], view.offsets[i + 1]);
  ck_assert_uint_eq(view.offsets[view.rows], t->column[column].text.size);
}

/* Refused, and nothing was added; or taken, and then the table is whole. */
static void check_damaged(const unsigned char *data, size_t size, int must_fail) {
  struct lsc_table t, before;
  struct lsc_buffer bytes = {0};
  unsigned char *copy = malloc(size ? size : 1); /* of that size, so that a sanitizer sees a read beyond it */
  ck_assert_ptr_nonnull(copy);
  memcpy(copy, data, size);
  fill_threads(&t, 0, 2);
  fill_threads(&before, 0, 2);
  lsc_status status = decode(&t, copy, size);
  ck_assert(status == LSC_INVALID || (!must_fail && status == LSC_OK));
  if (status) check_same(&t, &before);
  check_texts(&t, LSC_THREAD_NAME);
  ck_assert_int_eq(lsc_table_encode(&t, &bytes), LSC_OK);
  lsc_buffer_free(&bytes);
  lsc_table_free(&before);
  lsc_table_free(&t);
  free(copy);
}

/* Every beginning of the bytes, and every bit changed. */
START_TEST(test_damaged_bytes) {
  struct lsc_table t;
  struct lsc_buffer bytes = {0};
  fill_threads(&t, 0, 5);
  ck_assert_int_eq(lsc_table_encode(&t, &bytes), LSC_OK);
  for (size_t size = 0; size < bytes.size; size++) check_damaged(bytes.data, size, 1);
  for (size_t i = 0; i < bytes.size; i++) {
    for (unsigned bit = 0; bit < 8; bit++) {
      bytes.data[i] ^= (unsigned char)(1u << bit);
      check_damaged(bytes.data, bytes.size, i < 16);
      bytes.data[i] ^= (unsigned char)(1u << bit);
    }
  }
  lsc_buffer_free(&bytes);
  lsc_table_free(&t);
}
END_TEST

/* Thread and lane table have nine columns each. */
START_TEST(test_other_table) {
  struct lsc_table threads, lanes;
  struct lsc_buffer bytes = {0};
  fill_threads(&threads, 0, 2);
  lsc_table_init(&lanes, &lsc_table_descs[LSC_TABLE_LANE]);
  ck_assert_int_eq(lsc_table_encode(&threads, &bytes), LSC_OK);
  ck_assert_int_eq(decode(&lanes, bytes.data, bytes.size), LSC_INVALID);
  ck_assert_uint_eq(lanes.rows, 0);
  lsc_table_free(&lanes);
  lsc_table_free(&threads);
  lsc_buffer_free(&bytes);
}
END_TEST

UNIT_MAIN("table", test_buffer_grows, test_buffer_without_memory, test_reserve_keeps_size, test_reader,
          test_descriptors, test_type_sizes, test_views, test_wrong_types, test_append, test_rows,
          test_reader_goes_on_behind, test_compound, test_missing_value, test_damaged_bytes, test_other_table)
