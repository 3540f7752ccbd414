/* SPDX-License-Identifier: BSD-3-Clause */
#include "tables.h"

#include <stdlib.h>
#include <string.h>

#include "cells.h"
#include "fill.h"
#include "message.h"
#include "sums.h"

/* One rank under way; the first failed put is kept. */
struct making {
  struct lsc_union *all;
  struct lsc_run *run;
  int rank;
  const struct lsc_part *part; /* [parts], in the order of their collects */
  size_t parts;
  const struct lsc_part *threads, *tasks; /* whose rows of the lane tables are the latest */
  struct lsc_calls calls;
  struct lsc_rank_order order;
  lsc_status status;
};

static const struct lsc_input *input_of(const struct making *m, const struct lsc_part *part) {
  return &m->run->input[part->input];
}

static struct lsc_rows threads_of(const struct making *m, const struct lsc_part *part) {
  return input_of(m, part)->of[part->row].threads;
}

static struct lsc_rows tasks_of(const struct making *m, const struct lsc_part *part) {
  return input_of(m, part)->of[part->row].tasks;
}

static void put(struct making *m, enum lsc_table_id id, int column, int64_t value) {
  if (!m->status) m->status = lsc_table_put_int(&m->all->table[id], column, value);
}

static void put_text(struct making *m, enum lsc_table_id id, int column, const char *text, size_t length) {
  if (!m->status) m->status = lsc_table_put_text(&m->all->table[id], column, text, length);
}

static void copy_text(struct making *m, enum lsc_table_id id, int column, const struct lsc_table *from, size_t row) {
  size_t length;
  const char *text = lsc_cell_text(from, column, row, &length);
  put_text(m, id, column, text, length);
}

static void end_row(struct making *m, enum lsc_table_id id) {
  if (!m->status) lsc_table_end_row(&m->all->table[id]);
}

/* Sums of a column of /rank_table over the parts; of numbers that a damaged file may have, so it wraps. */
static int64_t sum_of(const struct making *m, int column) {
  uint64_t sum = 0;
  for (size_t p = 0; p < m->parts; p++) {
    sum += (uint64_t)lsc_cell(&input_of(m, &m->part[p])->table[LSC_TABLE_RANK], column, (size_t)m->part[p].row);
  }
  return (int64_t)sum;
}

/* What a part that was merged itself says of missing collects is out of date, where the run knows of its own. */
static int was_judged(const struct making *m, const struct lsc_part *part) {
  return input_of(m, part)->is_merged && m->run->collects[m->rank].count;
}

/* The first reason of a part, if it still counts. */
static const char *first_reason(const struct making *m, int has_own, size_t *length) {
  for (size_t p = 0; p < m->parts; p++) {
    const struct lsc_table *table = &input_of(m, &m->part[p])->table[LSC_TABLE_RANK];
    size_t row = (size_t)m->part[p].row;
    const char *text = lsc_cell_text(table, LSC_RANK_DROP_REASON, row, length);
    if (!*length) continue;
    if (!was_judged(m, &m->part[p]) || (!has_own && lsc_cell(table, LSC_RANK_DROPPED, row))) return text;
  }
  *length = 0;
  return "";
}

static void put_drop_reason(struct making *m) {
  static const char missing[] = "an input is missing";
  struct lsc_buffer own = {0}, all = {0};
  size_t length;
  lsc_status status = lsc_run_say_gaps(m->run, m->rank, &own);
  if (!status && !own.size && m->all->lost[m->rank]) status = lsc_buffer_append(&own, missing, strlen(missing));
  const char *first = first_reason(m, own.size > 0, &length);
  if (!status) status = lsc_buffer_append(&all, first, length);
  if (!status && length && own.size) status = lsc_buffer_append(&all, "; ", 2);
  if (!status) status = lsc_buffer_append(&all, own.data, own.size);
  if (status && !m->status) m->status = status;
  put_text(m, LSC_TABLE_RANK, LSC_RANK_DROP_REASON, (const char *)all.data, all.size);
  lsc_buffer_free(&own);
  lsc_buffer_free(&all);
}

static void put_collects(struct making *m) {
  struct lsc_buffer text = {0};
  lsc_status status = lsc_collects_write(&m->run->collects[m->rank], &text);
  if (status && !m->status) m->status = status;
  put_text(m, LSC_TABLE_RANK, LSC_RANK_COLLECTS, (const char *)text.data, text.size);
  lsc_buffer_free(&text);
}

