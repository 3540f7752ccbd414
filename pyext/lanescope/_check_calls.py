# SPDX-License-Identifier: BSD-3-Clause
"""The index, the rows of /events and /open_calls, each by itself, and the statistics, as the file orders them."""
import numpy as np

from ._format import APIS, NO_REGION

PIECE = 1 << 18
# Calls of a rank are looked at together in windows of so many numbers.
WINDOW = 1 << 20


def check_index(run, found):
    """True: the pieces of the index are those of /events."""
    table, before, index = "rank_region_index", len(found.lines), run.index
    rows, counts, offsets = index["rows"], index["event_counts"], index["event_offsets"]
    regions, ranks = index["region_ids"], index["ranks"]
    found.rows(
        regions >= len(run.names),
        table,
        rows,
        lambda i: f"region_ids is {regions[i]}, and there are {len(run.names)} regions",
    )
    found.rows(ranks >= run.ranks, table, rows, lambda i: f"ranks is {ranks[i]}, and there are {run.ranks} ranks")
    found.rows(counts < 1, table, rows, lambda i: f"event_counts is {counts[i]}, expected 1 or more")
    expected = np.cumsum(counts) - counts
    words = lambda i: f"event_offsets is {offsets[i]}, expected {expected[i]}: pieces must follow one another"
    found.rows(offsets != expected, table, rows, words)
    total = int(counts.sum())
    found.need(
        total == run.rows("events"),
        f"{table} event_counts add up to {total}, expected {run.rows('events')}, the rows of events",
    )
    early = np.diff(ranks, prepend=ranks[:1]) < 0
    found.rows(early, table, rows, lambda i: f"ranks is {ranks[i]}, and the piece before is of rank {ranks[i - 1]}")
    key = ranks * 2**32 + regions
    again = np.ones(len(key), bool)
    again[np.unique(key, return_index=True)[1]] = False
    found.rows(again, table, rows, lambda i: f"rank {ranks[i]} and region {regions[i]} have a row already")
    if len(found.lines) > before:
        return False
    unused = np.bincount(regions, minlength=len(run.names)) == 0
    found.rows(unused, "region_table", 0, lambda i: f"{run.names[i]!r} has no row in {table}, so no completed call")
    calls, there = run.rank_column("calls"), np.zeros(run.ranks, np.int64)
    np.add.at(there, ranks, counts)
    found.rows(
        calls != there,
        "rank_table",
        0,
        lambda i: f"calls is {calls[i]}, expected {there[i]}, the rank's rows of events",
    )
    return len(found.lines) == before


def check_open_calls(run, found):
    """True: open calls are ordered, and their number is that of rank_table."""
    table, before = "open_calls", len(found.lines)
    if run.has(table):
        found.need(run.rows(table) > 0, "open_calls has no rows; it must be left out")
        for column in ("thread_ids", "task_ids", "await_ns", "apis"):
            both = run.has(table, column) == run.has("events", column)
            found.need(both, f"{column} must be in events and in open_calls, or in neither")
    if not run.rows(table) or len(found.lines) > before:
        return len(found.lines) == before
    ranks, ids = (run.read(table, name).astype(np.int64) for name in ("ranks", "call_ids"))
    found.rows(ranks >= run.ranks, table, 0, lambda i: f"ranks is {ranks[i]}, and there are {run.ranks} ranks")
    early = np.zeros(len(ids), bool)
    early[1:] = (ranks[1:] < ranks[:-1]) | (ranks[1:] == ranks[:-1]) & (ids[1:] <= ids[:-1])
    words = (
        lambda i: f"ranks and call_ids are {ranks[i]}, {ids[i]}, after {ranks[i - 1]}, {ids[i - 1]}: they must increase"
    )
    found.rows(early, table, 0, words)
    if len(found.lines) > before:
        return False
    calls, there = run.rank_column(table), np.bincount(ranks, minlength=run.ranks)
    found.rows(
        calls != there,
        "rank_table",
        0,
        lambda i: f"open_calls is {calls[i]}, expected {there[i]}, the rank's rows there",
    )
    _check_open_regions(run, found)
    columns = {"ranks": ranks, "call_ids": ids, **_optional(run, table, 0, len(ids))}
    columns["durations"] = np.full(len(ids), np.iinfo(np.int64).max)
    _check_row_values(run, found, table, 0, columns)
    _check_depths(run, found, ranks, ids)
    return len(found.lines) == before


