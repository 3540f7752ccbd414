/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The small tables on their way from every rank into rank 0's file, a block of rows at a time, so that rank 0 holds a
 * few blocks and not the tables of all ranks, unless they are so small that the report is to have them.
 */
#include "collection.h"
#include "create.h"
#include "message.h"
#include "progress.h"
#include "task.h"
#include "track.h"

#define BLOCK_ROWS 1024 /* of each table in one piece of a rank, and of one table before it is written */

#define REPORT_PART 8 /* of what rank 0 recorded, one byte in so many for the report */

uint64_t lsc_report_most = (uint64_t)64 << 20, lsc_report_least = (uint64_t)1 << 20;

/* This rank's rows of every table; none once something has failed. */
static void size_tables(struct lsc_collection *c) {
  lsc_collection_enter(c, LSC_STEP_TABLES);
  for (int i = 0; i < LSC_TABLE_COUNT; i++)
    c->mine[i] = c->status ? (struct lsc_table_size){0, 0} : lsc_fill_size(&c->fill, (enum lsc_table_id)i);
}

void lsc_collection_count_tables(struct lsc_collection *c) {
  enum { COUNTS = 2 * LSC_TABLE_COUNT };
  uint64_t mine[COUNTS], before[COUNTS], all[COUNTS] = {0};
  size_tables(c);
  for (int i = 0; i < LSC_TABLE_COUNT; i++) {
    mine[2 * i] = c->mine[i].rows;
    mine[2 * i + 1] = c->mine[i].text;
  }
  lsc_collection_enter(c, LSC_STEP_COUNTS);
  lsc_collection_came(
      c, lsc_coll_scan(c->coll, LSC_TAG_COUNTS, COUNTS, mine, before, all, lsc_collection_deadline(c)));
  for (int i = 0; i < LSC_TABLE_COUNT; i++) c->sizes[i] = (struct lsc_table_size){all[2 * i], all[2 * i + 1]};
}

/* Bytes of all ranks' tables in memory. */
static uint64_t bytes_of_tables(const struct lsc_collection *c) {
  uint64_t bytes = 0;
  for (int i = 0; i < LSC_TABLE_COUNT; i++) {
    const struct lsc_table_desc *desc = &lsc_table_descs[i];
    bytes += c->sizes[i].text;
    for (int k = 0; k < desc->columns; k++) bytes += c->sizes[i].rows * lsc_type_size(desc->column[k].type);
  }
  return bytes;
}

/* Bytes for the report: who wants the calls in memory wants the tables, too. */
static uint64_t room_for_report(const struct lsc_collection *c) {
  const struct lsc_snapshot *s = &c->snapshot;
  if (c->options.keep_events && c->coll->size == 1) return lsc_report_most;
  uint64_t recorded = s->calls * sizeof(struct lsc_row) + s->threads * sizeof(struct lsc_track) +
                      s->tasks * sizeof(struct lsc_task_record) + c->mine[LSC_TABLE_THREAD].text +
                      c->mine[LSC_TABLE_TASK].text;
  uint64_t room = recorded / REPORT_PART < lsc_report_least ? lsc_report_least : recorded / REPORT_PART;
  return room < lsc_report_most ? room : lsc_report_most;
}

/* One rank's part in the exchange, and on rank 0 what has come. */
struct exchange {
  struct lsc_collection *c;
  size_t given;                      /* rows of each of its own tables, at most all of them */
  uint64_t before[LSC_TABLE_COUNT];  /* rows in the file in front of the first one of c->merged */
  size_t written[LSC_TABLE_COUNT];   /* rows of c->merged that are in the file */
  struct lsc_name_index names;       /* of /region_table */
};

/* Rows of one table from x->given on, of those that there are. */
static lsc_status encode_next(const struct exchange *x, enum lsc_table_id id, struct lsc_buffer *out) {
  struct lsc_table table;
  size_t rows = x->c->mine[id].rows, first = x->given < rows ? x->given : rows;
  size_t count = rows - first < BLOCK_ROWS ? rows - first : BLOCK_ROWS;
  lsc_table_init(&table, &lsc_table_descs[id]);
  lsc_status status = lsc_fill_rows(&x->c->fill, id, first, count, &table);
  if (!status) status = lsc_table_encode(&table, out);
  lsc_table_free(&table);
  return status;
}

