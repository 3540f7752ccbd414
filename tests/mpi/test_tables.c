/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Small tables that are not small: many tasks on some ranks and none on others, row by row in the file and in the
 * report, and how many rows rank 0 holds at a time.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "collection.h"
#include "lanescope_mpi.h"
#include "readback.h"

#define BLOCK 1024 /* rows of a table that a rank sends at a time */

static int rank, ranks;
static size_t most_rows;

/* The linker puts this in the place of lsc_table_decode_append. */
lsc_status __real_lsc_table_decode_append(struct lsc_table *table, struct lsc_reader *in);
lsc_status __wrap_lsc_table_decode_append(struct lsc_table *table, struct lsc_reader *in);
lsc_status __wrap_lsc_table_decode_append(struct lsc_table *table, struct lsc_reader *in) {
  lsc_status status = __real_lsc_table_decode_append(table, in);
  if (table->rows > most_rows) most_rows = table->rows;
  return status;
}

static int tasks_of(int of) {
  static const int tasks[] = {3, 2 * BLOCK + 1, 0, BLOCK, BLOCK - 1};
  return tasks[of % 5];
}

/* Of many lengths from 0, and some about as long as a heap of HDF5 is at first. */
static void name_of(int of, int task, char *name, size_t size) {
  int pad = task % 1000 == 7 ? 4000 : task % 40;
  int used = task % 11 ? snprintf(name, size, "r%d-%d-", of, task) : 0;
  memset(name + used, 'a' + task % 26, (size_t)pad);
  name[used + pad] = 0;
}

static lsc_session record(void) {
  char name[6000];
  lsc_session session;
  lsc_region_id region;
  CHECK_STATUS(lsc_session_open(NULL, &session), LSC_OK);
  CHECK_STATUS(lsc_region("step", &region), LSC_OK);
  for (int i = 0; i < tasks_of(rank); i++) {
    lsc_task task;
    name_of(rank, i, name, sizeof name);
    CHECK_STATUS(lsc_task_open(session, i % 3 ? "task" : "fiber", name, NULL, &task), LSC_OK);
    lsc_task_enter(task);
    for (int k = 0; k <= i % 2; k++) {
      lsc_begin(session, region);
      lsc_end(session, region);
    }
    lsc_task_leave(task);
    lsc_task_finish(task);
  }
  return session;
}

static int total_tasks(void) {
  int total = 0;
  for (int r = 0; r < ranks; r++) total += tasks_of(r);
  return total;
}

static void compare_file(const char *path) {
  char expected[6000];
  readback *file = readback_open(path);
  CHECK(readback_rows(file, "task_table/name") == (size_t)total_tasks(), "%zu tasks",
        readback_rows(file, "task_table/name"));
  const int64_t *of = readback_i64(file, "task_table/ranks"), *index = readback_i64(file, "task_table/index");
  const int64_t *lane = readback_i64(file, "lane_table/lanes"), *calls = readback_i64(file, "lane_table/calls");
  const char *const *name = readback_str(file, "task_table/name"), *const *kind = readback_str(file, "task_table/kind");
  const char *const *lane_name = readback_str(file, "lane_table/name");
  size_t row = 0;
  for (int r = 0; r < ranks; r++) {
    for (int i = 0; i < tasks_of(r); i++, row++) {
      name_of(r, i, expected, sizeof expected);
      CHECK(of[row] == r && index[row] == i, "row %zu is of rank %lld, task %lld", row, (long long)of[row],
            (long long)index[row]);
      CHECK(strcmp(name[row], expected) == 0, "row %zu is named %s", row, name[row]);
      CHECK(strcmp(kind[row], i % 3 ? "task" : "fiber") == 0, "row %zu is a %s", row, kind[row]);
      CHECK(lane[row] == i && calls[row] == 1 + i % 2 && strcmp(lane_name[row], expected) == 0, "lane row %zu", row);
    }
  }
  CHECK(readback_rows(file, "lane_table/lanes") == row, "%zu lanes", readback_rows(file, "lane_table/lanes"));
  CHECK(readback_rows(file, "rank_table/ranks") == (size_t)ranks, "%zu ranks", readback_rows(file, "rank_table/ranks"));
  readback_close(file);
}

static void compare_report(lsc_report *report) {
  char expected[6000];
  lsc_column_view name, index;
  CHECK_STATUS(lsc_report_column(report, "task_table", "name", &name), LSC_OK);
  CHECK_STATUS(lsc_report_column(report, "task_table", "index", &index), LSC_OK);
  CHECK(name.rows == (size_t)total_tasks(), "%zu tasks", name.rows);
  size_t row = 0;
  for (int r = 0; r < ranks; r++) {
    for (int i = 0; i < tasks_of(r); i++, row++) {
      name_of(r, i, expected, sizeof expected);
      size_t length = name.offsets[row + 1] - name.offsets[row];
      CHECK(length == strlen(expected) && memcmp(name.text + name.offsets[row], expected, length) == 0, "row %zu", row);
      CHECK(((const int64_t *)index.data)[row] == i, "row %zu", row);
    }
  }
}

enum wanted { NO_REPORT, REPORT, TOO_LARGE };

static void collect(enum wanted wanted) {
  lsc_report *report = NULL;
  lsc_session session = record();
  const uint64_t most = lsc_report_most, least = lsc_report_least;
  lsc_save_options options = {.size = sizeof options, .timeout = 60, .replace = 1};
  if (wanted != NO_REPORT) options.report = &report;
  if (wanted == REPORT) lsc_report_least = lsc_report_most;
  if (wanted == TOO_LARGE) lsc_report_most = 100000;
  most_rows = 0;
  const char *path = check_path("tables.h5");
  CHECK_STATUS(lsc_collect(session, MPI_COMM_WORLD, path, &options), LSC_OK);
  lsc_report_most = most;
  lsc_report_least = least;
  CHECK((report != NULL) == (rank == 0 && (wanted == REPORT || (wanted == TOO_LARGE && ranks == 1))), "the report");
  if (rank == 0) compare_file(path);
  if (rank == 0 && report) compare_report(report);
  if (rank == 0 && wanted == NO_REPORT) CHECK(most_rows < 2 * BLOCK, "%zu rows at a time", most_rows);
  lsc_report_free(report);
  lsc_detach(session);
  CHECK_STATUS(lsc_session_close(session), LSC_OK);
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  collect(NO_REPORT);
  collect(REPORT);
  collect(TOO_LARGE);
  int result = check_result();
  MPI_Finalize();
  return result;
}
