/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rows of /events as lsc_write puts them into the file, bucket by bucket, against those that a report holds: these
 * are found region by region out of arrays of all calls. With and without a core for the helper thread.
 */
#define _GNU_SOURCE /* sched_setaffinity */
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "../mpi/readback.h"
#include "h5.h"
#include "lanescope_binding.h"
#include "lanescope_file.h"
#include "unit.h"

#define MOST_REGIONS 400

static lsc_session session;
static lsc_region_id region[MOST_REGIONS];
static char path[] = "/tmp/lanescope-rows-XXXXXX";
static long writes_left; /* until one fails; 0: none will */

lsc_status __real_lsc_h5_write_rows(struct lsc_h5 *h5, int slot, uint64_t first, uint64_t count, const void *data);
lsc_status __wrap_lsc_h5_write_rows(struct lsc_h5 *h5, int slot, uint64_t first, uint64_t count, const void *data);
lsc_status __wrap_lsc_h5_write_rows(struct lsc_h5 *h5, int slot, uint64_t first, uint64_t count, const void *data) {
  if (writes_left && --writes_left == 0) return LSC_HDF5;
  return __real_lsc_h5_write_rows(h5, slot, first, count, data);
}

static void setup(void) {
  int file = mkstemp(path);
  unit_must(file >= 0 && close(file) == 0);
  for (int i = 0; i < MOST_REGIONS; i++) {
    char name[32];
    snprintf(name, sizeof name, "region %d", i);
    unit_must(lsc_region(name, &region[i]) == LSC_OK);
  }
  unit_must(lsc_session_open(NULL, &session) == LSC_OK);
}

static void teardown(void) {
  unit_must(lsc_session_close(session) == LSC_OK);
  unit_must(unlink(path) == 0);
}

static void stay_on_one_core(void) {
  cpu_set_t cores, one;
  int core = 0;
  unit_must(sched_getaffinity(0, sizeof cores, &cores) == 0);
  while (!CPU_ISSET(core, &cores)) core++;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  unit_must(sched_setaffinity(0, sizeof one, &one) == 0);
}

static void begin(lsc_api api, int number) { unit_must(lsc_begin_as(session, api, region[number]) == LSC_OK); }
static void end(lsc_api api, int number) { unit_must(lsc_end_as(session, api, region[number]) == LSC_OK); }

/* Calls nested two deep, of regions first .. first + regions - 1 in turn. */
static void record(lsc_api api, int first, int regions, long calls) {
  for (long i = 0; i < calls; i += 2) {
    int outer = first + (int)(i % regions), inner = first + (int)((i + 1) % regions);
    begin(api, outer);
    begin(api, inner);
    end(api, inner);
    end(api, outer);
  }
}

struct part {
  int first, regions;
  long calls;
  lsc_api api;
};

/* In a task for its second half. */
static void *record_part(void *argument) {
  const struct part *part = argument;
  lsc_task task;
  record(part->api, part->first, part->regions, part->calls / 2);
  unit_must(lsc_task_open(session, "fiber", "a", NULL, &task) == LSC_OK);
  unit_must(lsc_task_enter(task) == LSC_OK);
  record(part->api, part->first, part->regions, part->calls / 2);
  unit_must(lsc_task_leave(task) == LSC_OK);
  return NULL;
}

/* All the values of a column of the file, as 64 bits each. */
static void check_column(readback *file, const lsc_report *report, const char *name, size_t rows) {
  char dataset[64];
  lsc_column_view view;
  snprintf(dataset, sizeof dataset, "events/%s", name);
  int there = lsc_report_column(report, "events", name, &view) == LSC_OK;
  ck_assert_msg(there == readback_has(file, dataset), "%s", name);
  if (!there) return;
  const int64_t *values = readback_i64(file, dataset);
  ck_assert_uint_eq(view.rows, rows);
  ck_assert_uint_eq(readback_rows(file, dataset), rows);
  for (size_t i = 0; i < rows; i++) {
    int64_t expected = view.type == LSC_U8    ? ((const uint8_t *)view.data)[i]
                       : view.type == LSC_U32 ? ((const uint32_t *)view.data)[i]
                                              : ((const int64_t *)view.data)[i];
    if (values[i] != expected)
      ck_abort_msg("row %zu of %s: %lld instead of %lld", i, name, (long long)values[i], (long long)expected);
  }
}

