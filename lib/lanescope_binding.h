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
