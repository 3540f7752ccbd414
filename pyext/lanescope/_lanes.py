# SPDX-License-Identifier: BSD-3-Clause
"""Threads and tasks of a run as objects: rows of its lane tables, with times in seconds."""
import math

UNKNOWN = -1


class ThreadInfo:
    """One thread of a rank. Made from a row of the thread table; times in ns become seconds since the start of the run.

    index: its number within the rank, in `thread_ids` of the events. rank, name, ident, native_id, daemon: as in the
    table. start_time, end_time: seconds, float; end_time is None while it runs. cpu_time: seconds of processor time,
    nan where it could not be read.
    """

    __slots__ = ("index", "rank", "name", "ident", "native_id", "daemon", "start_time", "end_time", "cpu_time")

    def __init__(self, index, rank, name, ident, native_id, daemon, start_ns, end_ns, cpu_ns):
        self.index = int(index)
        self.rank = int(rank)
        self.name = str(name)
        self.ident = int(ident)
        self.native_id = int(native_id)
        self.daemon = bool(daemon)
        self.start_time = int(start_ns) / 1e9
        self.end_time = _seconds(end_ns)
        self.cpu_time = math.nan if int(cpu_ns) == UNKNOWN else int(cpu_ns) / 1e9

    @property
    def alive(self):
        """Whether it still ran when the run was collected."""
        return self.end_time is None

    @property
    def wall_time(self):
        """Seconds from its start to its end, None while it runs."""
        return None if self.end_time is None else self.end_time - self.start_time

    def __repr__(self):
        state = "alive" if self.alive else f"{self.wall_time:.6f} s"
        return f"ThreadInfo(rank={self.rank}, index={self.index}, name={self.name!r}, {state})"

    def __eq__(self, other):
        return _fields(self) == _fields(other) if isinstance(other, ThreadInfo) else NotImplemented

    def __hash__(self):
        return hash((self.rank, self.index))


class TaskInfo:
    """One asyncio task, greenlet or other task of a rank. Times are seconds since the start of the run.

    index: its number within the rank, in `task_ids` of the events. kind: `task`, `greenlet`, or what its creator called
    it. thread_index: the thread that ran it last. steps: how often it was resumed. created_time, done_time: seconds;
    done_time is None if it was not done. running_time: seconds that it held its thread; awaiting_time: seconds between
    its steps.
    """

    __slots__ = (
        "index",
        "rank",
        "kind",
        "name",
        "coro_name",
        "thread_index",
        "created_time",
        "done_time",
        "steps",
        "running_time",
        "awaiting_time",
    )

    def __init__(
        self, index, rank, kind, name, coro_name, thread_index, created_ns, done_ns, steps, running_ns, suspended_ns
    ):
        self.index = int(index)
        self.rank = int(rank)
        self.kind = str(kind)
        self.name = str(name)
        self.coro_name = str(coro_name)
        self.thread_index = int(thread_index)
        self.created_time = int(created_ns) / 1e9
        self.done_time = _seconds(done_ns)
        self.steps = int(steps)
        self.running_time = int(running_ns) / 1e9
        self.awaiting_time = int(suspended_ns) / 1e9

    @property
    def done(self):
        """Whether it was done when the run was collected."""
        return self.done_time is not None

    @property
    def wall_time(self):
        """Seconds from its creation until it was done, None if it was not."""
        return None if self.done_time is None else self.done_time - self.created_time

    def __repr__(self):
        return (
            f"TaskInfo(rank={self.rank}, index={self.index}, kind={self.kind!r}, name={self.name!r},"
            f" running_time={self.running_time:.6f}, awaiting_time={self.awaiting_time:.6f})"
        )

    def __eq__(self, other):
        return _fields(self) == _fields(other) if isinstance(other, TaskInfo) else NotImplemented

    def __hash__(self):
        return hash((self.rank, self.index))


THREAD_COLUMNS = ("index", "name", "ident", "native_id", "daemon", "start_ns", "end_ns", "cpu_ns")
TASK_COLUMNS = (
    "index",
    "kind",
    "name",
    "coro_name",
    "thread_index",
    "created_ns",
    "done_ns",
    "steps",
    "running_ns",
    "suspended_ns",
)


def lane_tables_from_columns(rank, tables):
    """(list of ThreadInfo, list of TaskInfo) from the columns of one rank's lane tables.

    tables: {"threads": columns, "tasks": columns} as `ConcurrencyTracker.snapshot` gives them; either may be missing or
    empty. Columns: sequences of one length, by the names of the file; text may be bytes in UTF-8. KeyError: a table
    without one of its columns. ValueError: columns that differ in length.
    """
    return (
        _objects(ThreadInfo, "threads", THREAD_COLUMNS, rank, tables),
        _objects(TaskInfo, "tasks", TASK_COLUMNS, rank, tables),
    )


def _objects(kind, key, names, rank, tables):
    columns = tables.get(key)
    if not columns:
        return []
    values = [_plain(columns[name]) for name in names]
    if len(set(map(len, values))) != 1:
        lengths = ", ".join(f"{name} {len(column)}" for name, column in zip(names, values))
        raise ValueError(f"the columns of {key} of rank {rank} differ in length: {lengths}")
    return [kind(index, rank, *row) for index, *row in zip(*values)]


def _plain(column):
    values = column.tolist() if hasattr(column, "tolist") else column
    return [value.decode() if isinstance(value, bytes) else value for value in values]


def _seconds(ns):
    return None if int(ns) == UNKNOWN else int(ns) / 1e9


def _fields(info):
    return [getattr(info, name) for name in info.__slots__]
