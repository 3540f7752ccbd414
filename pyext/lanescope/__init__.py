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

from ._core import CollectError, Error, Region, StateError, STATUSES, __version__, lane_ids, now_ns, region
from ._profile import profile
from ._session import Session, collect, finalize, session, setup

Status = enum.IntEnum("Status", STATUSES)
Status.__doc__ = "Values of `Error.status`, as the C library has them."
del enum, STATUSES

__all__ = [
    "CollectError",
    "Error",
    "Region",
    "Session",
    "StateError",
    "Status",
    "__version__",
    "collect",
    "finalize",
    "lane_ids",
    "now_ns",
    "profile",
    "region",
    "session",
    "setup",
]
