/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How many chunks of a compressed file are in memory as they were, before they are compressed: blocks of their size
 * that the library has got and not freed, counted where it asks for them. Chunks are shorter than usual, so that there
 * are many of them.
 */
#include <stdio.h>
#include <string.h>

#include "../mpi/readback.h"
#include "chunks.h"
#include "lanescope_file.h"
#include "unit.h"

#define REGIONS 40
#define CALL_BYTES 32 /* as they are recorded */
#define ROW_BYTES 48  /* of /events: start, end, thread, call and parent of 8 bytes, rank and region of 4 */
#define MOST_BLOCKS 1000

static lsc_session session;
static lsc_region_id region[REGIONS];
static char path[64];

/* The blocks that are there now, and how many there were at most. Those of 0 bytes are not counted. */
static void *block[MOST_BLOCKS];
static size_t block_bytes, blocks, most_blocks;
static _Thread_local int counts; /* not the helper's, which has none */

void *__real_malloc(size_t size);
void __real_free(void *memory);
void *__wrap_malloc(size_t size);
void __wrap_free(void *memory);

void *__wrap_malloc(size_t size) {
  void *memory = __real_malloc(size);
  if (!counts || !memory || size != block_bytes) return memory;
  unit_must(blocks < MOST_BLOCKS);
  block[blocks++] = memory;
  if (blocks > most_blocks) most_blocks = blocks;
  return memory;
}

void __wrap_free(void *memory) {
  size_t i = 0;
  while (counts && i < blocks && block[i] != memory) i++;
  if (counts && i < blocks) block[i] = block[--blocks];
  __real_free(memory);
}

/* The most blocks of chunks of so many rows that a compressed collect had at a time. */
static size_t collect(size_t rows) {
  const lsc_save_options options = {.size = sizeof options, .replace = 1, .compress = 1};
  lsc_chunks_most_rows = rows;
  block_bytes = rows * ROW_BYTES;
  blocks = most_blocks = 0;
  counts = 1;
  lsc_status status = lsc_write(session, path, &options);
  counts = 0;
  ck_assert_msg(status == LSC_OK, "%s", lsc_message());
  ck_assert_uint_eq(blocks, 0);
  return most_blocks;
}

static void check_file(size_t calls) {
  readback *file = readback_open(path);
  ck_assert_uint_eq(readback_rows(file, "events/call_ids"), calls);
  ck_assert(readback_is_compressed(file, "events/call_ids"));
  readback_close(file);
}

/* So many calls, one after the other, of the regions in turn; uneven: every other one is of one region. */
static size_t collect_calls(size_t calls, int regions, int uneven, size_t rows) {
  snprintf(path, sizeof path, "/tmp/lanescope-pack-XXXXXX");
  int file = mkstemp(path);
  unit_must(file >= 0 && close(file) == 0);
  unit_must(lsc_session_open(NULL, &session) == LSC_OK);
  for (int i = 0; i < regions; i++) {
    char name[32];
    snprintf(name, sizeof name, "region %d", i);
    unit_must(lsc_region(name, &region[i]) == LSC_OK);
  }
  for (size_t i = 0; i < calls; i++) {
    size_t turn = uneven ? i / 2 : i;
    lsc_region_id next = region[uneven && i % 2 ? 0 : turn % (size_t)regions];
    unit_must(lsc_begin(session, next) == LSC_OK && lsc_end(session, next) == LSC_OK);
  }
  size_t most = collect(rows);
  check_file(calls);
  unit_must(lsc_session_close(session) == LSC_OK);
  unit_must(unlink(path) == 0);
  return most;
}

/*
 * Regions whose calls alternate are read together up to `most` of them, or up to as many chunks. Each has one chunk
 * that is begun, and at the border of two a chunk of both waits for the end of the first.
 */
static void check_begun(size_t calls, int uneven, size_t rows, size_t most) {
  ck_assert_uint_gt(REGIONS, 2 * most - 1);
  size_t found = collect_calls(calls, REGIONS, uneven, rows);
  ck_assert_msg(found >= 1 && found <= 2 * most - 1, "%zu chunks of %zu rows were begun at a time", found, rows);
}

START_TEST(few_where_little_was_recorded) {
  check_begun(60000, 0, 1000, 5);
  check_begun(120000, 0, 8192, 3);
  check_begun(120000, 1, 8192, 3);
}
END_TEST

/* Blocks take no more than an eighth of what was recorded, and those at borders as much again. */
START_TEST(as_many_as_what_was_recorded_allows) {
  const size_t calls = 200000, rows = 1024, most = calls * CALL_BYTES / 8 / (rows * ROW_BYTES);
  ck_assert_uint_eq(most, 16);
  check_begun(calls, 0, rows, most);
  check_begun(calls, 1, rows, most);
}
END_TEST

/* A region alone has its chunks one after the other; three may be read together always. */
START_TEST(one_of_each_of_few_regions) {
  ck_assert_uint_eq(collect_calls(200000, 1, 0, 1024), 1);
  ck_assert_uint_le(collect_calls(200000, 3, 0, 8192), 5);
}
END_TEST

UNIT_MAIN("pack", few_where_little_was_recorded, as_many_as_what_was_recorded_allows, one_of_each_of_few_regions)
