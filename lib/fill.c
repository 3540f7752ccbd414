/* SPDX-License-Identifier: BSD-3-Clause */
#include "fill.h"

#include <stdio.h>

#include "fill_row.h"
#include "message.h"
#include "order.h"
#include "region.h"

static int64_t on_run_clock(const struct lsc_fill *fill, int64_t ns) { return ns - fill->origin_ns; }

/* A time of the lane tables, where -1 means unknown. */
static int64_t known_or_unknown(const struct lsc_fill *fill, int64_t ns) {
  if (ns == LSC_NEVER) return -1;
  int64_t time = on_run_clock(fill, ns);
  return time == -1 ? -2 : time;
}

lsc_status lsc_fill_names(const struct lsc_snapshot *s, struct lsc_names *names) {
  memset(names, 0, sizeof *names);
  for (size_t i = 0; i < s->regions; i++) {
    struct lsc_region_view region = lsc_region_get(s->region[i].region);
    lsc_status status = lsc_names_add(names, region.name, region.name_length);
    if (status != LSC_OK) return status;
  }
  return LSC_OK;
}

static const char *drop_reason(const struct lsc_snapshot *s, char *text, size_t size) {
  if (!s->dropped) return "";
  if (!s->is_full) return "out of memory";
  snprintf(text, size, "about %llu calls between two collects are the most", (unsigned long long)lsc_most_rows);
  return text;
}

static void put_rank(struct lsc_writer *w, const struct lsc_fill *fill, size_t i) {
  const struct lsc_snapshot *s = fill->snapshot;
  char reason[80], number[24];
  (void)i;
  lsc_writer_int(w, LSC_RANK_RANKS, fill->rank);
  lsc_writer_text(w, LSC_RANK_HOSTNAME, fill->hostname);
  lsc_writer_int(w, LSC_RANK_PID, fill->pid);
  lsc_writer_int(w, LSC_RANK_THREADS, (int64_t)s->threads);
  lsc_writer_int(w, LSC_RANK_TASKS, (int64_t)s->tasks);
  lsc_writer_int(w, LSC_RANK_CALLS, (int64_t)s->completed);
  lsc_writer_int(w, LSC_RANK_OPEN_CALLS, (int64_t)s->open);
  lsc_writer_int(w, LSC_RANK_DROPPED, (int64_t)s->dropped);
  lsc_writer_text(w, LSC_RANK_DROP_REASON, drop_reason(s, reason, sizeof reason));
  lsc_writer_int(w, LSC_RANK_OFFSET, s->clock_offset_ns);
  lsc_writer_int(w, LSC_RANK_ERROR, s->clock_error_ns);
  lsc_writer_value(w, LSC_RANK_DRIFT, &s->clock_drift_ppb);
  lsc_writer_int(w, LSC_RANK_OVERHEAD, s->overhead_ns);
  lsc_writer_int(w, LSC_RANK_STATUS, 0);
  snprintf(number, sizeof number, "%llu", (unsigned long long)s->collect);
  lsc_writer_text(w, LSC_RANK_COLLECTS, number);
}

static void put_thread_info(struct lsc_writer *w, const struct lsc_fill *fill, const struct lsc_thread_info *thread) {
  lsc_writer_int(w, LSC_THREAD_RANKS, fill->rank);
  lsc_writer_int(w, LSC_THREAD_INDEX, thread->index);
  lsc_writer_int(w, LSC_THREAD_IDENT, thread->ident);
  lsc_writer_int(w, LSC_THREAD_NATIVE_ID, thread->native_id);
  lsc_writer_text(w, LSC_THREAD_NAME, thread->name);
  lsc_writer_int(w, LSC_THREAD_DAEMON, thread->daemon);
  lsc_writer_int(w, LSC_THREAD_START, on_run_clock(fill, thread->start_ns));
  lsc_writer_int(w, LSC_THREAD_END, known_or_unknown(fill, thread->end_ns));
  lsc_writer_int(w, LSC_THREAD_CPU, thread->cpu_ns == LSC_NEVER ? -1 : thread->cpu_ns);
}

