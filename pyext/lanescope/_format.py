# SPDX-License-Identifier: BSD-3-Clause
"""The tables of a file of format 1, as docs/format.md lists them; a test holds both together."""

U8, U32, U64, I8, I64, F64 = "|u1", "<u4", "<u8", "|i1", "<i8", "<f8"
STR, STATS = "str", "stats"

CALL = {"start_times": I64, "ranks": U32, "region_ids": U32, "call_ids": I64, "parent_ids": I64}
# Columns of /events and /open_calls that are left out where nobody recorded them.
OPTIONAL = {"thread_ids": I64, "task_ids": I64, "await_ns": I64, "apis": U8}

TABLES = {
    "rank_table": {
        "ranks": U32,
        "hostname": STR,
        "pid": I64,
        "threads": U32,
        "tasks": U32,
        "calls": U64,
        "open_calls": U64,
        "dropped_calls": U64,
        "drop_reason": STR,
        "clock_offset_ns": I64,
        "clock_error_ns": I64,
        "clock_drift_ppb": F64,
        "overhead_ns": I64,
        "status": U8,
        "collects": STR,
    },
    "thread_table": {
        "ranks": U32,
        "index": I64,
        "ident": I64,
        "native_id": I64,
        "name": STR,
        "daemon": I8,
        "start_ns": I64,
        "end_ns": I64,
        "cpu_ns": I64,
    },
    "task_table": {
        "ranks": U32,
        "index": I64,
        "kind": STR,
        "name": STR,
        "coro_name": STR,
        "thread_index": I64,
        "created_ns": I64,
        "done_ns": I64,
        "steps": I64,
        "running_ns": I64,
        "suspended_ns": I64,
    },
    "lane_table": {
        "ranks": U32,
        "lanes": I64,
        "kind": STR,
        "name": STR,
        "calls": U64,
        "open_calls": U64,
        "first_ns": I64,
        "last_ns": I64,
        "busy_ns": I64,
    },
    "region_table": {"names": STR},
    "rank_region_index": {
        "region_ids": U32,
        "ranks": U32,
        "event_offsets": U64,
        "event_counts": U64,
        "source_lines": I64,
        "source_files": STR,
        "source_texts": STR,
        "tags": STR,
        "exclusive_totals": I64,
        "summary_statistics": STATS,
    },
    "events": {**CALL, "end_times": I64, **OPTIONAL},
    "open_calls": {**CALL, **OPTIONAL, "region_names": STR, "depth": U32},
}
# Columns that files of the first days of the format do not have.
LATER = {("rank_table", "collects")}
OPTIONAL_TABLES = ("thread_table", "open_calls")
CALL_TABLES = ("events", "open_calls")

STATISTICS = {
    "total": I64,
    "minimum": I64,
    "maximum": I64,
    "first": I64,
    "last": I64,
    "start_minimum": I64,
    "end_maximum": I64,
    "gpu_count": U64,
    "gpu_total": I64,
    "mean": F64,
    "m2": F64,
}

METADATA = {
    "timestamp": str,
    "start_time_unix_ns": int,
    "start_time_ns": int,
    "finalize_time_ns": int,
    "mpi_size": int,
    "hostname": str,
    "user": str,
    "platform": str,
    "working_directory": str,
    "command_line": str,
    "clock": str,
    "api": int,
    "label": str,
    "python_version": str,
    "omp_num_threads": int,
    "total_cores": int,
    "lanescope_version": str,
    "mpi_library": str,
    "hdf5_library": str,
}
OPTIONAL_METADATA = ("api", "label", "python_version")
# Where they apply.
MORE_METADATA = {
    "session_id": int,
    "merged_files": int,
    "run_rank": int,
    "run_size": int,
    "run_job": str,
    "run_clock_offset_ns": int,
    "run_clock_error_ns": int,
}

APIS = ("python", "c", "fortran")
NO_REGION = 2**32 - 1
