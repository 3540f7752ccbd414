/* SPDX-License-Identifier: BSD-3-Clause */
#include "collects.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_DIGITS 15 /* so that numbers can be counted with */

static lsc_status append(struct lsc_collects *to, int64_t first, int64_t last) {
  struct lsc_collect_span *more = realloc(to->span, (to->count + 1) * sizeof *more);
  if (!more) return LSC_NO_MEMORY;
  to->span = more;
  to->span[to->count++] = (struct lsc_collect_span){first, last};
  return LSC_OK;
}

/* A number at *text, which is moved behind it; -1: there is none. */
static int64_t take_number(const char **text, const char *end) {
  int64_t number = 0;
  int digits = 0;
  for (; *text < end && **text >= '0' && **text <= '9'; digits++, ++*text) {
    if (digits == MOST_DIGITS) return -1;
    number = 10 * number + (**text - '0');
  }
  return digits ? number : -1;
}

static lsc_status read_span(struct lsc_collects *collects, const char **text, const char *end) {
  int64_t first = take_number(text, end), last = first;
  int is_range = *text < end && **text == '-';
  if (is_range) {
    ++*text;
    last = take_number(text, end);
  }
  if (first < 0 || last < first || (is_range && last == first)) return LSC_INVALID;
  if (collects->count && first <= lsc_collects_next(collects)) return LSC_INVALID;
  return append(collects, first, last);
}

lsc_status lsc_collects_read(struct lsc_collects *collects, const char *text, size_t length) {
  const char *end = text + length;
  lsc_status status = LSC_OK;
  *collects = (struct lsc_collects){0};
  while (length && !status) {
    status = read_span(collects, &text, end);
    if (text == end) break;
    if (!status && *text++ != ',') status = LSC_INVALID;
  }
  if (status) lsc_collects_free(collects);
  return status;
}

void lsc_collects_free(struct lsc_collects *collects) {
  free(collects->span);
  *collects = (struct lsc_collects){0};
}

lsc_status lsc_collects_add(struct lsc_collects *collects, const struct lsc_collects *more) {
  struct lsc_collects sum = {0};
  lsc_status status = LSC_OK;
  for (size_t i = 0, k = 0; (i < collects->count || k < more->count) && !status;) {
    int mine = k == more->count || (i < collects->count && collects->span[i].first <= more->span[k].first);
    struct lsc_collect_span next = mine ? collects->span[i++] : more->span[k++];
    struct lsc_collect_span *last = sum.count ? &sum.span[sum.count - 1] : NULL;
    if (!last || next.first > last->last + 1) status = append(&sum, next.first, next.last);
    else if (next.last > last->last) last->last = next.last;
  }
  free(status ? sum.span : collects->span);
  if (!status) *collects = sum;
  return status;
}

int64_t lsc_collects_common(const struct lsc_collects *a, const struct lsc_collects *b) {
  for (size_t i = 0, k = 0; i < a->count && k < b->count;) {
    int64_t first = a->span[i].first > b->span[k].first ? a->span[i].first : b->span[k].first;
    if (first <= a->span[i].last && first <= b->span[k].last) return first;
    if (a->span[i].last < b->span[k].last) i++;
    else k++;
  }
  return -1;
}

lsc_status lsc_collects_gaps(const struct lsc_collects *collects, struct lsc_collects *gaps) {
  lsc_status status = LSC_OK;
  int64_t next = 0;
  *gaps = (struct lsc_collects){0};
  for (size_t i = 0; i < collects->count && !status; i++) {
    if (collects->span[i].first > next) status = append(gaps, next, collects->span[i].first - 1);
    next = collects->span[i].last + 1;
  }
  return status;
}

int64_t lsc_collects_next(const struct lsc_collects *collects) {
  return collects->count ? collects->span[collects->count - 1].last + 1 : 0;
}

lsc_status lsc_collects_write(const struct lsc_collects *collects, struct lsc_buffer *text) {
  lsc_status status = LSC_OK;
  for (size_t i = 0; i < collects->count && !status; i++) {
    char part[64];
    const struct lsc_collect_span *span = &collects->span[i];
    int length = snprintf(part, sizeof part, "%s%lld", i ? "," : "", (long long)span->first);
    if (span->last > span->first) {
      length += snprintf(part + length, sizeof part - (size_t)length, "-%lld", (long long)span->last);
    }
    status = lsc_buffer_append(text, part, (size_t)length);
  }
  return status;
}
