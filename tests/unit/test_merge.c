/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The reader of lanescope-merge over files with bytes that were changed or cut off. With AddressSanitizer a mistake of
 * the reader shows itself at once; what HDF5 does over its own bytes stays in the process that reads first.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "../../merge/probe.h"
#include "../../merge/write.h"
#include "collect.h"
#include "folder.h"
#include "unit.h"

#define SECONDS 10 /* at most, for each kind of file */
#define SILENCE 2000 /* ms; HDF5 goes in circles over some files */
#define PATIENCE 60000


struct bytes {
  unsigned char *data;
  size_t size;
};

static struct bytes read_bytes(const char *path) {
  struct bytes bytes = {0};
  struct stat info;
  FILE *file = fopen(path, "rb");
  ck_assert_msg(file && fstat(fileno(file), &info) == 0, "no %s", path);
  bytes.size = (size_t)info.st_size;
  bytes.data = malloc(bytes.size + 1);
  ck_assert_uint_eq(fread(bytes.data, 1, bytes.size, file), bytes.size);
  fclose(file);
  bytes.data[bytes.size] = 0;
  return bytes;
}

static void write_bytes(const char *path, const struct bytes *bytes) {
  FILE *file = fopen(path, "wb");
  ck_assert_ptr_nonnull(file);
  ck_assert_uint_eq(fwrite(bytes->data, 1, bytes->size, file), bytes->size);
  ck_assert_int_eq(fclose(file), 0);
}

static void call(lsc_session session, const char *name, int times) {
  lsc_region_id region;
  ck_assert_int_eq(lsc_region(name, &region), LSC_OK);
  for (int i = 0; i < times; i++) {
    lsc_begin(session, region);
    lsc_begin_as(session, LSC_API_FORTRAN, region);
    lsc_end_as(session, LSC_API_FORTRAN, region);
    lsc_end(session, region);
  }
}

/* Every table has rows. */
static void record(const char *path) {
  lsc_session session;
  lsc_region_id region;
  lsc_task task;
  ck_assert_int_eq(lsc_session_open(NULL, &session), LSC_OK);
  call(session, "on a thread", 20);
  ck_assert_int_eq(lsc_task_open(session, "fiber", "a fiber", NULL, &task), LSC_OK);
  lsc_task_enter(task);
  call(session, "in a task", 5);
  lsc_task_leave(task);
  lsc_region("open", &region);
  lsc_begin(session, region);
  ck_assert_msg(lsc_write_part(session, path, 1, 3, NULL) == LSC_OK, "%s", lsc_message());
  ck_assert_int_eq(lsc_session_close(session), LSC_OK);
}

/* What lanescope-merge does with one input. */
static lsc_status merge(const char *path, const char *out) {
  struct lsc_run run = {0};
  struct lsc_input input = {0};
  struct lsc_union all = {0};
  lsc_status status = lsc_input_read(&input, path);
  if (!status && !lsc_run_admit(&run, &input, &status)) status = LSC_INVALID;
  if (!status) status = lsc_run_arrange(&run);
  if (!status) status = lsc_union_make(&all, &run);
  if (!status) status = lsc_union_write(&all, &run, out, 0);
  lsc_union_free(&all);
  lsc_input_free(&input);
  lsc_run_free(&run);
  return status;
}

static unsigned random_state = 1;
static unsigned next_random(unsigned below) {
  random_state = random_state * 1103515245u + 12345u;
  return (random_state >> 8) % below;
}

static struct bytes spoilt(const struct bytes *good) {
  static const unsigned char fills[] = {0, 0xff, 0x7f, 0x80, 1};
  struct bytes bad = {malloc(good->size), good->size};
  memcpy(bad.data, good->data, good->size);
  unsigned kind = next_random(4);
  if (kind == 0) bad.size = next_random((unsigned)good->size);
  for (unsigned i = next_random(4) + 1; kind == 1 && i > 0; i--) {
    bad.data[next_random((unsigned)bad.size)] ^= (unsigned char)(1u << next_random(8));
  }
  if (kind >= 2) {
    size_t size = kind == 2 ? 8 : next_random(200) + 1, at = next_random((unsigned)(bad.size - size)) & ~7u;
    memset(bad.data + at, fills[next_random(sizeof fills)], size);
  }
  return bad;
}