static void put_drift(struct making *m) {
  static const double none = 0;
  const struct lsc_part *last = m->parts ? &m->part[m->parts - 1] : NULL;
  const void *value = &none;
  if (last) {
    value = input_of(m, last)->table[LSC_TABLE_RANK].column[LSC_RANK_DRIFT].data.data + last->row * sizeof none;
  }
  if (!m->status) m->status = lsc_table_put(&m->all->table[LSC_TABLE_RANK], LSC_RANK_DRIFT, value);
}

static int64_t status_of(const struct making *m) {
  int64_t status = lsc_run_is_incomplete(m->run, m->rank);
  if (!m->parts) return 2;
  for (size_t p = 0; p < m->parts; p++) {
    if (was_judged(m, &m->part[p])) continue;
    status |= lsc_cell(&input_of(m, &m->part[p])->table[LSC_TABLE_RANK], LSC_RANK_STATUS, (size_t)m->part[p].row);
  }
  return status;
}

static void put_rank(struct making *m) {
  const enum lsc_table_id id = LSC_TABLE_RANK;
  const struct lsc_part *last = m->parts ? &m->part[m->parts - 1] : NULL;
  const struct lsc_table *table = last ? &input_of(m, last)->table[id] : NULL;
  put(m, id, LSC_RANK_RANKS, m->rank);
  if (table) copy_text(m, id, LSC_RANK_HOSTNAME, table, (size_t)last->row);
  else put_text(m, id, LSC_RANK_HOSTNAME, "", 0);
  put(m, id, LSC_RANK_PID, table ? lsc_cell(table, LSC_RANK_PID, (size_t)last->row) : 0);
  put(m, id, LSC_RANK_THREADS, last ? (int64_t)threads_of(m, m->threads).count : 0);
  put(m, id, LSC_RANK_TASKS, last ? (int64_t)tasks_of(m, m->tasks).count : 0);
  put(m, id, LSC_RANK_CALLS, (int64_t)m->calls.completed);
  put(m, id, LSC_RANK_OPEN_CALLS, (int64_t)(m->calls.count - m->calls.completed));
  put(m, id, LSC_RANK_DROPPED, sum_of(m, LSC_RANK_DROPPED) + (int64_t)m->all->lost[m->rank]);
  put_drop_reason(m);
  put(m, id, LSC_RANK_OFFSET, m->run->offset_ns[m->rank]);
  put(m, id, LSC_RANK_ERROR, m->run->error_ns[m->rank]);
  put_drift(m);
  put(m, id, LSC_RANK_OVERHEAD, sum_of(m, LSC_RANK_OVERHEAD));
  put(m, id, LSC_RANK_STATUS, status_of(m));
  put_collects(m);
  end_row(m, id);
}

/* A time of the lane tables, from the origin of its input to that of the run. */
static int64_t moved(const struct making *m, const struct lsc_part *part, int64_t time) {
  return time + input_of(m, part)->start_ns + part->shift_ns - m->run->input[m->run->origin].start_ns;
}

/* -1 means unknown, and a time that would be -1 is -2. */
static int64_t moved_or_unknown(const struct making *m, const struct lsc_part *part, int64_t time) {
  if (time == -1) return -1;
  time = moved(m, part, time);
  return time == -1 ? -2 : time;
}

/* Rows of a lane table as they are, but for the rank and the two times, the second of which may be unknown. */
static void copy_rows(struct making *m, enum lsc_table_id id, const struct lsc_part *part, struct lsc_rows rows,
                      int begin) {
  const struct lsc_table *from = &input_of(m, part)->table[id];
  for (size_t row = (size_t)rows.first; row < rows.first + rows.count && !m->status; row++) {
    put(m, id, 0, m->rank);
    for (int column = 1; column < from->desc->columns; column++) {
      if (from->desc->column[column].type == LSC_STR) {
        copy_text(m, id, column, from, row);
        continue;
      }
      int64_t value = lsc_cell(from, column, row);
      if (column == begin) value = moved(m, part, value);
      if (column == begin + 1) value = moved_or_unknown(m, part, value);
      put(m, id, column, value);
    }
    end_row(m, id);
  }
}

/* Of several collects the last one has most rows: threads and tasks are never taken away. */
static void find_lane_tables(struct making *m) {
  m->threads = m->tasks = m->part;
  for (size_t p = 1; p < m->parts; p++) {
    if (threads_of(m, &m->part[p]).count >= threads_of(m, m->threads).count) m->threads = &m->part[p];
    if (tasks_of(m, &m->part[p]).count >= tasks_of(m, m->tasks).count) m->tasks = &m->part[p];
  }
}

