/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is added to the times of a session to put them on rank 0's clock. It is a constant, which belongs to a group of
 * ranks, plus one function of the own clock, which belongs to the session: piecewise linear, so flat that times keep
 * their order, and only ever appended to, with one piece a collect. So a time is the same in all that is collected of a
 * session but for the constants of groups, which stand in the files.
 *
 *   added     first knot: compared at open
 *     │      .        __. second collect: its piece leads from where the one before ended
 *     │    .´ `.___.-´      to what was measured, and on to the end of the snapshot
 *     └────────────────── own clock
 */
#ifndef LSC_CORRECTION_H
#define LSC_CORRECTION_H

#include "clock.h"
#include "offset.h"

/*
 * The steepest piece, in parts per million. Two clocks that are each steered as fast as the kernel steers one drift so
 * fast apart: RFC 5905 and adjtimex(2) have 500 as the most. Without a limit two comparisons that are a millisecond
 * apart would bend times by their errors.
 */
#define LSC_CORRECTION_STEEPEST_PPM 1000

struct lsc_knot {
  int64_t at_ns;    /* on the own clock */
  int64_t added_ns; /* without the constant */
};

/* All zeros: nothing is added. */
struct lsc_correction {
  size_t knots;
  struct lsc_knot *knot; /* ascending */
  int flat;              /* before the first knot: 1 as there; 0 the first line goes on */
  int written;           /* 1: times up to written_ns stand in files */
  int64_t written_ns;
  uint64_t group;        /* 0: none */
  int64_t constant_ns;   /* of the group */
  int64_t error_ns;      /* any time since the open is off by no more, in the group */
  int64_t end_error_ns;  /* a time at written_ns is off by no more */
};

/* The comparisons of a collect over a group of ranks. */
struct lsc_comparison {
  uint64_t group;         /* not 0; another one for another communicator */
  struct lsc_moment open; /* when the session and the group were put together; known or not */
  struct lsc_moment now;  /* for this collect */
};

/*
 * next: receives the function as this snapshot has it, up to end_ns; to be freed, and to be taken for `before` once the
 * snapshot is committed. comparison: NULL for a rank alone, whose times get no constant. open_ns: when the session was
 * opened. LSC_OK, LSC_NO_MEMORY.
 */
lsc_status lsc_correction_extend(const struct lsc_correction *before, const struct lsc_comparison *comparison,
                                 int64_t open_ns, int64_t end_ns, struct lsc_correction *next);
void lsc_correction_free(struct lsc_correction *correction);

/* What is added at a time of the own clock, without the constant. Behind the last knot as much as there. */
int64_t lsc_correction_at(const struct lsc_correction *correction, int64_t ns);

/*
 * Once it was extended for a rank alone: what the rank's times lack to be on the clock of rank 0 of a group, and by how
 * much any of them since open_ns may then be off. comparison: group and open are read. 1; 0: the clocks were never
 * compared.
 */
int lsc_correction_to_group(const struct lsc_correction *correction, const struct lsc_comparison *comparison,
                            int64_t open_ns, int64_t *offset_ns, int64_t *error_ns);

/* What is added in the end more than in the beginning, over the time between, in parts per 10^9; 0 without knots. */
double lsc_correction_drift_ppb(const struct lsc_correction *correction);

/*
 * Makes the map lead to corrected times instead of those of the own clock; an empty one, of rows that hold the own
 * clock, too. end_ns: as lsc_correction_extend had it. LSC_OK, LSC_NO_MEMORY: the map is as it was.
 */
lsc_status lsc_correction_apply(const struct lsc_correction *correction, int64_t constant_ns, int64_t end_ns,
                                struct lsc_clock_map *map);

#endif
