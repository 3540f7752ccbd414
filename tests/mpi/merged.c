/* SPDX-License-Identifier: BSD-3-Clause */
/* The calls of a merged file, and what its other tables must say about them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "compare.h"

static const char *lane_name(const struct merged *merged, int64_t rank, int64_t thread) {
  if (thread < 0) return LOG_NO_THREAD;
  for (size_t i = 0; i < merged->threads; ++i) {
    if (merged->thread_rank[i] == rank && merged->thread_index[i] == thread) return merged->thread_name[i];
  }
  CHECK(0, "rank %lld has no thread %lld in /thread_table", (long long)rank, (long long)thread);
  return "";
}

static int64_t value(readback *file, const char *group, const char *column, size_t row, int64_t otherwise) {
  char name[64];
  snprintf(name, sizeof name, "%s/%s", group, column);
  return readback_has(file, name) ? readback_i64(file, name)[row] : otherwise;
}

static void load(struct merged *merged, const char *group, size_t rows, struct stored *call) {
  static const char *const names[] = {"call_ids",  "parent_ids", "region_ids", "thread_ids", "start_times",
                                      "end_times", "apis",       "depth",      "ranks"};
  const int64_t *column[sizeof names / sizeof names[0]];
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
    char name[64];
    snprintf(name, sizeof name, "%s/%s", group, names[i]);
    column[i] = readback_has(merged->file, name) ? readback_i64(merged->file, name) : NULL;
    CHECK(!column[i] || readback_rows(merged->file, name) == rows, "%s has another length", name);
  }
  for (size_t i = 0; i < rows; ++i) {
    call[i] = (struct stored){
        .id = column[0][i],
        .parent = column[1][i],
        .region_id = column[2][i],
        .thread = column[3] ? column[3][i] : -1,
        .start = column[4][i],
        .end = column[5] ? column[5][i] : 0,
        .api = column[6] ? column[6][i] : -1,
        .depth = column[7] ? column[7][i] : -1,
        .rank = (int)column[8][i],
    };
    call[i].lane = lane_name(merged, call[i].rank, call[i].thread);
  }
}

static void name_regions(struct merged *merged) {
  const char *const *names = readback_str(merged->file, "region_table/names");
  size_t count = readback_rows(merged->file, "region_table/names");
  for (size_t i = 0; i < merged->events; ++i) {
    int known = merged->call[i].region_id >= 0 && (size_t)merged->call[i].region_id < count;
    CHECK(known, "event %zu has region id %lld of %zu", i, (long long)merged->call[i].region_id, count);
    merged->call[i].region = known ? names[merged->call[i].region_id] : "";
  }
  if (merged->opens == 0) return;
  const char *const *open_names = readback_str(merged->file, "open_calls/region_names");
  for (size_t i = 0; i < merged->opens; ++i) merged->call[merged->events + i].region = open_names[i];
}

void merged_open(struct merged *merged, const char *path) {
  readback *file = readback_open(path);
  *merged = (struct merged){.file = file, .events = readback_rows(file, "events/call_ids")};
  if (readback_has(file, "open_calls")) {
    merged->opens = readback_rows(file, "open_calls/call_ids");
    CHECK(merged->opens > 0, "/open_calls is there and empty");
  }
  merged->threads = readback_rows(file, "thread_table/index");
  merged->thread_rank = readback_i64(file, "thread_table/ranks");
  merged->thread_index = readback_i64(file, "thread_table/index");
  merged->thread_name = readback_str(file, "thread_table/name");
  merged->call = calloc(merged->events + merged->opens + 1, sizeof *merged->call);
  load(merged, "events", merged->events, merged->call);
  if (merged->opens > 0) load(merged, "open_calls", merged->opens, merged->call + merged->events);
  name_regions(merged);
}

void merged_close(struct merged *merged) {
  free(merged->call);
  readback_close(merged->file);
}

static int by_id(const void *a, const void *b) {
  const struct stored *left = a, *right = b;
  return (left->id > right->id) - (left->id < right->id);
}

struct stored *merged_of_rank(const struct merged *merged, int rank, size_t *count) {
  struct stored *calls = calloc(merged->events + merged->opens + 1, sizeof *calls);
  *count = 0;
  for (size_t i = 0; i < merged->events + merged->opens; ++i) {
    if (merged->call[i].rank == rank) calls[(*count)++] = merged->call[i];
  }
  qsort(calls, *count, sizeof *calls, by_id);
  return calls;
}

static void check_ids(const struct stored *call, size_t calls, int rank) {
  for (size_t i = 0; i < calls; ++i) {
    CHECK(call[i].id == (int64_t)i, "rank %d: call %lld is in place %zu", rank, (long long)call[i].id, i);
    CHECK(call[i].parent >= -1 && call[i].parent < call[i].id, "rank %d: call %zu has parent %lld", rank, i,
          (long long)call[i].parent);
    CHECK(i == 0 || call[i - 1].start <= call[i].start, "rank %d: call %zu starts before %zu", rank, i, i - 1);
    CHECK(call[i].end == 0 || call[i].end >= call[i].start, "rank %d: call %zu ends before its start", rank, i);
  }
}

/* Time covered by completed calls of the lane; calls are in order of their start. */
static int64_t busy_of(const struct stored *call, size_t calls, int64_t thread) {
  int64_t busy = 0, until = INT64_MIN;
  for (size_t i = 0; i < calls; ++i) {
    if (call[i].thread != thread || call[i].end == 0 || call[i].end <= until) continue;
    busy += call[i].end - (call[i].start > until ? call[i].start : until);
    until = call[i].end;
  }
  return busy;
}