static lsc_status next_block(void *ctx, struct lsc_buffer *out, int *more) {
  struct exchange *x = ctx;
  lsc_status status = LSC_OK;
  size_t end = x->given + BLOCK_ROWS;
  *more = 0;
  for (int i = 0; i < LSC_TABLE_COUNT && !status; i++) {
    status = encode_next(x, (enum lsc_table_id)i, out);
    if (end < x->c->mine[i].rows) *more = 1;
  }
  x->given = end;
  return status ? lsc_fail(status, "no memory to send the tables of rank %d", x->c->coll->rank) : LSC_OK;
}

/* Writes what of a table is not yet in the file, and forgets it unless the report is to have it. */
static lsc_status write_table(struct exchange *x, enum lsc_table_id id) {
  struct lsc_collection *c = x->c;
  struct lsc_table *table = &c->merged[id];
  const struct lsc_table_rows rows = {table, x->written[id], table->rows - x->written[id]};
  lsc_status status = lsc_step(LSC_STEP_FILE_TABLES);
  if (!status && id == LSC_TABLE_OPEN) status = lsc_fill_open_regions(table, rows.first, &x->names);
  if (!status) status = lsc_create_rows(c->file, &c->fill, id, x->before[id] + rows.first, &rows);
  x->written[id] = table->rows;
  if (c->keeps) return status;
  x->before[id] += table->rows;
  x->written[id] = 0;
  lsc_table_clear(table);
  return status;
}

static lsc_status take_block(void *ctx, int rank, struct lsc_reader *bytes) {
  struct exchange *x = ctx;
  struct lsc_collection *c = x->c;
  lsc_status status = LSC_OK;
  for (int i = 0; i < LSC_TABLE_COUNT && !status; i++) {
    status = lsc_table_decode_append(&c->merged[i], bytes);
    if (status) lsc_fail(status, "the tables of rank %d could not be merged: %s", rank, lsc_strerror(status));
  }
  for (int i = 0; i < LSC_TABLE_COUNT && !status; i++) {
    if (c->merged[i].rows - x->written[i] < BLOCK_ROWS) continue;
    status = write_table(x, (enum lsc_table_id)i);
    if (!status) lsc_step_enter(LSC_STEP_GATHER);
  }
  lsc_progress_at((uint64_t)rank, (uint64_t)c->coll->size);
  return lsc_collection_note(c, status);
}

/* What is left, once every rank's rows have come. */
static lsc_status write_rest(struct exchange *x) {
  lsc_status status = LSC_OK;
  for (int i = 0; i < LSC_TABLE_COUNT && !status; i++) {
    status = write_table(x, (enum lsc_table_id)i);
    uint64_t rows = x->before[i] + x->written[i];
    if (status || rows == x->c->sizes[i].rows) continue;
    status = lsc_fail(LSC_INVALID, "%llu rows of %s came instead of %llu", (unsigned long long)rows,
                      x->c->merged[i].desc->group, (unsigned long long)x->c->sizes[i].rows);
  }
  return status;
}

void lsc_collection_gather(struct lsc_collection *c) {
  struct exchange x = {.c = c, .names = {.names = &c->names}};
  const struct lsc_pieces pieces = {next_block, take_block, &x};
  c->keeps = c->keeps && bytes_of_tables(c) <= room_for_report(c);
  if (!c->status) lsc_collection_enter(c, LSC_STEP_GATHER);
  lsc_status mine = c->status ? LSC_NO_MEMORY : LSC_OK; /* what it is comes with the agreement */
  lsc_status status = lsc_coll_pieces(c->coll, LSC_TAG_TABLES, mine, &pieces, lsc_collection_deadline(c));
  if (status && !c->status) lsc_collection_came(c, status);
  if (c->has_snapshot) lsc_snapshot_forget_lanes(&c->snapshot);
  if (!c->coll->rank && !c->status) lsc_collection_note(c, write_rest(&x));
  lsc_name_index_free(&x.names);
}
