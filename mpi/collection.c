/* SPDX-License-Identifier: BSD-3-Clause */
#include "collection.h"

#include <stdio.h>

#include "message.h"
#include "verdict.h"

static const char *const step_names[] = {
#define LSC_X(step, name) name,
    LSC_STEPS(LSC_X)
#undef LSC_X
};

static int64_t after(int64_t time, int64_t by) { return time > INT64_MAX - by ? INT64_MAX : time + by; }

int64_t lsc_collection_deadline(const struct lsc_collection *c) { return after(c->coll->now(c->coll), c->timeout); }

lsc_status lsc_collection_note(struct lsc_collection *c, lsc_status status) {
  if (!status || c->status) return status;
  c->status = status;
  snprintf(c->text, sizeof c->text, "%s", lsc_message()[0] ? lsc_message() : lsc_strerror(status));
  return status;
}

/*
 * Want of memory and limits are passed on to the others within the operation, which is then complete; all else leaves
 * it in doubt.
 */
lsc_status lsc_collection_came(struct lsc_collection *c, lsc_status status) {
  if (!status) return status;
  if (status == LSC_TIMEOUT) lsc_fail(status, "rank %d waited for the others longer than the timeout", c->coll->rank);
  if (status != LSC_NO_MEMORY && status != LSC_LIMIT) c->broken = 1;
  return lsc_collection_note(c, status);
}

/*
 * Ranks enter an agreement up to one timeout apart, since the operation before it may have taken that long; the first
 * is their arrival.
 */
lsc_status lsc_collection_agree(struct lsc_collection *c, enum lsc_step step) {
  struct lsc_verdict verdict;
  int64_t deadline = lsc_collection_deadline(c);
  if (step != LSC_STEP_ARRIVE) deadline = after(deadline, c->timeout);
  lsc_status mine = c->broken ? LSC_TIMEOUT : c->status;
  lsc_status status = lsc_agree(c->coll, step_names[step], mine, c->text, deadline, c->grace, &verdict);
  c->status = LSC_OK;
  c->broken = 0;
  if (status && status != LSC_APART && c->coll->size > 1) {
    return lsc_fail(status, "rank %d: %s", verdict.rank, verdict.text);
  }
  return status;
}
