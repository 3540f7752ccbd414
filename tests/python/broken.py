# SPDX-License-Identifier: BSD-3-Clause
"""A file in which the format keeps all its promises, copies of it to change, and a change that breaks each promise."""
import asyncio
import ctypes
import os
import shutil
import threading

import h5py
import lanescope
import numpy as np


def record_good(folder):
    """run.h5, collected inside two open calls, with threads, tasks and calls of C."""
    library = ctypes.CDLL(os.path.join(os.environ["LANESCOPE_BUILD"], ".libs", "liblanescope.so"))

    def work():
        for _ in range(30):
            with lanescope.region("outer"), lanescope.region("größer"):
                with lanescope.region("inner"):
                    sum(range(50))
                with lanescope.region("inner"):
                    sum(range(50))

    async def job():
        with lanescope.region("waits"):
            await asyncio.sleep(0.002)
            with lanescope.region("inner"):
                sum(range(50))

    async def jobs():
        await asyncio.gather(*(job() for _ in range(3)))

    with lanescope.session(folder / "end.h5", label="check", track_async=True, verbose=False):
        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        work()
        for thread in threads:
            thread.join()
        region = ctypes.c_uint32()
        assert library.lsc_region(b"from C", ctypes.byref(region)) == 0
        assert library.lsc_enter(region) == 0 and library.lsc_leave(region) == 0
        asyncio.run(jobs())
        with lanescope.region("open one"), lanescope.region("outer"):
            with lanescope.region("inner"):
                sum(range(50))
            lanescope.collect(folder / "run.h5")


class Edit:
    """A copy of a good file, to change."""

    def __init__(self, good, path):
        shutil.copy(good, path)
        self.path = path
        self.file = h5py.File(path, "r+")
        self.names = self.file["region_table/names"].asstr()[:].tolist()

    def put(self, column, row, value):
        self.file[column][row] = value
        return row

    def add(self, column, row, value):
        self.file[column][row] += value
        return row

    def event(self, name, which=0):
        """The row of /events of a call of a region that is which-th in the file."""
        ids = self.file["events/region_ids"][:]
        return int(np.flatnonzero(ids == self.names.index(name))[which])

    def row(self, table, column, value):
        return int(np.flatnonzero(self.file[table][column][:] == value)[0])

    def field(self, name, by):
        rows = self.file["rank_region_index/summary_statistics"][:]
        rows[name][1] += by
        self.file["rank_region_index/summary_statistics"][:] = rows

    def retype(self, column, dtype):
        data = self.file[column][:]
        del self.file[column]
        self.file.create_dataset(column, data=data.astype(dtype))

    def done(self):
        self.file.close()
        return self.path


def swap(edit, column, one, other):
    data = edit.file[column]
    data[one], data[other] = data[other], data[one]


def to_grandparent(edit):
    """A call in a call in another one belongs to the outermost."""
    row = edit.event("inner")
    events = edit.file["events"]
    parent = edit.row("events", "call_ids", events["parent_ids"][row])
    edit.put("events/parent_ids", row, events["parent_ids"][parent])
    return row


def to_other_lane(edit):
    events = edit.file["events"]
    row = edit.event("waits", 1)
    first = edit.event("waits", 0)
    edit.put("events/parent_ids", row, events["call_ids"][first])


def to_call_before(edit):
    """The parent of a call becomes the call beside it, which has ended."""
    row = edit.event("inner", 1)
    edit.put("events/parent_ids", row, edit.file["events/call_ids"][edit.event("inner", 0)])


def child_ends_late(edit):
    events = edit.file["events"]
    row = edit.event("inner")
    parent = edit.row("events", "call_ids", events["parent_ids"][row])
    edit.put("events/end_times", row, events["end_times"][parent] + 1)


def start_before_the_one_before(edit):
    events = edit.file["events"]
    row = edit.event("inner", 2)
    edit.put("events/start_times", row, events["start_times"][row] - 10**9)


def drop_region(edit):
    """A name more than there are regions with calls."""
    names = [*edit.names, "nobody"]
    del edit.file["region_table/names"]
    edit.file.create_dataset("region_table/names", data=names, dtype=h5py.string_dtype())


def rename(edit, column, row, text):
    edit.file[column][row] = text


