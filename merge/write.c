/* SPDX-License-Identifier: BSD-3-Clause */
#include "write.h"

#include <stdlib.h>
#include <string.h>

#include "cells.h"
#include "chunk.h"
#include "create.h"
#include "message.h"
#include "publish.h"

#define PIECE_ROWS 65536

struct writing {
  const struct lsc_union *all;
  struct lsc_run *run;
  struct lsc_fill columns; /* which there are */
  struct lsc_h5 *h5;
  int level;               /* of compression; 0: none */
  struct lsc_chunk_writer chunk;
  uint64_t row;            /* of /events that comes next */
  int64_t *values;         /* [PIECE_ROWS] of the widest type */
};

static int64_t value_of(const struct lsc_calls *calls, uint32_t id, int column, int rank) {
  const struct lsc_call *call = &calls->call[id];
  switch (column) {
    case LSC_EVENT_START: return call->start;
    case LSC_EVENT_END: return call->end;
    case LSC_EVENT_RANKS: return rank;
    case LSC_EVENT_REGION_IDS: return call->region;
    case LSC_EVENT_THREADS: return call->thread;
    case LSC_EVENT_TASKS: return call->task;
    case LSC_EVENT_AWAIT: return call->await_ns;
    case LSC_EVENT_CALL_IDS: return id;
    case LSC_EVENT_PARENT_IDS: return call->parent == LSC_NO_PARENT ? -1 : (int64_t)call->parent;
    default: return call->api;
  }
}

static void put_value(void *values, lsc_type type, size_t i, int64_t value) {
  if (type == LSC_U8) ((uint8_t *)values)[i] = (uint8_t)value;
  else if (type == LSC_U32) ((uint32_t *)values)[i] = (uint32_t)value;
  else ((int64_t *)values)[i] = value;
}

static lsc_status write_piece(struct writing *w, const struct lsc_calls *calls, const uint32_t *ids, size_t count,
                              int rank) {
  lsc_status status = LSC_OK;
  for (int k = 0; k < LSC_EVENT_COLUMNS && !status; k++) {
    if (!lsc_fill_has_event_column(&w->columns, k)) continue;
    void *values = w->level ? lsc_chunk_writer_place(&w->chunk, k) : w->values;
    for (size_t i = 0; i < count; i++) {
      put_value(values, lsc_events_desc.column[k].type, i, value_of(calls, ids[i], k, rank));
    }
    if (!w->level) status = lsc_h5_write_rows(w->h5, k, w->row, count, values);
  }
  if (w->level) status = lsc_chunk_writer_filled(&w->chunk, count);
  w->row += count;
  return status;
}

static lsc_status write_rank(struct writing *w, int rank) {
  struct lsc_rank_order order = {0};
  struct lsc_calls calls;
  uint64_t lost;
  lsc_status status = lsc_rank_calls(w->run, rank, &calls, &lost);
  if (!status) status = lsc_rank_sort(w->run, rank, &calls, &order);
  if (!status && calls.completed > w->all->events - w->row) {
    status = lsc_fail(LSC_INVALID, "the inputs changed while they were merged");
  }
  for (size_t done = 0, count; done < calls.completed && !status; done += count) {
    size_t left = calls.completed - done, most = w->level ? lsc_chunk_writer_room(&w->chunk) : PIECE_ROWS;
    count = left < most ? left : most;
    status = write_piece(w, &calls, order.call + done, count, rank);
  }
  lsc_rank_order_free(&order);
  lsc_calls_free(&calls);
  return status;
}

static lsc_status get_memory(struct writing *w) {
  if (w->level) return lsc_chunk_writer_init(&w->chunk, w->h5, &w->columns, w->all->events, w->level);
  w->values = malloc(PIECE_ROWS * sizeof *w->values);
  return w->values ? LSC_OK : lsc_fail(LSC_NO_MEMORY, "no memory for a piece of /events");
}

static lsc_status write_events(struct writing *w) {
  lsc_status status = get_memory(w);
  if (!status) status = lsc_create_select(w->h5, &w->columns, w->all->events);
  for (int rank = 0; rank < w->run->size && !status; rank++) status = write_rank(w, rank);
  if (!status && w->row != w->all->events) status = lsc_fail(LSC_INVALID, "the inputs changed while they were merged");
  lsc_chunk_writer_free(&w->chunk);
  free(w->values);
  return status;
}

static int is_own(const char *name, size_t length) {
  static const char *const own[] = {"mpi_size",   "run_rank",            "run_size",           "api",
                                    "session_id", "run_clock_offset_ns", "run_clock_error_ns", "merged_files"};
  for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
    if (strlen(own[i]) == length && memcmp(own[i], name, length) == 0) return 1;
  }
  return 0;
}

