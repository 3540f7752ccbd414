/* SPDX-License-Identifier: BSD-3-Clause */
/* The line that rank 0's terminal shows: no longer than its width, whatever the file is called. */
#include <stdio.h>
#include <string.h>

#include "progress.h"
#include "unit.h"

static void check_line(const char *name, const char *rest, int columns, const char *expected, int length) {
  char line[512];
  ck_assert_int_eq(lsc_progress_line(line, sizeof line, name, rest, columns), length);
  ck_assert_str_eq(line, expected);
}

START_TEST(a_name_that_fits_is_whole) {
  check_line("run.h5", ": merge (2 s)", 79, "lanescope: run.h5: merge (2 s)", 30);
  check_line("run-of-today.h5", ": merge (2 s)", 39, "lanescope: run-of-today.h5: merge (2 s)", 39);
}
END_TEST

START_TEST(a_long_name_is_cut_in_its_middle) {
  check_line("run-of-today.h5", ": merge (2 s)", 38, "lanescope: run-o...day.h5: merge (2 s)", 38);
  check_line("run-of-today.h5", ": merge (2 s)", 37, "lanescope: run-o...ay.h5: merge (2 s)", 37);
}
END_TEST

START_TEST(a_narrow_line_is_cut_at_its_end) {
  check_line("run-of-today.h5", ": merge (2 s)", 30, "lanescope: run-...ay.h5: merge", 30);
  check_line("run-of-today.h5", ": merge (2 s)", 15, "lanescope: run-", 15);
}
END_TEST

START_TEST(a_character_is_cut_as_one) {
  check_line("l\xc3\xb6sung.h5", ": a", 23, "lanescope: l\xc3\xb6sung.h5: a", 23);
  check_line("\xc3\xb6\xc3\xb6\xc3\xb6\xc3\xb6\xc3\xb6\xc3\xb6\xc3\xb6\xc3\xb6\xc3\xb6\xc3\xb6\xc3\xb6.h5", ": a", 26,
             "lanescope: \xc3\xb6\xc3\xb6\xc3\xb6\xc3\xb6...\xc3\xb6\xc3\xb6.h5: a", 26);
  check_line("\xe6\xa1\x81\xe6\xa1\x81\xe6\xa1\x81\xe6\xa1\x81\xe6\xa1\x81\xe6\xa1\x81.h5", ": a", 27,
             "lanescope: \xe6\xa1\x81\xe6\xa1\x81...\xe6\xa1\x81.h5: a", 26);
}
END_TEST

START_TEST(the_longest_name_fits) {
  char name[LSC_PROGRESS_NAME], line[512];
  for (int columns = 15; columns < 400; columns++) {
    for (size_t i = 0; i + 3 < sizeof name; i += 3) memcpy(name + i, "\xe6\xa1\x81", 4);
    int length = lsc_progress_line(line, sizeof line, name, ": wait for the other ranks, 100 % (1234567 s)", columns);
    ck_assert_int_le(length, columns);
    ck_assert_uint_lt(strlen(line), sizeof line - 1);
    ck_assert_msg((unsigned char)line[strlen(line) - 1] < 0x80 || line[strlen(line) - 1] == '\x81', "half a character");
  }
}
END_TEST

UNIT_MAIN("progress", a_name_that_fits_is_whole, a_long_name_is_cut_in_its_middle, a_narrow_line_is_cut_at_its_end,
          a_character_is_cut_as_one, the_longest_name_fits)
