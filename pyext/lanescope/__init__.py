# SPDX-License-Identifier: BSD-3-Clause
"""Record what every lane of every rank did and when, and collect it into one HDF5 file.

    import lanescope

    @lanescope.profile
    def step(): ...

    with lanescope.session("run.h5"):
        with lanescope.region("solve"):
            step()

Importing starts no MPI, no thread and no file. Without an open session, regions and decorated functions record nothing.
"""
import enum

from ._call_stack import CallRow, CallStack
from ._core import Call, CollectError, Error, NestingError, Region, StateError, STATUSES, __version__, lane_ids, now_ns
from ._lane_rows import LaneInfo
from ._lanes import TaskInfo, ThreadInfo
from ._manager import ProfileManager, default
from ._results import Results, read_h5
from ._session import Session
from ._source import FormatError
from ._statistics import CallGroup, RankStatistics, RegionStatistics, Statistics

region = default.region
session = default.session
setup = default.setup
collect = default.collect
finalize = default.finalize
pause = default.pause
resume = default.resume
profile = default.profile

Status = enum.IntEnum("Status", STATUSES)
Status.__doc__ = "Values of `Error.status`, as the C library has them."
del default, enum, STATUSES

__all__ = [
    "Call",
    "CallGroup",
    "CallRow",
    "CallStack",
    "CollectError",
    "Error",
    "FormatError",
    "LaneInfo",
    "NestingError",
    "ProfileManager",
    "RankStatistics",
    "Region",
    "RegionStatistics",
    "Results",
    "Session",
    "StateError",
    "Statistics",
    "Status",
    "TaskInfo",
    "ThreadInfo",
    "__version__",
    "collect",
    "finalize",
    "lane_ids",
    "now_ns",
    "pause",
    "profile",
    "read_h5",
    "region",
    "resume",
    "session",
    "setup",
]
