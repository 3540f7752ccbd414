/* SPDX-License-Identifier: BSD-3-Clause */
#include "correction.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"

#define MOST_NEW_KNOTS 3

static int64_t size_of(int64_t value) { return value < 0 ? -value : value; }

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/* On the line from a to b and on both sides beyond, rounded down. */
static int64_t on_line(const struct lsc_knot *a, const struct lsc_knot *b, int64_t ns) {
  __int128 product = (__int128)(ns - a->at_ns) * (b->added_ns - a->added_ns);
  int64_t width = b->at_ns - a->at_ns;
  __int128 quotient = product / width;
  return a->added_ns + (int64_t)(quotient - (product < 0 && quotient * width != product));
}

int64_t lsc_correction_at(const struct lsc_correction *c, int64_t ns) {
  size_t low = 0, high = c->knots;
  if (!c->knots) return 0;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (c->knot[middle].at_ns <= ns) low = middle + 1;
    else high = middle;
  }
  if (low == c->knots) return c->knot[low - 1].added_ns;
  if (low) return on_line(&c->knot[low - 1], &c->knot[low], ns);
  return c->flat || c->knots == 1 ? c->knot[0].added_ns : on_line(&c->knot[0], &c->knot[1], ns);
}

double lsc_correction_drift_ppb(const struct lsc_correction *c) {
  if (c->knots < 2) return 0;
  const struct lsc_knot *first = &c->knot[0], *last = &c->knot[c->knots - 1];
  return 1e9 * (double)(last->added_ns - first->added_ns) / (double)(last->at_ns - first->at_ns);
}

static lsc_status copy(struct lsc_correction *next, const struct lsc_correction *before) {
  *next = *before;
  next->knot = malloc((before->knots + MOST_NEW_KNOTS) * sizeof *next->knot);
  if (!next->knot) return lsc_fail(LSC_NO_MEMORY, "no memory for the %zu knots of a clock", before->knots);
  if (before->knots) memcpy(next->knot, before->knot, before->knots * sizeof *next->knot);
  return LSC_OK;
}

/* A knot that is not behind the last one adds nothing. */
static void append(struct lsc_correction *c, int64_t at_ns, int64_t added_ns) {
  if (c->knots && at_ns <= c->knot[c->knots - 1].at_ns) return;
  c->knot[c->knots++] = (struct lsc_knot){at_ns, added_ns};
}

static int64_t last_added(const struct lsc_correction *c) { return c->knots ? c->knot[c->knots - 1].added_ns : 0; }

/* How far apart values of the function are. */
static int64_t range_of(const struct lsc_correction *c) {
  int64_t low = 0, high = 0;
  for (size_t i = 0; i < c->knots; i++) {
    if (c->knot[i].added_ns < low) low = c->knot[i].added_ns;
    if (c->knot[i].added_ns > high) high = c->knot[i].added_ns;
  }
  return high - low;
}

/* What is collected now cannot be collected otherwise any more. */
static void freeze(struct lsc_correction *c, int64_t end_ns) {
  c->written = 1;
  c->written_ns = end_ns;
}

/* One collect's piece of the function. */
struct piece {
  struct lsc_moment first; /* when it is another group than before: the first comparison in it */
  int is_first;            /* it is */
  int64_t open_ns, end_ns;
  struct lsc_knot from;
  int64_t width, rise, beside; /* from there to what is compared now; how far beside that it ends */
};

/* The constant makes the function right at the first comparison; until then it goes on as flat as it ended. */
static void begin_group(struct lsc_correction *c, const struct lsc_comparison *comparison, struct piece *piece) {
  piece->is_first = 1;
  piece->first = comparison->open.known ? comparison->open : comparison->now;
  c->group = comparison->group;
  c->constant_ns = piece->first.offset_ns - lsc_correction_at(c, piece->first.at_ns);
  if (c->knots) append(c, piece->first.at_ns, last_added(c));
}

static void begin_knots(struct lsc_correction *c, const struct piece *piece) {
  c->flat = c->written;
  if (c->written) append(c, c->written_ns, 0);
  if (piece->is_first) append(c, piece->first.at_ns, 0);
}

/* Where there are none so far: up to there nothing is added. */
static struct lsc_knot first_knot(const struct lsc_correction *c, const struct piece *piece) {
  int64_t at_ns = piece->is_first ? piece->first.at_ns : c->written_ns;
  return (struct lsc_knot){c->written ? larger(at_ns, c->written_ns) : at_ns, 0};
}

