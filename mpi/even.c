/* SPDX-License-Identifier: BSD-3-Clause */
#include "even.h"

#include <stdlib.h>

#include "message.h"

#define PIECE_BYTES ((size_t)256 << 10) /* lie in the second-level cache, and a write costs little beside them */

static size_t width_of(int column) { return lsc_type_size(lsc_events_desc.column[column].type); }

static int is_wanted(const struct lsc_fill *fill, int column) {
  return lsc_fill_has_event_column(fill, column) && lsc_fill_is_even(fill, column);
}

lsc_status lsc_even_init(struct lsc_even *even, const struct lsc_fill *fill) {
  *even = (struct lsc_even){.fill = fill, .column = -1};
  for (int k = 0; k < LSC_EVENT_COLUMNS; k++) {
    if (is_wanted(fill, k)) even->total += width_of(k) * fill->snapshot->completed;
  }
  even->values = malloc(PIECE_BYTES);
  return even->values ? LSC_OK : lsc_fail(LSC_NO_MEMORY, "no memory for %zu bytes of a column", PIECE_BYTES);
}

void lsc_even_free(struct lsc_even *even) { free(even->values); }

/* To the first piece of the next column. */
static void begin_column(struct lsc_even *even) {
  do even->column++;
  while (even->column < LSC_EVENT_COLUMNS && !is_wanted(even->fill, even->column));
  even->row = even->rows = 0;
}

int lsc_even_next(struct lsc_even *even) {
  uint64_t completed = even->fill->snapshot->completed, left;
  int64_t value;
  even->row += even->rows;
  if (even->column < 0 || (even->column < LSC_EVENT_COLUMNS && even->row == completed)) begin_column(even);
  if (even->column == LSC_EVENT_COLUMNS) return 0;
  size_t most = PIECE_BYTES / width_of(even->column);
  left = completed - even->row;
  even->rows = left < most ? (size_t)left : most;
  even->done += even->rows * width_of(even->column);
  /* Of one value are already there. */
  if (even->row && lsc_fill_is_constant(even->fill, even->column, &value)) return 1;
  lsc_fill_even(even->fill, even->column, (size_t)even->row, even->rows, even->values);
  return 1;
}
