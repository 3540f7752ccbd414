# SPDX-License-Identifier: BSD-3-Clause
"""Threads and tasks as objects: on their own, or as rows of a tracker's tables that are read at each look."""
import time

from . import _core
from ._lanes import TASK_COLUMNS, THREAD_COLUMNS, UNKNOWN


class ThreadRecord:
    """One thread: ThreadRecord(index, thread), with a `threading.Thread`.

    index: its number among the threads of a tracker. ident, native_id: the interpreter's number and the operating
    system's. name: str. daemon: bool. start_ns, end_ns: nanoseconds on the clock of `lanescope.now_ns`; end_ns is -1
    while the thread runs. cpu_ns: nanoseconds of CPU time. task: the TaskRecord whose step runs on the thread now, or
    None.

    A record that a tracker hands out is a row of its table, read at each look: of a thread that has ended the CPU time
    is exact, of one that runs it is that of the moment. Once the tracker's session is closed, a look raises
    `StateError`. One made by hand keeps what it was given, until `sample_cpu`.
    """

    __slots__ = (*THREAD_COLUMNS, "task", "__weakref__")

    def __init__(self, index, thread):
        self.index = index
        self.ident = int(thread.ident or 0)
        self.native_id = int(getattr(thread, "native_id", 0) or 0)
        self.name = str(thread.name)
        self.daemon = bool(thread.daemon)
        self.start_ns = _core.now_ns()
        self.end_ns = UNKNOWN
        self.cpu_ns = time.thread_time_ns()
        self.task = None

    @property
    def alive(self):
        """Whether the thread runs."""
        return self.end_ns == UNKNOWN

    def sample_cpu(self):
        """Bring the CPU time up to date. To be called on the thread itself; it never goes back."""
        self.cpu_ns = max(self.cpu_ns, time.thread_time_ns())

    def __repr__(self):
        return f"<ThreadRecord index={self.index} {self.name!r} {'alive' if self.alive else 'finished'}>"


class TaskRecord:
    """One asyncio task or greenlet: TaskRecord(index, kind, name, coro_name, thread_index).

    kind: `task`, `greenlet` or what its maker called it. name: its own; coro_name: of the function that it runs.
    thread_index: the thread of its last step, or -1. created_ns, done_ns: on the clock of `lanescope.now_ns`; done_ns
    is -1 until the task is over. steps: how often it was given its thread; running_ns: for how long in all;
    suspended_ns: the time between its steps. The wait before the first step counts for nothing.

    A record that a tracker hands out is a row of its table, read at each look; its steps are noted by the hooks. One
    made by hand is told of its steps by `enter_step`, `leave_step` and `finish`.
    """

    __slots__ = (*TASK_COLUMNS, "last_step_end_ns", "step_started_ns", "__weakref__")

    def __init__(self, index, kind, name, coro_name, thread_index):
        self.index = index
        self.kind = kind
        self.name = name
        self.coro_name = coro_name
        self.thread_index = thread_index
        self.created_ns = _core.now_ns()
        self.done_ns = UNKNOWN
        self.steps = self.running_ns = self.suspended_ns = 0
        self.last_step_end_ns = self.step_started_ns = 0

    @property
    def done(self):
        """Whether the task is over."""
        return self.done_ns != UNKNOWN

    def enter_step(self):
        """Begin a step: the time since the last one was suspension. Returns the time, in ns."""
        now = _core.now_ns()
        if self.last_step_end_ns:
            self.suspended_ns += now - self.last_step_end_ns
        self.steps += 1
        self.step_started_ns = now
        return now

    def leave_step(self):
        """End the step: the time since its begin was running."""
        now = _core.now_ns()
        self.running_ns += now - self.step_started_ns
        self.last_step_end_ns = now

    def finish(self):
        """Say that the task is over; the first time counts."""
        if self.done_ns == UNKNOWN:
            self.done_ns = _core.now_ns()

    def __repr__(self):
        state = "finished" if self.done else "pending"
        return f"<TaskRecord index={self.index} {self.kind} {self.name!r} {self.coro_name!r} {state}>"


def _live(column, convert=None):
    def read(self):
        value = self._row()[column]
        return convert(value) if convert else value

    return property(read)


class ThreadRow(ThreadRecord):
    """A thread of a tracker."""

    __slots__ = ("_tracker", "_index")

    def __init__(self, tracker, index):
        self._tracker = tracker
        self._index = index

    def _row(self):
        return _only_row(_core.lane_row(self._tracker._core, self._index, 1, 0, 0)["threads"])

    index = property(lambda self: self._index)
    ident = _live("ident", int)
    native_id = _live("native_id", int)
    name = _live("name")
    daemon = _live("daemon", bool)
    start_ns = _live("start_ns", int)
    end_ns = _live("end_ns", int)
    cpu_ns = _live("cpu_ns", int)

    @property
    def task(self):
        index = _core.thread_task(self._tracker._core, self._index)
        return None if index < 0 else self._tracker._task(index)

    def sample_cpu(self):
        """Nothing is left to do: the CPU time of a tracker's thread is read when it is looked at."""


class TaskRow(TaskRecord):
    """A task of a tracker."""

    __slots__ = ("_tracker", "_index")

    def __init__(self, tracker, index):
        self._tracker = tracker
        self._index = index

    def _row(self):
        return _only_row(_core.lane_row(self._tracker._core, 0, 0, self._index, 1)["tasks"])

    index = property(lambda self: self._index)
    kind = _live("kind")
    name = _live("name")
    coro_name = _live("coro_name")
    thread_index = _live("thread_index", int)
    created_ns = _live("created_ns", int)
    done_ns = _live("done_ns", int)
    steps = _live("steps", int)
    running_ns = _live("running_ns", int)
    suspended_ns = _live("suspended_ns", int)
    step_started_ns = property(lambda self: _core.task_step(self._tracker._core, self._index)[0])
    last_step_end_ns = property(lambda self: _core.task_step(self._tracker._core, self._index)[1])

    def enter_step(self):
        raise _core.StateError("the steps of a tracker's task are noted by its hooks")

    leave_step = finish = enter_step


def _only_row(columns):
    if not len(columns["index"]):
        raise _core.StateError("the session of this record is closed")
    return {name: values[0] for name, values in columns.items()}
