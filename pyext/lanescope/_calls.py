# SPDX-License-Identifier: BSD-3-Clause
"""The calls of a run as columns, read when they are asked for, with what a file leaves out filled in."""
import numpy as np

from . import _core
from ._source import FormatError

# Column of /events: its type, and what stands there where the file has no such column. None: worked out.
COLUMNS = {
    "start_times": (np.int64, None),
    "end_times": (np.int64, None),
    "ranks": (np.uint32, None),
    "region_ids": (np.uint32, None),
    "thread_ids": (np.int64, -1),
    "task_ids": (np.int64, -1),
    "await_ns": (np.int64, 0),
    "call_ids": (np.int64, None),
    "parent_ids": (np.int64, None),
}
IDS = ("call_ids", "parent_ids")
OPEN_COLUMNS = {
    **{name: kind for name, kind in COLUMNS.items() if name != "end_times"},
    "region_names": (str, None),
    "depth": (np.uint32, None),
}
NEVER = np.iinfo(np.int64).max


class Calls:
    """index: rank_region_index as arrays, sorted by event_offsets. names: of the regions."""

    def __init__(self, source):
        self._source = source
        self._ids = {}
        self.names = source.read("region_table", ("names",))["names"]
        self.index = self._read_index()
        self._check_index()

    def rows(self, rank=None, region=None):
        """Which rows of the index: of one rank, of one region id, of both, or all."""
        chosen = np.ones(len(self.index["ranks"]), bool)
        if rank is not None:
            chosen &= self.index["ranks"] == rank
        if region is not None:
            chosen &= self.index["region_ids"] == region
        return np.flatnonzero(chosen)

    def read(self, columns, rank=None, region=None):
        """{column: array} of the calls of a rank and region, in the order of the file."""
        rows = self.rows(rank, region)
        spans = self._spans(rows)
        stored = [name for name in columns if self._is_stored(name)]
        result = {name: self._typed(name, values) for name, values in self._read_spans(stored, spans).items()}
        made = [name for name in columns if name in IDS and name not in result]
        if made:
            result.update(self._made_ids(made, rows))
        for name in columns:
            if name not in result:
                result[name] = self._filled(name, rows)
        return {name: result[name] for name in columns}

    def has_apis(self):
        return "apis" in self._source.columns("events")

    def read_open(self, rank=None):
        """{column: array, region_names a list} of the open calls of a rank, or of all."""
        there = self._source.columns("open_calls")
        columns = self._source.read("open_calls", there) if there else {}
        for name, (kind, value) in OPEN_COLUMNS.items():
            if name not in columns and there and value is None:
                raise FormatError(f"{self._source.path} is damaged: it has no open_calls/{name}")
            if name not in columns:
                count = self._source.rows("open_calls")
                columns[name] = [] if kind is str else np.full(count, self._default(name, value) or 0, kind)
        columns = {name: columns[name] for name in (*OPEN_COLUMNS, *(("apis",) if "apis" in columns else ()))}
        if rank is None:
            return columns
        chosen = np.flatnonzero(columns["ranks"] == rank)
        return {
            name: [values[i] for i in chosen] if isinstance(values, list) else values[chosen]
            for name, values in columns.items()
        }

    def _read_index(self):
        names = ("region_ids", "ranks", "event_offsets", "event_counts")
        index = self._source.read("rank_region_index", names)
        order = np.argsort(index["event_offsets"], kind="stable")
        return {"rows": order, **{name: values[order].astype(np.int64) for name, values in index.items()}}

    def _check_index(self):
        offsets, counts, regions = (self.index[name] for name in ("event_offsets", "event_counts", "region_ids"))
        rows = self._source.rows("events")
        bad = (offsets < 0) | (counts < 0) | (offsets > rows - counts) | (regions < 0) | (regions >= len(self.names))
        if bad.any():
            i = int(np.flatnonzero(bad)[0])
            raise FormatError(
                f"{self._source.path} is damaged: row {self.index['rows'][i]} of rank_region_index speaks of region"
                f" {regions[i]} and {counts[i]} calls from row {offsets[i]}; there are {len(self.names)} regions and"
                f" {rows} calls"
            )

    def _spans(self, rows):
        """Pieces of /events, those that follow one another joined."""
        spans = []
        for first, count in zip(self.index["event_offsets"][rows].tolist(), self.index["event_counts"][rows].tolist()):
            if spans and sum(spans[-1]) == first:
                spans[-1] = (spans[-1][0], spans[-1][1] + count)
            else:
                spans.append((first, count))
        return spans

    def _is_stored(self, name):
        if name in IDS and not self._has_ids():
            return False
        return name in self._source.columns("events")

    def _has_ids(self):
        """Whether the calls were numbered and their parents noted; other programs may fill both with -1."""
        if any(name not in self._source.columns("events") for name in IDS):
            return False
        if not self._source.is_foreign or not self._source.rows("events"):
            return True
        return int(self._source.read("events", ("call_ids",), [(0, 1)])["call_ids"][0]) >= 0

    def _read_spans(self, names, spans):
        return self._source.read("events", names, spans) if names else {}

    def _typed(self, name, values):
        return values.astype(COLUMNS[name][0], copy=False) if name in COLUMNS else values

    def _filled(self, name, rows):
        kind, value = COLUMNS[name]
        counts = self.index["event_counts"][rows]
        if name in ("ranks", "region_ids"):
            return np.repeat(self.index[name][rows].astype(kind), counts)
        return np.full(int(counts.sum()), self._default(name, value), kind)

    def _default(self, name, value):
        """Another program that names no threads means one stack a rank: thread 0."""
        return 0 if name == "thread_ids" and self._source.is_foreign else value

    def _made_ids(self, names, rows):
        """Numbers and parents of a file without them: worked out for each rank as a whole."""
        ranks = self.index["ranks"][rows]
        pieces = {name: [] for name in names}
        for rank in np.unique(ranks).tolist():
            if rank not in self._ids:
                self._ids[rank] = self._number(rank)
            all_rows = self.rows(rank)
            chosen = np.repeat(np.isin(all_rows, rows), self.index["event_counts"][all_rows])
            for name in names:
                pieces[name].append((rank, self._ids[rank][name][chosen]))
        return {name: self._in_file_order(ranks, rows, parts) for name, parts in pieces.items()}

    def _in_file_order(self, ranks, rows, parts):
        if len(parts) == 1:
            return parts[0][1]
        of_row = np.repeat(ranks, self.index["event_counts"][rows])
        result = np.empty(len(of_row), np.int64)
        for rank, values in parts:
            result[of_row == rank] = values
        return result

    def _number(self, rank):
        """call_ids and parent_ids of a rank, in the order of the file, from the times of its calls."""
        names = ["start_times", "end_times", "thread_ids", "task_ids", "region_ids"]
        known = "call_ids" in self._source.columns("events") and not self._source.is_foreign
        calls = self.read(names, rank)
        open_calls = self.read_open(rank)
        count = len(calls["start_times"])
        columns = {name: np.concatenate([calls[name], open_calls[name]]) for name in names if name != "end_times"}
        columns["end_times"] = np.concatenate([calls["end_times"], np.full(len(open_calls["ranks"]), NEVER)])
        order = np.arange(len(columns["end_times"]))
        if known:
            stored = self._read_spans(["call_ids"], self._spans(self.rows(rank)))["call_ids"]
            ids = np.concatenate([stored, open_calls["call_ids"]])
            order = np.argsort(ids, kind="stable")
        parents, depths = self._nest(rank, {name: values[order] for name, values in columns.items()}, order)
        if known:
            sorted_ids = ids[order]
        else:
            sorted_ids = np.empty(len(order), np.int64)
            sorted_ids[np.lexsort((depths, columns["start_times"]))] = np.arange(len(order))
        made = {"call_ids": sorted_ids, "parent_ids": np.where(parents < 0, -1, sorted_ids[parents])}
        back = np.empty(len(order), np.int64)
        back[order] = np.arange(len(order))
        return {name: values[back][:count] for name, values in made.items()}

    def _nest(self, rank, columns, order):
        lanes = _core.lane_ids(columns["thread_ids"], columns["task_ids"])
        try:
            return _core.nest(columns["start_times"], columns["end_times"], lanes)
        except _core.NestingError as error:
            raise self._named(rank, error, columns, order) from None
        except ValueError as error:
            raise FormatError(f"{self._source.path} is damaged: rank {rank}: {error}") from error

    def _named(self, rank, error, columns, order):
        outer, inner = (self._words(row, columns) for row in error.calls)
        named = _core.NestingError(
            f"{self._source.path}: the calls on lane {error.lane} of rank {rank} are not properly nested: {inner}"
            f" begins inside {outer} and ends after it"
        )
        named.lane = error.lane
        named.calls = tuple(int(order[row]) for row in error.calls)
        return named

    def _words(self, row, columns):
        region, start, end = (int(columns[name][row]) for name in ("region_ids", "start_times", "end_times"))
        name = self.names[region] if region < len(self.names) else "an open call"
        return f"{name!r} ({start} to {'its end' if end == NEVER else end} ns)"