def set_attribute(edit, name, value):
    edit.file["metadata"].attrs[name] = value


def empty_open_calls(edit):
    for name, data in list(edit.file["open_calls"].items()):
        kind = data.dtype
        del edit.file["open_calls"][name]
        edit.file.create_dataset(f"open_calls/{name}", shape=(0,), dtype=kind)


def one_api(edit):
    for table in ("events", "open_calls"):
        edit.file[table]["apis"][:] = 0


# What is done to a good file: what the check must say, as a piece of a line that names table, row, column and value.
MUTATIONS = {
    "mpi_size": (lambda e: set_attribute(e, "mpi_size", 7), "metadata mpi_size is 7, expected 1"),
    "finalize_time": (lambda e: set_attribute(e, "finalize_time_ns", 5), "metadata finalize_time_ns is 5, before"),
    "timestamp": (lambda e: set_attribute(e, "timestamp", "today"), "metadata timestamp is 'today'"),
    "timestamp_other": (
        lambda e: set_attribute(e, "timestamp", "2001-01-01T00:00:00+00:00"),
        "metadata timestamp is '2001",
    ),
    "attribute_type": (lambda e: set_attribute(e, "user", 3), "metadata user is 3, expected one text"),
    "attribute_array": (
        lambda e: set_attribute(e, "total_cores", [3]),
        "metadata total_cores is array([3]), expected one i64",
    ),
    "attribute_gone": (
        lambda e: e.file["metadata"].attrs.__delitem__("hostname"),
        "metadata has no attribute hostname",
    ),
    "table_gone": (lambda e: e.file.__delitem__("lane_table"), "there is no table lane_table"),
    "column_gone": (lambda e: e.file.__delitem__("events/parent_ids"), "events has no column parent_ids"),
    "column_type": (lambda e: e.retype("lane_table/calls", "i8"), "lane_table/calls has type <i8, expected <u8"),
    "text_type": (
        lambda e: e.retype("lane_table/kind", "S9"),
        "lane_table/kind has type string of fixed length in ascii",
    ),
    "thread_table_gone": (lambda e: e.file.__delitem__("thread_table"), "thread_table and events/thread_ids"),
    "tasks_gone": (lambda e: e.file.__delitem__("events/await_ns"), "events/await_ns is not there"),
    "rank": (lambda e: e.put("rank_table/ranks", 0, 4), "rank_table row 0: ranks is 4, expected 0"),
    "rank_calls": (lambda e: e.add("rank_table/calls", 0, 1), "rank_table calls add up to"),
    "rank_open": (lambda e: e.add("rank_table/open_calls", 0, 1), "rank_table open_calls add up to 3, expected 2"),
    "rank_threads": (lambda e: e.put("rank_table/threads", 0, 9), "rank_table row 0: threads is 9, expected 3"),
    "rank_tasks": (lambda e: e.put("rank_table/tasks", 0, 99), "rank_table row 0: tasks is 99"),
    "offset": (lambda e: e.put("rank_table/clock_offset_ns", 0, 1), "rank_table row 0: clock_offset_ns is 1"),
    "error": (lambda e: e.put("rank_table/clock_error_ns", 0, -1), "rank_table row 0: clock_error_ns is -1"),
    "overhead": (lambda e: e.put("rank_table/overhead_ns", 0, -1), "rank_table row 0: overhead_ns is -1"),
    "status": (lambda e: e.put("rank_table/status", 0, 3), "rank_table row 0: status is 3"),
    "incomplete": (
        lambda e: e.put("rank_table/status", 0, 1),
        "rank_table row 0: dropped_calls is 0 and drop_reason '', with status 1",
    ),
    "collects": (
        lambda e: rename(e, "rank_table/collects", 0, "0-1"),
        "rank_table row 0: collects is '0-1', expected one number",
    ),
    "dropped": (
        lambda e: e.put("rank_table/dropped_calls", 0, 2),
        "rank_table row 0: dropped_calls is 2 and drop_reason ''",
    ),
    "thread_index": (lambda e: e.put("thread_table/index", 1, 2), "thread_table row 1: index is 2, expected 1"),
    "thread_rank": (lambda e: e.put("thread_table/ranks", 1, 1), "thread_table row 1: ranks is 1"),
    "thread_end": (
        lambda e: e.put("thread_table/end_ns", 1, -(10**12)),
        "thread_table row 1: end_ns is -1000000000000",
    ),
    "thread_cpu": (lambda e: e.put("thread_table/cpu_ns", 1, -2), "thread_table row 1: cpu_ns is -2"),
    "thread_daemon": (lambda e: e.put("thread_table/daemon", 1, 2), "thread_table row 1: daemon is 2"),
    "task_index": (lambda e: e.put("task_table/index", 1, 0), "task_table row 1: index is 0, expected 1"),
    "task_thread": (lambda e: e.put("task_table/thread_index", 1, 8), "task_table row 1: thread_index is 8"),
    "task_done": (lambda e: e.put("task_table/done_ns", 1, -(10**12)), "task_table row 1: done_ns is"),
    "task_steps": (lambda e: e.put("task_table/steps", 1, -1), "task_table row 1: steps is -1"),
    "lane": (lambda e: e.put("lane_table/lanes", 1, 77), "lane_table row 1: lanes is 77"),
    "lane_order": (lambda e: e.put("lane_table/lanes", 1, -2), "lane_table row 1: lanes is -2, after -2"),
    "lane_kind": (lambda e: rename(e, "lane_table/kind", 1, "fibre"), "lane_table row 1: kind and name are ('fibre'"),
    "lane_name": (
        lambda e: rename(e, "lane_table/name", 1, "N"),
        "lane_table row 1: kind and name are ('thread', 'N')",
    ),
    "lane_calls": (lambda e: e.add("lane_table/calls", 1, 1), "lane_table row 1: calls is"),
    "lane_open": (lambda e: e.add("lane_table/open_calls", 1, 1), "lane_table row 1: open_calls is 1, expected 0"),
    "lane_first": (lambda e: e.add("lane_table/first_ns", 1, 1), "lane_table row 1: first_ns is"),
    "lane_last": (lambda e: e.add("lane_table/last_ns", 1, 1), "lane_table row 1: last_ns is"),
    "lane_busy": (lambda e: e.add("lane_table/busy_ns", 1, 1), "lane_table row 1: busy_ns is"),
    "name_twice": (lambda e: rename(e, "region_table/names", 1, e.names[0]), "region_table row 1: names is"),
    "name_unused": (drop_region, "'nobody' has no row in rank_region_index"),
    "index_region": (
        lambda e: e.put("rank_region_index/region_ids", 1, 99),
        "rank_region_index row 1: region_ids is 99",
    ),
    "index_twice": (
        lambda e: e.put("rank_region_index/region_ids", 1, 0),
        "rank_region_index row 1: rank 0 and region 0",
    ),
    "index_rank": (lambda e: e.put("rank_region_index/ranks", 1, 1), "rank_region_index row 1: ranks is 1"),
    "index_offset": (
        lambda e: e.add("rank_region_index/event_offsets", 1, 1),
        "rank_region_index row 1: event_offsets is",
    ),
    "index_count": (
        lambda e: e.add("rank_region_index/event_counts", 1, 1),
        "rank_region_index event_counts add up to",
    ),
    "index_empty": (
        lambda e: e.put("rank_region_index/event_counts", 1, 0),
        "rank_region_index row 1: event_counts is 0",
    ),
    "line": (lambda e: e.put("rank_region_index/source_lines", 1, -5), "rank_region_index row 1: source_lines is -5"),
    "tags": (lambda e: rename(e, "rank_region_index/tags", 1, "[1]"), "rank_region_index row 1: tags is '[1]'"),
    "text": (
        lambda e: rename(e, "rank_region_index/source_files", 1, b"\xff"),
        "rank_region_index row 1: source_files is '\\udcff'",
    ),
    "exclusive": (
        lambda e: e.add("rank_region_index/exclusive_totals", 1, 1),
        "rank_region_index row 1: exclusive_totals is",
    ),
    **{
        f"statistics_{name}": (
            lambda e, name=name: e.field(name, 1),
            f"rank_region_index row 1: summary_statistics {name} is",
        )
        for name in (
            "total",
            "minimum",
            "maximum",
            "first",
            "last",
            "start_minimum",
            "end_maximum",
            "gpu_count",
            "gpu_total",
            "mean",
        )
    },
    "statistics_m2": (lambda e: e.field("m2", 1e9), "rank_region_index row 1: summary_statistics m2 is"),
    "event_rank": (lambda e: e.put("events/ranks", 5, 3), "events row 5: ranks is 3, expected 0"),
    "event_region": (lambda e: e.put("events/region_ids", 5, 3), "events row 5: region_ids is 3, expected"),
    "event_thread": (
        lambda e: e.put("events/thread_ids", 5, 3),
        "events row 5: thread_ids is 3, and rank 0 has 3 threads",
    ),
    "event_other_thread": (
        lambda e: e.put("events/thread_ids", e.event("outer"), 2),
        "on lane -4; this call is on lane",
    ),
    "event_task": (lambda e: e.put("events/task_ids", 5, -2), "events row 5: task_ids is -2"),
    "event_await": (lambda e: e.put("events/await_ns", 5, 1), "events row 5: await_ns is 1"),
    "event_await_long": (
        lambda e: e.put("events/await_ns", e.event("waits"), 10**12),
        "await_ns is 1000000000000 in a call of",
    ),
    "event_api": (lambda e: e.put("events/apis", 5, 3), "events row 5: apis is 3"),
    "one_api": (one_api, "apis is {0} everywhere"),
    "event_end": (lambda e: e.put("events/end_times", 5, 1), "events row 5: end_times is 1, before start_times"),
    "number_high": (
        lambda e: e.put("events/call_ids", e.event("from C"), 10**6),
        "call_ids is 1000000, and rank 0 has",
    ),
    "number_order": (lambda e: swap(e, "events/call_ids", 5, 6), "events row 6: call_ids is"),
    "number_twice": (lambda e: e.add("events/call_ids", e.event("from C"), 1), "has already"),
    "number_missing": (lambda e: e.add("events/call_ids", e.event("from C"), 1), "rank 0: no call has call_ids"),
    "start_order": (start_before_the_one_before, "and the call numbered before it began at"),
    "parent_self": (
        lambda e: e.put("events/parent_ids", 5, e.file["events/call_ids"][5]),
        "events row 5: parent_ids is",
    ),
    "parent_low": (lambda e: e.put("events/parent_ids", 5, -2), "events row 5: parent_ids is -2"),
    "parent_over": (to_call_before, "which does not enclose it: it ends at"),
    "parent_lane": (to_other_lane, "this call is on lane"),
    "parent_far": (to_grandparent, "and a call inside that one encloses it"),
    "parent_none": (lambda e: e.put("events/parent_ids", e.event("inner"), -1), "encloses it"),
    "child_outside": (child_ends_late, "which does not enclose it: it ends at"),
    "open_empty": (empty_open_calls, "open_calls has no rows; it must be left out"),
    "open_column": (lambda e: e.file.__delitem__("open_calls/apis"), "apis must be in events and in open_calls"),
    "open_rank": (lambda e: e.put("open_calls/ranks", 1, 3), "open_calls row 1: ranks is 3"),
    "open_order": (lambda e: swap(e, "open_calls/call_ids", 0, 1), "open_calls row 1: ranks and call_ids are"),
    "open_region": (
        lambda e: e.put("open_calls/region_ids", 0, 0),
        "open_calls row 0: region_ids is 0, expected 4294967295",
    ),
    "open_name": (lambda e: rename(e, "open_calls/region_names", 1, "nix"), "open_calls row 1: region_ids is"),
    "open_depth": (lambda e: e.put("open_calls/depth", 1, 2), "open_calls row 1: depth is 2, expected 1"),
    "open_parent": (lambda e: e.put("open_calls/parent_ids", 1, -1), "open_calls row 1: depth is 1, expected 0"),
    "open_start": (
        lambda e: e.put("open_calls/start_times", 1, 1),
        "open_calls row 1: start_times is 1, and the call numbered",
    ),
    "open_thread": (lambda e: e.put("open_calls/thread_ids", 1, 9), "open_calls row 1: thread_ids is 9"),
    "open_number": (
        lambda e: e.add("events/call_ids", e.event("inner", -1), -1),
        "open_calls row 1 of rank 0: call_ids is",
    ),
}
