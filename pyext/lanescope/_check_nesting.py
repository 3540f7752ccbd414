# SPDX-License-Identifier: BSD-3-Clause
"""The calls of each rank in the order of their numbers: numbering, parents, lanes and exclusive times.

A rank is walked in windows of WINDOW numbers. From one window to the next go only the calls that may still be parents:
those that had not ended when the last call of the window began.
"""
import numpy as np

from . import _core
from ._check_calls import WINDOW
from ._check_lanes import ALWAYS, NEVER, Lanes, highest_before, place_of
FIELDS = ("call_ids", "start_times", "end_times", "parent_ids", "lanes", "apis", "segments", "rows")


def check_nesting(run, found, runs):
    """runs: as check_events gave them. False: a rank's calls are not numbered, so that the rest of it was left out."""
    ranks = run.index["ranks"][runs[1]]
    order = np.lexsort((runs[2], ranks))
    runs, ranks = runs[:, order], ranks[order]
    borders = np.searchsorted(ranks, np.arange(run.ranks + 1))
    opens = run.spans("open_calls")
    lanes = run.spans("lane_table")
    children = np.zeros(len(run.index["rows"]), np.int64)
    totals = np.zeros(len(run.index["rows"]), np.int64)
    is_whole = True
    for rank in range(run.ranks):
        walk = _Rank(run, found, rank, lanes[rank : rank + 2], children, totals)
        is_whole &= walk.go(runs[:, borders[rank] : borders[rank + 1]], opens[rank : rank + 2])
    if is_whole:
        _check_exclusive(run, found, totals - children)
    return is_whole


def _check_exclusive(run, found, expected):
    stored = run.index["exclusive_totals"]
    words = lambda i: f"exclusive_totals is {stored[i]}, expected {expected[i]}"
    found.rows(stored != expected, "rank_region_index", run.index["rows"], words)


