# SPDX-License-Identifier: BSD-3-Clause
"""What the calls of a rank say of the rows of /lane_table."""
import numpy as np

from ._format import APIS

NEVER = np.iinfo(np.int64).max
ALWAYS = np.iinfo(np.int64).min


class Lanes:
    """The lanes of one rank, to which windows of its calls are added in the order of their numbers."""

    def __init__(self, run, rank, first, end):
        self._run = run
        self._rank = rank
        self._first = first
        self._end = end
        lanes = run.read("lane_table", "lanes", first, end)
        self._order = np.argsort(lanes, kind="stable")
        self._lanes = lanes[self._order]
        rows = len(lanes)
        self._calls, self._open_calls, self._busy = (np.zeros(rows, np.int64) for _ in range(3))
        self._starts = np.full(rows, NEVER)
        self._last_starts, self._last_ends, self._covered = (np.full(rows, ALWAYS) for _ in range(3))
        self._apis = set()
        # For each lane, and one for calls of lanes that the table does not have.
        self.covered_by_outermost = np.full(rows + 1, ALWAYS)

    def place(self, lanes):
        """Which lane each is; beyond the last: none."""
        if not len(self._lanes):
            return np.zeros(len(lanes), np.int64)
        at = np.minimum(np.searchsorted(self._lanes, lanes), len(self._lanes) - 1)
        return np.where(self._lanes[at] == lanes, at, len(self._lanes))

    def add(self, found, calls):
        place = self.place(calls["lanes"])
        unknown = np.flatnonzero(place == len(self._lanes))
        for i in unknown[:3].tolist():
            found.add(
                f"{place_of(calls['rows'][i])}: it is on lane {calls['lanes'][i]}, which lane_table does not have"
                f" for rank {self._rank}"
            )
        self._apis.update(np.unique(calls["apis"][calls["lanes"] == -1]).tolist())
        keep = np.flatnonzero(place < len(self._lanes))
        keep = keep[np.argsort(place[keep], kind="stable")]
        starts, ends, place = calls["start_times"][keep], calls["end_times"][keep], place[keep]
        is_done = ends != NEVER
        self._calls += np.bincount(place[is_done], minlength=len(self._lanes))
        self._open_calls += np.bincount(place[~is_done], minlength=len(self._lanes))
        np.minimum.at(self._starts, place, starts)
        np.maximum.at(self._last_starts, place, starts)
        np.maximum.at(self._last_ends, place[is_done], ends[is_done])
        self._add_busy(place[is_done], starts[is_done], ends[is_done])

    def _add_busy(self, place, starts, ends):
        before, self._covered = highest_before(place, ends, self._covered)
        np.add.at(self._busy, place, np.maximum(ends - np.maximum(starts, before), 0))

    def check(self, found):
        origin = int(self._run.metadata.attrs["start_time_ns"])
        rows = self._first + self._order
        last = np.where(self._calls > 0, self._last_ends, self._last_starts)
        expected = {
            "calls": self._calls,
            "open_calls": self._open_calls,
            "first_ns": self._starts - origin,
            "last_ns": last - origin,
            "busy_ns": self._busy,
        }
        empty = self._calls + self._open_calls == 0
        found.rows(empty, "lane_table", rows, lambda i: "no call ran on this lane")
        for name, values in expected.items():
            there = self._run.read("lane_table", name, self._first, self._end).astype(np.int64)[self._order]
            words = (
                lambda i: f"{name} is {there[i]}, expected {values[i]} by the calls of lane {self._lanes[i]} of rank"
                f" {self._rank}"
            )
            found.rows((there != values) & ~empty, "lane_table", rows, words)
        self._check_name(found, rows)

    def _check_name(self, found, rows):
        """Of the unknown lane: who made its calls, where the file says it."""
        for i in np.flatnonzero(self._lanes == -1).tolist():
            name = self._run.read("lane_table", "name", int(rows[i]), int(rows[i]) + 1)[0]
            makers = [",".join(sorted(APIS[api] for api in self._apis))] if -1 not in self._apis else sorted(APIS)
            expected = " or ".join(makers)
            found.need(
                name in makers, f"lane_table row {rows[i]}: name is {name!r}, expected {expected}, who made its calls"
            )


def highest_before(group, values, initial):
    """(for each value the highest of its group before it, the highest of every group). Sorted by group; initial: of
    each group before the first value."""
    if not len(group):
        return values, initial.copy()
    starts = np.flatnonzero(np.diff(group, prepend=group[0] - 1))
    lengths = np.diff(starts, append=len(group))
    order = np.argsort(values, kind="stable")
    rank = np.empty(len(values), np.int64)
    rank[order] = np.arange(len(values))
    block = np.repeat(np.arange(len(starts)), lengths) * len(values)
    highest = values[order[np.maximum.accumulate(block + rank) - block]]
    before = np.empty_like(values)
    before[1:] = highest[:-1]
    before[starts] = ALWAYS
    after = initial.copy()
    lasts = starts + lengths - 1
    after[group[starts]] = np.maximum(after[group[starts]], highest[lasts])
    return np.maximum(before, initial[group]), after


def place_of(row):
    """Where a call stands: below 0 it is -1 - row in /open_calls."""
    return f"events row {row}" if row >= 0 else f"open_calls row {-1 - row}"
