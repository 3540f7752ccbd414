/* SPDX-License-Identifier: BSD-3-Clause */
#include "words.h"

#include <stdarg.h>
#include <stdio.h>

void lsc_ranks_add(struct lsc_ranks *ranks, int rank) {
  int run = ranks->runs - 1;
  ranks->total++;
  if (run >= 0 && ranks->last[run] == rank - 1) {
    ranks->last[run] = rank;
  } else if (ranks->runs < LSC_SHOWN_RUNS) {
    ranks->first[ranks->runs] = ranks->last[ranks->runs] = rank;
    ranks->runs++;
  }
}

void lsc_words_add(struct lsc_words *words, const char *format, ...) {
  va_list args;
  va_start(args, format);
  int wrote = vsnprintf(words->text + words->used, words->size - words->used, format, args);
  va_end(args);
  if (wrote > 0) words->used += (size_t)wrote;
  if (words->used >= words->size) words->used = words->size - 1;
}

void lsc_words_ranks(struct lsc_words *words, const struct lsc_ranks *ranks) {
  int left = ranks->total;
  lsc_words_add(words, left == 1 ? "rank " : "ranks ");
  for (int i = 0; i < ranks->runs; i++) {
    int length = ranks->last[i] - ranks->first[i] + 1;
    left -= length;
    if (i) lsc_words_add(words, left || i + 1 < ranks->runs ? ", " : " and ");
    lsc_words_add(words, "%d", ranks->first[i]);
    if (length > 1) lsc_words_add(words, "-%d", ranks->last[i]);
  }
  if (left) lsc_words_add(words, " and %d more", left);
}

void lsc_words_seconds(struct lsc_words *words, int64_t ns) {
  double seconds = ns > 0 ? (double)(ns / 1000000) / 1e3 : 0;
  lsc_words_add(words, seconds < 10 ? "%.2g s" : "%.0f s", seconds);
}

void lsc_words_missing(struct lsc_words *words, const struct lsc_ranks *missing, const char *step, int64_t waited_ns) {
  lsc_words_ranks(words, missing);
  lsc_words_add(words, " did not arrive at step '%s' within ", step);
  lsc_words_seconds(words, waited_ns);
}
