/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For bindings of other languages: recording on behalf of an API, so that each call says who made it and each thread
 * can be described in the language's own words.
 */
#ifndef LANESCOPE_BINDING_H
#define LANESCOPE_BINDING_H

#include <lanescope.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Who made a call. The first three values are those of the column `apis` of a file. */
typedef enum lsc_api {
  LSC_API_PYTHON = 0,
  LSC_API_C = 1,
  LSC_API_FORTRAN = 2,        /* thread unknown: lane -1, a stack of its own on each thread */
  LSC_API_FORTRAN_THREADS = 3 /* thread known; stored as 2 */
} lsc_api;

/* lsc_begin and lsc_end of another API; the same statuses. A call may be ended by another API than the one that began
 * it, but not across known and unknown threads. */
LSC_API lsc_status lsc_begin_as(lsc_session session, lsc_api api, lsc_region_id region);
LSC_API lsc_status lsc_end_as(lsc_session session, lsc_api api, lsc_region_id region);

/* Remembers a call that was begun on a stack, in case that its end comes elsewhere. row NULL: none. */
typedef struct lsc_mark {
  lsc_session session;
  void *track;
  void *row;
  uint64_t start;
} lsc_mark;

/* lsc_begin_as, and its mark, which costs next to nothing. The same statuses; no mark where nothing was recorded. */
LSC_API lsc_status lsc_begin_marked(lsc_session session, lsc_api api, lsc_region_id region, lsc_mark *mark);

/*
 * Ends that call, from any thread and in any order; it stays on the lane that began it. For a call that lsc_end_as did
 * not find on top of the calling thread's lane. Nobody else may be ending the same call meanwhile: a binding has a lock
 * of its own around both, such as Python's. LSC_OK; LSC_INACTIVE: its session is closed, or there is no mark; LSC_STALE:
 * it was ended before.
 */
LSC_API lsc_status lsc_end_marked(lsc_mark mark);

/* lsc_scope_begin of another API. */
LSC_API lsc_status lsc_scope_begin_as(lsc_session session, lsc_api api, lsc_region_id region, lsc_token *token);

/*
 * Called on the thread itself the first time that it uses a session by this API, before the call is recorded, so that
 * the binding can lsc_thread_describe it. It must not record into the session. NULL removes it. LSC_OK; LSC_INVALID: no
 * such API.
 */
typedef void (*lsc_first_use)(lsc_session session);
LSC_API lsc_status lsc_on_first_use(lsc_api api, lsc_first_use hook);

#ifdef __cplusplus
}
#endif

#endif