static void check_lane(struct merged *merged, size_t row, const struct stored *call, size_t calls) {
  readback *file = merged->file;
  int64_t lane = readback_i64(file, "lane_table/lanes")[row],
          origin = readback_attribute_i64(file, "metadata", "start_time_ns");
  int64_t thread = lane == -1 ? -1 : -2 - lane, completed = 0, open = 0, first = INT64_MAX, last_end = INT64_MIN;
  for (size_t i = 0; i < calls; ++i) {
    if (call[i].thread != thread) continue;
    completed += call[i].end != 0;
    open += call[i].end == 0;
    if (call[i].start < first) first = call[i].start;
    if (call[i].end != 0 && call[i].end > last_end) last_end = call[i].end;
  }
  const char *kind = readback_str(file, "lane_table/kind")[row], *name = readback_str(file, "lane_table/name")[row];
  CHECK(completed + open > 0, "lane %lld has no call", (long long)lane);
  CHECK(value(file, "lane_table", "calls", row, -1) == completed, "lane %lld", (long long)lane);
  CHECK(value(file, "lane_table", "open_calls", row, -1) == open, "lane %lld", (long long)lane);
  CHECK(value(file, "lane_table", "first_ns", row, -1) == first - origin, "lane %lld", (long long)lane);
  CHECK(completed == 0 || value(file, "lane_table", "last_ns", row, -1) == last_end - origin, "lane %lld",
        (long long)lane);
  CHECK(value(file, "lane_table", "busy_ns", row, -1) == busy_of(call, calls, thread), "lane %lld", (long long)lane);
  CHECK(strcmp(kind, thread < 0 ? "unknown" : "thread") == 0, "lane %lld is a %s", (long long)lane, kind);
  const char *own = thread < 0 ? "fortran" : lane_name(merged, call[0].rank, thread);
  CHECK(strcmp(name, own) == 0, "lane %lld is %s, not %s", (long long)lane, name, own);
}

static size_t check_lanes(struct merged *merged, const struct stored *call, size_t calls, int rank) {
  size_t rows = readback_rows(merged->file, "lane_table/lanes"), found = 0;
  const int64_t *ranks = readback_i64(merged->file, "lane_table/ranks"),
                *lanes = readback_i64(merged->file, "lane_table/lanes");
  for (size_t i = 0; i < rows; ++i) {
    if (ranks[i] != rank) continue;
    CHECK(found == 0 || lanes[i] != lanes[i - 1], "rank %d has lane %lld twice", rank, (long long)lanes[i]);
    found++;
    check_lane(merged, i, call, calls);
  }
  return found;
}

static size_t count_lanes(const struct merged *merged, const struct stored *call, size_t calls) {
  unsigned char *seen = calloc(merged->threads + 1, 1);
  size_t count = 0;
  for (size_t i = 0; i < calls; ++i) {
    unsigned char *mark = &seen[call[i].thread + 1];
    count += !*mark;
    *mark = 1;
  }
  free(seen);
  return count;
}