/* Towards what is compared now, no steeper than pieces may be. */
static void aim(const struct lsc_correction *c, const struct lsc_moment *now, struct piece *piece) {
  int64_t wanted = now->offset_ns - c->constant_ns;
  piece->from = c->knots ? c->knot[c->knots - 1] : first_knot(c, piece);
  piece->width = now->at_ns > piece->from.at_ns ? now->at_ns - piece->from.at_ns : 0;
  int64_t most = piece->width / (1000000 / LSC_CORRECTION_STEEPEST_PPM);
  piece->rise = wanted - piece->from.added_ns;
  if (piece->rise > most) piece->rise = most;
  if (piece->rise < -most) piece->rise = -most;
  piece->beside = size_of(wanted - piece->from.added_ns - piece->rise);
}

static void draw(struct lsc_correction *c, const struct piece *piece) {
  struct lsc_knot to = {piece->from.at_ns + piece->width, piece->from.added_ns + piece->rise};
  append(c, piece->end_ns, piece->width ? on_line(&piece->from, &to, piece->end_ns) : piece->from.added_ns);
}

static int64_t up(double value) { return (int64_t)ceil(value); }

/*
 * Of a clock of steady rate, the error between two comparisons is a straight line as well, so that it is largest at one
 * of them, and beyond them it grows by the error of the slope. What lies before the first comparison was compared by
 * nobody, unless the line goes back to it: there the clock may have drifted.
 */
static void bound(struct lsc_correction *c, const struct lsc_moment *now, int64_t old_range,
                  const struct piece *piece) {
  double drift = now->same ? 0 : LSC_CLOCK_DRIFT_PPM * 1e-6, slope_error = drift;
  int64_t to = now->error_ns + piece->beside, from = c->end_error_ns, before = 0;
  if (piece->is_first) from = piece->first.error_ns + up(drift * (double)(piece->from.at_ns - piece->first.at_ns));
  if (piece->width) {
    slope_error = fmin((double)(from + to) / (double)piece->width,
                       (LSC_CLOCK_DRIFT_PPM + LSC_CORRECTION_STEEPEST_PPM) * 1e-6);
  }
  if (piece->is_first) {
    double reach = (double)larger(piece->first.at_ns - piece->open_ns, 0);
    int goes_back = piece->width && !c->written;
    before = goes_back ? up(slope_error * reach) : up(drift * reach) + old_range;
  }
  c->end_error_ns = to + up(slope_error * (double)larger(piece->end_ns - now->at_ns, 0));
  int64_t error = larger(from + before, c->end_error_ns);
  c->error_ns = piece->is_first ? error : larger(error, c->error_ns);
}

static void add_piece(struct lsc_correction *c, const struct lsc_comparison *comparison, struct piece *piece) {
  int64_t old_range = range_of(c);
  if (comparison->group != c->group) begin_group(c, comparison, piece);
  aim(c, &comparison->now, piece);
  bound(c, &comparison->now, old_range, piece);
  if (!c->knots && !piece->rise) return;
  if (!c->knots) begin_knots(c, piece);
  draw(c, piece);
}

lsc_status lsc_correction_extend(const struct lsc_correction *before, const struct lsc_comparison *comparison,
                                 int64_t open_ns, int64_t end_ns, struct lsc_correction *next) {
  struct piece piece = {.open_ns = open_ns, .end_ns = end_ns};
  lsc_status status = copy(next, before);
  if (status != LSC_OK) return status;
  if (comparison) {
    add_piece(next, comparison, &piece);
  } else if (next->knots) {
    append(next, end_ns, last_added(next));
  }
  if (!comparison && next->group) {
    next->end_error_ns += next->error_ns ? lsc_clock_drift(end_ns - before->written_ns) : 0;
    next->error_ns = larger(next->error_ns, next->end_error_ns);
  }
  freeze(next, end_ns);
  return LSC_OK;
}

/* What is not compared again goes on as flat as it ended, as where a group begins: so is the constant. */
int lsc_correction_to_group(const struct lsc_correction *c, const struct lsc_comparison *comparison, int64_t open_ns,
                            int64_t *offset_ns, int64_t *error_ns) {
  const struct lsc_moment *open = &comparison->open;
  if (c->group && c->group == comparison->group) {
    *offset_ns = c->constant_ns;
    *error_ns = c->error_ns;
    return 1;
  }
  if (!open->known) return 0;
  int64_t farthest = larger(open->at_ns - open_ns, c->written_ns - open->at_ns);
  *offset_ns = open->offset_ns - lsc_correction_at(c, open->at_ns);
  *error_ns = open->error_ns + range_of(c) + (open->same ? 0 : lsc_clock_drift(larger(farthest, 0)));
  return 1;
}

void lsc_correction_free(struct lsc_correction *c) {
  free(c->knot);
  *c = (struct lsc_correction){0};
}