def _check_open_regions(run, found):
    ids, names = run.read("open_calls", "region_ids").astype(np.int64), run.read("open_calls", "region_names")
    known = {name: i for i, name in enumerate(run.names)}
    expected = np.array([known.get(name, NO_REGION) for name in names], np.int64)
    words = lambda i: f"region_ids is {ids[i]}, expected {expected[i]}, by its name {names[i]!r}"
    found.rows(ids != expected, "open_calls", 0, words)


def _check_depths(run, found, ranks, ids):
    """One more than that of the open call around it."""
    parents, depths = run.read("open_calls", "parent_ids"), run.read("open_calls", "depth").astype(np.int64)
    row_of = {key: i for i, key in enumerate(zip(ranks.tolist(), ids.tolist()))}
    around = [row_of.get(key, -1) for key in zip(ranks.tolist(), parents.tolist())]
    expected = np.array([0 if row < 0 else depths[row] + 1 for row in around], np.int64)
    found.rows(
        depths != expected,
        "open_calls",
        0,
        lambda i: f"depth is {depths[i]}, expected {expected[i]}, by its parent_ids {parents[i]}",
    )


def _optional(run, table, first, end):
    missing = {"thread_ids": -1, "task_ids": -1, "await_ns": 0, "apis": 0}
    return {
        name: run.read(table, name, first, end) if run.has(table, name) else np.full(end - first, value)
        for name, value in missing.items()
    }


def _check_row_values(run, found, table, first, columns):
    """ranks, call_ids, durations, thread_ids, task_ids, await_ns, apis: what each row must keep by itself."""
    ranks, ids = columns["ranks"], columns["call_ids"]
    calls = (run.rank_column("calls") + run.rank_column("open_calls"))[ranks]
    found.rows(
        (ids < 0) | (ids >= calls),
        table,
        first,
        lambda i: f"call_ids is {ids[i]}, and rank {ranks[i]} has {calls[i]} calls",
    )
    for column, count in (("thread_ids", "threads"), ("task_ids", "tasks")):
        values, there = columns[column], run.rank_column(count)[ranks]
        words = lambda i: f"{column} is {values[i]}, and rank {ranks[i]} has {there[i]} {count}"
        found.rows((values < -1) | (values >= there), table, first, words)
    waits, tasks, durations = columns["await_ns"], columns["task_ids"], columns["durations"]
    longest = np.where(tasks >= 0, durations, 0)
    words = lambda i: f"await_ns is {waits[i]} in a call of {durations[i]} ns of task {tasks[i]}"
    found.rows((waits < 0) | (waits > longest), table, first, words)
    apis = columns["apis"]
    found.rows(apis >= len(APIS), table, first, lambda i: f"apis is {apis[i]}, expected 0, 1 or 2")


class _Pieces:
    """The rows of /events in pieces, with the row of the index that each belongs to."""

    def __init__(self, run):
        self._run = run
        self._offsets = run.index["event_offsets"]
        self._ends = self._offsets + run.index["event_counts"]

    def __iter__(self):
        for first in range(0, self._run.rows("events"), PIECE):
            yield self._piece(first, min(first + PIECE, self._run.rows("events")))

    def _piece(self, first, end):
        low = int(np.searchsorted(self._ends, first, "right"))
        high = int(np.searchsorted(self._offsets, end, "left"))
        starts = np.maximum(self._offsets[low:high], first)
        lengths = np.minimum(self._ends[low:high], end) - starts
        names = ("start_times", "end_times", "ranks", "region_ids", "call_ids")
        columns = {name: self._run.read("events", name, first, end) for name in names}
        columns.update(_optional(self._run, "events", first, end))
        columns["durations"] = columns["end_times"] - columns["start_times"]
        return first, columns, np.arange(low, high), starts - first, lengths


def check_events(run, found):
    """(runs, True if the rows are sound). runs: an array of first row in /events, row of the sorted index,
    window, number of calls: stretches of calls of one region whose numbers lie in one window."""
    before = len(found.lines)
    statistics, runs, apis, last = Statistics(len(run.index["rows"])), [], set(), (-1, -1)
    is_ordered = True
    for first, columns, segments, starts, lengths in _Pieces(run):
        segment = np.repeat(segments, lengths)
        is_ordered &= _check_place(run, found, first, columns, segment, last)
        last = (int(segment[-1]), int(columns["call_ids"][-1]))
        _check_row_values(run, found, "events", first, columns)
        ends, begins = columns["end_times"], columns["start_times"]
        found.rows(ends < begins, "events", first, lambda i: f"end_times is {ends[i]}, before start_times {begins[i]}")
        statistics.add(columns, segments, starts, lengths)
        runs.append(_runs(first, columns["call_ids"], segment))
        apis.update(np.unique(columns["apis"]).tolist())
    if run.has("events", "apis"):
        apis.update(np.unique(_optional(run, "open_calls", 0, run.rows("open_calls"))["apis"]).tolist())
        found.need(len(apis) > 1, f"apis is {apis} everywhere; the column must be left out")
    is_sound = len(found.lines) == before
    statistics.check(run, found)
    return np.concatenate(runs, axis=1) if runs else np.empty((4, 0), np.int64), is_ordered and is_sound


