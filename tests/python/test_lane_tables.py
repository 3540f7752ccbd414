# SPDX-License-Identifier: BSD-3-Clause
"""ThreadInfo, TaskInfo and lane_tables_from_columns: from columns in ns to objects in seconds."""
import math

import numpy as np
import pytest
from lanescope import TaskInfo, ThreadInfo
from lanescope._lanes import lane_tables_from_columns

THREADS = {
    "index": np.array([0, 1]),
    "name": ["MainThread", b"w\xc3\xb6rker"],
    "ident": np.array([140, 141]),
    "native_id": np.array([7, 8]),
    "daemon": np.array([0, 1], np.int8),
    "start_ns": np.array([-2_500_000_000, 1]),
    "end_ns": np.array([-1, 2_000_000_001]),
    "cpu_ns": np.array([500_000_000, -1]),
}
TASKS = {
    "index": [0, 1],
    "kind": np.array([b"task", b"greenlet"]),
    "name": ["Task-1", "g"],
    "coro_name": ["main", "run"],
    "thread_index": [0, 1],
    "created_ns": [0, 1_000_000_000],
    "done_ns": [4_000_000_000, -1],
    "steps": [3, 0],
    "running_ns": [1_500_000_000, 0],
    "suspended_ns": [2_500_000_000, 0],
}


def test_threads():
    threads, tasks = lane_tables_from_columns(3, {"threads": THREADS})
    assert tasks == []
    main, worker = threads
    assert (main.rank, main.index, main.name, main.ident, main.native_id) == (3, 0, "MainThread", 140, 7)
    assert (worker.rank, worker.index, worker.name, worker.ident, worker.native_id) == (3, 1, "wörker", 141, 8)
    assert main.daemon is False and worker.daemon is True
    assert main.start_time == -2.5 and main.end_time is None and main.wall_time is None and main.alive
    assert worker.start_time == 1e-9 and worker.end_time == 2.000000001 and worker.wall_time == 2.0 and not worker.alive
    assert main.cpu_time == 0.5 and math.isnan(worker.cpu_time)
    assert "MainThread" in repr(main) and "alive" in repr(main) and "2.000000 s" in repr(worker)
    for thread in threads:
        assert all(type(getattr(thread, name)) is int for name in ("index", "rank", "ident", "native_id"))
        assert type(thread.name) is str and type(thread.start_time) is float


def test_tasks():
    threads, tasks = lane_tables_from_columns(0, {"tasks": TASKS, "threads": {}})
    assert threads == []
    task, greenlet = tasks
    assert (task.index, task.rank, task.kind, task.name, task.coro_name) == (0, 0, "task", "Task-1", "main")
    assert (task.thread_index, task.steps, task.created_time, task.done_time) == (0, 3, 0.0, 4.0)
    assert (task.running_time, task.awaiting_time, task.wall_time, task.done) == (1.5, 2.5, 4.0, True)
    assert (greenlet.kind, greenlet.thread_index, greenlet.created_time) == ("greenlet", 1, 1.0)
    assert (greenlet.done_time, greenlet.wall_time, greenlet.done) == (None, None, False)
    assert "kind='greenlet'" in repr(greenlet)


def test_none():
    empty = {name: np.array([]) for name in THREADS}
    assert lane_tables_from_columns(0, {}) == ([], []) == lane_tables_from_columns(0, {"threads": empty})


def test_the_same_rows_are_equal():
    one, other = (lane_tables_from_columns(1, {"threads": THREADS, "tasks": TASKS}) for _ in range(2))
    assert one == other and {*one[0], *one[1]} == {*other[0], *other[1]}
    assert one != lane_tables_from_columns(2, {"threads": THREADS, "tasks": TASKS})
    assert one[0][0] != one[0][1] and one[0][0] != one[1][0] and one[1][0] != "Task-1"


def test_their_arguments_are_raw():
    thread = ThreadInfo(
        index=4, rank=0, name="w", ident=1, native_id=2, daemon=1, start_ns=10**9, end_ns=3 * 10**9, cpu_ns=10**6
    )
    assert (thread.index, thread.daemon, thread.wall_time, thread.cpu_time) == (4, True, 2.0, 0.001)
    task = TaskInfo(1, 0, "task", "t", "c", 0, 0, -1, 2, 10**9, 5)
    assert (task.index, task.steps, task.running_time, task.awaiting_time) == (1, 2, 1.0, 5e-9)


def test_tables_that_do_not_fit():
    with pytest.raises(KeyError, match="cpu_ns"):
        lane_tables_from_columns(0, {"threads": {name: THREADS[name] for name in THREADS if name != "cpu_ns"}})
    with pytest.raises(ValueError, match="threads of rank 5 differ in length: index 2, name 1, "):
        lane_tables_from_columns(5, {"threads": {**THREADS, "name": ["one"]}})
