/* SPDX-License-Identifier: BSD-3-Clause */
#include "fork.h"

#include <pthread.h>

#include "clock.h"
#include "message.h"
#include "region.h"
#include "session.h"
#include "thread.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int error;

/* No function of the library holds two of these locks at a time, so any order will do. A slab's lock is not among them:
 * the child never uses a slab of the parent. */
static void before(void) {
  lsc_session_lock();
  lsc_region_lock();
  lsc_clock_lock();
}

static void in_parent(void) {
  lsc_clock_unlock();
  lsc_region_unlock();
  lsc_session_unlock();
}

static void in_child(void) {
  in_parent();
  lsc_session_abandon_all();
  lsc_thread_forget();
}

static void watch(void) { error = pthread_atfork(before, in_parent, in_child); }

lsc_status lsc_fork_watch(void) {
  pthread_once(&once, watch);
  return error ? lsc_fail(LSC_NO_MEMORY, "pthread_atfork failed with error %d", error) : LSC_OK;
}
