/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of a table under way, cell by cell: the first put that failed is kept. Or only how large they would be. */
#ifndef LSC_FILL_ROW_H
#define LSC_FILL_ROW_H

#include <string.h>

#include "table.h"

struct lsc_writer {
  struct lsc_table *table; /* NULL: the texts are counted, and no row is made */
  lsc_status status;
  uint64_t text; /* bytes, where they are counted */
};

static inline void lsc_writer_int(struct lsc_writer *w, int column, int64_t value) {
  if (w->table && w->status == LSC_OK) w->status = lsc_table_put_int(w->table, column, value);
}

static inline void lsc_writer_value(struct lsc_writer *w, int column, const void *value) {
  if (w->table && w->status == LSC_OK) w->status = lsc_table_put(w->table, column, value);
}

/* NULL: an empty text. */
static inline void lsc_writer_text(struct lsc_writer *w, int column, const char *text) {
  size_t length = text ? strlen(text) : 0;
  if (!w->table) w->text += length;
  else if (w->status == LSC_OK) w->status = lsc_table_put_text(w->table, column, text ? text : "", length);
}

static inline void lsc_writer_end_row(struct lsc_writer *w) {
  if (w->table && w->status == LSC_OK) lsc_table_end_row(w->table);
}

struct lsc_fill;
/* The cells of this rank's i-th row of /rank_region_index. fill_index.c. */
void lsc_put_region(struct lsc_writer *w, const struct lsc_fill *fill, size_t i);

#endif
