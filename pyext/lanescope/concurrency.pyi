# SPDX-License-Identifier: BSD-3-Clause
from asyncio import AbstractEventLoop
from threading import Thread
from typing import Final, List, Optional, TypedDict

import numpy as np
import numpy.typing as npt

from . import lane_ids as lane_ids
from ._lanes import TaskInfo as TaskInfo, ThreadInfo as ThreadInfo, lane_tables_from_columns as lane_tables_from_columns

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

NO_TASK: Final = -1
UNKNOWN: Final = -1
CPU_SAMPLE_MASK: Final = 255

class ThreadRecord:
    index: int
    ident: int
    native_id: int
    name: str
    daemon: bool
    start_ns: int
    end_ns: int
    cpu_ns: int
    task: Optional[TaskRecord]
    def __init__(self, index: int, thread: Thread) -> None: ...
    @property
    def alive(self) -> bool: ...
    def sample_cpu(self) -> None: ...

class TaskRecord:
    index: int
    kind: str
    name: str
    coro_name: str
    thread_index: int
    created_ns: int
    done_ns: int
    steps: int
    running_ns: int
    suspended_ns: int
    last_step_end_ns: int
    step_started_ns: int
    def __init__(self, index: int, kind: str, name: str, coro_name: str, thread_index: int) -> None: ...
    @property
    def done(self) -> bool: ...
    def enter_step(self) -> int: ...
    def leave_step(self) -> None: ...
    def finish(self) -> None: ...

_Integers = npt.NDArray[np.int64]

class _ThreadColumns(TypedDict):
    index: _Integers
    ident: _Integers
    native_id: _Integers
    name: List[str]
    daemon: npt.NDArray[np.int8]
    start_ns: _Integers
    end_ns: _Integers
    cpu_ns: _Integers

class _TaskColumns(TypedDict):
    index: _Integers
    kind: List[str]
    name: List[str]
    coro_name: List[str]
    thread_index: _Integers
    created_ns: _Integers
    done_ns: _Integers
    steps: _Integers
    running_ns: _Integers
    suspended_ns: _Integers

class _Tables(TypedDict):
    threads: _ThreadColumns
    tasks: _TaskColumns

class ConcurrencyTracker:
    track_async: bool
    def __init__(self, track_async: bool = False) -> None: ...
    @property
    def threads(self) -> List[ThreadRecord]: ...
    @property
    def tasks(self) -> List[TaskRecord]: ...
    def current_thread(self) -> ThreadRecord: ...
    def install(self) -> None: ...
    def uninstall(self) -> None: ...
    def instrument_loop(self, loop: AbstractEventLoop) -> None: ...
    def snapshot(self, origin_ns: int = 0) -> _Tables: ...
