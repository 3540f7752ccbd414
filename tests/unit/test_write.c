/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lsc_write in one process: the file of a real recording, read with HDF5 alone and compared with what the test itself
 * wrote down.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../mpi/readback.h"
#include "folder.h"
#include "lanescope_file.h"
#include "unit.h"
#include "written.h"

static void leave_clean_folder(void) {
  ck_assert_int_eq(temporaries(), 0);
  leave_folder();
}

static lsc_session open_session(void) {
  lsc_session session;
  ck_assert_int_eq(lsc_session_open(NULL, &session), LSC_OK);
  return session;
}

static void check_write(lsc_session session, const char *path, const lsc_save_options *options, lsc_status expected) {
  lsc_status status = lsc_write(session, path, options);
  ck_assert_msg(status == expected, "%s: %s: %s", path, lsc_strerror(status), lsc_message());
}

#define THREADS 3
#define OPTIONS(...) \
  (&(lsc_save_options){.size = sizeof(lsc_save_options), __VA_ARGS__})

static void *record_lane(void *argument) {
  struct lane *lane = argument;
  lane_describe(lane);
  lane_record(lane, 500);
  return NULL;
}

/* Several threads and this one, which leaves calls open. */
static void record_all(lsc_session session, struct lane lanes[THREADS + 1]) {
  pthread_t thread[THREADS];
  for (int i = 0; i <= THREADS; i++) lane_init(&lanes[i], session, i);
  lane_describe(&lanes[THREADS]);
  lane_begin(&lanes[THREADS], 0);
  lane_begin(&lanes[THREADS], 3);
  for (int i = 0; i < THREADS; i++) thread[i] = unit_start(record_lane, &lanes[i]);
  lane_record(&lanes[THREADS], 300);
  for (int i = 0; i < THREADS; i++) ck_assert_int_eq(pthread_join(thread[i], NULL), 0);
}

static void free_all(struct lane lanes[THREADS + 1]) {
  for (int i = 0; i <= THREADS; i++) lane_free(&lanes[i]);
}

START_TEST(every_call_is_in_the_file) {
  struct lane lanes[THREADS + 1];
  lsc_session session = open_session();
  record_all(session, lanes);
  check_write(session, "run.h5", NULL, LSC_OK);
  check_written("run.h5", lanes, THREADS + 1);
  free_all(lanes);
}
END_TEST

/* The file of one lane, which leaves a call open. */
static void write_lane(int regions, size_t calls) {
  struct lane lane;
  lane_init(&lane, open_session(), 0);
  lane.regions = regions;
  lane_describe(&lane);
  lane_begin(&lane, 0);
  lane_record(&lane, calls);
  check_write(lane.session, "run.h5", NULL, LSC_OK);
  check_written("run.h5", &lane, 1);
  lane_free(&lane);
}

START_TEST(more_rows_than_a_piece) { write_lane(LANE_REGIONS, 150000); }
END_TEST

START_TEST(more_regions_than_buckets) { write_lane(LANE_MORE_REGIONS, 40000); }
END_TEST

START_TEST(a_session_without_a_call) {
  check_write(open_session(), "run.h5", NULL, LSC_OK);
  readback *file = readback_open("run.h5");
  ck_assert_uint_eq(readback_rows(file, "events/start_times"), 0);
  ck_assert_uint_eq(readback_rows(file, "rank_table/ranks"), 1);
  ck_assert_uint_eq(readback_rows(file, "region_table/names"), 0);
  ck_assert_uint_eq(readback_rows(file, "lane_table/lanes"), 0);
  ck_assert(!readback_has(file, "open_calls"));
  ck_assert_int_eq(readback_attribute_i64(file, "/", "scope_profiler_schema"), 2);
  ck_assert_int_eq(readback_attribute_i64(file, "/", "lanescope_format"), 1);
  ck_assert_str_eq(readback_attribute_str(file, "/", "storage_layout"), "columnar");
  readback_close(file);
}
END_TEST

START_TEST(the_second_file_holds_what_is_new) {
  struct lane first, second;
  lsc_session session = open_session();
  lane_init(&first, session, 0);
  lane_describe(&first);
  lane_record(&first, 10);
  check_write(session, "run.h5", NULL, LSC_OK);
  lane_init(&second, session, 0);
  lane_record(&second, 20);
  check_write(session, "run.h5", NULL, LSC_COLLECTED);
  ck_assert_ptr_nonnull(strstr(lsc_message(), "run.h5"));
  check_written("run.h5", &first, 1);
  check_write(session, "./run.h5", OPTIONS(.replace = 1), LSC_OK);
  check_written("run.h5", &second, 1);
  lane_free(&first);
  lane_free(&second);
}
END_TEST

START_TEST(a_reader_of_the_old_file_is_no_obstacle) {
  struct lane first, second;
  lsc_session session = open_session();
  lane_init(&first, session, 0);
  lane_describe(&first);
  lane_record(&first, 10);
  check_write(session, "run.h5", NULL, LSC_OK);
  readback *reader = readback_open("run.h5");
  lane_init(&second, session, 0);
  lane_record(&second, 21);
  check_write(session, "run.h5", OPTIONS(.replace = 1), LSC_OK);
  ck_assert_uint_eq(readback_rows(reader, "events/start_times"), first.completed);
  readback_close(reader);
  check_written("run.h5", &second, 1);
  lane_free(&first);
  lane_free(&second);
}
END_TEST

