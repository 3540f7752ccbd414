# SPDX-License-Identifier: BSD-3-Clause
import enum
import os
from functools import cached_property
from types import TracebackType
from typing import (
    Any,
    Callable,
    Dict,
    Iterator,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
    Type,
    TypeVar,
    Union,
    final,
    overload,
)

import numpy as np
import numpy.typing as npt

from .concurrency import ConcurrencyTracker

_F = TypeVar("_F", bound=Callable[..., Any])
_Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]
_Columns = Dict[str, npt.NDArray[Any]]
_Seconds = npt.NDArray[np.float64]
_Int64 = npt.NDArray[np.int64]
_Integers = Union[Sequence[int], npt.NDArray[np.integer[Any]]]

__version__: str

class Status(enum.IntEnum):
    OK: int
    INACTIVE: int
    NO_BEGIN: int
    CROSSED: int
    STALE: int
    INVALID: int
    BAD_NAME: int
    NO_MEMORY: int
    LIMIT: int
    BUSY: int
    TIMEOUT: int
    APART: int
    COLLECTED: int
    IO: int
    HDF5: int
    MPI: int
    NO_MPI: int
    TASK_STATE: int

class Error(Exception):
    status: Optional[int]

class StateError(Error): ...

class CollectError(Error):
    written: Optional[str]

class FormatError(Error, ValueError): ...

class NestingError(Error, ValueError):
    calls: Optional[Tuple[int, int]]
    lane: Optional[int]

@final
class Region:
    def __new__(cls, name: str) -> Region: ...
    @property
    def name(self) -> str: ...
    def call(self) -> Call: ...
    def __enter__(self) -> Region: ...
    def __exit__(
        self,
        exception_type: Optional[Type[BaseException]],
        exception: Optional[BaseException],
        traceback: Optional[TracebackType],
        /,
    ) -> None: ...

class Call:
    def __enter__(self) -> Call: ...
    def __exit__(
        self,
        exception_type: Optional[Type[BaseException]],
        exception: Optional[BaseException],
        traceback: Optional[TracebackType],
        /,
    ) -> None: ...