static void put_task_info(struct lsc_writer *w, const struct lsc_fill *fill, const struct lsc_task_info *task) {
  lsc_writer_int(w, LSC_TASK_RANKS, fill->rank);
  lsc_writer_int(w, LSC_TASK_INDEX, task->index);
  lsc_writer_text(w, LSC_TASK_KIND, task->kind);
  lsc_writer_text(w, LSC_TASK_NAME, task->name);
  lsc_writer_text(w, LSC_TASK_CORO_NAME, task->coro_name);
  lsc_writer_int(w, LSC_TASK_THREAD_INDEX, task->thread_index);
  lsc_writer_int(w, LSC_TASK_CREATED, on_run_clock(fill, task->created_ns));
  lsc_writer_int(w, LSC_TASK_DONE, known_or_unknown(fill, task->done_ns));
  lsc_writer_int(w, LSC_TASK_STEPS, task->steps);
  lsc_writer_int(w, LSC_TASK_RUNNING, task->running_ns);
  lsc_writer_int(w, LSC_TASK_SUSPENDED, task->suspended_ns);
}

lsc_status lsc_fill_thread(const struct lsc_fill *fill, const struct lsc_thread_info *thread, struct lsc_table *table) {
  struct lsc_writer w = {.table = table};
  put_thread_info(&w, fill, thread);
  lsc_writer_end_row(&w);
  return w.status;
}

lsc_status lsc_fill_task(const struct lsc_fill *fill, const struct lsc_task_info *task, struct lsc_table *table) {
  struct lsc_writer w = {.table = table};
  put_task_info(&w, fill, task);
  lsc_writer_end_row(&w);
  return w.status;
}

static void put_thread(struct lsc_writer *w, const struct lsc_fill *fill, size_t i) {
  struct lsc_thread_info thread = lsc_snapshot_thread(fill->snapshot, i);
  put_thread_info(w, fill, &thread);
}

static void put_task(struct lsc_writer *w, const struct lsc_fill *fill, size_t i) {
  struct lsc_task_info task = lsc_snapshot_task(fill->snapshot, i);
  put_task_info(w, fill, &task);
}

const char *lsc_fill_api_names(unsigned apis, char *text, size_t size) {
  static const struct {
    unsigned bit;
    const char *name;
  } api[] = {{1, "c"}, {2, "fortran"}, {0, "python"}};
  size_t used = 0;
  text[0] = '\0';
  for (size_t i = 0; i < sizeof api / sizeof *api; i++)
    if (apis & 1u << api[i].bit)
      used += (size_t)snprintf(text + used, size - used, "%s%s", used ? "," : "", api[i].name);
  return text;
}

static void put_lane_label(struct lsc_writer *w, struct lsc_snapshot *s, const struct lsc_lane_info *lane) {
  char apis[32];
  if (lane->lane == -1) {
    lsc_writer_text(w, LSC_LANE_KIND, "unknown");
    lsc_writer_text(w, LSC_LANE_NAME, lsc_fill_api_names(lane->apis, apis, sizeof apis));
  } else if (lane->lane >= 0) {
    struct lsc_task_info task = lsc_snapshot_task(s, (size_t)lane->lane);
    lsc_writer_text(w, LSC_LANE_KIND, task.kind);
    lsc_writer_text(w, LSC_LANE_NAME, task.name);
  } else {
    lsc_writer_text(w, LSC_LANE_KIND, "thread");
    lsc_writer_text(w, LSC_LANE_NAME, lsc_snapshot_thread(s, (size_t)(-2 - lane->lane)).name);
  }
}

static void put_lane(struct lsc_writer *w, const struct lsc_fill *fill, size_t i) {
  const struct lsc_lane_info *lane = &fill->snapshot->lane[i];
  lsc_writer_int(w, LSC_LANE_RANKS, fill->rank);
  lsc_writer_int(w, LSC_LANE_LANES, lane->lane);
  put_lane_label(w, fill->snapshot, lane);
  lsc_writer_int(w, LSC_LANE_CALLS, (int64_t)lane->calls);
  lsc_writer_int(w, LSC_LANE_OPEN_CALLS, (int64_t)lane->open_calls);
  lsc_writer_int(w, LSC_LANE_FIRST, on_run_clock(fill, lane->first_ns));
  lsc_writer_int(w, LSC_LANE_LAST, on_run_clock(fill, lane->last_ns));
  lsc_writer_int(w, LSC_LANE_BUSY, lane->busy_ns);
}

static void put_open_times(struct lsc_writer *w, const struct lsc_fill *fill, const struct lsc_row *row) {
  uint64_t start = atomic_load_explicit(&row->start, memory_order_relaxed);
  lsc_writer_int(w, LSC_OPEN_START, lsc_clock_map_ns(&fill->snapshot->map, start));
  lsc_writer_int(w, LSC_OPEN_RANKS, fill->rank);
}

