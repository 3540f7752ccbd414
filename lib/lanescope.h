/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lanescope: record what every lane (thread, task) of a process did and when.
 *
 * Life of a session, and what may be called when:
 *
 *   any time            lsc_region*, lsc_now_ns, lsc_strerror, lsc_message, lsc_lane_ids, lsc_version
 *   lsc_session_open    gives a handle; sessions are independent of one another, LSC_MAX_SESSIONS at once
 *   while it is open    lsc_begin, lsc_end, lsc_thread_*, lsc_task_*, lsc_scope_* from any thread, without a lock
 *                       lsc_collect, lsc_write, lsc_save (lanescope_file.h, lanescope_mpi.h), lsc_region_stats,
 *                       lsc_reset, one at a time
 *   lsc_session_close   the handle is dead from here on and is never given out again
 *
 * One session of the process can be its default: the one into which code records that was given no handle, in whatever
 * language (lsc_enter, LSC_REGION, the Fortran module, regions in Python). lsc_init of lanescope_file.h opens it.
 *
 * Anything called at the wrong time returns a status and does no harm: a program whose session is not open runs
 * unprofiled. A child of fork() inherits no session: every handle of the parent is closed in it.
 *
 * Every function may be called from any thread at any time, unless it says otherwise.
 */
#ifndef LANESCOPE_H
#define LANESCOPE_H

#include <lanescope_types.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define LSC_API __attribute__((visibility("default")))
#else
#define LSC_API
#endif

#define LSC_VERSION "0.1.0"

/* Sessions that can be open in one process at the same time. */
#define LSC_MAX_SESSIONS 63
/* Longest region, thread or file name, in bytes without the closing NUL. */
#define LSC_MAX_NAME 4096

/* Every status that a function can return, with its text: X(name, value, text). */
#define LSC_STATUS_TABLE(X)                                                              \
  X(LSC_OK, 0, "success")                                                                \
  X(LSC_INACTIVE, 1, "no open session has this handle; nothing was recorded")            \
  X(LSC_NO_BEGIN, 2, "end of a region of which no call is open on this lane")            \
  X(LSC_CROSSED, 3, "end of a region that is not the innermost open call of this lane")  \
  X(LSC_STALE, 4, "the call was ended before")                                           \
  X(LSC_INVALID, 5, "invalid argument")                                                  \
  X(LSC_BAD_NAME, 6, "name is not valid UTF-8, holds a NUL or is longer than 4096 bytes") \
  X(LSC_NO_MEMORY, 7, "out of memory")                                                   \
  X(LSC_LIMIT, 8, "a limit of the library was reached")                                  \
  X(LSC_BUSY, 9, "the session is being collected by another thread")                     \
  X(LSC_TIMEOUT, 10, "a rank did not answer before the deadline")                        \
  X(LSC_APART, 11, "the ranks did not all arrive; each wrote a file of its own")         \
  X(LSC_COLLECTED, 12, "this session was collected to this path before")                 \
  X(LSC_IO, 13, "file system error")                                                     \
  X(LSC_HDF5, 14, "HDF5 error")                                                          \
  X(LSC_MPI, 15, "MPI error")                                                            \
  X(LSC_NO_MPI, 16, "MPI is not initialized, is finalized, or lanescope was built without it")   \
  X(LSC_TASK_STATE, 17, "the task is running, is not running on this thread, or is finished")

typedef enum lsc_status {
#define LSC_STATUS_ENUM(name, value, text) name = value,
  LSC_STATUS_TABLE(LSC_STATUS_ENUM)
#undef LSC_STATUS_ENUM
} lsc_status;

/* Handle of a session; 0 is none. Plain value: copy it, pass it to any thread, keep it after the close. */
typedef uint64_t lsc_session;

/* Handle of a region: one for each distinct name of the process, the same in every session. */
typedef uint32_t lsc_region_id;
/* No region: what a failed look-up leaves. A begin or end of it is a status and no harm. */
#define LSC_NO_REGION ((lsc_region_id)-1)

/* The text of a status, never NULL, static. */
LSC_API const char *lsc_strerror(lsc_status status);

