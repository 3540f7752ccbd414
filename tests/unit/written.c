/* SPDX-License-Identifier: BSD-3-Clause */
#include "written.h"

#include <check.h>
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../mpi/readback.h"

#define DEEPEST 6
#define CLOCK_SLACK 20000 /* ns between the recorder's clock and lsc_now_ns */

static const char *region_name(int region, char name[32]) {
  static const char *const first[LANE_REGIONS] = {"outer", "inner", "l\xc3\xb6sen", "spaces/and a slash"};
  if (region < LANE_REGIONS) return first[region];
  snprintf(name, 32, "region %d", region);
  return name;
}

void lane_init(struct lane *lane, lsc_session session, int number) {
  char name[32];
  *lane = (struct lane){.session = session, .number = number, .regions = LANE_REGIONS, .open = -1};
  lane->random = 88172645463325252u + (uint64_t)number;
  for (int i = 0; i < LANE_MORE_REGIONS; i++)
    ck_assert_int_eq(lsc_region(region_name(i, name), &lane->region[i]), LSC_OK);
}

static void lane_name(const struct lane *lane, char name[32]) { snprintf(name, 32, "lane %d", lane->number); }

void lane_describe(struct lane *lane) {
  char name[32];
  lane_name(lane, name);
  ck_assert_int_eq(lsc_thread_describe(lane->session, name, 1000 + lane->number, 0), LSC_OK);
}

static struct kept *add_call(struct lane *lane) {
  if (lane->calls == lane->capacity) {
    lane->capacity = lane->capacity ? 2 * lane->capacity : 64;
    lane->call = realloc(lane->call, lane->capacity * sizeof *lane->call);
    ck_assert_ptr_nonnull(lane->call);
  }
  return &lane->call[lane->calls++];
}

void lane_begin(struct lane *lane, int region) {
  struct kept *call = add_call(lane);
  *call = (struct kept){.region = region, .parent = lane->open};
  if (lane->open >= 0) call->depth = lane->call[lane->open].depth + 1;
  lane->open = (int64_t)lane->calls - 1;
  call->start_low = lsc_now_ns();
  ck_assert_int_eq(lsc_begin(lane->session, lane->region[region]), LSC_OK);
  call->start_high = lsc_now_ns();
}

void lane_end(struct lane *lane) {
  struct kept *call = &lane->call[lane->open];
  call->end_low = lsc_now_ns();
  ck_assert_int_eq(lsc_end(lane->session, lane->region[call->region]), LSC_OK);
  call->end_high = lsc_now_ns();
  lane->completed++;
  lane->open = call->parent;
}

static unsigned draw(struct lane *lane) {
  lane->random ^= lane->random << 13;
  lane->random ^= lane->random >> 7;
  lane->random ^= lane->random << 17;
  return (unsigned)(lane->random >> 33);
}

void lane_record(struct lane *lane, size_t calls) {
  int64_t ground = lane->open;
  int depth = 0;
  for (size_t begun = 0; begun < calls || lane->open != ground;) {
    int begin = depth == 0 || (depth < DEEPEST && draw(lane) % 2);
    if (begin && begun < calls) {
      lane_begin(lane, (int)(draw(lane) % (unsigned)lane->regions));
      begun++;
      depth++;
    } else {
      lane_end(lane);
      depth--;
    }
  }
}

void lane_free(struct lane *lane) {
  free(lane->call);
  lane->call = NULL;
}

/* A call as the file has it. */
struct found {
  int64_t id, parent, start, end;
  const char *region;
  int64_t depth; /* -1: unknown, in /events */
};

static int by_id(const void *a, const void *b) {
  int64_t x = ((const struct found *)a)->id, y = ((const struct found *)b)->id;
  return x < y ? -1 : x > y;
}