/* A number in a table that is not the one that was there. Most bytes of a file are HDF5's own; these are ours. */
static void poke(const char *path) {
  static const int64_t values[] = {0, 1, 2, 5, -1, 100, INT32_MAX, UINT32_MAX, (int64_t)1 << 40, INT64_MAX, INT64_MIN};
  const struct lsc_table_desc *desc = &lsc_events_desc;
  struct lsc_h5 *h5;
  uint64_t rows = 0;
  char name[80];
  unsigned table = next_random(LSC_TABLE_COUNT * 2);
  if (table < LSC_TABLE_COUNT) desc = &lsc_table_descs[table];
  const struct lsc_column_desc *column = &desc->column[next_random((unsigned)desc->columns)];
  snprintf(name, sizeof name, "%s/%s", desc->group, column->name);
  ck_assert_int_eq(lsc_h5_open(&h5, path, path), LSC_OK);
  int there = column->type != LSC_STR && column->type != LSC_STATS && lsc_h5_has(h5, name);
  if (there) ck_assert_int_eq(lsc_h5_count_rows(h5, name, column->type, &rows), LSC_OK);
  if (rows) {
    int64_t value = values[next_random(sizeof values / sizeof *values)];
    ck_assert_int_eq(lsc_h5_select(h5, 0, name, column->type, rows), LSC_OK);
    ck_assert_int_eq(lsc_h5_write_rows(h5, 0, next_random((unsigned)rows), 1, &value), LSC_OK);
  }
  ck_assert_int_eq(lsc_h5_close(h5, LSC_OK), LSC_OK);
}

static void spoil(const struct bytes *good, const char *path) {
  int pokes = (int)next_random(6) - 2;
  struct bytes bad = pokes > 0 ? *good : spoilt(good);
  write_bytes(path, &bad);
  if (pokes <= 0) free(bad.data);
  for (; pokes > 0; pokes--) poke(path);
}

/* The first line of a report on memory whose fault lies in none of HDF5's functions, or NULL. */
static const char *own_fault(char *said) {
  if (strstr(said, "runtime error:")) return strstr(said, "runtime error:");
  for (char *report = said; (report = strstr(report, "ERROR: AddressSanitizer")); report++) {
    char *hdf5 = strstr(report, "libhdf5"), *fourth = strstr(report, "#3 ");
    if (!hdf5 || (fourth && hdf5 > fourth)) return report;
  }
  return NULL;
}