/*
 * What went wrong in the last function that failed on the calling thread: the thing, the value, the way out. Empty if
 * nothing did. lsc_begin and lsc_end leave it alone. Valid until the thread's next call that fails.
 */
LSC_API const char *lsc_message(void);

/* The version of the library, as in LSC_VERSION. */
LSC_API const char *lsc_version(void);

typedef struct lsc_session_options {
  size_t size;       /* sizeof(lsc_session_options) */
  const char *label; /* kept with the run, UTF-8, or NULL; copied */
  int no_lanes;      /* 1: calls carry no thread and there are no tasks; each thread still has a stack of its own */
} lsc_session_options;

/*
 * Opens a session. options: may be NULL.
 * LSC_OK; LSC_INVALID: session is NULL, or options->size is unknown; LSC_BAD_NAME: label; LSC_LIMIT: LSC_MAX_SESSIONS
 * are open; LSC_NO_MEMORY. On failure *session is 0, which is safe to record into.
 */
LSC_API lsc_status lsc_session_open(const lsc_session_options *options, lsc_session *session);

/*
 * Closes a session and drops what was not collected. Other threads may record meanwhile: they get LSC_INACTIVE.
 * LSC_OK; LSC_INACTIVE: not open; LSC_BUSY: another thread is collecting it.
 */
LSC_API lsc_status lsc_session_close(lsc_session session);

/* 1 while the session is open in this process, else 0. */
LSC_API int lsc_session_is_open(lsc_session session);

/* The default session of the process, or 0 if none is open. A child of fork() has none. */
LSC_API lsc_session lsc_session_default(void);

/*
 * Makes the session the default until it is closed; 0 takes the default back. LSC_OK (also again); LSC_INACTIVE: it is
 * not open; LSC_LIMIT: another open session is the default, and stays it.
 */
LSC_API lsc_status lsc_session_set_default(lsc_session session);

/*
 * Between a pause and the resume, calls that begin are not recorded, on any thread, and their ends are taken and
 * ignored, also after the resume; calls that began before the pause end as usual. A second pause or resume changes
 * nothing. LSC_OK; LSC_INACTIVE.
 */
LSC_API lsc_status lsc_session_pause(lsc_session session);
LSC_API lsc_status lsc_session_resume(lsc_session session);

/*
 * The handle of the region of that name, which is made if it is new: any UTF-8 text of at most LSC_MAX_NAME bytes.
 * Constant time, and without a lock for a name that is known. LSC_OK; LSC_INVALID: a NULL; LSC_BAD_NAME; LSC_NO_MEMORY;
 * LSC_LIMIT. On failure *region is LSC_NO_REGION.
 */
LSC_API lsc_status lsc_region(const char *name, lsc_region_id *region);

/* What a region can carry beside its name; the first registration of a name that gives a field decides it. */
typedef struct lsc_region_info {
  size_t size;             /* sizeof(lsc_region_info) */
  const char *name;        /* UTF-8 */
  size_t name_length;      /* bytes, or (size_t)-1: to the closing NUL */
  const char *source_file; /* or NULL */
  int64_t source_line;     /* from 1; 0 or less: unknown */
  const char *source_text; /* or NULL */
  const char *tags;        /* a JSON list of strings, or NULL */
} lsc_region_info;

/* As lsc_region, without a lock where the region has all that is given. Strings are copied. LSC_BAD_NAME: any of the
 * texts. */
LSC_API lsc_status lsc_region_define(const lsc_region_info *info, lsc_region_id *region);

/*
 * Enters a region on the calling thread's lane, which is registered when it is new. Tens of nanoseconds.
 * LSC_OK; LSC_INACTIVE; LSC_INVALID: no such region; LSC_NO_MEMORY: the call is counted as dropped, and its end too is
 * taken and ignored; likewise beyond some 4,294,000,000 calls (half as many in tasks) that were not collected.
 */
LSC_API lsc_status lsc_begin(lsc_session session, lsc_region_id region);

