/* SPDX-License-Identifier: BSD-3-Clause */
/* A file that is to be merged: its small tables in memory, checked, and where the rows of each of its ranks are. */
#ifndef LSC_INPUT_H
#define LSC_INPUT_H

#include "collects.h"
#include "h5_read.h"
#include "metadata.h"
#include "table.h"

/* Times of a file lie within this many ns of 0, so that sums and differences of a few do not overflow. */
#define LSC_MOST_TIME ((int64_t)1 << 60)

struct lsc_rows {
  uint64_t first, count;
};

/* The rows of one rank in the tables. */
struct lsc_input_rank {
  struct lsc_rows events, index, open, threads, tasks;
};

struct lsc_input {
  const char *path; /* the caller's */
  struct lsc_h5 *h5; /* NULL while the file is closed */
  struct lsc_table table[LSC_TABLE_COUNT]; /* LANE has no rows: it is made anew */
  struct lsc_metadata metadata;
  uint64_t events;
  int has[LSC_EVENT_COLUMNS], has_open[LSC_OPEN_COLUMNS]; /* 1: the column is there */
  int has_threads;
  uint8_t api; /* of every call, where the column is not there */
  int64_t start_ns, start_unix_ns, finalize_ns;
  int ranks;                  /* rows of /rank_table */
  int size;                   /* ranks of the run */
  int first;                  /* rank of the first row; above 0 only where the file is of one rank */
  int reference;              /* row of the first rank that is not missing: whose clock the times are on */
  int64_t session_id;         /* 0: unknown */
  int is_compared;            /* 1: that clock was compared with the one of the run's rank 0 */
  int64_t offset_ns, error_ns; /* to be added to have that one's; off by no more */
  struct lsc_input_rank *of;  /* [ranks] */
  struct lsc_collects *collects; /* [ranks] none where it is not known */
  int is_merged;              /* 1: of other files; so its ranks need not be of the same collects */
  uint32_t *index_names;      /* [rows of INDEX] id in the names of the run; NULL until they are known */
  uint32_t *open_names;       /* [rows of OPEN] likewise */
};

/*
 * Opens a file and reads all but its events. path: is kept. LSC_OK; LSC_INVALID: not a file of this format, a newer
 * one, or one that breaks what format.md says always holds; LSC_HDF5, LSC_NO_MEMORY. On failure *input is to be freed,
 * too.
 */
lsc_status lsc_input_read(struct lsc_input *input, const char *path);
void lsc_input_free(struct lsc_input *input);

/* Opens the file again, if it is closed. LSC_OK, LSC_HDF5, LSC_NO_MEMORY. */
lsc_status lsc_input_open(struct lsc_input *input);
void lsc_input_close(struct lsc_input *input);

/* An attribute of /metadata: 1 and the value, or 0. The text is malloc'd; NULL: there is none, or no memory. */
int lsc_input_number(const struct lsc_input *input, const char *name, int64_t *value);
char *lsc_input_text(const struct lsc_input *input, const char *name);

/* 1 if the rank of a row of /rank_table is only there to say that it is missing. */
int lsc_input_is_missing(const struct lsc_input *input, int row);

/* Checks the tables and finds the rows of each rank; part of lsc_input_read. LSC_OK, LSC_INVALID, LSC_NO_MEMORY. */
lsc_status lsc_input_check(struct lsc_input *input);

#endif