/* The id of a region in /region_table, or LSC_NO_NAME if this rank has no completed call of it. */
static uint32_t united_id(const struct lsc_fill *fill, uint32_t id) {
  const struct lsc_snapshot *s = fill->snapshot;
  size_t low = 0, high = s->regions;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (s->region[middle].region < id) low = middle + 1;
    else high = middle;
  }
  return low < s->regions && s->region[low].region == id ? fill->region_ids[low] : LSC_NO_NAME;
}

lsc_status lsc_fill_open_regions(struct lsc_table *open_calls, size_t first, struct lsc_name_index *names) {
  lsc_column_view text = lsc_table_view(open_calls, LSC_OPEN_REGION_NAMES);
  uint32_t *id = (uint32_t *)(void *)open_calls->column[LSC_OPEN_REGION_IDS].data.data;
  for (size_t row = first; row < open_calls->rows; row++) {
    uint64_t start = text.offsets[row];
    if (id[row] != LSC_NO_NAME) continue;
    if (!names->slots && lsc_name_index_init(names, names->names)) return LSC_NO_MEMORY;
    id[row] = lsc_name_index_find(names, text.text + start, (size_t)(text.offsets[row + 1] - start));
  }
  return LSC_OK;
}

static void put_open_call(struct lsc_writer *w, const struct lsc_fill *fill, size_t i) {
  const struct lsc_open_call *call = &fill->snapshot->open_call[i];
  const struct lsc_row *row = call->row;
  put_open_times(w, fill, row);
  lsc_writer_int(w, LSC_OPEN_REGION_IDS, united_id(fill, lsc_row_region(row)));
  lsc_writer_int(w, LSC_OPEN_THREADS, lsc_row_thread(row));
  lsc_writer_int(w, LSC_OPEN_TASKS, lsc_row_task(row));
  lsc_writer_int(w, LSC_OPEN_AWAIT, call->await_ns);
  lsc_writer_int(w, LSC_OPEN_CALL_IDS, call->call);
  lsc_writer_int(w, LSC_OPEN_PARENT_IDS, call->parent == LSC_NO_CALL ? -1 : (int64_t)call->parent);
  lsc_writer_int(w, LSC_OPEN_APIS, lsc_row_api(row));
  lsc_writer_text(w, LSC_OPEN_REGION_NAMES, lsc_region_get(lsc_row_region(row)).name);
  lsc_writer_int(w, LSC_OPEN_DEPTH, lsc_row_depth(row));
}

typedef void put_row(struct lsc_writer *w, const struct lsc_fill *fill, size_t i);
static put_row *const put_rows[LSC_TABLE_COUNT] = {
    [LSC_TABLE_RANK] = put_rank, [LSC_TABLE_THREAD] = put_thread,     [LSC_TABLE_TASK] = put_task,
    [LSC_TABLE_LANE] = put_lane, [LSC_TABLE_INDEX] = lsc_put_region, [LSC_TABLE_OPEN] = put_open_call,
};

static size_t rows_of(const struct lsc_snapshot *s, enum lsc_table_id id) {
  switch (id) {
    case LSC_TABLE_RANK: return 1;
    case LSC_TABLE_THREAD: return s->threads;
    case LSC_TABLE_TASK: return s->tasks;
    case LSC_TABLE_LANE: return s->lanes;
    case LSC_TABLE_INDEX: return s->regions;
    case LSC_TABLE_OPEN: return s->open;
    default: return 0;
  }
}

struct lsc_table_size lsc_fill_size(const struct lsc_fill *fill, enum lsc_table_id id) {
  struct lsc_writer w = {.table = NULL};
  size_t rows = rows_of(fill->snapshot, id);
  for (size_t i = 0; i < rows; i++) put_rows[id](&w, fill, i);
  return (struct lsc_table_size){rows, w.text};
}

lsc_status lsc_fill_rows(const struct lsc_fill *fill, enum lsc_table_id id, size_t first, size_t count,
                         struct lsc_table *table) {
  struct lsc_writer w = {.table = table};
  for (size_t i = first; i < first + count && w.status == LSC_OK; i++) {
    put_rows[id](&w, fill, i);
    lsc_writer_end_row(&w);
  }
  return w.status == LSC_OK ? LSC_OK : lsc_fail(w.status, "no memory for the tables of rank %u", fill->rank);
}
