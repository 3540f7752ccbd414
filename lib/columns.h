/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tables of a file: one list of columns from which the tables in memory, the HDF5 writer, the report and the test
 * of docs/format.md are made. LSC_TABLES: X(TABLE, group). LSC_COLUMNS_<TABLE>: X(COLUMN, dataset, type).
 */
#ifndef LSC_COLUMNS_H
#define LSC_COLUMNS_H

#define LSC_TABLES(X)                        \
  X(RANK, rank_table)                        \
  X(THREAD, thread_table)                    \
  X(TASK, task_table)                        \
  X(LANE, lane_table)                        \
  X(REGION, region_table)                    \
  X(INDEX, rank_region_index)                \
  X(OPEN, open_calls)

#define LSC_COLUMNS_RANK(X)                  \
  X(RANK_RANKS, ranks, LSC_U32)              \
  X(RANK_HOSTNAME, hostname, LSC_STR)        \
  X(RANK_PID, pid, LSC_I64)                  \
  X(RANK_THREADS, threads, LSC_U32)          \
  X(RANK_TASKS, tasks, LSC_U32)              \
  X(RANK_CALLS, calls, LSC_U64)              \
  X(RANK_OPEN_CALLS, open_calls, LSC_U64)    \
  X(RANK_DROPPED, dropped_calls, LSC_U64)    \
  X(RANK_DROP_REASON, drop_reason, LSC_STR)  \
  X(RANK_OFFSET, clock_offset_ns, LSC_I64)   \
  X(RANK_ERROR, clock_error_ns, LSC_I64)     \
  X(RANK_DRIFT, clock_drift_ppb, LSC_F64)    \
  X(RANK_OVERHEAD, overhead_ns, LSC_I64)     \
  X(RANK_STATUS, status, LSC_U8)             \
  X(RANK_COLLECTS, collects, LSC_STR)

#define LSC_COLUMNS_THREAD(X)                \
  X(THREAD_RANKS, ranks, LSC_U32)            \
  X(THREAD_INDEX, index, LSC_I64)            \
  X(THREAD_IDENT, ident, LSC_I64)            \
  X(THREAD_NATIVE_ID, native_id, LSC_I64)    \
  X(THREAD_NAME, name, LSC_STR)              \
  X(THREAD_DAEMON, daemon, LSC_I8)           \
  X(THREAD_START, start_ns, LSC_I64)         \
  X(THREAD_END, end_ns, LSC_I64)             \
  X(THREAD_CPU, cpu_ns, LSC_I64)

#define LSC_COLUMNS_TASK(X)                  \
  X(TASK_RANKS, ranks, LSC_U32)              \
  X(TASK_INDEX, index, LSC_I64)              \
  X(TASK_KIND, kind, LSC_STR)                \
  X(TASK_NAME, name, LSC_STR)                \
  X(TASK_CORO_NAME, coro_name, LSC_STR)      \
  X(TASK_THREAD_INDEX, thread_index, LSC_I64) \
  X(TASK_CREATED, created_ns, LSC_I64)       \
  X(TASK_DONE, done_ns, LSC_I64)             \
  X(TASK_STEPS, steps, LSC_I64)              \
  X(TASK_RUNNING, running_ns, LSC_I64)       \
  X(TASK_SUSPENDED, suspended_ns, LSC_I64)

#define LSC_COLUMNS_LANE(X)                  \
  X(LANE_RANKS, ranks, LSC_U32)              \
  X(LANE_LANES, lanes, LSC_I64)              \
  X(LANE_KIND, kind, LSC_STR)                \
  X(LANE_NAME, name, LSC_STR)                \
  X(LANE_CALLS, calls, LSC_U64)              \
  X(LANE_OPEN_CALLS, open_calls, LSC_U64)    \
  X(LANE_FIRST, first_ns, LSC_I64)           \
  X(LANE_LAST, last_ns, LSC_I64)             \
  X(LANE_BUSY, busy_ns, LSC_I64)

#define LSC_COLUMNS_REGION(X) X(REGION_NAMES, names, LSC_STR)

#define LSC_COLUMNS_INDEX(X)                                \
  X(INDEX_REGION_IDS, region_ids, LSC_U32)                  \
  X(INDEX_RANKS, ranks, LSC_U32)                            \
  X(INDEX_OFFSETS, event_offsets, LSC_U64)                  \
  X(INDEX_COUNTS, event_counts, LSC_U64)                    \
  X(INDEX_LINES, source_lines, LSC_I64)                     \
  X(INDEX_FILES, source_files, LSC_STR)                     \
  X(INDEX_TEXTS, source_texts, LSC_STR)                     \
  X(INDEX_TAGS, tags, LSC_STR)                              \
  X(INDEX_EXCLUSIVE, exclusive_totals, LSC_I64)             \
  X(INDEX_STATS, summary_statistics, LSC_STATS)

#define LSC_COLUMNS_OPEN(X)                  \
  X(OPEN_START, start_times, LSC_I64)        \
  X(OPEN_RANKS, ranks, LSC_U32)              \
  X(OPEN_REGION_IDS, region_ids, LSC_U32)    \
  X(OPEN_THREADS, thread_ids, LSC_I64)       \
  X(OPEN_TASKS, task_ids, LSC_I64)           \
  X(OPEN_AWAIT, await_ns, LSC_I64)           \
  X(OPEN_CALL_IDS, call_ids, LSC_I64)        \
  X(OPEN_PARENT_IDS, parent_ids, LSC_I64)    \
  X(OPEN_APIS, apis, LSC_U8)                 \
  X(OPEN_REGION_NAMES, region_names, LSC_STR) \
  X(OPEN_DEPTH, depth, LSC_U32)

/* /events, written by every rank for itself. */
#define LSC_COLUMNS_EVENTS(X)                \
  X(EVENT_START, start_times, LSC_I64)       \
  X(EVENT_END, end_times, LSC_I64)           \
  X(EVENT_RANKS, ranks, LSC_U32)             \
  X(EVENT_REGION_IDS, region_ids, LSC_U32)   \
  X(EVENT_THREADS, thread_ids, LSC_I64)      \
  X(EVENT_TASKS, task_ids, LSC_I64)          \
  X(EVENT_AWAIT, await_ns, LSC_I64)          \
  X(EVENT_CALL_IDS, call_ids, LSC_I64)       \
  X(EVENT_PARENT_IDS, parent_ids, LSC_I64)   \
  X(EVENT_APIS, apis, LSC_U8)

#endif