def _check_place(run, found, first, columns, segment, last):
    """Rank and region as the index says, and call_ids that increase. last: segment and number of the row before."""
    for column in ("ranks", "region_ids"):
        values, expected = columns[column], run.index[column][segment]
        bad = values != expected
        found.rows(
            bad, "events", first, lambda i: f"{column} is {values[i]}, expected {expected[i]}, by rank_region_index"
        )
        columns[column] = expected
    ids = columns["call_ids"]
    early = (np.diff(ids, prepend=last[1]) <= 0) & (np.diff(segment, prepend=last[0]) == 0)
    found.rows(early, "events", first, lambda i: f"call_ids is {ids[i]}, not above that of the row before")
    return not early.any()


def _runs(first, ids, segment):
    window = ids // WINDOW
    starts = np.flatnonzero((np.diff(segment, prepend=-1) != 0) | (np.diff(window, prepend=-1) != 0))
    lengths = np.diff(starts, append=len(ids))
    return np.stack([first + starts, segment[starts], window[starts], lengths])


class Statistics:
    """Of each row of the sorted index, over the pieces that were added."""

    def __init__(self, rows):
        highest, lowest = np.iinfo(np.int64).max, np.iinfo(np.int64).min
        starts = {"total": 0, "minimum": highest, "maximum": lowest, "first": 0, "last": 0}
        starts.update(start_minimum=highest, end_maximum=lowest)
        self.whole = {name: np.full(rows, value, np.int64) for name, value in starts.items()}
        self.counts = np.zeros(rows, np.int64)
        self.mean, self.m2 = np.zeros(rows), np.zeros(rows)

    def add(self, columns, segments, starts, lengths):
        durations, whole = columns["durations"], self.whole
        totals = np.add.reduceat(durations, starts)
        fresh = segments[self.counts[segments] == 0]
        whole["first"][fresh] = durations[starts][self.counts[segments] == 0]
        whole["last"][segments] = durations[starts + lengths - 1]
        whole["total"][segments] += totals
        for name, values, union in (
            ("minimum", durations, np.minimum),
            ("maximum", durations, np.maximum),
            ("start_minimum", columns["start_times"], np.minimum),
            ("end_maximum", columns["end_times"], np.maximum),
        ):
            whole[name][segments] = union(whole[name][segments], union.reduceat(values, starts))
        self._add_deviations(durations, totals, segments, starts, lengths)

    def _add_deviations(self, durations, totals, segments, starts, lengths):
        means = totals / lengths
        squares = np.add.reduceat((durations - np.repeat(means, lengths)) ** 2, starts)
        before = self.counts[segments]
        count = before + lengths
        apart = means - self.mean[segments]
        self.m2[segments] += squares + apart**2 * (before * lengths / count)
        self.mean[segments] += apart * (lengths / count)
        self.counts[segments] = count

    def check(self, run, found):
        table, rows = "rank_region_index", run.index["rows"]
        stored = run.read(table, "summary_statistics")[rows]
        for name, expected in {**self.whole, "gpu_count": 0 * rows, "gpu_total": 0 * rows}.items():
            there = stored[name]
            found.rows(
                there != expected,
                table,
                rows,
                lambda i: f"summary_statistics {name} is {there[i]}, expected {expected[i]}",
            )
        rounding = 1e-9 * np.abs(self.mean)
        allowed = {
            "mean": rounding,
            "m2": 1e-6 * self.m2 + rounding * np.sqrt(self.counts * self.m2) + self.counts * rounding**2,
        }
        for name, expected in {"mean": self.mean, "m2": self.m2}.items():
            there = stored[name]
            bad = ~(np.abs(there - expected) <= allowed[name])
            found.rows(
                bad, table, rows, lambda i: f"summary_statistics {name} is {there[i]:.17g}, expected {expected[i]:.17g}"
            )