class Session:
    path: str
    label: Optional[str]
    written: Optional[str]
    results: Optional[Results]
    tracker: Optional[ConcurrencyTracker]
    def __init__(
        self,
        manager: ProfileManager,
        path: Optional[_Path] = None,
        track_threads: bool = True,
        track_async: bool = False,
        label: Optional[str] = None,
        return_results: bool = False,
        verbose: bool = True,
        *,
        comm: Any = None,
        replace: bool = False,
        timeout: Optional[float] = None,
        compress: Union[int, bool, None] = None,
        deactivate_profiling: bool = False,
        file_path: Optional[_Path] = None,
    ) -> None: ...
    @property
    def is_open(self) -> bool: ...
    @property
    def capsule(self) -> Any: ...
    def open(self) -> None: ...
    def collect(self, path: _Path, replace: Optional[bool] = None) -> str: ...
    def finish(self, path: Optional[_Path] = None, return_results: Optional[bool] = None) -> str: ...
    def __enter__(self) -> Session: ...
    def __exit__(
        self,
        exception_type: Optional[Type[BaseException]],
        exception: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None: ...

# Every method acts on the default manager when it is called on the class.
class ProfileManager:
    def __init__(self) -> None: ...
    @classmethod
    def session(
        cls,
        path: Optional[_Path] = None,
        track_threads: bool = True,
        track_async: bool = False,
        label: Optional[str] = None,
        return_results: bool = False,
        verbose: bool = True,
        *,
        comm: Any = None,
        replace: bool = False,
        timeout: Optional[float] = None,
        compress: Union[int, bool, None] = None,
        deactivate_profiling: bool = False,
        file_path: Optional[_Path] = None,
    ) -> Session: ...
    @classmethod
    def setup(
        cls,
        path: Optional[_Path] = None,
        track_threads: bool = True,
        track_async: bool = False,
        label: Optional[str] = None,
        return_results: bool = False,
        verbose: bool = True,
        *,
        comm: Any = None,
        replace: bool = False,
        timeout: Optional[float] = None,
        compress: Union[int, bool, None] = None,
        deactivate_profiling: bool = False,
        file_path: Optional[_Path] = None,
    ) -> Session: ...
    @classmethod
    def region(cls, name: str, /) -> Region: ...
    @classmethod
    def profile_region(cls, region_name: str) -> Region: ...
    @overload
    @classmethod
    def profile(cls, function_or_name: str, /) -> Callable[[_F], _F]: ...
    @overload
    @classmethod
    def profile(cls, function_or_name: _F, /) -> _F: ...
    @classmethod
    def collect(cls, path: _Path, replace: Optional[bool] = None) -> str: ...
    @classmethod
    def finalize(cls, path: Optional[_Path] = None, return_results: bool = False) -> Union[str, Results, None]: ...
    @classmethod
    def pause(cls) -> None: ...
    @classmethod
    def resume(cls) -> None: ...

class ThreadInfo:
    index: int
    rank: int
    name: str
    ident: int
    native_id: int
    daemon: bool
    start_time: float
    end_time: Optional[float]
    cpu_time: float
    def __init__(
        self,
        index: int,
        rank: int,
        name: str,
        ident: int,
        native_id: int,
        daemon: Union[bool, int],
        start_ns: int,
        end_ns: int,
        cpu_ns: int,
    ) -> None: ...
    @property
    def alive(self) -> bool: ...
    @property
    def wall_time(self) -> Optional[float]: ...

class TaskInfo:
    index: int
    rank: int
    kind: str
    name: str
    coro_name: str
    thread_index: int
    created_time: float
    done_time: Optional[float]
    steps: int
    running_time: float
    awaiting_time: float
    def __init__(
        self,
        index: int,
        rank: int,
        kind: str,
        name: str,
        coro_name: str,
        thread_index: int,
        created_ns: int,
        done_ns: int,
        steps: int,
        running_ns: int,
        suspended_ns: int,
    ) -> None: ...
    @property
    def done(self) -> bool: ...
    @property
    def wall_time(self) -> Optional[float]: ...

class LaneInfo:
    rank: int
    lane: int
    kind: str
    name: str
    label: str
    calls: int
    open_calls: int
    first_time: float
    last_time: float
    busy_time: float

class Statistics:
    calls: int
    total_ns: int
    min_ns: Optional[int]
    max_ns: Optional[int]
    mean_ns: float
    @property
    def std_ns(self) -> float: ...
    @property
    def exclusive_ns(self) -> int: ...
    @property
    def total_time(self) -> float: ...
    @property
    def mean_time(self) -> float: ...
    @property
    def min_time(self) -> float: ...
    @property
    def max_time(self) -> float: ...
    @property
    def std_time(self) -> float: ...
    @property
    def exclusive_time(self) -> float: ...
    def durations(self, rank: Optional[int] = None) -> _Seconds: ...
    def start_times(self, rank: Optional[int] = None) -> _Seconds: ...
    def end_times(self, rank: Optional[int] = None) -> _Seconds: ...
    def await_times(self, rank: Optional[int] = None) -> _Seconds: ...
    def events(self, columns: Optional[Sequence[str]] = None, rank: Optional[int] = None) -> _Columns: ...

class CallGroup(Statistics):
    name: str
    id: int
    rank: int

class RankStatistics(Statistics):
    name: str
    id: int
    rank: int
    @property
    def threads(self) -> List[int]: ...
    def for_thread(self, index: int) -> CallGroup: ...
    def for_task(self, index: int) -> CallGroup: ...

class RegionStatistics(Statistics):
    name: str
    id: int
    per_rank: Dict[int, RankStatistics]
    source_file: Optional[str]
    source_line: Optional[int]
    source_text: Optional[str]
    tags: List[str]
    def __getitem__(self, rank: int) -> RankStatistics: ...

class CallRow(NamedTuple):
    row: int
    name: str
    lane: int
    start_ns: int
    end_ns: int
    duration_ns: int
    exclusive_ns: int
    await_ns: int
    depth: int
    parent: int
    is_open: bool

class CallStack:
    rank: int
    names: List[str]
    call_ids: _Int64
    region_indices: _Int64
    start_ns: _Int64
    end_ns: _Int64
    lanes: _Int64
    thread_ids: _Int64
    task_ids: _Int64
    await_ns: _Int64
    is_open: npt.NDArray[np.bool_]
    parents: _Int64
    depths: npt.NDArray[np.uint32]
    exclusive_ns: _Int64
    @property
    def durations_ns(self) -> _Int64: ...
    def name(self, row: int) -> str: ...
    def roots(self) -> npt.NDArray[np.intp]: ...
    def children(self, row: int) -> npt.NDArray[np.intp]: ...
    def completed_parents(self) -> _Int64: ...
    def on_lane(self, lane: int) -> CallStack: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[CallRow]: ...
    def __getitem__(self, row: int) -> CallRow: ...

class Results:
    @property
    def path(self) -> str: ...
    @cached_property
    def metadata(self) -> Dict[str, Union[int, str]]: ...
    @cached_property
    def ranks(self) -> List[int]: ...
    @property
    def region_names(self) -> List[str]: ...
    @cached_property
    def regions(self) -> Mapping[str, RegionStatistics]: ...
    @cached_property
    def threads(self) -> Mapping[int, List[ThreadInfo]]: ...
    @cached_property
    def tasks(self) -> Mapping[int, List[TaskInfo]]: ...
    @cached_property
    def lanes(self) -> Mapping[int, List[LaneInfo]]: ...
    @cached_property
    def origin_ns(self) -> int: ...
    def table(self, name: str) -> Dict[str, Any]: ...
    def events(
        self,
        rank: Optional[int] = None,
        region: Union[str, int, None] = None,
        thread: Optional[int] = None,
        task: Optional[int] = None,
        lane: Optional[int] = None,
        columns: Optional[Sequence[str]] = None,
    ) -> _Columns: ...
    def for_thread(self, rank: int, index: int, columns: Optional[Sequence[str]] = None) -> _Columns: ...
    def for_task(self, rank: int, index: int, columns: Optional[Sequence[str]] = None) -> _Columns: ...
    def open_calls(self, rank: Optional[int] = None) -> Dict[str, Any]: ...
    def call_stack(self, rank: int) -> CallStack: ...
    def lane_label(self, rank: int, lane: int) -> str: ...
    def task_by_index(self, rank: int, index: int) -> Optional[TaskInfo]: ...
    def thread_summary(self, rank: int) -> List[Dict[str, Any]]: ...
    def to_dataframe(
        self,
        rank: Optional[int] = None,
        region: Union[str, int, None] = None,
        columns: Optional[Sequence[str]] = None,
    ) -> Any: ...
    def close(self) -> None: ...
    def __enter__(self) -> Results: ...
    def __exit__(
        self,
        exception_type: Optional[Type[BaseException]],
        exception: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None: ...
    def __getitem__(self, name: str) -> RegionStatistics: ...

def read_h5(path: _Path) -> Results: ...
def session(
    path: Optional[_Path] = None,
    track_threads: bool = True,
    track_async: bool = False,
    label: Optional[str] = None,
    return_results: bool = False,
    verbose: bool = True,
    *,
    comm: Any = None,
    replace: bool = False,
    timeout: Optional[float] = None,
    compress: Union[int, bool, None] = None,
    deactivate_profiling: bool = False,
    file_path: Optional[_Path] = None,
) -> Session: ...
def setup(
    path: Optional[_Path] = None,
    track_threads: bool = True,
    track_async: bool = False,
    label: Optional[str] = None,
    return_results: bool = False,
    verbose: bool = True,
    *,
    comm: Any = None,
    replace: bool = False,
    timeout: Optional[float] = None,
    compress: Union[int, bool, None] = None,
    deactivate_profiling: bool = False,
    file_path: Optional[_Path] = None,
) -> Session: ...
def collect(path: _Path, replace: Optional[bool] = None) -> str: ...
def finalize(path: Optional[_Path] = None, return_results: bool = False) -> Union[str, Results, None]: ...
def pause() -> None: ...
def resume() -> None: ...
def region(name: str, /) -> Region: ...
@overload
def profile(function_or_name: str, /) -> Callable[[_F], _F]: ...
@overload
def profile(function_or_name: _F, /) -> _F: ...
def lane_ids(thread_ids: _Integers, task_ids: Optional[_Integers] = None) -> npt.NDArray[np.int64]: ...
def now_ns() -> int: ...
