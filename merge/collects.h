/* SPDX-License-Identifier: BSD-3-Clause */
/* Which collects of a rank's session a file holds, as the column collects of /rank_table has it: `0`, `0-2,4`. */
#ifndef LSC_COLLECTS_H
#define LSC_COLLECTS_H

#include "buffer.h"

struct lsc_collect_span {
  int64_t first, last;
};

/* Ascending, with at least one number missing between two spans. No span: none, or it is not known. */
struct lsc_collects {
  struct lsc_collect_span *span; /* [count], malloc'd */
  size_t count;
};

/* LSC_OK; LSC_INVALID: the text, of `length` bytes, is no such list; LSC_NO_MEMORY. On failure *collects is empty. */
lsc_status lsc_collects_read(struct lsc_collects *collects, const char *text, size_t length);
void lsc_collects_free(struct lsc_collects *collects);

/* Adds those of `more`. LSC_OK, LSC_NO_MEMORY. */
lsc_status lsc_collects_add(struct lsc_collects *collects, const struct lsc_collects *more);

/* The lowest number that both have, or -1. */
int64_t lsc_collects_common(const struct lsc_collects *a, const struct lsc_collects *b);

/* The numbers below the last one that are not there. LSC_OK, LSC_NO_MEMORY. */
lsc_status lsc_collects_gaps(const struct lsc_collects *collects, struct lsc_collects *gaps);

/* The number behind the last one; 0 without any. */
int64_t lsc_collects_next(const struct lsc_collects *collects);

/* Appends the text, which is not terminated. LSC_OK, LSC_NO_MEMORY. */
lsc_status lsc_collects_write(const struct lsc_collects *collects, struct lsc_buffer *text);

#endif
