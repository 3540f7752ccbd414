/* SPDX-License-Identifier: BSD-3-Clause */
#include "fill.h"

#include <stdio.h>
#include <string.h>

#include "message.h"
#include "region.h"

/* One row of a table under way: the first failed put is kept. */
struct writer {
  struct lsc_table *table;
  lsc_status status;
};

static void put_int(struct writer *w, int column, int64_t value) {
  if (w->status == LSC_OK) w->status = lsc_table_put_int(w->table, column, value);
}

static void put_text(struct writer *w, int column, const char *text) {
  if (w->status == LSC_OK) w->status = lsc_table_put_text(w->table, column, text ? text : "", text ? strlen(text) : 0);
}

static void end_row(struct writer *w) {
  if (w->status == LSC_OK) lsc_table_end_row(w->table);
}

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

static lsc_status fill_rank(const struct lsc_fill *fill, struct lsc_table *table) {
  const struct lsc_snapshot *s = fill->snapshot;
  struct writer w = {table, LSC_OK};
  char reason[80];
  put_int(&w, LSC_RANK_RANKS, fill->rank);
  put_text(&w, LSC_RANK_HOSTNAME, fill->hostname);
  put_int(&w, LSC_RANK_PID, fill->pid);
  put_int(&w, LSC_RANK_THREADS, (int64_t)s->threads);
  put_int(&w, LSC_RANK_TASKS, (int64_t)s->tasks);
  put_int(&w, LSC_RANK_CALLS, (int64_t)s->completed);
  put_int(&w, LSC_RANK_OPEN_CALLS, (int64_t)s->open);
  put_int(&w, LSC_RANK_DROPPED, (int64_t)s->dropped);
  put_text(&w, LSC_RANK_DROP_REASON, drop_reason(s, reason, sizeof reason));
  put_int(&w, LSC_RANK_OFFSET, s->clock_offset_ns);
  put_int(&w, LSC_RANK_ERROR, s->clock_error_ns);
  if (w.status == LSC_OK) w.status = lsc_table_put(table, LSC_RANK_DRIFT, &s->clock_drift_ppb);
  put_int(&w, LSC_RANK_OVERHEAD, s->overhead_ns);
  put_int(&w, LSC_RANK_STATUS, 0);
  end_row(&w);
  return w.status;
}

lsc_status lsc_fill_threads(const struct lsc_fill *fill, struct lsc_table *table) {
  const struct lsc_snapshot *s = fill->snapshot;
  struct writer w = {table, LSC_OK};
  for (size_t i = 0; i < s->threads; i++) {
    const struct lsc_thread_info *thread = &s->thread[i];
    put_int(&w, LSC_THREAD_RANKS, fill->rank);
    put_int(&w, LSC_THREAD_INDEX, thread->index);
    put_int(&w, LSC_THREAD_IDENT, thread->ident);
    put_int(&w, LSC_THREAD_NATIVE_ID, thread->native_id);
    put_text(&w, LSC_THREAD_NAME, thread->name);
    put_int(&w, LSC_THREAD_DAEMON, thread->daemon);
    put_int(&w, LSC_THREAD_START, on_run_clock(fill, thread->start_ns));
    put_int(&w, LSC_THREAD_END, known_or_unknown(fill, thread->end_ns));
    put_int(&w, LSC_THREAD_CPU, thread->cpu_ns == LSC_NEVER ? -1 : thread->cpu_ns);
    end_row(&w);
  }
  return w.status;
}

