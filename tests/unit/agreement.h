/* SPDX-License-Identifier: BSD-3-Clause */
/* One agreement among simulated ranks, for the tests of the verdict: its set-up, its run, and what must hold in every
 * one. */
#ifndef AGREEMENT_H
#define AGREEMENT_H

#include <check.h>
#include <stdlib.h>

#include "sim.h"
#include "verdict.h"

#define SECOND 1000000000ll
#define TIMEOUT (10 * SECOND) /* from a rank's arrival to its deadline */
#define GRACE (2 * SECOND)

/* No rank stays longer than this from its arrival: deadline and grace, then what one waits that answered. */
#define LONGEST (TIMEOUT + 4 * GRACE)

/* One agreement: what each rank reports, and what came back and when. */
struct agreement {
  int size, steps;
  struct sim_rank *lot;
  lsc_status *report;
  const char **message;
  struct lsc_verdict *verdict;
  lsc_status *returned;
  int64_t *left;
  int *dead, *done;
  struct sim_stats stats;
};

static inline struct agreement prepare(int size) {
  struct agreement a = {.size = size, .steps = 1};
  size_t n = (size_t)size;
  a.lot = calloc(n, sizeof *a.lot);
  a.report = calloc(n, sizeof *a.report);
  a.message = calloc(n, sizeof *a.message);
  a.verdict = calloc(n, sizeof *a.verdict);
  a.returned = calloc(n, sizeof *a.returned);
  a.left = calloc(n, sizeof *a.left);
  a.dead = calloc(n, sizeof *a.dead);
  a.done = calloc(n, sizeof *a.done);
  return a;
}

static inline void release(struct agreement *a) {
  free(a->lot);
  free(a->report);
  free(a->message);
  free(a->verdict);
  free(a->returned);
  free(a->left);
  free(a->dead);
  free(a->done);
}

static inline void agree_body(struct lsc_coll *coll, void *arg) {
  struct agreement *a = arg;
  int r = coll->rank;
  lsc_status status = LSC_OK;
  for (int step = 0; !status && step < a->steps; step++) {
    status = lsc_agree(coll, "arrive", a->report[r], a->message[r], coll->now(coll) + TIMEOUT, GRACE, &a->verdict[r]);
  }
  a->returned[r] = status;
  a->left[r] = coll->now(coll);
  a->dead[r] = sim_is_dead(coll);
  a->done[r] = 1;
}

static inline void run_with(struct agreement *a, struct sim_options options) {
  options.rank = a->lot;
  options.stats = &a->stats;
  for (int r = 0; r < a->size; r++) a->done[r] = 0;
  ck_assert_int_eq(sim_run(a->size, agree_body, a, &options), 0);
}

static inline void run(struct agreement *a) { run_with(a, (struct sim_options){0}); }

static inline int is_alive(const struct agreement *a, int rank) { return a->done[rank] && !a->dead[rank]; }

/* What must hold in every run: nobody has another verdict than the others, above all GO beside APART; nobody stays on.
 */
static inline void check_invariant(const struct agreement *a, const char *what) {
  int first = -1;
  for (int r = 0; r < a->size; r++) {
    if (!is_alive(a, r)) continue;
    ck_assert_int_eq(a->returned[r], a->verdict[r].status);
    ck_assert_msg(a->left[r] <= a->lot[r].arrives + a->steps * LONGEST, "%s: rank %d stayed until %lld", what, r,
                  (long long)a->left[r]);
    if (first < 0) first = r;
    ck_assert_msg(a->verdict[r].status == a->verdict[first].status, "%s: rank %d has %d, rank %d has %d", what, first,
                  (int)a->verdict[first].status, r, (int)a->verdict[r].status);
  }
}

#endif