static void check_stats(struct merged *merged, size_t row, const struct stored *call, size_t count) {
  const lsc_stats *stats = &readback_stats(merged->file, "rank_region_index/summary_statistics")[row];
  lsc_stats own = {.minimum = INT64_MAX, .maximum = INT64_MIN, .start_minimum = INT64_MAX, .end_maximum = INT64_MIN};
  for (size_t i = 0; i < count; ++i) {
    int64_t duration = call[i].end - call[i].start;
    own.total += duration;
    if (duration < own.minimum) own.minimum = duration;
    if (duration > own.maximum) own.maximum = duration;
    if (call[i].start < own.start_minimum) own.start_minimum = call[i].start;
    if (call[i].end > own.end_maximum) own.end_maximum = call[i].end;
  }
  own.mean = (double)own.total / (double)count;
  for (size_t i = 0; i < count; ++i) own.m2 += pow((double)(call[i].end - call[i].start) - own.mean, 2);
  CHECK(stats->total == own.total && stats->minimum == own.minimum && stats->maximum == own.maximum, "row %zu", row);
  CHECK(stats->start_minimum == own.start_minimum && stats->end_maximum == own.end_maximum, "row %zu", row);
  CHECK(stats->first == call[0].end - call[0].start, "row %zu", row);
  CHECK(stats->last == call[count - 1].end - call[count - 1].start, "row %zu", row);
  CHECK(stats->gpu_count == 0 && stats->gpu_total == 0, "row %zu", row);
  CHECK(fabs(stats->mean - own.mean) <= 1e-6 * (1 + own.mean), "row %zu: %g, not %g", row, stats->mean, own.mean);
  CHECK(fabs(stats->m2 - own.m2) <= 1e-6 * (1 + own.m2), "row %zu: %g, not %g", row, stats->m2, own.m2);
}

/* Durations of the region's calls on that rank without those of their children. */
static int64_t exclusive_of(const struct merged *merged, int rank, int64_t region) {
  size_t calls;
  int64_t sum = 0;
  struct stored *call = merged_of_rank(merged, rank, &calls);
  for (size_t i = 0; i < calls; ++i) {
    int64_t duration = call[i].end - call[i].start, parent = call[i].parent;
    if (call[i].end == 0) continue;
    if (call[i].region_id == region) sum += duration;
    if (parent >= 0 && call[parent].end != 0 && call[parent].region_id == region) sum -= duration;
  }
  free(call);
  return sum;
}

static void check_regions(struct merged *merged) {
  readback *file = merged->file;
  size_t rows = readback_rows(file, "rank_region_index/region_ids"), next = 0;
  size_t names = readback_rows(file, "region_table/names");
  unsigned char *used = calloc(names + 1, 1);
  for (size_t i = 0; i < rows; ++i) {
    int64_t region = value(file, "rank_region_index", "region_ids", i, -1),
            rank = value(file, "rank_region_index", "ranks", i, -1);
    size_t offset = (size_t)value(file, "rank_region_index", "event_offsets", i, -1);
    size_t count = (size_t)value(file, "rank_region_index", "event_counts", i, -1);
    CHECK(count > 0 && offset == next && count <= merged->events - offset, "row %zu: %zu rows from %zu", i, count,
          offset);
    if (count == 0 || offset != next || count > merged->events - offset) break;
    for (size_t k = offset; k < offset + count; ++k) {
      CHECK(merged->call[k].rank == rank && merged->call[k].region_id == region,
            "event %zu is of another region or rank", k);
      CHECK(k == offset || merged->call[k - 1].id < merged->call[k].id, "event %zu is out of order", k);
    }
    check_stats(merged, i, merged->call + offset, count);
    CHECK(value(file, "rank_region_index", "exclusive_totals", i, -1) == exclusive_of(merged, (int)rank, region),
          "row %zu", i);
    used[region] = 1;
    next = offset + count;
  }
  CHECK(next == merged->events, "%zu of %zu events are in /rank_region_index", next, merged->events);
  for (size_t i = 0; i < names; ++i)
    CHECK(used[i], "region %s has no call", readback_str(file, "region_table/names")[i]);
  free(used);
}

void check_consistent(struct merged *merged, int ranks) {
  size_t lanes = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    size_t calls;
    struct stored *call = merged_of_rank(merged, rank, &calls);
    check_ids(call, calls, rank);
    size_t found = check_lanes(merged, call, calls, rank), expected = count_lanes(merged, call, calls);
    CHECK(found == expected, "rank %d has %zu lanes in /lane_table, %zu with calls", rank, found, expected);
    lanes += found;
    free(call);
  }
  CHECK(lanes == readback_rows(merged->file, "lane_table/lanes"), "/lane_table has rows of other ranks");
  check_regions(merged);
}
