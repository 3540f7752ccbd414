/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a session has recorded since the last commit, put in order: every completed call once, and the calls that are
 * open now. Rows are not copied: they stay in their chunks until the commit. One snapshot of a session at a time.
 */
#ifndef LSC_SNAPSHOT_H
#define LSC_SNAPSHOT_H

#include "chunk.h"
#include "clock.h"
#include "correction.h"
#include "lanescope.h"

#define LSC_NO_CALL UINT32_MAX
#define LSC_NEVER LSC_NO_TIME /* a time that is not known */

/* One thread of the thread table, as it was at the snapshot. Times in ns, by the snapshot's map. */
struct lsc_thread_info {
  int64_t index, ident, native_id;
  const char *name; /* the snapshot's; UTF-8 */
  int daemon;
  int64_t start_ns;
  int64_t end_ns; /* LSC_NEVER: still running */
  int64_t cpu_ns; /* LSC_NEVER: unknown */
};

/* One task of the task table, as it was at the snapshot; a step that runs is not yet in the sums. Strings are the
 * session's. */
struct lsc_task_info {
  int64_t index;
  const char *kind, *name, *coro_name;
  int64_t thread_index; /* of the last step; -1 before the first */
  int64_t created_ns;
  int64_t done_ns; /* LSC_NEVER: not finished */
  int64_t steps, running_ns, suspended_ns;
};

/* One lane that a call of the snapshot ran on. Ordered: -1 first if there, then threads, then tasks, by index. */
struct lsc_lane_info {
  union {
    int64_t lane;
    int64_t covered_to; /* while calls are summed up: the latest end of a completed one */
  };
  uint32_t calls, open_calls; /* fewer than LSC_NO_CALL, as all calls of a snapshot are */
  int64_t first_ns, last_ns;  /* first start; last end, or last start where no call of it has ended */
  int64_t busy_ns;            /* covered by at least one completed call */
  unsigned apis;              /* bit k: API k made a call on it */
};

/* Sums over the completed calls of one region. Times in ns, by the snapshot's map. */
struct lsc_call_sums {
  uint64_t calls;
  int64_t total, minimum, maximum; /* of the durations */
  int64_t first, last;             /* duration of the first and of the last call */
  int64_t exclusive;               /* total without the calls whose parents these are */
  int64_t start_minimum, end_maximum;
  uint32_t first_call, last_call; /* their ids */
  unsigned __int128 squares; /* sum of the squares of the durations, exact below 2^128 */
};

/* The completed calls of one region: event[offset .. offset + count - 1]. Only regions that have some, by ascending id.
 */
struct lsc_region_span {
  uint32_t region;
  uint64_t offset, count;
  struct lsc_call_sums sums;
};

/* A call that has not ended. */
struct lsc_open_call {
  uint32_t call, parent; /* ids; LSC_NO_CALL at the top */
  const struct lsc_row *row;
  int64_t await_ns; /* for how long the task of the call has been suspended in it */
};

#define LSC_BLOCK_CALLS 256 /* their rows, and what is found out of them, lie in the first-level cache */

/*
 * Who enclosed a call: its id, LSC_NO_CALL: nobody; and above it its region, LSC_NO_REGION: nobody, or the parent is
 * open. In one word: it is read soon after it is written, and a processor does not pass on two stores to one load.
 */
typedef uint64_t lsc_parent;
static inline lsc_parent lsc_parent_make(uint32_t call, uint32_t of) { return (uint64_t)of << 32 | call; }
static inline uint32_t lsc_parent_call(lsc_parent parent) { return (uint32_t)parent; }
static inline uint32_t lsc_parent_region(lsc_parent parent) { return (uint32_t)(parent >> 32); }

struct lsc_call_times {
  int64_t start, end; /* end: LSC_NEVER: the call counts as open */
};

struct lsc_block_call {
  const struct lsc_row *row;
  lsc_parent parent;
  uint32_t region;           /* as in the row, with the API above it */
  struct lsc_levels *levels; /* its stack: for the walk */
};

