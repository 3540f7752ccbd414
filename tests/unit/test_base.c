/* SPDX-License-Identifier: BSD-3-Clause */
/* Status texts, the clock and its map, the registry, chunks. */
#include <string.h>

#include "chunk.h"
#include "clock.h"
#include "registry.h"
#include "unit.h"

START_TEST(every_status_has_its_text) {
  static const struct {
    lsc_status status;
    int value;
    const char *text;
  } table[] = {
#define ROW(name, value, text) {name, value, text},
      LSC_STATUS_TABLE(ROW)
#undef ROW
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    ck_assert_int_eq(table[i].status, (int)i);
    ck_assert_str_eq(lsc_strerror(table[i].status), table[i].text);
  }
  ck_assert_str_eq(lsc_strerror((lsc_status)1000), "unknown status");
  ck_assert_str_eq(lsc_version(), LSC_VERSION);
}
END_TEST

/* A reading between two of CLOCK_MONOTONIC must be put between them, but for the width of one reading. */
static void check_map(void) {
  enum { SAMPLES = 2000 };
  static struct {
    int64_t before, after;
    uint64_t ticks;
  } sample[SAMPLES];
  ck_assert_int_eq(lsc_clock_start(), LSC_OK);
  for (int i = 0; i < SAMPLES; i++) {
    sample[i].before = lsc_monotonic_ns();
    sample[i].ticks = lsc_ticks();
    sample[i].after = lsc_monotonic_ns();
    if (i % 500 == 0) ck_assert_int_eq(lsc_clock_start(), LSC_OK);
  }
  struct lsc_clock_map map;
  ck_assert_int_eq(lsc_clock_map_take(&map), LSC_OK);
  int64_t last = INT64_MIN;
  for (int i = 0; i < SAMPLES; i++) {
    int64_t ns = lsc_clock_map_ns(&map, sample[i].ticks);
    ck_assert_int_ge(ns, last);
    ck_assert_int_ge(ns, sample[i].before - 5000);
    ck_assert_int_le(ns, sample[i].after + 5000);
    last = ns;
  }
  for (int i = SAMPLES - 1; i > 0; i--)
    ck_assert_int_ge(lsc_clock_map_ns(&map, sample[i].ticks), lsc_clock_map_ns(&map, sample[i - 1].ticks));
  lsc_clock_map_free(&map);
}

START_TEST(the_map_follows_the_clock) { check_map(); }
END_TEST

START_TEST(the_counter_can_be_forbidden) {
  setenv("LANESCOPE_CLOCK", "monotonic", 1);
  check_map();
  ck_assert_int_eq(lsc_clock_uses_counter, 0);
}
END_TEST

START_TEST(the_map_is_exact_at_its_pairs_and_increases_between) {
  struct lsc_clock_pair pair[] = {{1000, 500}, {3000, 1500}, {3010, 1501}, {9010, 9501}};
  struct lsc_clock_map map = {.pairs = 4, .pair = pair};
  ck_assert_int_eq(lsc_clock_map_prepare(&map), LSC_OK);
  for (int i = 0; i < 4; i++) ck_assert_int_eq(lsc_clock_map_ns(&map, pair[i].ticks), pair[i].ns);
  ck_assert_int_eq(lsc_clock_map_ns(&map, 2000), 1000);
  ck_assert_int_eq(lsc_clock_map_ns(&map, 800), 400);
  ck_assert_int_eq(lsc_clock_map_ns(&map, 12010), 13501);
  int64_t last = INT64_MIN;
  for (uint64_t ticks = 0; ticks < 20000; ticks++) {
    int64_t ns = lsc_clock_map_ns(&map, ticks);
    ck_assert_int_ge(ns, last);
    last = ns;
  }
  free(map.slope);
}
END_TEST

#define TAKES 20000
static struct lsc_registry shared;
static void *take_many(void *seen) {
  for (int i = 0; i < TAKES; i++) {
    uint32_t index;
    if (lsc_registry_take(&shared, &index) != LSC_OK) return NULL;
    ((unsigned char *)seen)[index]++;
    lsc_registry_publish(&shared, index, (void *)(uintptr_t)(index + 1));
  }
  return seen;
}

START_TEST(indices_are_dense_and_nobody_shares_one) {
  static unsigned char seen[8][8 * TAKES];
  pthread_t thread[8];
  for (int t = 0; t < 8; t++) thread[t] = unit_start(take_many, seen[t]);
  for (int t = 0; t < 8; t++) {
    void *done;
    pthread_join(thread[t], &done);
    ck_assert_ptr_eq(done, seen[t]);
  }
  ck_assert_uint_eq(lsc_registry_count(&shared), 8 * TAKES);
  for (uint32_t i = 0; i < 8 * TAKES; i++) {
    int times = 0;
    for (int t = 0; t < 8; t++) times += seen[t][i];
    ck_assert_int_eq(times, 1);
    ck_assert_ptr_eq(lsc_registry_get(&shared, i), (void *)(uintptr_t)(i + 1));
  }
  lsc_registry_free(&shared);
}
END_TEST

