# SPDX-License-Identifier: BSD-3-Clause
"""The lanes of a rank as objects, and the rows of a rank in the tables of threads, tasks and lanes."""
import numpy as np

COLUMNS = ("lanes", "kind", "name", "calls", "open_calls", "first_ns", "last_ns", "busy_ns")


class LaneInfo:
    """What calls nest on: a thread or a task, or -1 for calls whose thread is not known.

    rank; lane: the lane id; kind: `thread`, the kind of the task, or `unknown`; name; label: in words, as
    Results.lane_label; calls, open_calls: int; first_time, last_time: its first start and last end, seconds since the
    start of the run; busy_time: seconds during which at least one completed call was running on it.
    """

    __slots__ = ("rank", "lane", "kind", "name", "label", "calls", "open_calls", "first_time", "last_time", "busy_time")

    def __init__(self, rank, label, lane, kind, name, calls, open_calls, first_ns, last_ns, busy_ns):
        self.rank = rank
        self.lane = int(lane)
        self.kind = kind
        self.name = name
        self.label = label
        self.calls = int(calls)
        self.open_calls = int(open_calls)
        self.first_time = int(first_ns) / 1e9
        self.last_time = int(last_ns) / 1e9
        self.busy_time = int(busy_ns) / 1e9

    def __eq__(self, other):
        if not isinstance(other, LaneInfo):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    def __hash__(self):
        return hash((self.rank, self.lane))

    def __repr__(self):
        return f"LaneInfo(rank={self.rank}, lane={self.lane}, label={self.label!r}, calls={self.calls})"


class ByRank:
    """Columns of a table with a column `ranks`; a file without them has no rows."""

    def __init__(self, source, table, columns):
        there = all(name in source.columns(table) for name in ("ranks", *columns))
        read = source.read(table, ("ranks", *columns)) if there else {}
        ranks = np.asarray(read.pop("ranks", ()), np.int64)
        self._order = np.argsort(ranks, kind="stable")
        self._ranks = ranks[self._order]
        self._columns = read

    def of(self, rank):
        """{column: its values in the rows of a rank, as a list}; {} if there are no such columns."""
        rows = self._order[slice(*np.searchsorted(self._ranks, [rank, rank + 1]))].tolist()
        return {name: [values[row] for row in rows] for name, values in self._columns.items()}


def from_table(rank, columns, label_of):
    """list of LaneInfo from the rows of lane_table."""
    return [LaneInfo(rank, label_of(rank, int(row[0])), *row) for row in zip(*(columns[name] for name in COLUMNS))]


def from_calls(run, rank):
    """The same for a file without a lane_table, from its completed calls."""
    events = run.events(rank=rank, columns=("lanes", "start_times", "end_times"))
    order = np.lexsort((events["start_times"], events["lanes"]))
    lanes, starts, ends = (events[name][order] for name in ("lanes", "start_times", "end_times"))
    ids, places = np.unique(lanes, return_index=True)
    pieces = [slice(*bounds) for bounds in zip(places, [*places[1:], len(lanes)])]
    rows = [_from_piece(run, rank, lane, starts[piece], ends[piece]) for lane, piece in zip(ids.tolist(), pieces)]
    return sorted(rows, key=_place_in_file)


def _from_piece(run, rank, lane, starts, ends):
    label, origin = run.lane_label(rank, lane), run.origin_ns
    kind, name = "unknown", ""
    if lane < -1:
        kind, name = "thread", label
    elif lane >= 0:
        task = run.task_by_index(rank, lane)
        kind, name = (task.kind, task.name) if task else ("task", label)
    return LaneInfo(
        rank, label, lane, kind, name, len(starts), 0, starts[0] - origin, ends.max() - origin, _covered(starts, ends)
    )


def _covered(starts, ends):
    """Time covered by at least one of the calls, which are sorted by their starts."""
    reached = np.maximum.accumulate(ends)
    before = np.concatenate([starts[:1], reached[:-1]])
    return np.maximum(reached - np.maximum(starts, before), 0).sum()


def _place_in_file(info):
    return (0, 0) if info.lane == -1 else (1, -info.lane) if info.lane < -1 else (2, info.lane)