/*
 * Leaves the innermost open call of the calling thread's lane, which must be of this region.
 * LSC_OK; LSC_INACTIVE; LSC_NO_BEGIN; LSC_CROSSED: nothing was changed.
 */
LSC_API lsc_status lsc_end(lsc_session session, lsc_region_id region);

/* lsc_begin and lsc_end in the default session. The same statuses; LSC_INACTIVE: none is open. */
LSC_API lsc_status lsc_enter(lsc_region_id region);
LSC_API lsc_status lsc_leave(lsc_region_id region);

/* Names one exact call. Plain value: copy it, hand it to any thread, keep it as long as you like. All zeros names no
 * call. */
typedef struct lsc_token {
  lsc_session session;
  uint64_t generation;
  uint32_t place;
} lsc_token;

/*
 * As lsc_begin, for a call whose end may come out of order or on another thread. token: receives its name, or zeros on
 * failure and while the session is paused. The statuses of lsc_begin; LSC_INVALID: token is NULL.
 */
LSC_API lsc_status lsc_scope_begin(lsc_session session, lsc_region_id region, lsc_token *token);

/*
 * Ends that call, from any thread; it stays on the lane that began it. lsc_end on that lane may end it too: whoever
 * comes first does. LSC_OK; LSC_INACTIVE: its session is closed, or the token names none; LSC_STALE: the call was ended
 * before.
 */
LSC_API lsc_status lsc_scope_end(lsc_token token);

/*
 * A task: a lane of its own that runs in steps, on one thread after the other (coroutine, fiber, user-level thread).
 * Calls that begin within a step are the task's. Plain value; all zeros is none.
 */
typedef struct lsc_task {
  lsc_session session;
  uint32_t number; /* task index + 1 */
} lsc_task;

/*
 * Makes a task of the session. kind: what it is (`fiber`); name: its own; coro_name: the function that it runs, or
 * NULL. Copied. LSC_OK; LSC_INACTIVE; LSC_INVALID: a NULL, or the session has no lanes; LSC_BAD_NAME; LSC_NO_MEMORY;
 * LSC_LIMIT. On failure *task is zero, which is safe to use.
 */
LSC_API lsc_status lsc_task_open(lsc_session session, const char *kind, const char *name, const char *coro_name,
                                 lsc_task *task);

/*
 * Begins and ends a step of the task on the calling thread. Steps of one task follow one another; on one thread they
 * may nest, innermost left first. The time between two steps counts as suspended. LSC_OK; LSC_INACTIVE; LSC_INVALID: no
 * such task; LSC_TASK_STATE: enter of a task that runs or is finished, leave of one that does not run on this thread;
 * LSC_CROSSED: leave of a step that is not the innermost; LSC_NO_MEMORY.
 */
LSC_API lsc_status lsc_task_enter(lsc_task task);
LSC_API lsc_status lsc_task_leave(lsc_task task);

/* Says that the task is over; the first time counts. A step that runs may still be left. LSC_OK (also again);
 * LSC_INACTIVE; LSC_INVALID. */
LSC_API lsc_status lsc_task_finish(lsc_task task);

/*
 * Registers the calling thread now, without a call. Otherwise its first call does. LSC_OK (also if it was registered
 * before); LSC_INACTIVE; LSC_NO_MEMORY.
 */
LSC_API lsc_status lsc_thread_register(lsc_session session);

/*
 * Names the calling thread in this session's thread table, and registers it. Otherwise it has the name that the
 * operating system knows, as of its end or of the collect. ident: the number by which the caller's language knows it.
 * daemon: 0 or 1. LSC_OK; LSC_INACTIVE; LSC_INVALID: name is NULL; LSC_BAD_NAME; LSC_NO_MEMORY.
 */
LSC_API lsc_status lsc_thread_describe(lsc_session session, const char *name, int64_t ident, int daemon);

/* What a region has in a session: its completed calls since the last collect or reset. Times in nanoseconds. */
typedef struct lsc_region_summary {
  uint64_t calls;
  int64_t exclusive_total; /* without the completed calls inside them */
  lsc_stats stats;         /* zeros without a call; start_minimum and end_maximum on this process's clock */
} lsc_region_summary;

