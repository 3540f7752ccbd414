/* SPDX-License-Identifier: BSD-3-Clause */
#include "collection.h"

#include <stdio.h>

#include "message.h"
#include "progress.h"
#include "roll.h"
#include "verdict.h"

static const char *const agreement_names[] = {
#define LSC_X(agreement, name) name,
    LSC_AGREEMENTS(LSC_X)
#undef LSC_X
};

static int64_t after(int64_t time, int64_t by) { return time > INT64_MAX - by ? INT64_MAX : time + by; }

int64_t lsc_collection_deadline(const struct lsc_collection *c) { return after(c->coll->now(c->coll), c->timeout); }

lsc_status lsc_collection_note(struct lsc_collection *c, lsc_status status) {
  if (!status || c->status) return status;
  c->status = status;
  int rank = c->coll->size > 1 ? snprintf(c->text, sizeof c->text, "rank %d, ", c->coll->rank) : 0;
  snprintf(c->text + rank, sizeof c->text - (size_t)rank, "step '%s': %s", lsc_step_name(lsc_step_now()),
           lsc_message()[0] ? lsc_message() : lsc_strerror(status));
  return status;
}

lsc_status lsc_collection_enter(struct lsc_collection *c, enum lsc_step step) {
  return lsc_collection_note(c, lsc_step(step));
}

/*
 * Want of memory and limits are passed on to the others within the operation, which is then complete; all else leaves
 * it in doubt.
 */
lsc_status lsc_collection_came(struct lsc_collection *c, lsc_status status) {
  int passed_on = c->coll->passed_on;
  c->coll->passed_on = 0;
  if (!status) return status;
  if (!c->status) c->followed = passed_on;
  if (status == LSC_TIMEOUT) lsc_fail(status, "rank %d waited for the others longer than the timeout", c->coll->rank);
  if (status != LSC_NO_MEMORY && status != LSC_LIMIT) c->broken = 1;
  return lsc_collection_note(c, status);
}

/*
 * Until when. Ranks enter an agreement up to one timeout apart, since the operation before it may have taken that long.
 * The first is their arrival: a rank that is leaving cuts it short, also by the grace in which others than rank 0 still
 * listen. The grace itself is the same for all, or else nobody could rely on it.
 */
static int64_t agreement_deadline(const struct lsc_collection *c, enum lsc_agreement agreement) {
  int64_t now = c->coll->now(c->coll);
  if (agreement != LSC_AGREE_ARRIVE) return after(after(now, c->timeout), c->timeout);
  if (c->options.leaving && c->coll->rank) return now + c->arrival - c->grace;
  return after(now, c->arrival);
}

lsc_status lsc_collection_agree(struct lsc_collection *c, enum lsc_agreement agreement) {
  struct lsc_verdict verdict;
  int64_t deadline = agreement_deadline(c, agreement);
  lsc_status mine = c->broken ? LSC_TIMEOUT : c->status;
  if (c->coll->size > 1) {
    lsc_progress_doing("wait for the other ranks");
    lsc_roll_step(agreement_names[agreement]);
  }
  const char *why = c->followed && !c->broken ? NULL : c->text;
  lsc_status status = lsc_agree(c->coll, agreement_names[agreement], mine, why, deadline, c->grace, &verdict);
  c->status = LSC_OK;
  c->broken = c->followed = 0;
  return status;
}