static void put_label(struct making *m, int64_t lane, unsigned apis) {
  const enum lsc_table_id id = LSC_TABLE_LANE;
  char text[32];
  if (lane == -1) {
    lsc_fill_api_names(apis, text, sizeof text);
    put_text(m, id, LSC_LANE_KIND, "unknown", strlen("unknown"));
    put_text(m, id, LSC_LANE_NAME, text, strlen(text));
    return;
  }
  int is_task = lane >= 0;
  const struct lsc_part *part = is_task ? m->tasks : m->threads;
  const struct lsc_table *from = &input_of(m, part)->table[is_task ? LSC_TABLE_TASK : LSC_TABLE_THREAD];
  size_t row = (size_t)(is_task ? tasks_of(m, part).first + (uint64_t)lane
                                : threads_of(m, part).first + (uint64_t)(-2 - lane));
  size_t length;
  const char *kind = is_task ? lsc_cell_text(from, LSC_TASK_KIND, row, &length) : "thread";
  put_text(m, id, LSC_LANE_KIND, kind, is_task ? length : strlen(kind));
  const char *name = lsc_cell_text(from, is_task ? LSC_TASK_NAME : LSC_THREAD_NAME, row, &length);
  put_text(m, id, LSC_LANE_NAME, name, length);
}

static void put_lane(struct making *m, int64_t lane, const struct lsc_lane_sums *sums) {
  const enum lsc_table_id id = LSC_TABLE_LANE;
  int64_t origin = m->run->input[m->run->origin].start_ns;
  put(m, id, LSC_LANE_RANKS, m->rank);
  put(m, id, LSC_LANE_LANES, lane);
  put_label(m, lane, sums->apis);
  put(m, id, LSC_LANE_CALLS, (int64_t)sums->calls);
  put(m, id, LSC_LANE_OPEN_CALLS, (int64_t)sums->open_calls);
  put(m, id, LSC_LANE_FIRST, sums->first_ns - origin);
  put(m, id, LSC_LANE_LAST, sums->last_ns - origin);
  put(m, id, LSC_LANE_BUSY, sums->busy_ns);
  end_row(m, id);
}

/* sums[0] is the unknown lane; the threads' and then the tasks' follow. */
static void put_lanes(struct making *m) {
  size_t threads = (size_t)threads_of(m, m->threads).count, tasks = (size_t)tasks_of(m, m->tasks).count;
  struct lsc_lane_sums *sums = calloc(1 + threads + tasks, sizeof *sums);
  if (!sums) {
    m->status = LSC_NO_MEMORY;
    return;
  }
  for (size_t i = 0; i < m->calls.count; i++) {
    const struct lsc_call *call = &m->calls.call[i];
    size_t place = call->task < 0 ? (size_t)(call->thread + 1) : 1 + threads + (size_t)call->task;
    lsc_lane_sums_add(&sums[place], call->api, call->start, call->end, call->open);
  }
  for (size_t i = 0; i < 1 + threads + tasks && !m->status; i++) {
    m->all->apis |= sums[i].apis;
    int64_t lane = i == 0 ? -1 : i <= threads ? -1 - (int64_t)i : (int64_t)(i - 1 - threads);
    if (sums[i].calls || sums[i].open_calls) put_lane(m, lane, &sums[i]);
  }
  free(sums);
}

/* The row of a region in the last part that has one: what is known of its source. */
static void put_source(struct making *m, uint32_t region) {
  for (size_t p = m->parts; p-- > 0;) {
    const struct lsc_input *input = input_of(m, &m->part[p]);
    const struct lsc_table *from = &input->table[LSC_TABLE_INDEX];
    struct lsc_rows rows = input->of[m->part[p].row].index;
    for (uint64_t i = 0; i < rows.count; i++) {
      size_t row = (size_t)(rows.first + i);
      if (input->index_names[row] != region) continue;
      put(m, LSC_TABLE_INDEX, LSC_INDEX_LINES, lsc_cell(from, LSC_INDEX_LINES, row));
      copy_text(m, LSC_TABLE_INDEX, LSC_INDEX_FILES, from, row);
      copy_text(m, LSC_TABLE_INDEX, LSC_INDEX_TEXTS, from, row);
      copy_text(m, LSC_TABLE_INDEX, LSC_INDEX_TAGS, from, row);
      return;
    }
  }
}

static void put_region(struct making *m, size_t i, struct lsc_region_sums *sums) {
  const enum lsc_table_id id = LSC_TABLE_INDEX;
  put(m, id, LSC_INDEX_REGION_IDS, m->order.region[i]);
  put(m, id, LSC_INDEX_RANKS, m->rank);
  put(m, id, LSC_INDEX_OFFSETS, (int64_t)m->all->events);
  put(m, id, LSC_INDEX_COUNTS, (int64_t)m->order.count[i]);
  put_source(m, m->order.region[i]);
  put(m, id, LSC_INDEX_EXCLUSIVE, sums->exclusive);
  lsc_region_sums_end(sums);
  if (!m->status) m->status = lsc_table_put(&m->all->table[id], LSC_INDEX_STATS, &sums->stats);
  end_row(m, id);
  m->all->events += m->order.count[i];
}

