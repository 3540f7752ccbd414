/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A race of the recorder, forced: one thread is kept at a test point of the library while the others do what they might
 * do there. The gate's own atomics are relaxed, so that it orders nothing that the library does not. It is the
 * program's lsc_test_point, so that one source of a program includes this.
 */
#ifndef RACES_H
#define RACES_H

#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "region.h"
#include "session.h"
#include "snapshots.h"
#include "test_point.h"
#include "unit.h"

static _Atomic(const char *) wanted; /* where the next thread that may be kept is kept */
static _Atomic int kept, go;
static _Thread_local int may_be_kept;

static inline int get(_Atomic int *value) { return atomic_load_explicit(value, memory_order_relaxed); }
static inline void set(_Atomic int *value, int to) { atomic_store_explicit(value, to, memory_order_relaxed); }
static inline void await(_Atomic int *value, int least) {
  while (get(value) < least) sched_yield();
}

void lsc_test_point(const char *name) {
  const char *point = may_be_kept ? atomic_load_explicit(&wanted, memory_order_relaxed) : NULL;
  if (!point || strcmp(point, name) != 0) return;
  atomic_store_explicit(&wanted, NULL, memory_order_relaxed);
  set(&kept, 1);
  await(&go, 1);
}

/* Starts a thread and waits until it is kept at the point. */
static inline pthread_t keep(const char *point, void *(*body)(void *), void *argument) {
  set(&kept, 0);
  set(&go, 0);
  atomic_store_explicit(&wanted, point, memory_order_relaxed);
  pthread_t thread = unit_start(body, argument);
  await(&kept, 1);
  return thread;
}

static inline void let_go(pthread_t thread) {
  set(&go, 1);
  pthread_join(thread, NULL);
}

static lsc_session session;
static lsc_region_id A, B;
static _Atomic int step; /* what a second thread has done, or may do */

static inline void open_session(void) {
  ck_assert_int_eq(lsc_region("A", &A), LSC_OK);
  ck_assert_int_eq(lsc_region("B", &B), LSC_OK);
  ck_assert_int_eq(lsc_session_open(NULL, &session), LSC_OK);
}

static inline void begin(lsc_region_id region) { unit_must(lsc_begin(session, region) == LSC_OK); }
static inline void end(lsc_region_id region) { unit_must(lsc_end(session, region) == LSC_OK); }
static inline void record(lsc_region_id region) {
  begin(region);
  end(region);
}

/* Takes a snapshot, once to drop it and once more to keep it; both hold this. */
static inline struct lsc_snapshot take(size_t threads, size_t completed, size_t open) {
  struct lsc_snapshot s;
  for (int dropped = 0;; dropped = 1) {
    ck_assert_int_eq(take_snapshot(session, &s), LSC_OK);
    ck_assert_uint_eq(s.threads, threads);
    ck_assert_uint_eq(s.completed, completed);
    ck_assert_uint_eq(s.open, open);
    ck_assert_uint_eq(s.dropped, 0);
    if (dropped) return s;
    lsc_snapshot_drop(&s);
  }
}

static inline void commit(size_t threads, size_t completed, size_t open) {
  struct lsc_snapshot s = take(threads, completed, open);
  lsc_snapshot_commit(&s);
}

static inline void close_session(void) { ck_assert_int_eq(lsc_session_close(session), LSC_OK); }

#endif