/* Rows of one thread, of /events and /open_calls, by call id. */
static struct found *rows_of_thread(readback *file, int64_t thread, size_t *count) {
  size_t events = readback_rows(file, "events/call_ids");
  size_t open = readback_has(file, "open_calls") ? readback_rows(file, "open_calls/call_ids") : 0;
  struct found *found = calloc(events + open + 1, sizeof *found);
  const char *const *names = readback_str(file, "region_table/names");
  *count = 0;
  for (size_t i = 0; i < events; i++) {
    if (readback_i64(file, "events/thread_ids")[i] != thread) continue;
    found[(*count)++] = (struct found){readback_i64(file, "events/call_ids")[i],
                                       readback_i64(file, "events/parent_ids")[i],
                                       readback_i64(file, "events/start_times")[i],
                                       readback_i64(file, "events/end_times")[i],
                                       names[readback_i64(file, "events/region_ids")[i]],
                                       -1};
  }
  for (size_t i = 0; i < open; i++) {
    if (readback_i64(file, "open_calls/thread_ids")[i] != thread) continue;
    found[(*count)++] = (struct found){readback_i64(file, "open_calls/call_ids")[i],
                                       readback_i64(file, "open_calls/parent_ids")[i],
                                       readback_i64(file, "open_calls/start_times")[i],
                                       0,
                                       readback_str(file, "open_calls/region_names")[i],
                                       readback_i64(file, "open_calls/depth")[i]};
  }
  qsort(found, *count, sizeof *found, by_id);
  return found;
}

static void check_between(int64_t value, int64_t low, int64_t high) {
  ck_assert_int_ge(value, low - CLOCK_SLACK);
  ck_assert_int_le(value, high + CLOCK_SLACK);
}

static void check_call(const struct kept *kept, const struct found *found, const struct found *all) {
  char name[32];
  ck_assert_str_eq(found->region, region_name(kept->region, name));
  ck_assert_int_eq(found->parent, kept->parent < 0 ? -1 : all[kept->parent].id);
  check_between(found->start, kept->start_low, kept->start_high);
  if (kept->end_low) check_between(found->end, kept->end_low, kept->end_high);
  else ck_assert_int_eq(found->end, 0);
  if (found->depth >= 0) ck_assert_int_eq(found->depth, kept->depth);
}

static int64_t thread_of(readback *file, const struct lane *lane) {
  char name[32];
  lane_name(lane, name);
  size_t rows = readback_rows(file, "thread_table/name");
  for (size_t i = 0; i < rows; i++) {
    if (strcmp(readback_str(file, "thread_table/name")[i], name) != 0) continue;
    ck_assert_int_eq(readback_i64(file, "thread_table/ident")[i], 1000 + lane->number);
    return readback_i64(file, "thread_table/index")[i];
  }
  ck_abort_msg("no thread '%s' in the file", name);
  return -1;
}

static void check_lane(readback *file, const struct lane *lane) {
  size_t count;
  struct found *found = rows_of_thread(file, thread_of(file, lane), &count);
  ck_assert_uint_eq(count, lane->calls);
  for (size_t i = 0; i < count; i++) check_call(&lane->call[i], &found[i], found);
  free(found);
}

/* The statistics of one region against its rows. */
static void check_region(readback *file, size_t row, uint64_t *next) {
  uint64_t offset = (uint64_t)readback_i64(file, "rank_region_index/event_offsets")[row];
  uint64_t count = (uint64_t)readback_i64(file, "rank_region_index/event_counts")[row];
  const int64_t *start = readback_i64(file, "events/start_times") + offset;
  const int64_t *end = readback_i64(file, "events/end_times") + offset;
  int64_t region = readback_i64(file, "rank_region_index/region_ids")[row];
  const lsc_stats *stats = &readback_stats(file, "rank_region_index/summary_statistics")[row];
  int64_t total = 0, least = INT64_MAX, most = 0, last_end = 0;
  ck_assert_uint_eq(offset, *next);
  ck_assert_uint_gt(count, 0);
  for (uint64_t i = 0; i < count; i++) {
    int64_t duration = end[i] - start[i];
    ck_assert_int_eq(readback_i64(file, "events/region_ids")[offset + i], region);
    ck_assert_int_eq(readback_i64(file, "events/ranks")[offset + i], 0);
    total += duration;
    if (duration < least) least = duration;
    if (duration > most) most = duration;
    if (end[i] > last_end) last_end = end[i];
  }
  ck_assert_int_eq(stats->total, total);
  ck_assert_int_eq(stats->minimum, least);
  ck_assert_int_eq(stats->maximum, most);
  ck_assert_int_eq(stats->first, end[0] - start[0]);
  ck_assert_int_eq(stats->last, end[count - 1] - start[count - 1]);
  ck_assert_int_eq(stats->start_minimum, start[0]);
  ck_assert_int_eq(stats->end_maximum, last_end);
  *next = offset + count;
}