static void check_said(const char *path) {
  struct bytes said = read_bytes(path);
  char *fault = (char *)own_fault((char *)said.data);
  ck_assert_msg(!fault, "%.3000s", fault ? fault : "");
  free(said.data);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* What is read in a process of its own is merged here, and the merged file is a good one. */
static void try_all(const char *path, long amount) {
  struct bytes good = read_bytes(path);
  double end = now() + SECONDS;
  long taken = 0, tried = 0;
  int before = dup(STDERR_FILENO), file = open("said", O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
  ck_assert_int_ge(file, 0);
  dup2(file, STDERR_FILENO);
  for (; tried < amount && now() < end; tried++) {
    spoil(&good, "bad.h5");
    if (lsc_probe("bad.h5", SILENCE) != LSC_OK || merge("bad.h5", "out.h5") != LSC_OK) continue;
    taken++;
    lsc_status status = lsc_probe("out.h5", PATIENCE);
    ck_assert_msg(status == LSC_OK, "after %ld: %s", tried, lsc_message());
  }
  dup2(before, STDERR_FILENO);
  close(before);
  close(file);
  check_said("said");
  free(good.data);
  ck_assert_msg(taken > 0 && taken < tried, "%ld of %ld were taken", taken, tried);
}

static void enter(void) {
  enter_folder();
  record("rank.h5");
}

START_TEST(a_damaged_file_of_a_rank_is_refused_or_read) {
  enter();
  ck_assert_msg(lsc_probe("rank.h5", PATIENCE) == LSC_OK, "%s", lsc_message());
  try_all("rank.h5", unit_amount(20000, 400, 400));
  leave_folder();
}
END_TEST

START_TEST(a_damaged_file_of_a_run_is_refused_or_read) {
  enter();
  ck_assert_msg(merge("rank.h5", "run.h5") == LSC_OK, "%s", lsc_message());
  try_all("run.h5", unit_amount(20000, 400, 400));
  leave_folder();
}
END_TEST

/* Every length; the superblock says how long the file was. */
START_TEST(a_file_that_was_cut_off_is_refused) {
  enter();
  struct bytes bytes = read_bytes("rank.h5");
  for (size_t size = bytes.size, step = bytes.size / 50; size > step; size -= step) {
    bytes.size = size - 1;
    write_bytes("bad.h5", &bytes);
    ck_assert_msg(lsc_probe("bad.h5", SILENCE) != LSC_OK, "%zu bytes", bytes.size);
    ck_assert_ptr_nonnull(strstr(lsc_message(), "bad.h5"));
  }
  free(bytes.data);
  leave_folder();
}
END_TEST

/* The list that has the numbers whose bits are set, as text. */
static struct lsc_collects list_of(uint64_t bits, char *text) {
  struct lsc_collects list;
  char *end = text;
  for (int first = 0, last; first < 64; first = last + 1) {
    last = first;
    if (!(bits >> first & 1)) continue;
    while (last + 1 < 64 && bits >> (last + 1) & 1) last++;
    end += sprintf(end, last > first ? "%s%d-%d" : "%s%d", end > text ? "," : "", first, last);
  }
  *end = 0;
  ck_assert_int_eq(lsc_collects_read(&list, text, strlen(text)), LSC_OK);
  return list;
}

static void check_list(struct lsc_collects *list, uint64_t bits) {
  char text[400];
  struct lsc_buffer written = {0};
  struct lsc_collects same = list_of(bits, text);
  ck_assert_int_eq(lsc_collects_write(list, &written), LSC_OK);
  ck_assert_msg(written.size == strlen(text) && (!written.size || !memcmp(written.data, text, written.size)),
                "'%.*s' is not '%s'", (int)written.size, (char *)written.data, text);
  lsc_buffer_free(&written);
  lsc_collects_free(&same);
  lsc_collects_free(list);
}

/* Against sets of 64 bits. */
START_TEST(lists_of_collects_are_sets) {
  char text[400];
  for (int i = 0; i < 2000; i++) {
    uint64_t one = 0, other = 0;
    for (unsigned k = next_random(40); k > 0; k--) one |= UINT64_C(1) << next_random(64);
    for (unsigned k = next_random(40); k > 0; k--) other |= UINT64_C(1) << next_random(64);
    struct lsc_collects a = list_of(one, text), b = list_of(other, text), gaps;
    uint64_t below = one ? UINT64_MAX >> __builtin_clzll(one) : 0;
    ck_assert_int_eq(lsc_collects_common(&a, &b), one & other ? __builtin_ctzll(one & other) : -1);
    ck_assert_int_eq(lsc_collects_next(&a), one ? 64 - __builtin_clzll(one) : 0);
    ck_assert_int_eq(lsc_collects_gaps(&a, &gaps), LSC_OK);
    check_list(&gaps, below & ~one);
    ck_assert_int_eq(lsc_collects_add(&a, &b), LSC_OK);
    check_list(&a, one | other);
    check_list(&b, other);
  }
}
END_TEST

START_TEST(what_is_no_list_of_collects_is_refused) {
  static const char *const bad[] = {"-1", "1-", "2-1", "3-3", "1,1", "0,1", "2,0", "0-4,4", "1,", ",", "a", "0 ", "+1",
                                    "1--2", "9999999999999999", "0-2,3"};
  struct lsc_collects list;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    ck_assert_msg(lsc_collects_read(&list, bad[i], strlen(bad[i])) == LSC_INVALID, "'%s'", bad[i]);
    ck_assert_uint_eq(list.count, 0);
  }
}
END_TEST

UNIT_MAIN("merge", lists_of_collects_are_sets, what_is_no_list_of_collects_is_refused,
          a_damaged_file_of_a_rank_is_refused_or_read, a_damaged_file_of_a_run_is_refused_or_read,
          a_file_that_was_cut_off_is_refused)
