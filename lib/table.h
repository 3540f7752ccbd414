/* SPDX-License-Identifier: BSD-3-Clause */
/* Small tables in memory, column by column, as columns.h lists them: filled on each rank, gathered in rank order on
 * rank 0. */
#ifndef LSC_TABLE_H
#define LSC_TABLE_H

#include "buffer.h"
#include "columns.h"
#include "lanescope_types.h"

enum lsc_table_id {
#define LSC_X(id, group) LSC_TABLE_##id,
  LSC_TABLES(LSC_X)
#undef LSC_X
  LSC_TABLE_COUNT
};

/* Column numbers, from 0 within each table: LSC_INDEX_RANKS is the second column of /rank_region_index. */
#define LSC_X(id, name, type) LSC_##id,
enum { LSC_COLUMNS_RANK(LSC_X) LSC_RANK_COLUMNS };
enum { LSC_COLUMNS_THREAD(LSC_X) LSC_THREAD_COLUMNS };
enum { LSC_COLUMNS_TASK(LSC_X) LSC_TASK_COLUMNS };
enum { LSC_COLUMNS_LANE(LSC_X) LSC_LANE_COLUMNS };
enum { LSC_COLUMNS_REGION(LSC_X) LSC_REGION_COLUMNS };
enum { LSC_COLUMNS_INDEX(LSC_X) LSC_INDEX_COLUMNS };
enum { LSC_COLUMNS_OPEN(LSC_X) LSC_OPEN_COLUMNS };
enum { LSC_COLUMNS_EVENTS(LSC_X) LSC_EVENT_COLUMNS };
#undef LSC_X
#define LSC_MAX_COLUMNS 15

struct lsc_column_desc {
  const char *name;
  lsc_type type;
};
struct lsc_table_desc {
  const char *group;
  int columns;
  const struct lsc_column_desc *column;
};
extern const struct lsc_table_desc lsc_table_descs[LSC_TABLE_COUNT];
extern const struct lsc_table_desc lsc_events_desc;

/* Bytes of one value in memory; of LSC_STR of its end offset. */
size_t lsc_type_size(lsc_type type);

/* Values of one column. LSC_STR: data holds rows + 1 offsets (uint64_t, the first 0; nothing while empty), text the
 * bytes. */
struct lsc_column {
  struct lsc_buffer data, text;
};
struct lsc_table {
  const struct lsc_table_desc *desc;
  size_t rows;
  struct lsc_column column[LSC_MAX_COLUMNS];
};

/* text: bytes of the texts of all columns. */
struct lsc_table_size {
  uint64_t rows, text;
};

void lsc_table_init(struct lsc_table *table, const struct lsc_table_desc *desc);
void lsc_table_free(struct lsc_table *table);

/*
 * Appends one value to a column: the column's C type by pointer. A row is complete when every column has its value;
 * then lsc_table_end_row counts it. LSC_OK, LSC_NO_MEMORY.
 */
lsc_status lsc_table_put(struct lsc_table *table, int column, const void *value);
lsc_status lsc_table_put_i64(struct lsc_table *table, int column, int64_t value);
lsc_status lsc_table_put_text(struct lsc_table *table, int column, const char *text, size_t length);
/* Puts an integer into a column of any integer type, cut to its width. */
lsc_status lsc_table_put_int(struct lsc_table *table, int column, int64_t value);
void lsc_table_end_row(struct lsc_table *table);

/* Forgets the rows and keeps their memory. */
void lsc_table_clear(struct lsc_table *table);
/* Bytes of the texts of all columns. */
uint64_t lsc_table_text_bytes(const struct lsc_table *table);

/* The rows of a complete table for the wire, and such rows appended to another of the same kind. */
lsc_status lsc_table_encode(const struct lsc_table *table, struct lsc_buffer *out);
lsc_status lsc_table_decode_append(struct lsc_table *table, struct lsc_reader *in);

lsc_column_view lsc_table_view(const struct lsc_table *table, int column);
/* Of count rows from `first` on, which the table has; offsets[0] of texts need not be 0. */
lsc_column_view lsc_table_view_rows(const struct lsc_table *table, int column, size_t first, size_t count);

#endif
