# SPDX-License-Identifier: BSD-3-Clause
"""Threads, asyncio tasks and greenlets as lanes: who ran, when, for how long, and on which thread.

A `ConcurrencyTracker` keeps one table of threads and one of tasks. A session of lanescope has one of its own; it can
also be used alone:

    tracker = ConcurrencyTracker(track_async=True)
    tracker.install()
    asyncio.run(main())
    tracker.uninstall()
    tables = tracker.snapshot()

Times are nanoseconds on the clock of `lanescope.now_ns`, which is that of `time.perf_counter_ns`.
"""
import weakref

from . import _core, _hooks
from ._core import lane_ids
from ._lanes import TaskInfo, ThreadInfo, lane_tables_from_columns
from ._records import UNKNOWN, TaskRecord, TaskRow, ThreadRecord, ThreadRow

__all__ = [
    "CPU_SAMPLE_MASK",
    "NO_TASK",
    "UNKNOWN",
    "ConcurrencyTracker",
    "TaskInfo",
    "TaskRecord",
    "ThreadInfo",
    "ThreadRecord",
    "lane_ids",
    "lane_tables_from_columns",
]

NO_TASK = -1  # the task of a call outside any task
CPU_SAMPLE_MASK = 255  # kept for programs that ask for it: CPU times are read when they are looked at


class ConcurrencyTracker:
    """A registry of threads, asyncio tasks and greenlets.

    track_async: follow tasks and greenlets, and not threads alone.

    Making one costs nothing. `install` puts in the hooks, which all trackers share, and `uninstall` takes them out; any
    number of trackers may be installed, and removed in any order. A tracker that is used takes one of the 63 sessions
    that a process can have at a time, until nobody refers to it or its records any more.

    In a child of a fork it stands down: it is not installed, and its tables are empty.
    """

    __slots__ = ("track_async", "_core", "_installed", "_threads", "_tasks", "_factories", "__weakref__")

    def __init__(self, track_async=False):
        self._begin(_core.Tracker(), track_async)

    def _begin(self, core, track_async):
        self.track_async = bool(track_async)
        self._core = core
        self._installed = False
        self._threads = weakref.WeakValueDictionary()
        self._tasks = weakref.WeakValueDictionary()
        self._factories = weakref.WeakKeyDictionary()

    def __repr__(self):
        threads, tasks = _core.lane_counts(self._core)
        state = "installed" if self._installed else "not installed"
        return f"<ConcurrencyTracker, {state}, {threads} threads, {tasks} tasks>"

    @property
    def threads(self):
        """Every thread that recorded or was started meanwhile, as ThreadRecord, in the order of registration."""
        return [self._thread(index) for index in range(_core.lane_counts(self._core)[0])]

    @property
    def tasks(self):
        """Every task and greenlet, as TaskRecord, in the order of creation."""
        return [self._task(index) for index in range(_core.lane_counts(self._core)[1])]

    def current_thread(self):
        """The record of the calling thread, which is registered if it is new. The same object each time.

        Error: 63 sessions are open in this process. StateError: the session that the tracker belongs to is closed.
        """
        return self._thread(self._core.register_thread())

    def install(self):
        """Put the hooks in. Registers no thread; a second time does nothing.

        A thread that is started afterwards by `threading` is registered at its first bytecode, any other when it first
        records. With track_async, tasks of asyncio's loops are followed from their creation on, and greenlets, if
        the package greenlet is installed, from the first switch to them. A program that runs within a greenlet already
        has its thread registered, since that greenlet has a lane now. Errors as of `current_thread`.
        """
        _hooks.add(self)
        self._installed = True

    def uninstall(self):
        """Take the hooks out; what stood there before is there again. At any time, as often as one likes.

        What was registered stays in the tables. A task that is under way is followed to its end. Other threads lose
        greenlet's trace function at their next switch.
        """
        self._installed = False
        _hooks.remove(self)
        for loop, factory in list(self._factories.items()):
            factory.remove(loop)
        self._factories.clear()

    def instrument_loop(self, loop):
        """Follow the tasks of an event loop that is not one of asyncio's own, uvloop's for example.

        Its task factory is replaced by one that calls the one before, until `uninstall`. Once for each loop: a second
        time does nothing, nor does a loop of asyncio while the tracker is installed, which is followed anyway. If the
        application sets a factory afterwards, that one counts.
        """
        if loop in self._factories or (self._installed and self.track_async and _hooks.makes_wrapped_tasks(loop)):
            return
        _hooks._prepare_tasks()
        self._core.open()
        factory = _hooks.TaskFactory(self._core, loop.get_task_factory())
        loop.set_task_factory(factory)
        self._factories[loop] = factory

    def snapshot(self, origin_ns=0):
        """The tables as they are now: {"threads": columns, "tasks": columns}, dicts of columns of equal length.

        threads: index, ident, native_id, name, daemon, start_ns, end_ns, cpu_ns. tasks: index, kind, name, coro_name,
        thread_index, created_ns, done_ns, steps, running_ns, suspended_ns. Columns are arrays of int64, `daemon` of
        int8; `name`, `kind` and `coro_name` lists of str. origin_ns is taken off every time; -1 is an unknown one and
        stays. A step that runs is not yet in the sums.
        """
        return _core.lane_tables(self._core, origin_ns)

    def _thread(self, index):
        return self._row(self._threads, ThreadRow, index)

    def _task(self, index):
        return self._row(self._tasks, TaskRow, index)

    def _row(self, known, kind, index):
        row = known.get(index)
        return row if row is not None else known.setdefault(index, kind(self, index))


def _for_session(handle, track_async=False):
    """The tracker of a session of the library, which stays the caller's to close. handle: int, of an open session."""
    tracker = ConcurrencyTracker.__new__(ConcurrencyTracker)
    tracker._begin(_core.Tracker(handle), track_async)
    return tracker
