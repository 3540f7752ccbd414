/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts for files, names of files and the timeout. */
#include <stdio.h>
#include <string.h>

#include "collect.h"
#include "text.h"
#include "unit.h"

static void check_clean(const char *bytes, size_t length, size_t most, const char *expected) {
  char *text = lsc_text_clean(bytes, length, most);
  ck_assert_ptr_nonnull(text);
  ck_assert_str_eq(text, expected);
  free(text);
}

START_TEST(what_is_not_utf8_is_replaced) {
  check_clean("", 0, 100, "");
  check_clean("plain", 5, 100, "plain");
  check_clean("l\xc3\xb6sen \xe2\x82\xac \xf0\x9f\x8c\x8d", 15, 100, "l\xc3\xb6sen \xe2\x82\xac \xf0\x9f\x8c\x8d");
  check_clean("a\xff\xc3", 3, 100, "a??");
  check_clean("\xed\xa0\x80", 3, 100, "???");
  check_clean("a\0b", 3, 100, "a?b");
}
END_TEST

START_TEST(a_long_text_is_cut_between_characters) {
  char bytes[401];
  for (size_t i = 0; i < 200; i++) memcpy(bytes + 2 * i, "\xc3\xb6", 2);
  bytes[400] = 0;
  check_clean(bytes, 400, 400, bytes);
  for (size_t most = 100; most < 110; most++) {
    char *text = lsc_text_clean(bytes, 400, most);
    ck_assert_ptr_nonnull(text);
    char *note = strchr(text, ' ');
    ck_assert_str_eq(note, " [cut, 400 bytes in all]");
    ck_assert_uint_eq((size_t)(note - text) % 2, 0);
    ck_assert_uint_gt((size_t)(note - text), 0);
    ck_assert_int_eq(memcmp(text, bytes, (size_t)(note - text)), 0);
    ck_assert_uint_le(strlen(text), most);
    free(text);
  }
}
END_TEST

static void check_rank_path(const char *path, int rank, const char *expected) {
  char *found = lsc_rank_path(path, rank);
  ck_assert_str_eq(found, expected);
  free(found);
}

START_TEST(a_rank_has_a_path_of_its_own) {
  check_rank_path("run.h5", 0, "run.rank0.h5");
  check_rank_path("/a.h5/run.h5", 12, "/a.h5/run.rank12.h5");
  check_rank_path("run", 1, "run.rank1.h5");
  check_rank_path("run.hdf5", 1, "run.hdf5.rank1.h5");
  check_rank_path("folder/.h5", 3, "folder/.h5.rank3.h5");
  check_rank_path(".h5", 3, ".h5.rank3.h5");
}
END_TEST

START_TEST(the_timeout_is_what_was_asked_for) {
  unsetenv("LANESCOPE_TIMEOUT");
  ck_assert_int_eq(lsc_timeout_ns(0), 600000000000);
  ck_assert_int_eq(lsc_timeout_ns(-3), 600000000000);
  ck_assert_int_eq(lsc_timeout_ns(0.25), 250000000);
  ck_assert_int_gt(lsc_timeout_ns(1e300), 0);
  setenv("LANESCOPE_TIMEOUT", "2.5", 1);
  ck_assert_int_eq(lsc_timeout_ns(0), 2500000000);
  ck_assert_int_eq(lsc_timeout_ns(7), 7000000000);
  setenv("LANESCOPE_TIMEOUT", "soon", 1);
  ck_assert_int_eq(lsc_timeout_ns(0), 600000000000);
  setenv("LANESCOPE_TIMEOUT", "nan", 1);
  ck_assert_int_eq(lsc_timeout_ns(0), 600000000000);
}
END_TEST

static int level(int compress) {
  int found = -1;
  const lsc_save_options options = {.size = sizeof options, .compress = compress};
  lsc_status status = lsc_options_level(&options, &found);
  return status == LSC_OK ? found : -(int)status;
}

START_TEST(the_level_is_what_was_asked_for) {
  static const char *const none[] = {"", "0", "10", "-1", "best", "4 "};
  unsetenv("LANESCOPE_COMPRESS");
  ck_assert_int_eq(level(0), 0);
  ck_assert_int_eq(level(9), 9);
  ck_assert_int_eq(level(10), -LSC_INVALID);
  ck_assert_int_eq(level(-1), -LSC_INVALID);
  ck_assert_ptr_nonnull(strstr(lsc_message(), "compress is -1"));
  setenv("LANESCOPE_COMPRESS", "4", 1);
  ck_assert_int_eq(level(0), 4);
  ck_assert_int_eq(level(2), 2);
  for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
    setenv("LANESCOPE_COMPRESS", none[i], 1);
    ck_assert_int_eq(level(0), 0);
  }
  unsetenv("LANESCOPE_COMPRESS");
}
END_TEST

static int64_t arrival(double timeout, int leaving) {
  return lsc_arrival_ns(&(lsc_save_options){.size = sizeof(lsc_save_options), .timeout = timeout, .leaving = leaving});
}

START_TEST(who_is_leaving_waits_for_the_grace) {
  unsetenv("LANESCOPE_TIMEOUT");
  unsetenv("LANESCOPE_GRACE");
  ck_assert_int_eq(arrival(0, 0), 600000000000);
  ck_assert_int_eq(arrival(0, 1), 10000000000);
  ck_assert_int_eq(arrival(3, 1), 3000000000);
  setenv("LANESCOPE_GRACE", "0.5", 1);
  ck_assert_int_eq(arrival(0, 0), 600000000000);
  ck_assert_int_eq(arrival(0, 1), 500000000);
  ck_assert_int_eq(arrival(0.25, 1), 250000000);
  setenv("LANESCOPE_GRACE", "-1", 1);
  ck_assert_int_eq(arrival(0, 1), 10000000000);
}
END_TEST

static void check_merge(const char *path, const char *expected) {
  char *found = lsc_merge_command(path);
  ck_assert_str_eq(found, expected);
  free(found);
}

START_TEST(the_command_that_merges_is_for_a_shell) {
  check_merge("run.h5", "lanescope-merge run.h5 run.rank*.h5");
  check_merge("/data/run", "lanescope-merge /data/run /data/run.rank*.h5");
  check_merge("my run.h5", "lanescope-merge 'my run.h5' 'my run'.rank*.h5");
  check_merge("it's $1.h5", "lanescope-merge 'it'\\''s $1.h5' 'it'\\''s $1'.rank*.h5");
}
END_TEST

UNIT_MAIN("text", what_is_not_utf8_is_replaced, a_long_text_is_cut_between_characters, a_rank_has_a_path_of_its_own,
          the_timeout_is_what_was_asked_for, the_level_is_what_was_asked_for, who_is_leaving_waits_for_the_grace,
          the_command_that_merges_is_for_a_shell)
