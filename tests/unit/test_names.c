/* SPDX-License-Identifier: BSD-3-Clause */
/* Names, byte for byte, from the program to the file. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../mpi/readback.h"
#include "folder.h"
#include "lanescope_file.h"
#include "unit.h"

#define MANY 20000

/* Records one call of a region of that name. */
static void record(lsc_session session, const char *name) {
  lsc_region_id id;
  ck_assert_int_eq(lsc_region(name, &id), LSC_OK);
  ck_assert_int_eq(lsc_begin(session, id), LSC_OK);
  ck_assert_int_eq(lsc_end(session, id), LSC_OK);
}

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* The file has these regions, one call of each, and no other. Sorts the names. */
static void check_regions(readback *file, const char **name, size_t count) {
  size_t rows = readback_rows(file, "region_table/names");
  ck_assert_uint_eq(rows, count);
  ck_assert_uint_eq(readback_rows(file, "rank_region_index/event_counts"), count);
  ck_assert_uint_eq(readback_rows(file, "events/region_ids"), count);
  const int64_t *id = readback_i64(file, "rank_region_index/region_ids"),
                *calls = readback_i64(file, "rank_region_index/event_counts");
  const char *const *written = readback_str(file, "region_table/names");
  const char **found = malloc((rows + 1) * sizeof *found);
  ck_assert_ptr_nonnull(found);
  for (size_t i = 0; i < rows; i++) {
    unit_must(calls[i] == 1);
    found[i] = written[id[i]];
  }
  qsort(found, rows, sizeof *found, by_text);
  qsort(name, count, sizeof *name, by_text);
  for (size_t i = 0; i < count; i++) unit_must(strcmp(found[i], name[i]) == 0);
  free(found);
}

static char *encode(char *at, uint32_t c) {
  if (c < 0x80) *at++ = (char)c;
  else if (c < 0x800) *at++ = (char)(0xC0 | c >> 6);
  else if (c < 0x10000) {
    *at++ = (char)(0xE0 | c >> 12);
    *at++ = (char)(0x80 | (c >> 6 & 63));
  } else {
    *at++ = (char)(0xF0 | c >> 18);
    *at++ = (char)(0x80 | (c >> 12 & 63));
    *at++ = (char)(0x80 | (c >> 6 & 63));
  }
  if (c >= 0x80) *at++ = (char)(0x80 | (c & 63));
  return at;
}

/* A character of any length, neither NUL nor a surrogate. */
static uint32_t any_character(unsigned *seed) {
  static const uint32_t below[] = {0x80, 0x800, 0x10000, 0x110000};
  uint32_t c = (uint32_t)rand_r(seed) % below[rand_r(seed) % 4];
  return c == 0 || (c >= 0xD800 && c < 0xE000) ? 'x' : c;
}

static char *any_text(unsigned *seed, size_t bytes) {
  char *text = malloc(bytes + 1), *at = text;
  ck_assert_ptr_nonnull(text);
  while (at + 4 <= text + bytes) at = encode(at, any_character(seed));
  while (at < text + bytes) *at++ = '/';
  *at = '\0';
  return text;
}

static const char *const odd[] = {"",
                                  " ",
                                  "/",
                                  "//",
                                  ".",
                                  "..",
                                  "../../etc",
                                  "a/b/c",
                                  "/a",
                                  "a/",
                                  "\n",
                                  "\t\r\n",
                                  "\"quoted\"",
                                  "\\",
                                  "%s%n",
                                  "region",
                                  "region ",
                                  "Region",
                                  "caf\xC3\xA9",
                                  "cafe\xCC\x81",
                                  "\xE2\x80\x8B",
                                  "\xF0\x9F\x8C\x8A",
                                  "\x7F",
                                  "\x01",
                                  ("\xEF\xBB\xBF" "bom"),
                                  "\xF4\x8F\xBF\xBF",
                                  "\xEE\x80\x80"};
#define ODD (sizeof odd / sizeof *odd)
#define RANDOM 200

/* Called in a thread of that name: its label is as long as can be. */
static void *describe(void *argument) {
  ck_assert_int_eq(lsc_thread_describe(*(lsc_session *)argument, "", 1, 0), LSC_OK);
  record(*(lsc_session *)argument, "");
  return NULL;
}

START_TEST(any_text_is_a_name) {
  lsc_session session;
  const char *name[ODD + RANDOM + 2];
  char *made[RANDOM + 2]; /* check_regions sorts the names */
  unsigned seed = 5;
  char *label = any_text(&seed, LSC_MAX_NAME), *thread = any_text(&seed, LSC_MAX_NAME);
  const lsc_session_options options = {.size = sizeof options, .label = label};
  ck_assert_int_eq(lsc_session_open(&options, &session), LSC_OK);
  ck_assert_int_eq(lsc_thread_describe(session, thread, 0, 0), LSC_OK);
  for (size_t i = 0; i < ODD; i++) name[i] = odd[i];
  for (size_t i = 0; i < RANDOM; i++) made[i] = any_text(&seed, 30 + (size_t)rand_r(&seed) % (LSC_MAX_NAME - 30));
  for (size_t i = 0; i < 2; i++) made[RANDOM + i] = any_text(&seed, LSC_MAX_NAME);
  for (size_t i = 0; i < RANDOM + 2; i++) name[ODD + i] = made[i];
  for (size_t i = 1; i < ODD + RANDOM + 2; i++) record(session, name[i]);
  pthread_join(unit_start(describe, &session), NULL);
  ck_assert_int_eq(lsc_write(session, "run.h5", NULL), LSC_OK);
  readback *file = readback_open("run.h5");
  ck_assert_str_eq(readback_attribute_str(file, "metadata", "label"), label);
  ck_assert_uint_eq(readback_rows(file, "thread_table/name"), 2);
  ck_assert_str_eq(readback_str(file, "thread_table/name")[0], thread);
  ck_assert_str_eq(readback_str(file, "thread_table/name")[1], "");
  ck_assert_str_eq(readback_str(file, "lane_table/name")[0], thread);
  check_regions(file, name, ODD + RANDOM + 2);
  readback_close(file);
  lsc_session_close(session);
  for (size_t i = 0; i < RANDOM + 2; i++) free(made[i]);
  free(label);
  free(thread);
}
END_TEST

START_TEST(twenty_thousand_names_are_in_the_file) {
  lsc_session session;
  const char **name = malloc(MANY * sizeof *name);
  ck_assert_int_eq(lsc_session_open(NULL, &session), LSC_OK);
  for (int i = 0; i < MANY; i++) {
    char text[64];
    snprintf(text, sizeof text, "solver/level %d/\xCE\xA9 %x", i % 7, i);
    name[i] = strdup(text);
    record(session, name[i]);
  }
  ck_assert_int_eq(lsc_write(session, "run.h5", NULL), LSC_OK);
  readback *file = readback_open("run.h5");
  check_regions(file, name, MANY);
  readback_close(file);
  lsc_session_close(session);
  for (int i = 0; i < MANY; i++) free((char *)name[i]);
  free(name);
}
END_TEST

UNIT_MAIN_AROUND("names", enter_folder, leave_folder, any_text_is_a_name, twenty_thousand_names_are_in_the_file)