void check_written(const char *path, const struct lane *lanes, size_t count) {
  readback *file = readback_open(path);
  uint64_t completed = 0, all = 0, next = 0;
  for (size_t i = 0; i < count; i++) {
    check_lane(file, &lanes[i]);
    completed += lanes[i].completed;
    all += lanes[i].calls;
  }
  ck_assert_uint_eq(readback_rows(file, "events/call_ids"), completed);
  ck_assert_int_eq(readback_has(file, "open_calls"), all != completed);
  ck_assert_int_eq(readback_i64(file, "rank_table/calls")[0], (int64_t)completed);
  ck_assert_int_eq(readback_i64(file, "rank_table/open_calls")[0], (int64_t)(all - completed));
  ck_assert_int_eq(readback_i64(file, "rank_table/dropped_calls")[0], 0);
  size_t regions = readback_rows(file, "rank_region_index/event_counts");
  for (size_t i = 0; i < regions; i++) check_region(file, i, &next);
  ck_assert_uint_eq(next, completed);
  readback_close(file);
}

static herr_t print_nothing(hid_t stack, void *data) {
  (void)stack;
  (void)data;
  return 0;
}

static int print_data;

static struct hdf5_state number_handles(void) {
  struct hdf5_state state = {H5Pcreate(H5P_FILE_ACCESS), H5Screate(H5S_SCALAR), H5Tcopy(H5T_NATIVE_INT)};
  ck_assert(state.list >= 0 && state.space >= 0 && state.type >= 0);
  H5Pclose(state.list);
  H5Sclose(state.space);
  H5Tclose(state.type);
  return state;
}

static void check_closed(const char *kind, int64_t before, int64_t now) {
  ck_assert_int_gt(now, before);
  ck_assert_int_lt(now - before, 100000);
  for (int64_t handle = before; handle <= now; handle++) {
    ck_assert_msg(H5Iis_valid(handle) <= 0, "a %s is still open", kind);
  }
}

/* Most of HDF5's functions empty the error stack. */
static void push_error(void) {
  H5Eclear2(H5E_DEFAULT);
  herr_t pushed = H5Epush2(H5E_DEFAULT, __FILE__, __func__, __LINE__, H5E_ERR_CLS, H5E_IO, H5E_BADVALUE, "its own");
  ck_assert_int_ge(pushed, 0);
}

struct hdf5_state hdf5_state_make(void) {
  H5open();
  H5Eset_auto2(H5E_DEFAULT, print_nothing, &print_data);
  struct hdf5_state state = number_handles();
  push_error();
  return state;
}

void hdf5_state_check(const struct hdf5_state *before) {
  H5E_auto2_t print;
  void *data;
  ck_assert_int_eq(H5Eget_num(H5E_DEFAULT), 1);
  H5Eget_auto2(H5E_DEFAULT, &print, &data);
  ck_assert(print == print_nothing && data == &print_data);
  struct hdf5_state now = number_handles();
  check_closed("property list", before->list, now.list);
  check_closed("dataspace", before->space, now.space);
  check_closed("datatype", before->type, now.type);
  ck_assert_int_eq(H5Fget_obj_count(H5F_OBJ_ALL, H5F_OBJ_ALL), 0);
  push_error();
}