static void put_index(struct making *m) {
  struct lsc_region_sums *sums = calloc(m->run->completed_names + 1, sizeof *sums); /* by id */
  const struct lsc_call *call = m->calls.call;
  if (!sums) {
    m->status = LSC_NO_MEMORY;
    return;
  }
  for (size_t i = 0; i < m->calls.count; i++) {
    if (call[i].open) continue;
    lsc_region_sums_add(&sums[call[i].region], call[i].start, call[i].end);
    if (call[i].parent == LSC_NO_PARENT || call[call[i].parent].open) continue;
    sums[call[call[i].parent].region].exclusive -= call[i].end - call[i].start;
  }
  for (size_t i = 0; i < m->order.regions && !m->status; i++) put_region(m, i, &sums[m->order.region[i]]);
  free(sums);
}

static void put_open(struct making *m) {
  const enum lsc_table_id id = LSC_TABLE_OPEN;
  for (size_t i = 0; i < m->calls.count && !m->status; i++) {
    const struct lsc_call *call = &m->calls.call[i];
    size_t length;
    if (!call->open) continue;
    const char *name = lsc_names_get(&m->run->names, call->region, &length);
    put(m, id, LSC_OPEN_START, call->start);
    put(m, id, LSC_OPEN_RANKS, m->rank);
    put(m, id, LSC_OPEN_REGION_IDS, call->region < m->run->completed_names ? call->region : UINT32_MAX);
    put(m, id, LSC_OPEN_THREADS, call->thread);
    put(m, id, LSC_OPEN_TASKS, call->task);
    put(m, id, LSC_OPEN_AWAIT, call->await_ns);
    put(m, id, LSC_OPEN_CALL_IDS, (int64_t)i);
    put(m, id, LSC_OPEN_PARENT_IDS, call->parent == LSC_NO_PARENT ? -1 : (int64_t)call->parent);
    put(m, id, LSC_OPEN_APIS, call->api);
    put_text(m, id, LSC_OPEN_REGION_NAMES, name, length);
    put(m, id, LSC_OPEN_DEPTH, call->open_depth);
    end_row(m, id);
  }
}

static lsc_status make_rank(struct lsc_union *all, struct lsc_run *run, int rank) {
  struct making m = {.all = all, .run = run, .rank = rank};
  m.part = lsc_run_parts(run, rank, &m.parts);
  if (m.parts) find_lane_tables(&m);
  lsc_status status = lsc_rank_calls(run, rank, &m.calls, &all->lost[rank]);
  if (!status) status = lsc_rank_sort(run, rank, &m.calls, &m.order);
  if (status) goto out;
  put_rank(&m);
  if (m.parts) {
    copy_rows(&m, LSC_TABLE_THREAD, m.threads, threads_of(&m, m.threads), LSC_THREAD_START);
    copy_rows(&m, LSC_TABLE_TASK, m.tasks, tasks_of(&m, m.tasks), LSC_TASK_CREATED);
    put_lanes(&m);
    put_index(&m);
    put_open(&m);
  }
  status = m.status ? lsc_fail(m.status, "no memory for the tables of rank %d", rank) : LSC_OK;
out:
  lsc_rank_order_free(&m.order);
  lsc_calls_free(&m.calls);
  return status;
}

lsc_status lsc_union_make(struct lsc_union *all, struct lsc_run *run) {
  struct lsc_table *names = &all->table[LSC_TABLE_REGION];
  *all = (struct lsc_union){0};
  for (int id = 0; id < LSC_TABLE_COUNT; id++) lsc_table_init(&all->table[id], &lsc_table_descs[id]);
  all->lost = calloc((size_t)run->size + 1, sizeof *all->lost);
  lsc_status status = all->lost ? LSC_OK : LSC_NO_MEMORY;
  for (size_t i = 0; i < run->completed_names && !status; i++) {
    size_t length;
    const char *name = lsc_names_get(&run->names, i, &length);
    status = lsc_table_put_text(names, LSC_REGION_NAMES, name, length);
    if (!status) lsc_table_end_row(names);
  }
  if (status) return lsc_fail(status, "no memory for the tables");
  for (int rank = 0; rank < run->size && !status; rank++) status = make_rank(all, run, rank);
  return status;
}

void lsc_union_free(struct lsc_union *all) {
  for (int id = 0; id < LSC_TABLE_COUNT; id++) lsc_table_free(&all->table[id]);
  free(all->lost);
  *all = (struct lsc_union){0};
}
