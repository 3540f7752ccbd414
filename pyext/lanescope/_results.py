# SPDX-License-Identifier: BSD-3-Clause
"""What a run recorded, for Python: the same object from a file and from the memory of the process that wrote it."""
import functools

import numpy as np

from . import _call_stack, _core, _lane_rows
from ._calls import COLUMNS, Calls
from ._lanes import TASK_COLUMNS, THREAD_COLUMNS, lane_tables_from_columns
from ._lazy import Lazy
from ._source import FileSource, ReportSource
from ._statistics import read_regions

# Columns of events() that no file has, and those that they are made from.
MADE_FROM = {
    "lanes": ("thread_ids", "task_ids"),
    "durations": ("start_times", "end_times"),
    "regions": ("region_ids",),
}
TABLES = (
    "rank_table",
    "thread_table",
    "task_table",
    "lane_table",
    "region_table",
    "rank_region_index",
    "events",
    "open_calls",
)


class Results:
    """A run. Made by `lanescope.read_h5`, and by a session with `return_results=True`.

    Columns are as in the file: NumPy arrays, times in int64 nanoseconds, those of calls on the clock of the file.
    Attributes that end in `_time` are seconds, float, since the start of the run. Small tables are read when they are
    first needed and kept; events are read whenever they are asked for. Arrays that come from memory are read-only.

    As a context manager it lets go of what it holds at the end of the block. Nothing keeps the file open.
    """

    def __init__(self, source):
        self._source = source
        self._calls = Calls(source)
        self._stack = None

    @property
    def path(self):
        """The file, an absolute path."""
        return self._open().path

    @functools.cached_property
    def metadata(self):
        """dict: the attributes of /metadata, int and str."""
        return self._open().metadata()

    @functools.cached_property
    def ranks(self):
        """list of int: every rank of the run, also those that recorded nothing."""
        source = self._open()
        if "ranks" in source.columns("rank_table"):
            return source.read("rank_table", ("ranks",))["ranks"].tolist()
        return np.unique(self._calls.index["ranks"]).tolist()

    @property
    def region_names(self):
        """list of str: the name of region 0, 1, 2, …, for the column `region_ids`."""
        self._open()
        return self._calls.names

    @functools.cached_property
    def regions(self):
        """{name: RegionStatistics} of the regions that have completed calls."""
        return read_regions(self, self._calls, self._open())

    @functools.cached_property
    def threads(self):
        """{rank: list of ThreadInfo}, by index; an empty list for a rank that recorded nothing."""
        table = _lane_rows.ByRank(self._open(), "thread_table", THREAD_COLUMNS)
        return Lazy(self.ranks, lambda rank: lane_tables_from_columns(rank, {"threads": table.of(rank)})[0])

    @functools.cached_property
    def tasks(self):
        """{rank: list of TaskInfo}, by index."""
        table = _lane_rows.ByRank(self._open(), "task_table", TASK_COLUMNS)
        return Lazy(self.ranks, lambda rank: lane_tables_from_columns(rank, {"tasks": table.of(rank)})[1])

    @functools.cached_property
    def lanes(self):
        """{rank: list of LaneInfo}: what calls ran on, the unknown lane first, then threads, then tasks."""
        source = self._open()
        if source.columns("lane_table"):
            table = _lane_rows.ByRank(source, "lane_table", _lane_rows.COLUMNS)
            return Lazy(self.ranks, lambda rank: _lane_rows.from_table(rank, table.of(rank), self.lane_label))
        return Lazy(self.ranks, lambda rank: _lane_rows.from_calls(self, rank))

    @functools.cached_property
    def origin_ns(self):
        """int: the start of the run on the clock of the file; where it is not known, the start of the first call."""
        if "start_time_ns" in self.metadata:
            return int(self.metadata["start_time_ns"])
        starts = self.events(columns=("start_times",))["start_times"]
        return int(starts.min()) if len(starts) else 0

    def table(self, name):
        """{column: array, or list of str}: a whole table of the file; empty if the file has no such table.

        name: rank_table, thread_table, task_table, lane_table, region_table, rank_region_index, events or open_calls.
        ValueError: another name.
        """
        if name not in TABLES:
            raise ValueError(f"{name!r} is no table of a run; there are {', '.join(TABLES)}")
        source = self._open()
        return source.read(name, source.columns(name)) if source.columns(name) else {}

    def events(self, rank=None, region=None, thread=None, task=None, lane=None, columns=None):
        """{column: array}, a row a completed call, in the order of the file.

        rank: of one rank; region: of one region, by name or by its row of region_table; thread, task, lane: of one
        thread_ids, task_ids or lane id, which needs a rank. Without them: all calls.

        columns: start_times, end_times (int64, ns), ranks, region_ids (uint32), thread_ids, task_ids, await_ns,
        call_ids, parent_ids (int64), apis (uint8, if the file has it). What the file leaves out is filled in: threads
        and tasks with -1, await_ns with 0, numbers and parents by the nesting of the times. (A file of another program
        without threads is one stack a rank: thread 0.) Also, if asked for: lanes (int64), durations (int64, ns),
        regions (names, object). Without `columns`: all but these three.

        A region or rank without calls gives arrays of length 0. ValueError: a column that there is not.
        NestingError: call_ids or parent_ids of a file that has none, whose calls do not nest.
        """
        self._open()
        wanted = self._checked_columns(columns)
        chosen = {"thread_ids": thread, "task_ids": task, "lanes": lane}
        chosen = {name: value for name, value in chosen.items() if value is not None}
        if chosen and rank is None:
            raise ValueError("threads, tasks and lanes are numbered within a rank: give the rank")
        read = self._with_made({*wanted, *chosen}, rank, self._region_id(region))
        if chosen:
            rows = np.logical_and.reduce([read[name] == value for name, value in chosen.items()])
            read = {name: values[rows] for name, values in read.items()}
        return {name: read[name] for name in wanted}

    def for_thread(self, rank, index, columns=None):
        """events() of the calls that ran on one thread of a rank, those of its tasks among them."""
        return self.events(rank=rank, thread=index, columns=columns)

    def for_task(self, rank, index, columns=None):
        """events() of the calls of one task of a rank."""
        return self.events(rank=rank, task=index, columns=columns)

    def open_calls(self, rank=None):
        """{column: array; region_names: list of str}: the calls that had not ended, of one rank or all."""
        self._open()
        return self._calls.read_open(rank)

    def call_stack(self, rank):
        """The CallStack of a rank: its calls as a tree, in arrays. The last one is kept.

        Uses the parents that were recorded; where the file has none, the calls are nested by their times, lane by lane.
        KeyError: no such rank. NestingError: calls of one lane overlap and neither holds the other. FormatError: the
        file is damaged.
        """
        self._open()
        if rank not in self.ranks:
            raise KeyError(f"there is no rank {rank} among {len(self.ranks)}")
        if self._stack is None or self._stack.rank != rank:
            self._stack = _call_stack.build(self._calls, rank, self._source.path)
        return self._stack

    def lane_label(self, rank, lane):
        """A lane in words: a thread's name, "task (coroutine) on thread", or "unknown lane" for -1."""
        if lane == -1:
            return "unknown lane"
        if lane < -1:
            return self._thread_names[rank].get(-2 - lane) or f"thread {-2 - lane}"
        task = self.task_by_index(rank, lane)
        if task is None:
            return f"task {lane}"
        coroutine = task.coro_name.rpartition(".")[2]
        inside = f" ({coroutine})" if coroutine else ""
        return f"{task.name}{inside} on {self.lane_label(rank, -2 - task.thread_index)}"

    def task_by_index(self, rank, index):
        """The TaskInfo of that `task_ids`, or None."""
        return self._tasks_by_index[rank].get(index)

    def thread_summary(self, rank):
        """list of dict, one a thread of the rank: what was recorded on it beside what it used.

        index, name, alive, wall_time (None while it runs), cpu_time; num_calls: completed calls on it, nested ones and
        those of its tasks too; region_time: seconds in root calls, those with no other completed call around them. Root
        calls of tasks that take turns overlap, and each counts in full.
        """
        stack = self.call_stack(rank)
        threads = self.threads[rank]
        known = (stack.thread_ids >= 0) & ~stack.is_open
        roots = known & (stack.completed_parents() < 0)
        most = 1 + max((thread.index for thread in threads), default=0)
        calls = np.bincount(stack.thread_ids[known], minlength=most)
        times = np.bincount(stack.thread_ids[roots], stack.durations_ns[roots], minlength=most)
        return [
            {
                "index": thread.index,
                "name": thread.name,
                "alive": thread.alive,
                "wall_time": thread.wall_time,
                "cpu_time": thread.cpu_time,
                "num_calls": int(calls[thread.index]),
                "region_time": float(times[thread.index]) / 1e9,
            }
            for thread in threads
        ]

    def to_dataframe(self, rank=None, region=None, columns=None):
        """events() as a pandas.DataFrame; the names of the regions, in the column `region`, are categories.

        ImportError: pandas is not there.
        """
        try:
            import pandas
        except ImportError as error:
            raise ImportError(
                "to_dataframe needs pandas: install the package python3-pandas of Debian or Ubuntu, or pandas of PyPI"
            ) from error
        events = self.events(rank, region, columns=columns)
        codes = events["region_ids"] if "region_ids" in events else self.events(rank, region)["region_ids"]
        names = pandas.Categorical.from_codes(codes.astype(np.int64), self.region_names)
        return pandas.DataFrame({"region": names, **events})

    def close(self):
        """Lets go of what it holds. What is asked of it afterwards is a StateError."""
        vars(self).clear()
        self._source = self._calls = self._stack = None

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def __getitem__(self, name):
        """The RegionStatistics of that name. KeyError: no such region has completed calls."""
        return self.regions[name]

    def __repr__(self):
        if self._source is None:
            return "<lanescope.Results, closed>"
        calls = int(self._calls.index["event_counts"].sum())
        counts = ((len(self.ranks), "rank"), (calls, "call"), (len(self.regions), "region"))
        return f"<lanescope.Results {self.path!r}: {', '.join(map(_plural, *zip(*counts)))}>"

    def _open(self):
        if self._source is None:
            raise _core.StateError("these results were closed; read the file again by lanescope.read_h5")
        return self._source

    def _checked_columns(self, columns):
        known = (*COLUMNS, *(("apis",) if self._calls.has_apis() else ()))
        if columns is None:
            return known
        if isinstance(columns, str):
            raise TypeError(f"columns must be a sequence of names, not {columns!r}")
        for name in columns:
            if name not in known and name not in MADE_FROM:
                raise ValueError(f"events have no column {name!r}; there are {', '.join((*known, *MADE_FROM))}")
        return tuple(columns)

    def _region_id(self, region):
        if not isinstance(region, str):
            return region
        return self._calls.names.index(region) if region in self._calls.names else -1

    def _with_made(self, names, rank, region):
        read = self._calls.read({column for name in names for column in MADE_FROM.get(name, (name,))}, rank, region)
        if "lanes" in names:
            read["lanes"] = _core.lane_ids(read["thread_ids"], read["task_ids"])
        if "durations" in names:
            read["durations"] = read["end_times"] - read["start_times"]
        if "regions" in names:
            read["regions"] = np.array([*self.region_names, None], object)[read["region_ids"].astype(np.int64)]
        return read

    @functools.cached_property
    def _thread_names(self):
        return Lazy(self.ranks, lambda rank: {thread.index: thread.name for thread in self.threads[rank]})

    @functools.cached_property
    def _tasks_by_index(self):
        return Lazy(self.ranks, lambda rank: {task.index: task for task in self.tasks[rank]})


def _plural(count, noun):
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def read_h5(path):
    """The Results of the file of a run. Opens the file, looks at what there is, and closes it.

    Reads files of lanescope up to format 1, and columnar files of scope-profiler's schema 2. Can stand in a `with`.
    FileNotFoundError and other OSErrors: it cannot be opened. FormatError: no HDF5 file, no run, damaged, or of a newer
    format. ImportError: h5py is missing.
    """
    return Results(FileSource(path))


def from_report(report, path):
    """The Results of a collect from its Report, which has the events (`keep_events`). path: the file that it wrote."""
    return Results(ReportSource(report, path))


def after_save(report, written, rank, size):
    """What a session with return_results=True gives, from what `_core.save` returned: Results on rank 0, else None.

    From memory where the rank is alone; of several ranks, or without memory for the events, from the file.
    """
    if rank:
        return None
    if size == 1 and report is not None and report.columns("events"):
        return from_report(report, written)
    return read_h5(written)