lsc_status lsc_fill_tasks(const struct lsc_fill *fill, struct lsc_table *table) {
  const struct lsc_snapshot *s = fill->snapshot;
  struct writer w = {table, LSC_OK};
  for (size_t i = 0; i < s->tasks; i++) {
    const struct lsc_task_info *task = &s->task[i];
    put_int(&w, LSC_TASK_RANKS, fill->rank);
    put_int(&w, LSC_TASK_INDEX, task->index);
    put_text(&w, LSC_TASK_KIND, task->kind);
    put_text(&w, LSC_TASK_NAME, task->name);
    put_text(&w, LSC_TASK_CORO_NAME, task->coro_name);
    put_int(&w, LSC_TASK_THREAD_INDEX, task->thread_index);
    put_int(&w, LSC_TASK_CREATED, on_run_clock(fill, task->created_ns));
    put_int(&w, LSC_TASK_DONE, known_or_unknown(fill, task->done_ns));
    put_int(&w, LSC_TASK_STEPS, task->steps);
    put_int(&w, LSC_TASK_RUNNING, task->running_ns);
    put_int(&w, LSC_TASK_SUSPENDED, task->suspended_ns);
    end_row(&w);
  }
  return w.status;
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

static void put_lane_label(struct writer *w, const struct lsc_snapshot *s, const struct lsc_lane_info *lane) {
  char apis[32];
  if (lane->lane == -1) {
    put_text(w, LSC_LANE_KIND, "unknown");
    put_text(w, LSC_LANE_NAME, lsc_fill_api_names(lane->apis, apis, sizeof apis));
  } else if (lane->lane >= 0) {
    put_text(w, LSC_LANE_KIND, s->task[lane->lane].kind);
    put_text(w, LSC_LANE_NAME, s->task[lane->lane].name);
  } else {
    put_text(w, LSC_LANE_KIND, "thread");
    put_text(w, LSC_LANE_NAME, s->thread[-2 - lane->lane].name);
  }
}

static lsc_status fill_lanes(const struct lsc_fill *fill, struct lsc_table *table) {
  const struct lsc_snapshot *s = fill->snapshot;
  struct writer w = {table, LSC_OK};
  for (size_t i = 0; i < s->lanes; i++) {
    const struct lsc_lane_info *lane = &s->lane[i];
    put_int(&w, LSC_LANE_RANKS, fill->rank);
    put_int(&w, LSC_LANE_LANES, lane->lane);
    put_lane_label(&w, s, lane);
    put_int(&w, LSC_LANE_CALLS, (int64_t)lane->calls);
    put_int(&w, LSC_LANE_OPEN_CALLS, (int64_t)lane->open_calls);
    put_int(&w, LSC_LANE_FIRST, on_run_clock(fill, lane->first_ns));
    put_int(&w, LSC_LANE_LAST, on_run_clock(fill, lane->last_ns));
    put_int(&w, LSC_LANE_BUSY, lane->busy_ns);
    end_row(&w);
  }
  return w.status;
}

static void put_open_times(struct writer *w, const struct lsc_fill *fill, const struct lsc_row *row) {
  uint64_t start = atomic_load_explicit(&row->start, memory_order_relaxed);
  put_int(w, LSC_OPEN_START, lsc_clock_map_ns(&fill->snapshot->map, start));
  put_int(w, LSC_OPEN_RANKS, fill->rank);
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

static lsc_status fill_open_calls(const struct lsc_fill *fill, struct lsc_table *table) {
  const struct lsc_snapshot *s = fill->snapshot;
  struct writer w = {table, LSC_OK};
  uint32_t united = LSC_NO_NAME, last = UINT32_MAX;
  for (size_t i = 0; i < s->open; i++) {
    const struct lsc_open_call *call = &s->open_call[i];
    const struct lsc_row *row = call->row;
    struct lsc_region_view region = lsc_region_get(lsc_row_region(row));
    if (last != lsc_row_region(row)) united = united_id(fill, lsc_row_region(row));
    last = lsc_row_region(row);
    put_open_times(&w, fill, row);
    put_int(&w, LSC_OPEN_REGION_IDS, united);
    put_int(&w, LSC_OPEN_THREADS, lsc_row_thread(row));
    put_int(&w, LSC_OPEN_TASKS, lsc_row_task(row));
    put_int(&w, LSC_OPEN_AWAIT, call->await_ns);
    put_int(&w, LSC_OPEN_CALL_IDS, call->call);
    put_int(&w, LSC_OPEN_PARENT_IDS, call->parent == LSC_NO_CALL ? -1 : (int64_t)call->parent);
    put_int(&w, LSC_OPEN_APIS, lsc_row_api(row));
    put_text(&w, LSC_OPEN_REGION_NAMES, region.name);
    put_int(&w, LSC_OPEN_DEPTH, lsc_row_depth(row));
    end_row(&w);
  }
  return w.status;
}

lsc_status lsc_fill_tables(const struct lsc_fill *fill, struct lsc_table *tables) {
  for (int i = 0; i < LSC_TABLE_COUNT; i++) lsc_table_init(&tables[i], &lsc_table_descs[i]);
  lsc_status status = fill_rank(fill, &tables[LSC_TABLE_RANK]);
  if (status == LSC_OK) status = lsc_fill_threads(fill, &tables[LSC_TABLE_THREAD]);
  if (status == LSC_OK) status = lsc_fill_tasks(fill, &tables[LSC_TABLE_TASK]);
  if (status == LSC_OK) status = fill_lanes(fill, &tables[LSC_TABLE_LANE]);
  if (status == LSC_OK) status = lsc_fill_index(fill, &tables[LSC_TABLE_INDEX]);
  if (status == LSC_OK) status = fill_open_calls(fill, &tables[LSC_TABLE_OPEN]);
  return status == LSC_OK ? status : lsc_fail(status, "no memory for the tables of rank %u", fill->rank);
}
