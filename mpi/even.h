/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The columns of /events that have one value in all rows of a region of this rank: they are known without its calls, so
 * they are made and written apart from the others, in fewer and larger pieces.
 */
#ifndef LSC_EVEN_H
#define LSC_EVEN_H

#include "fill.h"

struct lsc_even {
  const struct lsc_fill *fill;
  void *values;         /* of the piece made last */
  int column;           /* the piece: rows row … row + rows - 1 of this rank's events in this column */
  uint64_t row;
  size_t rows;
  uint64_t done, total; /* bytes, of all columns: up to the end of this piece */
};

/* LSC_OK, LSC_NO_MEMORY: with nothing to free. */
lsc_status lsc_even_init(struct lsc_even *even, const struct lsc_fill *fill);
void lsc_even_free(struct lsc_even *even);

/* Makes the next piece, column after column, the rows of each in order. 1; 0: there is none. */
int lsc_even_next(struct lsc_even *even);

#endif