static void collect(size_t rows) {
  static const char *const columns[] = {"start_times", "end_times", "ranks",    "region_ids", "thread_ids",
                                        "task_ids",    "await_ns",  "call_ids", "parent_ids", "apis"};
  lsc_report *report = NULL;
  const lsc_save_options options = {.size = sizeof options, .report = &report, .keep_events = 1, .replace = 1};
  lsc_status status = lsc_write(session, path, &options);
  ck_assert_msg(status == LSC_OK, "%s", lsc_message());
  readback *file = readback_open(path);
  for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) check_column(file, report, columns[i], rows);
  readback_close(file);
  lsc_report_free(report);
}

static void few_regions(void) {
  setup();
  record(LSC_API_C, 0, 3, 150000);
  begin(LSC_API_C, 0);
  collect(150000);
  record(LSC_API_C, 1, 2, 70000);
  end(LSC_API_C, 0);
  collect(70001);
  teardown();
}

START_TEST(of_few_regions) { few_regions(); }
END_TEST

START_TEST(of_few_regions_without_help) {
  stay_on_one_core();
  few_regions();
}
END_TEST

START_TEST(of_calls_that_fill_the_buckets_exactly) {
  setup();
  for (long calls = 65520; calls <= 65560; calls += 8) {
    record(LSC_API_C, 0, 1, calls);
    collect((size_t)calls);
  }
  teardown();
}
END_TEST

/* Two large ones, and so many others that the calls are read several times. */
START_TEST(of_many_regions_on_several_lanes) {
  setup();
  struct part part[] = {{0, MOST_REGIONS, 200000, LSC_API_C}, {7, 2, 60000, LSC_API_PYTHON}, {1, 5, 30000, LSC_API_C}};
  pthread_t thread[3];
  for (int i = 0; i < 3; i++) unit_must(pthread_create(&thread[i], NULL, record_part, &part[i]) == 0);
  record(LSC_API_FORTRAN, 100, 3, 3000);
  for (int i = 0; i < 3; i++) pthread_join(thread[i], NULL);
  begin(LSC_API_C, 399);
  collect(293000);
  teardown();
}
END_TEST

START_TEST(of_no_region_but_open_calls) {
  setup();
  begin(LSC_API_C, 9);
  collect(0);
  end(LSC_API_C, 9);
  collect(1);
  teardown();
}
END_TEST

/* The helper is told, whichever of the writes fails, and what was recorded is still there. */
static void fail_each(void) {
  const lsc_save_options options = {.size = sizeof options, .replace = 1, .quiet = 1};
  setup();
  record(LSC_API_C, 0, 2, 120000);
  for (long number = 1;; number += 3) {
    writes_left = number;
    lsc_status status = lsc_write(session, path, &options);
    if (writes_left) {
      writes_left = 0;
      ck_assert_int_eq(status, LSC_OK);
      break;
    }
    ck_assert_int_eq(status, LSC_HDF5);
    ck_assert_ptr_nonnull(strstr(lsc_message(), "write the rows"));
  }
  record(LSC_API_C, 0, 2, 2);
  collect(2);
  teardown();
}

START_TEST(and_each_write_may_fail) { fail_each(); }
END_TEST

START_TEST(and_each_write_may_fail_without_help) {
  stay_on_one_core();
  fail_each();
}
END_TEST

UNIT_MAIN("rows", of_few_regions, of_few_regions_without_help, of_calls_that_fill_the_buckets_exactly,
          of_many_regions_on_several_lanes, of_no_region_but_open_calls, and_each_write_may_fail,
          and_each_write_may_fail_without_help)