START_TEST(what_could_not_be_written_is_kept) {
  struct lane lane;
  lane_init(&lane, open_session(), 0);
  lane_describe(&lane);
  lane_record(&lane, 40);
  lsc_report *report = (lsc_report *)1;
  check_write(lane.session, "nowhere/run.h5", OPTIONS(.report = &report), LSC_IO);
  ck_assert_ptr_null(report);
  check_write(lane.session, NULL, NULL, LSC_INVALID);
  check_write(lane.session, "run.h5", &(lsc_save_options){.size = 0}, LSC_INVALID);
  check_write(lane.session, "run.h5", &(lsc_save_options){.size = sizeof(lsc_save_options) + 8}, LSC_INVALID);
  check_write(lane.session, "run.h5", NULL, LSC_OK);
  check_written("run.h5", &lane, 1);
  ck_assert_int_eq(lsc_session_close(lane.session), LSC_OK);
  check_write(lane.session, "closed.h5", NULL, LSC_INACTIVE);
  ck_assert_int_lt(access("closed.h5", F_OK), 0);
  lane_free(&lane);
}
END_TEST

/*
 * The process lives, the old file stays, and the calls can still be written. Check itself writes to files at each
 * assertion.
 */
START_TEST(a_file_that_may_not_grow_is_an_error) {
  struct lane lane;
  struct rlimit before, small;
  lane_init(&lane, open_session(), 0);
  lane_describe(&lane);
  lane_record(&lane, 20);
  check_write(lane.session, "run.h5", NULL, LSC_OK);
  lane_free(&lane);
  lane_init(&lane, lane.session, 0);
  lane_record(&lane, 20000);
  ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
  for (rlim_t limit = 0; limit <= 500000; limit = 2 * limit + 1000) {
    small = (struct rlimit){limit, before.rlim_max};
    int set = setrlimit(RLIMIT_FSIZE, &small);
    lsc_status status = lsc_write(lane.session, "run.h5", OPTIONS(.replace = 1));
    int reset = setrlimit(RLIMIT_FSIZE, &before);
    ck_assert_int_eq(set, 0);
    ck_assert_int_eq(reset, 0);
    ck_assert_msg(status == LSC_IO, "%llu bytes: %s", (unsigned long long)limit, lsc_strerror(status));
    ck_assert_msg(strstr(lsc_message(), "run.h5") != NULL, "%s", lsc_message());
    readback *file = readback_open("run.h5");
    ck_assert_uint_lt(readback_rows(file, "events/start_times"), 100);
    readback_close(file);
  }
  check_write(lane.session, "run.h5", OPTIONS(.replace = 1), LSC_OK);
  check_written("run.h5", &lane, 1);
  lane_free(&lane);
}
END_TEST

START_TEST(the_report_holds_the_tables) {
  struct lane lanes[THREADS + 1];
  lsc_session session = open_session();
  lsc_report *report = NULL;
  lsc_column_view view;
  char written[PATH_MAX] = "", expected[PATH_MAX + 16];
  record_all(session, lanes);
  check_write(session, "run.h5", OPTIONS(.report = &report, .written = written, .written_size = sizeof written),
              LSC_OK);
  snprintf(expected, sizeof expected, "%s/run.h5", folder);
  ck_assert_str_eq(written, expected);
  ck_assert_ptr_nonnull(report);

  readback *file = readback_open("run.h5");
  ck_assert_int_eq(lsc_report_column(report, "rank_region_index", "event_counts", &view), LSC_OK);
  ck_assert_int_eq(view.type, LSC_U64);
  ck_assert_uint_eq(view.rows, readback_rows(file, "rank_region_index/event_counts"));
  ck_assert_int_eq(memcmp(view.data, readback_i64(file, "rank_region_index/event_counts"), view.rows * 8), 0);
  ck_assert_int_eq(lsc_report_column(report, "region_table", "names", &view), LSC_OK);
  ck_assert_int_eq(view.type, LSC_STR);
  for (size_t i = 0; i < view.rows; i++) {
    const char *name = readback_str(file, "region_table/names")[i];
    ck_assert_uint_eq(view.offsets[i + 1] - view.offsets[i], strlen(name));
    ck_assert_int_eq(memcmp(view.text + view.offsets[i], name, strlen(name)), 0);
  }
  ck_assert_int_eq(lsc_report_column(report, "region_table", "ranks", &view), LSC_INVALID);
  ck_assert_int_eq(lsc_report_column(report, "events", "ranks", &view), LSC_INVALID);
  ck_assert_int_eq(lsc_report_column(NULL, "region_table", "names", &view), LSC_INVALID);
  readback_close(file);
  lsc_report_free(report);
  free_all(lanes);
}
END_TEST

