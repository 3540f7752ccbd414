/* SPDX-License-Identifier: BSD-3-Clause */
/* Snapshots for tests that look at calls by their ids. */
#ifndef SNAPSHOTS_H
#define SNAPSHOTS_H

#include <check.h>

#include "snapshot.h"

/* lsc_snapshot_take and lsc_snapshot_events. */
static inline lsc_status take_snapshot(lsc_session session, struct lsc_snapshot *snapshot) {
  lsc_status status = lsc_snapshot_take(session, snapshot);
  if (status != LSC_OK) return status;
  status = lsc_snapshot_events(snapshot);
  if (status != LSC_OK) lsc_snapshot_drop(snapshot);
  return status;
}

/* Likewise; the test fails where that does. */
static inline struct lsc_snapshot must_take(lsc_session session) {
  struct lsc_snapshot snapshot;
  ck_assert_int_eq(take_snapshot(session, &snapshot), LSC_OK);
  return snapshot;
}

/* 1 if the call is completed in this snapshot. */
static inline int call_is_completed(const struct lsc_snapshot *s, uint32_t call) {
  size_t low = 0, high = s->open;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (s->open_call[middle].call < call) low = middle + 1;
    else high = middle;
  }
  return low == s->open || s->open_call[low].call != call;
}

#endif
