/* SPDX-License-Identifier: BSD-3-Clause */
/* Single values of the tables in memory. */
#ifndef LSC_CELLS_H
#define LSC_CELLS_H

#include <string.h>

#include "table.h"

/* An integer of any width; u64 above 2^63 comes out negative. */
static inline int64_t lsc_cell(const struct lsc_table *table, int column, size_t row) {
  const unsigned char *data = table->column[column].data.data;
  switch (table->desc->column[column].type) {
    case LSC_I8: return ((const int8_t *)data)[row];
    case LSC_U8: return data[row];
    case LSC_U32: return ((const uint32_t *)(const void *)data)[row];
    default: return ((const int64_t *)(const void *)data)[row];
  }
}

/* A text, not terminated. */
static inline const char *lsc_cell_text(const struct lsc_table *table, int column, size_t row, size_t *length) {
  lsc_column_view view = lsc_table_view(table, column);
  *length = (size_t)(view.offsets[row + 1] - view.offsets[row]);
  return view.text + view.offsets[row];
}

/* 1 if a text of one table is that of another. */
static inline int lsc_cells_match(const struct lsc_table *a, size_t row_a, const struct lsc_table *b, size_t row_b,
                                  int column) {
  size_t length_a, length_b;
  const char *text_a = lsc_cell_text(a, column, row_a, &length_a), *text_b = lsc_cell_text(b, column, row_b, &length_b);
  return length_a == length_b && memcmp(text_a, text_b, length_a) == 0;
}

#endif
