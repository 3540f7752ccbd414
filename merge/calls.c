/* SPDX-License-Identifier: BSD-3-Clause */
#include "calls.h"

#include <stdio.h>
#include <stdlib.h>

#include "cells.h"
#include "message.h"

#define PIECE_ROWS 65536

/* One piece of every column of /events, as wide as it stands there. */
struct piece {
  int64_t start[PIECE_ROWS], end[PIECE_ROWS], thread[PIECE_ROWS], task[PIECE_ROWS], await_ns[PIECE_ROWS];
  int64_t call_id[PIECE_ROWS], parent_id[PIECE_ROWS];
  uint32_t rank[PIECE_ROWS], region[PIECE_ROWS];
  uint8_t api[PIECE_ROWS];
};

struct loading {
  struct lsc_input *input;
  int row;
  const struct lsc_input_rank *of;
  struct lsc_calls *calls;
  struct piece *piece;
  uint8_t *seen;   /* [count] */
  int64_t total;   /* sum of the durations */
  uint64_t index;  /* row of /rank_region_index that the next event belongs to, and how many of it are left */
  uint64_t left;
};

static lsc_status broken(const struct loading *l, const char *group, uint64_t row, const char *what) {
  return lsc_fail(LSC_INVALID, "'%s' is damaged: row %llu of %s %s", l->input->path, (unsigned long long)row, group,
                  what);
}

static void *column_of(struct piece *piece, int column) {
  switch (column) {
    case LSC_EVENT_START: return piece->start;
    case LSC_EVENT_END: return piece->end;
    case LSC_EVENT_RANKS: return piece->rank;
    case LSC_EVENT_REGION_IDS: return piece->region;
    case LSC_EVENT_THREADS: return piece->thread;
    case LSC_EVENT_TASKS: return piece->task;
    case LSC_EVENT_AWAIT: return piece->await_ns;
    case LSC_EVENT_CALL_IDS: return piece->call_id;
    case LSC_EVENT_PARENT_IDS: return piece->parent_id;
    default: return piece->api;
  }
}

static lsc_status read_piece(struct loading *l, uint64_t first, size_t count) {
  lsc_status status = LSC_OK;
  for (int k = 0; k < LSC_EVENT_COLUMNS && !status; k++) {
    if (l->input->has[k]) status = lsc_h5_read_rows(l->input->h5, k, first, count, column_of(l->piece, k));
  }
  for (size_t i = 0; i < count && !status; i++) {
    if (!l->input->has[LSC_EVENT_THREADS]) l->piece->thread[i] = -1;
    if (!l->input->has[LSC_EVENT_TASKS]) l->piece->task[i] = -1;
    if (!l->input->has[LSC_EVENT_AWAIT]) l->piece->await_ns[i] = 0;
    if (!l->input->has[LSC_EVENT_APIS]) l->piece->api[i] = l->input->api;
  }
  return status;
}

static int is_time(int64_t value) { return value >= -LSC_MOST_TIME && value <= LSC_MOST_TIME; }

/* A call with everything but its parent's depth into its place. id, thread, task and parent are as in the file. */
static const char *put_call(struct loading *l, int64_t id, int64_t thread, int64_t task, int64_t parent,
                            struct lsc_call call) {
  if (id < 0 || (uint64_t)id >= l->calls->count || l->seen[id]) return "has no call_ids of its own";
  if (parent < -1 || parent >= id) return "has a parent that does not come before it";
  if (thread < -1 || thread >= (int64_t)l->of->threads.count) return "is on a thread that is not in thread_table";
  if (task < -1 || task >= (int64_t)l->of->tasks.count) return "is in a task that is not in task_table";
  if (!is_time(call.start) || !is_time(call.end) || call.end < call.start) return "has no possible times";
  if (__builtin_add_overflow(l->total, call.end - call.start, &l->total)) return "makes the time more than can be";
  if (call.api > 2) return "was recorded by no language";
  l->seen[id] = 1;
  call.thread = (int32_t)thread;
  call.task = (int32_t)task;
  call.parent = parent < 0 ? LSC_NO_PARENT : (uint32_t)parent;
  l->calls->call[id] = call;
  return NULL;
}

/* The row of the index that the next event belongs to. */
static size_t next_index(struct loading *l) {
  const struct lsc_table *index = &l->input->table[LSC_TABLE_INDEX];
  while (!l->left) l->left = (uint64_t)lsc_cell(index, LSC_INDEX_COUNTS, (size_t)l->index++);
  l->left--;
  return (size_t)(l->index - 1);
}