START_TEST(the_report_holds_the_events_if_asked) {
  static const char *const columns[] = {"start_times", "end_times", "thread_ids", "call_ids", "parent_ids"};
  struct lane lanes[THREADS + 1];
  lsc_session session = open_session();
  lsc_report *report = NULL;
  lsc_column_view view;
  record_all(session, lanes);
  check_write(session, "run.h5", OPTIONS(.report = &report, .keep_events = 1), LSC_OK);
  ck_assert_ptr_nonnull(report);

  readback *file = readback_open("run.h5");
  size_t rows = readback_rows(file, "events/start_times");
  ck_assert_uint_gt(rows, 0);
  for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
    char path[64];
    snprintf(path, sizeof path, "events/%s", columns[i]);
    ck_assert_int_eq(lsc_report_column(report, "events", columns[i], &view), LSC_OK);
    ck_assert_int_eq(view.type, LSC_I64);
    ck_assert_uint_eq(view.rows, rows);
    ck_assert_int_eq(memcmp(view.data, readback_i64(file, path), rows * 8), 0);
  }
  ck_assert_int_eq(lsc_report_column(report, "events", "task_ids", &view), LSC_INVALID);
  ck_assert_int_eq(lsc_report_column(report, "open_calls", "task_ids", &view), LSC_INVALID);
  readback_close(file);
  lsc_report_free(report);
  free_all(lanes);
}
END_TEST

START_TEST(the_metadata_tells_of_the_run) {
  static char command[100001];
  char expected[128], stamp[64];
  memset(command, 'c', sizeof command - 1);
  memcpy(command + 59900, "\xc3\xa9\xff", 3);
  setenv("SLURM_JOB_ID", "4711", 1);
  setenv("OMP_NUM_THREADS", "3,2", 1);
  lsc_session session;
  const lsc_session_options labelled = {.size = sizeof labelled, .label = "a r\xc3\xbcn"};
  ck_assert_int_eq(lsc_session_open(&labelled, &session), LSC_OK);
  check_write(session, "run.h5", OPTIONS(.python_version = "3.11.2", .command_line = command), LSC_OK);
  check_write(session, "own.h5", NULL, LSC_OK);

  readback *file = readback_open("run.h5");
  const char *line = readback_attribute_str(file, "metadata", "command_line");
  ck_assert_uint_le(strlen(line), 60000);
  ck_assert_int_eq(memcmp(line, command, 59902), 0);
  ck_assert_ptr_nonnull(strstr(line, "[cut, 100000 bytes in all]"));
  ck_assert_str_eq(readback_attribute_str(file, "metadata", "label"), "a r\xc3\xbcn");
  ck_assert_str_eq(readback_attribute_str(file, "metadata", "python_version"), "3.11.2");
  ck_assert_str_eq(readback_attribute_str(file, "metadata", "SLURM_JOB_ID"), "4711");
  ck_assert_str_eq(readback_attribute_str(file, "metadata", "working_directory"), folder);
  ck_assert_str_eq(readback_attribute_str(file, "metadata", "lanescope_version"), LSC_VERSION);
  ck_assert_int_eq(readback_attribute_i64(file, "metadata", "omp_num_threads"), 3);
  ck_assert_int_eq(readback_attribute_i64(file, "metadata", "mpi_size"), 1);
  int64_t start = readback_attribute_i64(file, "metadata", "start_time_unix_ns");
  time_t seconds = (time_t)(start / 1000000000);
  strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S", gmtime(&seconds));
  snprintf(expected, sizeof expected, "%s.%06d+00:00", stamp, (int)(start % 1000000000 / 1000));
  ck_assert_str_eq(readback_attribute_str(file, "metadata", "timestamp"), expected);
  ck_assert_int_ge(readback_attribute_i64(file, "metadata", "finalize_time_ns"),
                   readback_attribute_i64(file, "metadata", "start_time_ns"));
  readback_close(file);
  file = readback_open("own.h5");
  ck_assert_ptr_nonnull(strstr(readback_attribute_str(file, "metadata", "command_line"), "test_write"));
  readback_close(file);
}
END_TEST

START_TEST(hdf5_is_left_as_it_was) {
  struct lane lanes[THREADS + 1];
  lsc_session session = open_session();
  record_all(session, lanes);
  struct hdf5_state before = hdf5_state_make();
  check_write(session, "run.h5", NULL, LSC_OK);
  hdf5_state_check(&before);
  check_write(session, "nowhere/run.h5", NULL, LSC_IO);
  hdf5_state_check(&before);
  free_all(lanes);
}
END_TEST

UNIT_MAIN_AROUND("write", enter_folder, leave_clean_folder, every_call_is_in_the_file, more_rows_than_a_piece,
          more_regions_than_buckets, a_session_without_a_call, the_second_file_holds_what_is_new,
          a_reader_of_the_old_file_is_no_obstacle, what_could_not_be_written_is_kept,
          a_file_that_may_not_grow_is_an_error, the_report_holds_the_tables, the_report_holds_the_events_if_asked,
          the_metadata_tells_of_the_run, hdf5_is_left_as_it_was)