static lsc_status put_number(struct lsc_table *to, const char *name, size_t length, int64_t value) {
  lsc_status status = lsc_table_put_text(to, 0, name, length);
  if (!status) status = lsc_table_put_i64(to, 1, value);
  if (!status) lsc_table_end_row(to);
  return status;
}

/* Where rank 0 is missing: how far the clock of the first rank that is there is from its. */
static lsc_status put_clock(const struct lsc_input *origin, int reference, struct lsc_table *to) {
  static const char offset[] = "run_clock_offset_ns", error[] = "run_clock_error_ns";
  if (reference == 0 || !origin->is_compared) return LSC_OK;
  lsc_status status = put_number(to, offset, strlen(offset), origin->offset_ns);
  return status ? status : put_number(to, error, strlen(error), origin->error_ns);
}

/* Which all inputs that know theirs have in common. */
static lsc_status put_session(const struct lsc_run *run, struct lsc_table *to) {
  static const char name[] = "session_id";
  for (int i = 0; i < run->inputs; i++) {
    if (run->input[i].session_id) return put_number(to, name, strlen(name), run->input[i].session_id);
  }
  return LSC_OK;
}

/* Those of the input that the run's origin is, but for what is of all inputs. */
static lsc_status make_metadata(const struct writing *w, struct lsc_metadata *to) {
  const struct lsc_input *origin = &w->run->input[w->run->origin];
  const struct lsc_table *numbers = &origin->metadata.numbers;
  struct lsc_buffer texts = {0};
  unsigned apis = w->all->apis;
  lsc_metadata_init(to);
  lsc_status status = put_number(&to->numbers, "mpi_size", strlen("mpi_size"), w->run->size);
  if (!status) status = put_number(&to->numbers, "merged_files", strlen("merged_files"), w->run->inputs);
  if (!status && apis && !(apis & (apis - 1))) {
    status = put_number(&to->numbers, "api", strlen("api"), __builtin_ctz(apis));
  }
  if (!status) status = put_session(w->run, &to->numbers);
  if (!status) status = put_clock(origin, w->run->reference, &to->numbers);
  for (size_t i = 0; i < numbers->rows && !status; i++) {
    size_t length;
    const char *name = lsc_cell_text(numbers, 0, i, &length);
    if (!is_own(name, length)) status = put_number(&to->numbers, name, length, lsc_cell(numbers, 1, i));
  }
  if (!status) status = lsc_table_encode(&origin->metadata.texts, &texts);
  struct lsc_reader reader = {texts.data, texts.data + texts.size, 0};
  if (!status) status = lsc_table_decode_append(&to->texts, &reader);
  lsc_buffer_free(&texts);
  return status;
}

static void set_columns(struct writing *w) {
  w->columns.apis = w->all->apis;
  for (int i = 0; i < w->run->inputs; i++) {
    w->columns.threads |= w->run->input[i].has_threads;
    w->columns.tasks |= w->run->input[i].has[LSC_EVENT_TASKS];
  }
}

/* All but the calls; the file stays open. */
static lsc_status create(struct writing *w, const struct lsc_target *target, const struct lsc_metadata *metadata) {
  struct lsc_table_size sizes[LSC_TABLE_COUNT];
  const struct lsc_table *table = w->all->table;
  for (int i = 0; i < LSC_TABLE_COUNT; i++) {
    sizes[i] = (struct lsc_table_size){table[i].rows, lsc_table_text_bytes(&table[i])};
  }
  const struct lsc_contents contents = {.sizes = sizes,
                                        .fill = &w->columns,
                                        .events = w->all->events,
                                        .level = w->level,
                                        .name = target->path,
                                        .metadata = metadata};
  lsc_status status = lsc_create(target->temporary, &contents, &w->h5);
  for (int i = 0; i < LSC_TABLE_COUNT && !status; i++) {
    const struct lsc_table_rows rows = {&table[i], 0, table[i].rows};
    status = lsc_create_rows(w->h5, &w->columns, (enum lsc_table_id)i, 0, &rows);
  }
  if (status || !w->level) return status;
  return lsc_create_reserve(target->temporary, target->path, lsc_chunk_writer_bound(&w->columns, w->all->events));
}

static lsc_status write_target(struct writing *w, struct lsc_target *target) {
  struct lsc_metadata metadata;
  lsc_status status = make_metadata(w, &metadata);
  if (!status) status = create(w, target, &metadata);
  lsc_metadata_free(&metadata);
  if (!status) status = write_events(w);
  status = lsc_h5_close(w->h5, status);
  return status ? status : lsc_target_publish(target);
}

lsc_status lsc_union_write(const struct lsc_union *all, struct lsc_run *run, const char *path, int level) {
  struct writing w = {.all = all, .run = run, .level = level};
  struct lsc_target target;
  lsc_status status = lsc_target_open(&target, path);
  if (status) return status;
  set_columns(&w);
  status = write_target(&w, &target);
  lsc_target_close(&target);
  return status;
}
