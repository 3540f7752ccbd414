/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For bindings of other languages: recording on behalf of an API, so that each call says who made it and each thread
 * can be described in the language's own words.
 */
#ifndef LANESCOPE_BINDING_H
#define LANESCOPE_BINDING_H

#include <lanescope.h>
#include <lanescope_types.h>

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
 * of its own around both, such as Python's. LSC_OK; LSC_INACTIVE: its session is closed, or there is no mark;
 * LSC_STALE: it was ended before.
 */
LSC_API lsc_status lsc_end_marked(lsc_mark mark);

/* lsc_scope_begin of another API. */
LSC_API lsc_status lsc_scope_begin_as(lsc_session session, lsc_api api, lsc_region_id region, lsc_token *token);

/*
 * lsc_task_open that also gives the place of the task, for steps without a look-up. The place is good for as long as
 * lsc_task_switch_at is given the session that it belongs to, also after the close.
 */
struct lsc_task_record;
LSC_API lsc_status lsc_task_open_at(lsc_session session, const char *kind, const char *name, const char *coro_name,
                                    lsc_task *task, struct lsc_task_record **place);

/*
 * lsc_task_leave of `from` and then lsc_task_enter of `to` at one moment, on the lanes of an API; either may be NULL.
 * Steps that are nested in the step of `from` are left with it, and go on when it is entered again. The statuses of
 * both but LSC_CROSSED; LSC_INVALID: no such API; if the leave fails, nothing is entered.
 */
LSC_API lsc_status lsc_task_switch_at(lsc_session session, lsc_api api, struct lsc_task_record *from,
                                      struct lsc_task_record *to);

/* Gives the task another name, or coro_name; NULL leaves it. LSC_OK; LSC_INACTIVE; LSC_INVALID: no such task;
 * LSC_BAD_NAME; LSC_NO_MEMORY. */
LSC_API lsc_status lsc_task_rename(lsc_task task, const char *name, const char *coro_name);

/* lsc_thread_register of an API. index: receives the thread's, -1 on the unknown lane. */
LSC_API lsc_status lsc_thread_register_as(lsc_session session, lsc_api api, int64_t *index);

/* Says that the calling thread is over as far as its language is concerned: that is its end in the tables. What still
 * runs on it records as before. */
LSC_API void lsc_thread_over(void);

/*
 * The lane tables of an open session as they are now, beside whoever records or collects: the columns of /thread_table
 * and /task_table of a file. No call is consumed.
 */
typedef struct lsc_lanes lsc_lanes;

/* Which rows: the first `threads` and `tasks` from these indices on, as far as they are there. */
typedef struct lsc_lane_range {
  uint32_t first_thread, threads, first_task, tasks;
} lsc_lane_range;

/* range: NULL for all. origin_ns: taken off every time but -1, which is an unknown one. lanes: to be freed. LSC_OK;
 * LSC_INACTIVE; LSC_NO_MEMORY. */
LSC_API lsc_status lsc_lanes_read(lsc_session session, const lsc_lane_range *range, int64_t origin_ns,
                                  lsc_lanes **lanes);
/* One column, which lives as long as the lanes. table: `thread_table` or `task_table`. LSC_OK; LSC_INVALID: no such
 * column. */
LSC_API lsc_status lsc_lanes_column(const lsc_lanes *lanes, const char *table, const char *column,
                                    lsc_column_view *view);
LSC_API void lsc_lanes_free(lsc_lanes *lanes);

/* How many threads and tasks the tables have. LSC_OK; LSC_INACTIVE. */
LSC_API lsc_status lsc_lanes_count(lsc_session session, uint32_t *threads, uint32_t *tasks);

/* When the last step of that task began, and when the last one ended, or 0 while one runs: CLOCK_MONOTONIC in ns, 0
 * before the first. LSC_OK; LSC_INACTIVE; LSC_INVALID: no such task; LSC_NO_MEMORY. */
LSC_API lsc_status lsc_task_step(lsc_session session, uint32_t task, int64_t *started_ns, int64_t *ended_ns);

/* The innermost task whose step runs on that thread at this moment, or -1. LSC_OK; LSC_INACTIVE; LSC_INVALID: no such
 * thread. */
LSC_API lsc_status lsc_thread_task(lsc_session session, uint32_t thread, int64_t *task);

/*
 * Called on the thread itself the first time that it uses a session by this API, before the call is recorded, so that
 * the binding can lsc_thread_describe it. It may enter a task there, and must not record a call. NULL removes it.
 * LSC_OK; LSC_INVALID: no such API.
 */
typedef void (*lsc_first_use)(lsc_session session);
LSC_API lsc_status lsc_on_first_use(lsc_api api, lsc_first_use hook);

/*
 * For the Fortran module. Calls go into the default session, as LSC_API_FORTRAN until lsc_fortran_lanes asks for
 * LSC_API_FORTRAN_THREADS: what is open at that moment cannot be ended any more. LSC_OK; LSC_INACTIVE: no default
 * session is open.
 */
LSC_API lsc_status lsc_fortran_lanes(int thread_lanes);

/* As lsc_enter and lsc_leave. stat: receives the status, or NULL. */
LSC_API void lsc_fortran_begin(lsc_region_id region, int *stat);
LSC_API void lsc_fortran_end(lsc_region_id region, int *stat);

/* The same by a name of so many bytes, which is looked up without a lock if it is known. Also LSC_BAD_NAME, among
 * others: no bytes. */
LSC_API void lsc_fortran_begin_name(const char *name, size_t length, int *stat);
LSC_API void lsc_fortran_end_name(const char *name, size_t length, int *stat);

/* lsc_region_define with lengths in bytes. file_length 0: no file; line: from 1, else unknown. LSC_BAD_NAME: among
 * others, no bytes. */
LSC_API lsc_status lsc_fortran_region(const char *name, size_t name_length, const char *file, size_t file_length,
                                      int64_t line, lsc_region_id *region);

#ifdef __cplusplus
}
#endif

#endif
