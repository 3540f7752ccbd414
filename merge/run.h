/* SPDX-License-Identifier: BSD-3-Clause */
/* The inputs that belong to one run, and which of them hold what of each rank. */
#ifndef LSC_RUN_H
#define LSC_RUN_H

#include "input.h"
#include "unite.h"

/* What one input has of one rank. Times of the rank, from that input, are moved by these to the run's clock. */
struct lsc_part {
  int rank, input, row;
  int64_t until_ns; /* when it was collected, on the run's clock */
  int64_t shift_ns; /* added to times of events */
};

struct lsc_run {
  struct lsc_input *input; /* [inputs] */
  int inputs;
  int size;                /* ranks */
  int reference;           /* the rank on whose clock the run is: the first that is there */
  int origin;              /* the input whose start_time_ns is the origin, and whose /metadata is the run's */
  int guessed;             /* 1: some clock could only be compared by the time of day */
  struct lsc_part *part;   /* [parts] by rank, then in the order of their collects */
  size_t parts;
  int64_t *offset_ns, *error_ns; /* [size] of /rank_table */
  struct lsc_collects *collects; /* [size] of all inputs; none where one of them does not say */
  struct lsc_collects *gaps;     /* [size] numbers below those that no input has */
  unsigned char *behind;         /* [size] 1: other ranks have later ones */
  struct lsc_names names;  /* those with completed calls first */
  size_t completed_names;
};

/*
 * 1 if the input is of the run that the others are of, or the first; else 0, with a message why it is not. The run
 * takes a good input over: *input is moved. LSC_NO_MEMORY is said by `status`.
 */
int lsc_run_admit(struct lsc_run *run, struct lsc_input *input, lsc_status *status);

/* Once all inputs are in: clocks, parts, and the names. LSC_OK, LSC_NO_MEMORY, LSC_LIMIT. */
lsc_status lsc_run_arrange(struct lsc_run *run);

/* The parts of a rank, `count` of them; 0 if it is missing. */
const struct lsc_part *lsc_run_parts(const struct lsc_run *run, int rank, size_t *count);

/* 1 if some collect of the rank is missing, as far as the inputs tell; a rank without any part is not. */
int lsc_run_is_incomplete(const struct lsc_run *run, int rank);

/* Appends which are, in words; nothing if none is. Not terminated. LSC_OK, LSC_NO_MEMORY. */
lsc_status lsc_run_say_gaps(const struct lsc_run *run, int rank, struct lsc_buffer *text);

void lsc_run_free(struct lsc_run *run);

/* Part of lsc_run_arrange: whose clock is moved by how much, and the parts in order. */
lsc_status lsc_run_set_clocks(struct lsc_run *run);

/* Part of lsc_run_arrange, once there are parts: what is missing of each rank. LSC_OK, LSC_NO_MEMORY. */
lsc_status lsc_run_find_gaps(struct lsc_run *run);

#endif
