# SPDX-License-Identifier: BSD-3-Clause
import enum
import os
from types import TracebackType
from typing import Any, Callable, Optional, Sequence, Tuple, Type, TypeVar, Union, final, overload

import numpy as np
import numpy.typing as npt

_F = TypeVar("_F", bound=Callable[..., Any])
_Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]
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
class CollectError(Error): ...

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
    def __init__(
        self,
        manager: ProfileManager,
        path: Optional[_Path] = None,
        track_threads: bool = True,
        label: Optional[str] = None,
        verbose: bool = True,
        *,
        comm: Any = None,
        replace: bool = False,
        timeout: Optional[float] = None,
        deactivate_profiling: bool = False,
        file_path: Optional[_Path] = None,
    ) -> None: ...
    @property
    def is_open(self) -> bool: ...
    def open(self) -> None: ...
    def collect(self, path: _Path, replace: Optional[bool] = None) -> str: ...
    def finish(self, path: Optional[_Path] = None) -> str: ...
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
        label: Optional[str] = None,
        verbose: bool = True,
        *,
        comm: Any = None,
        replace: bool = False,
        timeout: Optional[float] = None,
        deactivate_profiling: bool = False,
        file_path: Optional[_Path] = None,
    ) -> Session: ...
    @classmethod
    def setup(
        cls,
        path: Optional[_Path] = None,
        track_threads: bool = True,
        label: Optional[str] = None,
        verbose: bool = True,
        *,
        comm: Any = None,
        replace: bool = False,
        timeout: Optional[float] = None,
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
    def finalize(cls, path: Optional[_Path] = None) -> Optional[str]: ...
    @classmethod
    def pause(cls) -> None: ...
    @classmethod
    def resume(cls) -> None: ...

def session(
    path: Optional[_Path] = None,
    track_threads: bool = True,
    label: Optional[str] = None,
    verbose: bool = True,
    *,
    comm: Any = None,
    replace: bool = False,
    timeout: Optional[float] = None,
    deactivate_profiling: bool = False,
    file_path: Optional[_Path] = None,
) -> Session: ...
def setup(
    path: Optional[_Path] = None,
    track_threads: bool = True,
    label: Optional[str] = None,
    verbose: bool = True,
    *,
    comm: Any = None,
    replace: bool = False,
    timeout: Optional[float] = None,
    deactivate_profiling: bool = False,
    file_path: Optional[_Path] = None,
) -> Session: ...
def collect(path: _Path, replace: Optional[bool] = None) -> str: ...
def finalize(path: Optional[_Path] = None) -> Optional[str]: ...
def pause() -> None: ...
def resume() -> None: ...
def region(name: str, /) -> Region: ...
@overload
def profile(function_or_name: str, /) -> Callable[[_F], _F]: ...
@overload
def profile(function_or_name: _F, /) -> _F: ...
def lane_ids(thread_ids: _Integers, task_ids: Optional[_Integers] = None) -> npt.NDArray[np.int64]: ...
def now_ns() -> int: ...