START_TEST(an_index_without_entry_reads_as_empty) {
  struct lsc_registry registry = {0};
  uint32_t index;
  ck_assert_ptr_null(lsc_registry_get(&registry, 0));
  ck_assert_int_eq(lsc_registry_take(&registry, &index), LSC_OK);
  ck_assert_ptr_null(lsc_registry_get(&registry, index));
  lsc_registry_publish(&registry, index, &registry);
  ck_assert_ptr_eq(lsc_registry_get(&registry, index), &registry);
  lsc_registry_free(&registry);
}
END_TEST

static void check_zeroed(struct lsc_chunk *chunk) {
  struct lsc_row zero[1] = {{0}};
  for (uint32_t i = 0; i < chunk->capacity; i++) ck_assert_mem_eq(&lsc_chunk_rows(chunk)[i], zero, sizeof *zero);
}

START_TEST(chunks_of_every_size_are_zeroed_also_again) {
  struct lsc_chunk_source *slab = lsc_slab_new();
  for (int round = 0; round < 3; round++)
    for (size_t bytes = LSC_CHUNK_SMALL;; bytes = lsc_chunk_next_size(bytes)) {
      struct lsc_chunk *chunk = lsc_chunk_new(slab, bytes, 7, 3);
      ck_assert_ptr_nonnull(chunk);
      ck_assert_uint_eq(chunk->bytes, bytes);
      ck_assert_uint_eq(chunk->capacity, bytes / sizeof(struct lsc_row) - 1);
      ck_assert_uint_eq(chunk->thread, 7);
      ck_assert_uint_eq(chunk->sequence, 3);
      check_zeroed(chunk);
      memset(lsc_chunk_rows(chunk), 0xA5, chunk->capacity * sizeof(struct lsc_row));
      lsc_chunk_free(slab, chunk);
      if (bytes == LSC_CHUNK_LARGE) break;
    }
  lsc_slab_release(slab);
}
END_TEST

START_TEST(the_end_of_a_finished_chunk_serves_another) {
  struct lsc_chunk_source *slab = lsc_slab_new();
  struct lsc_chunk *first = lsc_chunk_new(slab, LSC_CHUNK_SMALL, 1, 0);
  memset(lsc_chunk_rows(first), 0x5A, 2 * sizeof(struct lsc_row));
  lsc_chunk_shrink(slab, first, 2);
  ck_assert_uint_eq(first->capacity, 2);
  struct lsc_chunk *second = lsc_chunk_new(slab, LSC_CHUNK_SMALL, 2, 0);
  unsigned char *end_of_first = (unsigned char *)first + LSC_CHUNK_SMALL;
  ck_assert((unsigned char *)second > (unsigned char *)first && (unsigned char *)second < end_of_first);
  ck_assert((unsigned char *)second >= (unsigned char *)first + first->bytes);
  ck_assert((unsigned char *)second + second->bytes <= end_of_first);
  check_zeroed(second);
  ck_assert_uint_eq(((unsigned char *)lsc_chunk_rows(first))[2 * sizeof(struct lsc_row) - 1], 0x5A);
  lsc_slab_release(slab);
}
END_TEST

START_TEST(shrinking_a_large_chunk_keeps_its_rows) {
  struct lsc_chunk_source *slab = lsc_slab_new();
  for (size_t bytes = LSC_CHUNK_SHARED * 8; bytes <= LSC_CHUNK_LARGE; bytes *= 8) {
    struct lsc_chunk *chunk = lsc_chunk_new(slab, bytes, 1, 0);
    memset(lsc_chunk_rows(chunk), 0x5A, 300 * sizeof(struct lsc_row));
    lsc_chunk_shrink(slab, chunk, 300);
    for (size_t i = 0; i < 300 * sizeof(struct lsc_row); i++)
      ck_assert_uint_eq(((unsigned char *)lsc_chunk_rows(chunk))[i], 0x5A);
    lsc_chunk_free(slab, chunk);
  }
  lsc_slab_release(slab);
}
END_TEST

UNIT_MAIN("base", every_status_has_its_text, the_map_follows_the_clock, the_counter_can_be_forbidden,
          the_map_is_exact_at_its_pairs_and_increases_between, indices_are_dense_and_nobody_shares_one,
          an_index_without_entry_reads_as_empty, chunks_of_every_size_are_zeroed_also_again,
          the_end_of_a_finished_chunk_serves_another, shrinking_a_large_chunk_keeps_its_rows)