static lsc_status take_piece(struct loading *l, uint64_t first, size_t count) {
  const struct lsc_table *index = &l->input->table[LSC_TABLE_INDEX];
  const struct piece *p = l->piece;
  for (size_t i = 0; i < count; i++) {
    size_t row = next_index(l);
    struct lsc_call call = {.start = p->start[i], .end = p->end[i], .await_ns = p->await_ns[i], .api = p->api[i]};
    if (l->input->index_names) call.region = l->input->index_names[row];
    const char *wrong = put_call(l, p->call_id[i], p->thread[i], p->task[i], p->parent_id[i], call);
    if (p->rank[i] != (uint32_t)l->row || (int64_t)p->region[i] != lsc_cell(index, LSC_INDEX_REGION_IDS, row)) {
      wrong = "is not where rank_region_index has it";
    }
    if (wrong) return broken(l, "events", first + i, wrong);
  }
  return LSC_OK;
}

static int64_t open_cell(const struct loading *l, int column, size_t row, int64_t otherwise) {
  if (!l->input->has_open[column]) return otherwise;
  return lsc_cell(&l->input->table[LSC_TABLE_OPEN], column, row);
}

static lsc_status take_open(struct loading *l) {
  const struct lsc_table *table = &l->input->table[LSC_TABLE_OPEN];
  for (uint64_t i = 0; i < l->of->open.count; i++) {
    size_t row = (size_t)(l->of->open.first + i);
    int64_t start = lsc_cell(table, LSC_OPEN_START, row);
    struct lsc_call call = {.start = start, .end = start, .open = 1};
    call.await_ns = open_cell(l, LSC_OPEN_AWAIT, row, 0);
    call.api = (uint8_t)open_cell(l, LSC_OPEN_APIS, row, l->input->api);
    call.open_depth = (uint32_t)lsc_cell(table, LSC_OPEN_DEPTH, row);
    if (l->input->open_names) call.region = l->input->open_names[row];
    const char *wrong =
        put_call(l, lsc_cell(table, LSC_OPEN_CALL_IDS, row), open_cell(l, LSC_OPEN_THREADS, row, -1),
                 open_cell(l, LSC_OPEN_TASKS, row, -1), lsc_cell(table, LSC_OPEN_PARENT_IDS, row), call);
    if (wrong) return broken(l, "open_calls", row, wrong);
  }
  return LSC_OK;
}

/* With every number taken once, parents come first: their depths are known. */
static lsc_status find_depths(struct loading *l) {
  struct lsc_call *call = l->calls->call;
  for (size_t id = 0; id < l->calls->count; id++) {
    if (id && call[id].start < call[id - 1].start) {
      return lsc_fail(LSC_INVALID, "'%s' is damaged: call %zu of rank %d begins before the one before it",
                      l->input->path, id, l->row);
    }
    call[id].depth = call[id].parent == LSC_NO_PARENT ? 0 : call[call[id].parent].depth + 1;
  }
  return LSC_OK;
}

static lsc_status load(struct loading *l, void (*tick)(void *), void *ctx) {
  lsc_status status = lsc_input_open(l->input);
  for (uint64_t done = 0; done < l->of->events.count && !status; done += PIECE_ROWS) {
    uint64_t left = l->of->events.count - done, first = l->of->events.first + done;
    size_t count = left < PIECE_ROWS ? (size_t)left : PIECE_ROWS;
    status = read_piece(l, first, count);
    if (!status) status = take_piece(l, first, count);
    if (tick) tick(ctx);
  }
  if (!status) status = take_open(l);
  return status ? status : find_depths(l);
}

lsc_status lsc_calls_load(struct lsc_calls *calls, struct lsc_input *input, int row, void (*tick)(void *), void *ctx) {
  const struct lsc_input_rank *of = &input->of[row];
  struct loading l = {.input = input, .row = row, .of = of, .calls = calls, .index = of->index.first};
  uint64_t count = of->events.count + of->open.count;
  *calls = (struct lsc_calls){.count = (size_t)count, .completed = (size_t)of->events.count};
  if (count > UINT32_MAX - 1) {
    *calls = (struct lsc_calls){0};
    return lsc_fail(LSC_LIMIT, "'%s': rank %d has more than 2^32 - 2 calls", input->path, row);
  }
  calls->call = calloc((size_t)count + 1, sizeof *calls->call);
  l.seen = calloc((size_t)count + 1, 1);
  l.piece = malloc(sizeof *l.piece);
  lsc_status status = calls->call && l.seen && l.piece ? load(&l, tick, ctx) : LSC_NO_MEMORY;
  if (status == LSC_NO_MEMORY) lsc_fail(status, "no memory for the %zu calls of '%s'", calls->count, input->path);
  free(l.seen);
  free(l.piece);
  if (input->ranks == 1) lsc_input_close(input);
  if (status) lsc_calls_free(calls);
  return status;
}

void lsc_calls_free(struct lsc_calls *calls) {
  free(calls->call);
  *calls = (struct lsc_calls){0};
}