class _Rank:
    """children, totals: time in the calls directly inside those of a row of the index, and in those; added to."""

    def __init__(self, run, found, rank, lane_rows, children, totals):
        self._run = run
        self._found = found
        self._rank = rank
        self._children = children
        self._totals = totals
        self._lanes = Lanes(run, rank, *lane_rows.tolist())
        self._carried = {name: np.empty(0, np.int64) for name in (*FIELDS, "covered")}
        self._last_start = ALWAYS

    def go(self, runs, open_rows):
        calls = int(self._run.rank_column("calls")[self._rank] + self._run.rank_column("open_calls")[self._rank])
        open_calls = _open_calls(self._run, *open_rows.tolist())
        windows = np.arange(-(-calls // WINDOW) + 1)
        borders = np.searchsorted(runs[2], windows)
        open_borders = np.searchsorted(open_calls["call_ids"], windows * WINDOW)
        for window in windows[:-1].tolist():
            part = runs[:, borders[window] : borders[window + 1]]
            opened = {
                name: values[open_borders[window] : open_borders[window + 1]] for name, values in open_calls.items()
            }
            first = window * WINDOW
            if not self._look(part, opened, first, min(first + WINDOW, calls)):
                return False
        self._lanes.check(self._found)
        return True

    def _look(self, runs, opened, first, end):
        spans = _joined(runs)
        count = int(spans[:, 1].sum()) + len(opened["rows"])
        if count > 2 * WINDOW:
            self._found.add(
                f"rank {self._rank}: {count:,} calls have call_ids from {first} to {end - 1}, expected each once"
            )
            return False
        calls = self._read(runs, spans, opened)
        if not self._is_dense(calls["call_ids"], calls["rows"], first, end):
            return False
        self._check_starts(calls)
        self._check_nesting(calls)
        self._lanes.add(self._found, calls)
        return True

    def _read(self, runs, spans, opened):
        """The calls of a window by their numbers; open ones end NEVER and have rows below 0."""
        names = ("call_ids", "start_times", "end_times", "parent_ids")
        pieces = {name: [self._column(name, first, first + count) for first, count in spans.tolist()] for name in names}
        pieces["lanes"] = [_lanes_of(self._run, "events", first, first + count) for first, count in spans.tolist()]
        pieces["apis"] = [self._column("apis", first, first + count) for first, count in spans.tolist()]
        pieces["rows"] = [np.arange(first, first + count) for first, count in spans.tolist()]
        pieces["segments"] = [np.repeat(*_by_row(runs))]
        calls = {name: np.concatenate([*pieces[name], opened[name]]) for name in FIELDS}
        order = np.argsort(calls["call_ids"], kind="stable")
        return {name: values[order] for name, values in calls.items()}

    def _column(self, name, first, end):
        if name == "apis" and not self._run.has("events", name):
            return np.full(end - first, -1, np.int64)
        return self._run.read("events", name, first, end).astype(np.int64, copy=False)

    def _is_dense(self, ids, rows, first, end):
        again = np.flatnonzero(np.diff(ids) == 0)
        for i in again[:3].tolist():
            words = f"call_ids is {ids[i]}, which {place_of(rows[i])} has already"
            self._found.add(f"{place_of(rows[i + 1])} of rank {self._rank}: {words}")
        missing = (
            np.setdiff1d(np.arange(first, end), ids, assume_unique=not len(again))
            if len(ids) != end - first or len(again)
            else ()
        )
        for number in missing[:3]:
            self._found.add(
                f"rank {self._rank}: no call has call_ids {number}, expected all from 0 to the number of its calls"
            )
        return not len(again) and not len(missing)

    def _rows(self, bad, calls, words):
        for i in np.flatnonzero(bad)[:3].tolist():
            self._found.add(f"{place_of(calls['rows'][i])}: {words(i)}")

    def _check_starts(self, calls):
        starts = calls["start_times"]
        before = np.concatenate([[self._last_start], starts[:-1]])
        words = lambda i: f"start_times is {starts[i]}, and the call numbered before it began at {before[i]}"
        self._rows(starts < before, calls, words)
        self._last_start = int(starts[-1])

    def _check_nesting(self, calls):
        """Parents are on the lane, go around their children, and nothing else on the lane does more closely."""
        carried = len(self._carried["call_ids"])
        frames = {name: np.concatenate([self._carried[name], calls[name]]) for name in FIELDS}
        frames["covered"] = np.concatenate([self._carried["covered"], np.full(len(calls["rows"]), ALWAYS)])
        parent = self._check_parents(calls, frames)
        self._check_siblings(calls, frames, parent, carried)
        self._add_times(calls, frames, parent)
        kept = frames["end_times"] >= self._last_start
        self._carried = {name: values[kept] for name, values in frames.items()}

    def _check_parents(self, calls, frames):
        """Where in frames the parent of each call stands; -1: it has none, or none that is right."""
        ids, parents = calls["call_ids"], calls["parent_ids"]
        self._rows(
            (parents < -1) | (parents >= ids),
            calls,
            lambda i: f"parent_ids is {parents[i]}, expected -1 or below its call_ids {ids[i]}",
        )
        has = (parents >= 0) & (parents < ids)
        place = np.minimum(np.searchsorted(frames["call_ids"], parents), len(frames["call_ids"]) - 1)
        is_there = has & (frames["call_ids"][place] == parents)
        ends, lanes = calls["end_times"], calls["lanes"]
        over = has & ~is_there
        self._rows(
            over,
            calls,
            lambda i: f"parent_ids is {parents[i]}, which does not enclose it: it ended before"
            f" {calls['start_times'][i]}",
        )
        other = is_there & (frames["lanes"][place] != lanes)
        words = (
            lambda i: f"parent_ids is {parents[i]}, on lane {frames['lanes'][place[i]]};"
            f" this call is on lane {lanes[i]}"
        )
        self._rows(other, calls, words)
        outside = is_there & ~other & (frames["end_times"][place] < ends)
        words = (
            lambda i: f"parent_ids is {parents[i]}, which does not enclose it: it ends at"
            f" {frames['end_times'][place[i]]}, this one {_end(ends[i])}"
        )
        self._rows(outside, calls, words)
        return np.where(is_there, place, -1)

    def _check_siblings(self, calls, frames, parent, carried):
        """No earlier call of the same lane and parent encloses a call: that one would be its parent."""
        at = np.flatnonzero(calls["lanes"] != -1)
        lane = self._lanes.place(calls["lanes"][at])
        group = np.where(parent[at] >= 0, parent[at], len(frames["rows"]) + lane)
        initial = np.concatenate([frames["covered"], self._lanes.covered_by_outermost])
        order = np.argsort(group, kind="stable")
        at, group = at[order], group[order]
        ends = calls["end_times"][at]
        before, after = highest_before(group, ends, initial)
        hidden = (before > ends) | ((before == ends) & (ends == NEVER))
        bad = np.zeros(len(calls["rows"]), bool)
        bad[at[hidden]] = True
        self._rows(
            bad,
            calls,
            lambda i: f"parent_ids is {calls['parent_ids'][i]}, and a call inside that one encloses it, too, on lane"
            f" {calls['lanes'][i]}",
        )
        frames["covered"] = after[: len(frames["rows"])]
        self._lanes.covered_by_outermost = after[len(frames["rows"]) :]

    def _add_times(self, calls, frames, parent):
        is_done = calls["rows"] >= 0
        durations = calls["end_times"] - calls["start_times"]
        np.add.at(self._totals, calls["segments"][is_done], durations[is_done])
        inside = np.flatnonzero(is_done & (parent >= 0))
        of = frames["segments"][parent[inside]]
        inside, of = inside[of >= 0], of[of >= 0]
        np.add.at(self._children, of, durations[inside])


def _joined(runs):
    """The rows of some runs as an array of (first, count), neighbours joined."""
    first, count = runs[0], runs[3]
    if not len(first):
        return np.empty((0, 2), np.int64)
    order = np.argsort(first)
    first, count = first[order], count[order]
    starts = np.flatnonzero(np.concatenate([[True], first[1:] != first[:-1] + count[:-1]]))
    return np.stack([first[starts], np.add.reduceat(count, starts)], axis=1)


def _by_row(runs):
    """(row of the index, number of calls) of runs in the order of /events."""
    order = np.argsort(runs[0])
    return runs[1][order], runs[3][order]


def _lanes_of(run, table, first, end):
    threads, tasks = (
        run.read(table, name, first, end) if run.has(table, name) else np.full(end - first, -1, np.int64)
        for name in ("thread_ids", "task_ids")
    )
    return _core.lane_ids(threads, tasks)


def _open_calls(run, first, end):
    """The open calls of a rank; rows: -1 - row in /open_calls."""
    if first == end:
        return {name: np.empty(0, np.int64) for name in FIELDS}
    calls = {name: run.read("open_calls", name, first, end) for name in ("call_ids", "start_times", "parent_ids")}
    calls["end_times"] = np.full(end - first, NEVER)
    calls["lanes"] = _lanes_of(run, "open_calls", first, end)
    has_apis = run.has("open_calls", "apis")
    calls["apis"] = (
        run.read("open_calls", "apis", first, end).astype(np.int64) if has_apis else np.full(end - first, -1)
    )
    calls["segments"] = np.full(end - first, -1)
    calls["rows"] = -1 - np.arange(first, end)
    return calls


def _end(end):
    return "has no end" if end == NEVER else f"at {end}"
