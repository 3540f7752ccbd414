# SPDX-License-Identifier: BSD-3-Clause
"""The calls of a rank as a tree, in arrays."""
import collections

import numpy as np

from . import _core
from ._source import FormatError

CallRow = collections.namedtuple(
    "CallRow",
    "row name lane start_ns end_ns duration_ns exclusive_ns await_ns depth parent is_open",
)
CallRow.__doc__ = """One call of a CallStack: what its arrays hold in `row`, with the name of its region."""

ARRAYS = (
    "call_ids",
    "region_indices",
    "start_ns",
    "end_ns",
    "lanes",
    "thread_ids",
    "task_ids",
    "await_ns",
    "is_open",
    "parents",
    "depths",
    "exclusive_ns",
)


class CallStack:
    """The calls of one rank, completed and open, ordered by call id: outer ones before those inside.

    Arrays of one length, a row a call:

    call_ids, thread_ids, task_ids, await_ns: int64, as in the file. region_indices: int64, into the list `names`.
    start_ns, end_ns: int64, ns on the clock of the file; the end of an open call is -1. is_open: bool. lanes: int64.
    parents: int64, the row of the call around it, -1 at the top of a lane. depths: uint32, how many calls are around
    it. durations_ns: int64, 0 for an open call. exclusive_ns: int64, the duration less those of the calls directly
    inside.

    len() is the number of calls; iterating, or indexing by a row, gives `CallRow` tuples, made one at a time.
    """

    def __init__(self, rank, names, arrays):
        self.rank = rank
        self.names = names
        for name in ARRAYS:
            setattr(self, name, arrays[name])
        self._children = None

    @property
    def durations_ns(self):
        """int64; 0 for an open call."""
        return np.where(self.is_open, 0, self.end_ns - self.start_ns)

    def name(self, row):
        """The region's name of the call in that row."""
        return self.names[self.region_indices[row]]

    def roots(self):
        """Rows of the calls at the top of their lanes."""
        return np.flatnonzero(self.parents < 0)

    def children(self, row):
        """Rows of the calls directly inside that one, in the order of their starts."""
        if self._children is None:
            order = np.argsort(self.parents, kind="stable")
            self._children = order, self.parents[order]
        order, parents = self._children
        return order[slice(*np.searchsorted(parents, [row, row + 1]))]

    def on_lane(self, lane):
        """The CallStack of one lane: its rows alone, with parents among them."""
        chosen = self.lanes == lane
        place = np.cumsum(chosen) - 1
        arrays = {name: getattr(self, name)[chosen] for name in ARRAYS}
        arrays["parents"] = np.where(arrays["parents"] < 0, -1, place[arrays["parents"]])
        return CallStack(self.rank, self.names, arrays)

    def completed_parents(self):
        """As parents, passing over the calls that are open: the row of the innermost completed call around each."""
        parents = self.parents.copy()
        while True:
            above = np.flatnonzero((parents >= 0) & self.is_open[parents])
            if not len(above):
                return parents
            parents[above] = self.parents[parents[above]]

    def __len__(self):
        return len(self.call_ids)

    def __iter__(self):
        return map(self.__getitem__, range(len(self)))

    def __getitem__(self, row):
        if not -len(self) <= row < len(self):
            raise IndexError(f"there are {len(self)} calls, and no row {row}")
        row %= len(self)
        start, end, is_open = int(self.start_ns[row]), int(self.end_ns[row]), bool(self.is_open[row])
        return CallRow(
            row,
            self.name(row),
            int(self.lanes[row]),
            start,
            end,
            0 if is_open else end - start,
            int(self.exclusive_ns[row]),
            int(self.await_ns[row]),
            int(self.depths[row]),
            int(self.parents[row]),
            is_open,
        )

    def __repr__(self):
        return f"<lanescope.CallStack of rank {self.rank}: {len(self):,} calls on {len(np.unique(self.lanes)):,} lanes>"


COLUMNS = ("region_ids", "start_times", "end_times", "thread_ids", "task_ids", "await_ns", "call_ids", "parent_ids")


def build(calls, rank, path):
    """The CallStack of a rank. NestingError: a file without parents whose calls do not nest. FormatError: parents lead
    nowhere, or in a circle."""
    done, still = calls.read(COLUMNS, rank), calls.read_open(rank)
    names, still["region_ids"] = _named(calls.names, still)
    still["end_times"] = np.full(len(still["ranks"]), -1)
    columns = {name: np.concatenate([done[name], still[name]]) for name in COLUMNS}
    order = np.argsort(columns["call_ids"], kind="stable")
    columns = {name: values[order].astype(np.int64) for name, values in columns.items()}
    arrays = {
        "call_ids": columns["call_ids"],
        "region_indices": columns["region_ids"],
        "start_ns": columns["start_times"],
        "end_ns": columns["end_times"],
        "thread_ids": columns["thread_ids"],
        "task_ids": columns["task_ids"],
        "await_ns": columns["await_ns"],
        "lanes": _core.lane_ids(columns["thread_ids"], columns["task_ids"]),
        "is_open": order >= len(done["call_ids"]),
        "parents": _rows_of(columns["call_ids"], columns["parent_ids"], rank, path),
    }
    try:
        arrays["depths"] = _core.depths(arrays["parents"])
    except ValueError as error:
        raise FormatError(f"{path} is damaged: rank {rank}: {error}") from error
    durations = np.where(arrays["is_open"], 0, arrays["end_ns"] - arrays["start_ns"])
    arrays["exclusive_ns"] = np.where(arrays["is_open"], 0, _core.exclusive(durations, arrays["parents"]))
    return CallStack(rank, names, arrays)


def _named(names, still):
    """The names of the regions and of those that have open calls alone; the indices of the open calls among them."""
    names = list(names)
    place = {}
    indices = np.empty(len(still["region_names"]), np.int64)
    for i, (region, name) in enumerate(zip(still["region_ids"].tolist(), still["region_names"])):
        if region >= len(names) and name not in place:
            place[name] = len(place) + len(names)
        indices[i] = region if region < len(names) else place[name]
    return names + list(place), indices


def _rows_of(ids, parents, rank, path):
    """The row of each parent; ids: sorted."""
    rows = np.searchsorted(ids, parents)
    found = np.zeros(len(parents), bool)
    inside = rows < len(ids)
    found[inside] = ids[rows[inside]] == parents[inside]
    lost = np.flatnonzero((parents != -1) & ~found)
    if len(lost):
        raise FormatError(
            f"{path} is damaged: call {ids[lost[0]]} of rank {rank} has the parent {parents[lost[0]]}, which is not"
            " there"
        )
    return np.where(parents == -1, -1, rows)
