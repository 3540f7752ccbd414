/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>

#include "region.h"
#include "unit.h"

static lsc_region_id id_of(const char *name) {
  lsc_region_id id = UINT32_MAX;
  ck_assert_int_eq(lsc_region(name, &id), LSC_OK);
  return id;
}

START_TEST(one_name_is_one_region) {
  lsc_region_id a = id_of("solve"), b = id_of("sölve/überall"), c = id_of("");
  ck_assert(a != b && b != c && a != c);
  ck_assert_uint_eq(id_of("solve"), a);
  ck_assert_uint_eq(id_of("sölve/überall"), b);
  ck_assert_uint_eq(id_of(""), c);
  struct lsc_region_view view = lsc_region_get(b);
  ck_assert_str_eq(view.name, "sölve/überall");
  ck_assert_uint_eq(view.name_length, strlen("sölve/überall"));
  ck_assert_int_eq(view.source_line, -1);
}
END_TEST

START_TEST(twenty_thousand_names_keep_their_handles) {
  static lsc_region_id ids[20000];
  char name[32];
  for (int i = 0; i < 20000; i++) {
    snprintf(name, sizeof name, "region %d", i);
    ids[i] = id_of(name);
  }
  ck_assert_uint_eq(lsc_region_count(), 20000);
  for (int i = 0; i < 20000; i++) {
    snprintf(name, sizeof name, "region %d", i);
    ck_assert_uint_eq(id_of(name), ids[i]);
    ck_assert_str_eq(lsc_region_get(ids[i]).name, name);
  }
}
END_TEST

static lsc_status define(const char *name, size_t length) {
  lsc_region_id id;
  return lsc_region_define(&(lsc_region_info){.size = sizeof(lsc_region_info), .name = name, .name_length = length},
                           &id);
}

START_TEST(what_is_no_text_is_refused) {
  static const char *bad[] = {"\x80",         "\xC0\x80",         "\xC1\xBF",         "\xE0\x9F\xBF",
                              "\xED\xA0\x80", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80",
                              "ab\xFF",       "\xE2\x82",         "\xF0\x9F\x98"};
  static const char *good[] = {"\xC2\x80",     "\xDF\xBF",         "\xE0\xA0\x80",    "\xED\x9F\xBF",
                               "\xEE\x80\x80", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) ck_assert_int_eq(define(bad[i], (size_t)-1), LSC_BAD_NAME);
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) ck_assert_int_eq(define(good[i], (size_t)-1), LSC_OK);
  ck_assert_int_eq(define("a\0b", 3), LSC_BAD_NAME);
  ck_assert(strstr(lsc_message(), "3 bytes") != NULL);
  static char longest[LSC_MAX_NAME + 2];
  memset(longest, 'x', LSC_MAX_NAME + 1);
  ck_assert_int_eq(define(longest, LSC_MAX_NAME), LSC_OK);
  ck_assert_int_eq(define(longest, LSC_MAX_NAME + 1), LSC_BAD_NAME);
  lsc_region_id id;
  ck_assert_int_eq(lsc_region(longest, &id), LSC_BAD_NAME);
  ck_assert_int_eq(lsc_region(NULL, &id), LSC_INVALID);
  ck_assert_int_eq(lsc_region("x", NULL), LSC_INVALID);
}
END_TEST

START_TEST(the_first_source_that_is_given_stays) {
  lsc_region_info info = {.size = sizeof info, .name = "kernel", .name_length = 6};
  lsc_region_id id = id_of("kernel"), again;
  info.source_file = "a.c";
  info.source_line = 12;
  ck_assert_int_eq(lsc_region_define(&info, &again), LSC_OK);
  info.source_file = "b.c";
  info.source_line = 99;
  info.tags = "[\"fast\"]";
  ck_assert_int_eq(lsc_region_define(&info, &again), LSC_OK);
  ck_assert_uint_eq(again, id);
  struct lsc_region_view view = lsc_region_get(id);
  ck_assert_str_eq(view.source_file, "a.c");
  ck_assert_int_eq(view.source_line, 12);
  ck_assert_str_eq(view.tags, "[\"fast\"]");
  ck_assert_ptr_null(view.source_text);
}
END_TEST

#define SHARED 3000
static void *register_all(void *ids) {
  char name[32];
  for (int i = 0; i < SHARED; i++) {
    snprintf(name, sizeof name, "shared %d", i);
    if (lsc_region(name, &((lsc_region_id *)ids)[i]) != LSC_OK) return NULL;
  }
  return ids;
}

START_TEST(threads_that_race_agree_on_the_handles) {
  static lsc_region_id ids[8][SHARED];
  pthread_t thread[8];
  for (int t = 0; t < 8; t++) thread[t] = unit_start(register_all, ids[t]);
  for (int t = 0; t < 8; t++) {
    void *done;
    pthread_join(thread[t], &done);
    ck_assert_ptr_eq(done, ids[t]);
    ck_assert_mem_eq(ids[t], ids[0], sizeof ids[0]);
  }
  ck_assert_uint_eq(lsc_region_count(), SHARED);
}
END_TEST

UNIT_MAIN("region", one_name_is_one_region, twenty_thousand_names_keep_their_handles, what_is_no_text_is_refused,
          the_first_source_that_is_given_stays, threads_that_race_agree_on_the_handles)