/*
 * Consecutive calls: LSC_BLOCK_CALLS of them, fewer at the end, and more only where so many began in one nanosecond.
 */
struct lsc_block {
  uint32_t first, count; /* ids: first .. first + count - 1 */
  uint32_t open;         /* how many of them count as open */
  struct lsc_block_call *call;
  struct lsc_call_times *time; /* of each call, by snapshot->map */
};

struct lsc_snapshot {
  lsc_session session;
  struct lsc_clock_map map; /* converts every row's start and end */

  size_t calls; /* completed and open */
  /* NULL until lsc_snapshot_events. */
  const struct lsc_row **row; /* [calls] by call id: (start, depth) */
  uint32_t *parent;           /* [calls] call id of the enclosing call, LSC_NO_CALL at the top */
  uint32_t *event;            /* [completed] call ids, by (region, call id) */

  size_t completed;
  size_t regions;
  struct lsc_region_span *region;

  size_t open;
  struct lsc_open_call *open_call; /* [open] by call id */

  size_t threads;
  struct lsc_thread_state *thread; /* [threads] by index, dense from 0: for lsc_snapshot_thread */
  size_t tasks;
  struct lsc_task_state *task; /* [tasks] by index, dense from 0: for lsc_snapshot_task */
  size_t lanes;
  struct lsc_lane_info *lane; /* [lanes] */
  int64_t last_lane;          /* the number of the last of them */

  unsigned apis; /* bit k: API k made a call */
  int no_lanes;  /* as the session was opened */
  uint64_t dropped;
  int is_full;  /* of `dropped` some for more calls than a collect can number, and not for want of memory */
  int64_t overhead_ns;

  uint64_t collect; /* number of this collect of the session, from 0, if it is written */
  int is_written;   /* to be set before the commit where the calls stand in a file: the next has the next number */

  const char *label; /* or NULL */
  int64_t open_ns, open_unix_ns;   /* when the session was opened: by `map` and by the wall clock at one moment */
  int64_t taken_ns;                /* when the snapshot was taken */

  int64_t clock_offset_ns; /* `map` leads to CLOCK_MONOTONIC, corrected by this and by the drift since the open */
  int64_t clock_error_ns;  /* and so to rank 0's clock, from which it is off by no more */
  double clock_drift_ppb;
  struct lsc_correction correction; /* the session's, once this snapshot is committed */

  struct lsc_streams *streams; /* where each lane's next snapshot begins once this one is committed */
  struct lsc_walk *walk;       /* for lsc_snapshot_rewind and lsc_snapshot_next */
};

/*
 * Takes a snapshot and keeps the session for this thread until the commit or the drop. Other threads may go on
 * recording: it is one cut through what they do. LSC_OK; LSC_INACTIVE; LSC_BUSY; LSC_NO_MEMORY; LSC_LIMIT: more than
 * 2^32 - 2 calls. On failure there is nothing to drop.
 */
lsc_status lsc_snapshot_take(lsc_session session, struct lsc_snapshot *snapshot);
/*
 * The same with all times on the clock of rank 0 of a group of ranks. Those of lsc_snapshot_take are on this rank's own
 * clock, at the rate that earlier snapshots gave it: a call's start differs in two snapshots of a session by the
 * difference of their clock_offset_ns, exactly.
 */
lsc_status lsc_snapshot_take_compared(lsc_session session, const struct lsc_comparison *comparison,
                                      struct lsc_snapshot *snapshot);
/*
 * The same for who wants to use the time that the calls take to be summed up. counted: called once before, by the
 * calling thread: `calls` is how many completed ones there are, or somewhat more; of the snapshot only what the session
 * was opened with is there. watch: may be NULL.
 */