/*
 * On all threads of this process. Takes time and memory in proportion to all that was recorded: for checks and
 * progress, not for inner loops. LSC_OK; LSC_INACTIVE; LSC_INVALID: no such region, or summary is NULL; LSC_BUSY;
 * LSC_NO_MEMORY; LSC_LIMIT.
 */
LSC_API lsc_status lsc_region_stats(lsc_session session, lsc_region_id region, lsc_region_summary *summary);

/*
 * Drops the calls that were completed since the last collect, on all threads of this process, and frees their memory:
 * they come into no file. Open calls stay open. Costs as much as lsc_region_stats. LSC_OK; LSC_INACTIVE; LSC_BUSY;
 * LSC_NO_MEMORY; LSC_LIMIT.
 */
LSC_API lsc_status lsc_reset(lsc_session session);

/* CLOCK_MONOTONIC in nanoseconds: the clock of every time in a file. */
LSC_API int64_t lsc_now_ns(void);

/*
 * The lane of each call: task index where task_ids[i] >= 0, else -2 - thread_ids[i], or -1 where that is negative.
 * n: length of the three arrays; task_ids may be NULL. LSC_OK; LSC_INVALID: a NULL with n > 0.
 */
LSC_API lsc_status lsc_lane_ids(size_t n, const int64_t *thread_ids, const int64_t *task_ids, int64_t *lanes);

/* A place in the source that enters a region. Static, one for each place; made by the macros below. */
typedef struct lsc_site {
  const char *name, *file; /* string literals; file: or NULL */
  int64_t line;
  uint32_t known; /* the library's: the region's handle + 1, 0 before it was looked up */
} lsc_site;

/* A call that a scope has to end; session 0: none. */
typedef struct lsc_entered {
  lsc_session session;
  lsc_region_id region;
} lsc_entered;

/* Enters the region of the place in the default session. Without one it costs two loads. */
LSC_API lsc_entered lsc_site_enter(lsc_site *site);

/* lsc_enter and lsc_leave of the place's region; also the statuses of lsc_region. */
LSC_API lsc_status lsc_site_begin(lsc_site *site);
LSC_API lsc_status lsc_site_end(lsc_site *site);

/* Ends it in the session in which it began, whichever is the default now. */
static inline void lsc_site_leave(lsc_entered *entered) {
  if (entered->session) (void)lsc_end(entered->session, entered->region);
}

/*
 * Macros for the default session; names are string literals. Compiled with LSC_DISABLE defined, they are nothing.
 *   LSC_REGION("solve");   from here to the end of the block, however it is left; where the compiler has __attribute__
 *   LSC_BEGIN("solve");    the same by hand: the end belongs on the same thread, in the order of a stack
 *   LSC_END("solve");
 */
#ifdef LSC_DISABLE
#define LSC_REGION(name) ((void)0)
#define LSC_BEGIN(name) ((void)0)
#define LSC_END(name) ((void)0)
#else
#define LSC_JOIN_(a, b) a##b
#define LSC_JOIN(a, b) LSC_JOIN_(a, b)
#if defined(__GNUC__)
#define LSC_REGION(name)                                                                          \
  static lsc_site LSC_JOIN(lsc_site_, __LINE__) = {name, __FILE__, __LINE__, 0};                  \
  lsc_entered LSC_JOIN(lsc_entered_, __LINE__) __attribute__((cleanup(lsc_site_leave), unused)) = \
      lsc_site_enter(&LSC_JOIN(lsc_site_, __LINE__))
#endif
#define LSC_BEGIN(name)                                       \
  do {                                                        \
    static lsc_site lsc_here = {name, __FILE__, __LINE__, 0}; \
    (void)lsc_site_begin(&lsc_here);                          \
  } while (0)
#define LSC_END(name)                                \
  do {                                               \
    static lsc_site lsc_here = {name, NULL, 0, 0};   \
    (void)lsc_site_end(&lsc_here);                   \
  } while (0)
#endif

#ifdef __cplusplus
}
#endif

#endif
