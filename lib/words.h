/* SPDX-License-Identifier: BSD-3-Clause */
/* What messages say of ranks that are missing, in the same words wherever that is found out. */
#ifndef LSC_WORDS_H
#define LSC_WORDS_H

#include <stddef.h>
#include <stdint.h>

/* Runs of ranks that a message lists by number. */
#define LSC_SHOWN_RUNS 16

/* All zeros: none. */
struct lsc_ranks {
  int total, runs;
  int first[LSC_SHOWN_RUNS], last[LSC_SHOWN_RUNS];
};

/* In rising order. */
void lsc_ranks_add(struct lsc_ranks *ranks, int rank);

/* A text under way: `used` of `size` bytes, 0-terminated; what does not fit is cut. text belongs to the caller. */
struct lsc_words {
  char *text;
  size_t size, used;
};

void lsc_words_add(struct lsc_words *words, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "rank 3", "ranks 3, 5-9 and 12", "ranks 1, 3, … and 40 more". */
void lsc_words_ranks(struct lsc_words *words, const struct lsc_ranks *ranks);

/* "2.5 s", "600 s", "0 s" below a millisecond. */
void lsc_words_seconds(struct lsc_words *words, int64_t ns);

/* "ranks 1-2 did not arrive at step 'arrive' within 2 s". */
void lsc_words_missing(struct lsc_words *words, const struct lsc_ranks *missing, const char *step, int64_t waited_ns);

#endif
