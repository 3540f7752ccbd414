/* SPDX-License-Identifier: BSD-3-Clause */
/* Chunks against zlib's own inflate, and a shuffle that is done here byte by byte. */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "deflate.h"
#include "unit.h"

enum kind { CONSTANT, RAMP, NOISE, STEPS, MIXED, PERIODS, KINDS };

static uint64_t next_random(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state * 0x2545F4914F6CDD1Du;
}

static uint64_t value_of(enum kind kind, size_t i, uint64_t *state) {
  switch (kind) {
    case CONSTANT: return UINT64_MAX;
    case RAMP: return i * 41;
    case NOISE: return next_random(state);
    case STEPS: return i / 1000 << 20;
    case PERIODS: return 0x0102030405060708u * (i % 7);
    default: return (i * 2500 + next_random(state) % 2500) | i % 3 << 60;
  }
}

static void put(unsigned char *values, size_t width, size_t i, uint64_t value) {
  if (width == 1) values[i] = (unsigned char)value;
  else if (width == 4) ((uint32_t *)(void *)values)[i] = (uint32_t)value;
  else ((uint64_t *)(void *)values)[i] = value;
}

/* The bytes of value i in the order of a file, which is little-endian. */
static unsigned char file_byte(const unsigned char *values, size_t width, size_t i, size_t byte) {
  uint64_t value = width == 1   ? values[i]
                   : width == 4 ? ((const uint32_t *)(const void *)values)[i]
                                : ((const uint64_t *)(const void *)values)[i];
  return (unsigned char)(value >> 8 * byte);
}

static void check_chunk(const struct lsc_buffer *chunk, size_t at, const unsigned char *values, size_t width,
                        size_t rows) {
  uLongf size = width * rows;
  unsigned char *plain = malloc(size);
  ck_assert_uint_le(chunk->size - at, lsc_deflate_bound(width, rows));
  ck_assert_int_eq(uncompress(plain, &size, chunk->data + at, chunk->size - at), Z_OK);
  ck_assert_uint_eq(size, width * rows);
  for (size_t byte = 0; byte < width; byte++) {
    for (size_t i = 0; i < rows; i++) {
      if (plain[byte * rows + i] != file_byte(values, width, i, byte)) ck_abort_msg("byte %zu of value %zu", byte, i);
    }
  }
  free(plain);
}

static void check_kind(enum kind kind, int level, size_t rows) {
  static const size_t widths[] = {1, 4, 8};
  struct lsc_deflate *deflate;
  struct lsc_buffer chunk = {0};
  unsigned char *values = malloc(8 * rows);
  uint64_t state = rows + (uint64_t)level;
  ck_assert_int_eq(lsc_deflate_new(&deflate, level, rows), LSC_OK);
  for (size_t k = 0; k < sizeof widths / sizeof *widths; k++) {
    size_t before = chunk.size;
    for (size_t i = 0; i < rows; i++) put(values, widths[k], i, value_of(kind, i, &state));
    ck_assert_int_eq(lsc_deflate_chunk(deflate, values, widths[k], &chunk), LSC_OK);
    check_chunk(&chunk, before, values, widths[k], rows);
  }
  lsc_deflate_free(deflate);
  lsc_buffer_free(&chunk);
  free(values);
}

START_TEST(test_kinds) {
  static const size_t rows[] = {1, 2, 3, 255, 256, 4095, 4096, 16384, 65535, 65536, 65537, 200000};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    for (int level = 1; level <= 9; level += 4) check_kind((enum kind)_i, level, rows[i]);
  }
}
END_TEST

/* The same values in one deflater give the same chunk, whatever came before. */
START_TEST(test_repeats) {
  enum { ROWS = 65536 };
  struct lsc_deflate *deflate;
  struct lsc_buffer chunk = {0};
  uint64_t *values = calloc(ROWS, sizeof *values), state = 1;
  size_t end[4] = {0};
  ck_assert_int_eq(lsc_deflate_new(&deflate, 1, ROWS), LSC_OK);
  for (int turn = 0; turn < 3; turn++) {
    for (size_t i = 0; i < ROWS; i++) values[i] = turn == 1 ? next_random(&state) : i / 7;
    ck_assert_int_eq(lsc_deflate_chunk(deflate, values, sizeof *values, &chunk), LSC_OK);
    end[turn + 1] = chunk.size;
  }
  ck_assert_uint_eq(end[1], end[3] - end[2]);
  ck_assert_int_eq(memcmp(chunk.data, chunk.data + end[2], end[1]), 0);
  lsc_deflate_free(deflate);
  lsc_buffer_free(&chunk);
  free(values);
}
END_TEST

/* What holds one value, or counts, takes next to nothing, and noise not more than it is. */
START_TEST(test_sizes) {
  enum { ROWS = 65536 };
  struct lsc_deflate *deflate;
  struct lsc_buffer chunk = {0};
  uint64_t *values = calloc(ROWS, sizeof *values), state = 1;
  ck_assert_int_eq(lsc_deflate_new(&deflate, 1, ROWS), LSC_OK);
  ck_assert_int_eq(lsc_deflate_chunk(deflate, values, sizeof *values, &chunk), LSC_OK);
  ck_assert_uint_lt(chunk.size, ROWS / 64);
  for (size_t i = 0; i < ROWS; i++) values[i] = i;
  chunk.size = 0;
  ck_assert_int_eq(lsc_deflate_chunk(deflate, values, sizeof *values, &chunk), LSC_OK);
  ck_assert_uint_lt(chunk.size, ROWS / 16);
  for (size_t i = 0; i < ROWS; i++) values[i] = next_random(&state);
  chunk.size = 0;
  ck_assert_int_eq(lsc_deflate_chunk(deflate, values, sizeof *values, &chunk), LSC_OK);
  ck_assert_uint_le(chunk.size, ROWS * sizeof *values + 100);
  lsc_deflate_free(deflate);
  lsc_buffer_free(&chunk);
  free(values);
}
END_TEST

START_TEST(test_crc) { ck_assert_uint_eq(lsc_deflate_crc("123456789", 9), 0xCBF43926u); }
END_TEST

int main(void) {
  TCase *tcase = tcase_create("deflate");
  tcase_set_timeout(tcase, 120);
  tcase_add_loop_test(tcase, test_kinds, 0, KINDS);
  tcase_add_test(tcase, test_repeats);
  tcase_add_test(tcase, test_sizes);
  tcase_add_test(tcase, test_crc);
  return unit_run("deflate", tcase);
}