struct lsc_snapshot_watch {
  void (*counted)(void *ctx, const struct lsc_snapshot *snapshot, size_t calls);
  void *ctx;
};
lsc_status lsc_snapshot_take_watched(lsc_session session, const struct lsc_comparison *comparison,
                                     const struct lsc_snapshot_watch *watch, struct lsc_snapshot *snapshot);
/*
 * Of a snapshot of a rank alone: what is to be added to its times to put them on the clock of rank 0 of a group that
 * the session was attached to, and by how much they are off then at most. group and open of the comparison are read. 1;
 * 0: those clocks were never compared.
 */
int lsc_snapshot_to_group(const struct lsc_snapshot *snapshot, const struct lsc_comparison *comparison,
                          int64_t *offset_ns, int64_t *error_ns);
/* The completed calls are reported and never come again; frees the snapshot. */
void lsc_snapshot_commit(struct lsc_snapshot *snapshot);
/* As if it had not been taken; frees the snapshot. */
void lsc_snapshot_drop(struct lsc_snapshot *snapshot);

/* A thread and a task by index. */
struct lsc_thread_info lsc_snapshot_thread(struct lsc_snapshot *snapshot, size_t index);
struct lsc_task_info lsc_snapshot_task(struct lsc_snapshot *snapshot, size_t index);

/* Frees what the tables of threads, tasks and lanes are made of, once they are made; their numbers stay. */
void lsc_snapshot_forget_lanes(struct lsc_snapshot *snapshot);

/* The memory for what comes next, unless it is there. LSC_OK, LSC_NO_MEMORY. */
lsc_status lsc_snapshot_ready(struct lsc_snapshot *snapshot);

/*
 * The calls in the order of their ids, block by block, as often as somebody wants to see them: back to the
 * first one, and the next block, which is the snapshot's and good until the next call of these or of
 * lsc_snapshot_events; without calls behind the last one. By one thread at a time.
 */
void lsc_snapshot_rewind(struct lsc_snapshot *snapshot);
const struct lsc_block *lsc_snapshot_next(struct lsc_snapshot *snapshot);

/*
 * Makes snapshot->row, parent and event, unless they are there, for who wants to see calls in another order than that
 * of their ids: 16 bytes a call. LSC_OK, LSC_NO_MEMORY.
 */
lsc_status lsc_snapshot_events(struct lsc_snapshot *snapshot);

/* Starts, or ends, of completed calls in ns. */
static inline void lsc_row_times(struct lsc_clock_map *map, const struct lsc_row *const *row, size_t count, int end,
                                 int64_t *out) {
  uint64_t from = map->from, width = map->width, rise = map->rise;
  int64_t base = map->ns;
  for (size_t i = 0; i < count; i++) {
    uint64_t ticks = atomic_load_explicit(end ? &row[i]->end : &row[i]->start, memory_order_relaxed);
    if (__builtin_expect(ticks - from < width, 1)) {
      out[i] = base + lsc_clock_rise(ticks - from, rise);
      continue;
    }
    out[i] = lsc_clock_map_seek(map, ticks);
    from = map->from, width = map->width, rise = map->rise;
    base = map->ns;
  }
}

/* For how long the task of a completed call was suspended in it, in ns; 0 outside tasks. */
int64_t lsc_call_await_ns(struct lsc_snapshot *snapshot, const struct lsc_row *row);

/* What the committed snapshots of the session add to its clock in the end; 0 if it is not open. Any thread. */
int64_t lsc_session_added_ns(lsc_session session);

/* When the session was opened, on lsc_now_ns's clock; 0 if it is not open. Any thread. */
int64_t lsc_session_opened_ns(lsc_session session);

/* A random number of the session's own, which no other session of any process is likely to have; 0 if it is not open.
 * Any thread. */
uint64_t lsc_session_id(lsc_session session);

/*
 * The paths to which the session was collected: 1 for one that was added. By who holds a snapshot of it, as they are
 * the collector's.
 */
int lsc_session_has_path(lsc_session session, const char *path);
lsc_status lsc_session_add_path(lsc_session session, const char *path);

#endif
