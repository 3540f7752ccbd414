# SPDX-License-Identifier: BSD-3-Clause
"""How often regions were called and for how long: over all ranks, on one rank, on one thread or task."""
import json
import math

import numpy as np

from ._lazy import Lazy


def _seconds(name, what):
    def read(self):
        value = getattr(self, name)
        return math.nan if value is None else value / 1e9

    return property(read, doc=f"{what}, in seconds; nan without calls.")


class Statistics:
    """Of a group of calls. Attributes that end in _ns are nanoseconds, those that end in _time seconds.

    calls: how many. total_ns, min_ns, max_ns: int, of their durations; min and max are None without calls. mean_ns,
    std_ns: float; std is that of a sample, 0 for a single call. exclusive_ns: int, total without the time in calls
    directly inside.
    """

    total_time = _seconds("total_ns", "Sum of the durations")
    mean_time = _seconds("mean_ns", "Mean duration")
    min_time = _seconds("min_ns", "Shortest duration")
    max_time = _seconds("max_ns", "Longest duration")
    std_time = _seconds("std_ns", "Standard deviation of the durations")
    exclusive_time = _seconds("exclusive_ns", "Total without the calls directly inside")

    def _set(self, calls, total, minimum, maximum, mean, m2):
        self.calls = calls
        self.total_ns = total
        self.min_ns = minimum
        self.max_ns = maximum
        self.mean_ns = mean
        self._m2 = m2

    @property
    def std_ns(self):
        if not self.calls:
            return math.nan
        return math.sqrt(self._m2 / (self.calls - 1)) if self.calls > 1 else 0.0

    def durations(self, rank=None):
        """The duration of each call in seconds, float64, in the order of the file; of one rank or all."""
        columns = self.events(("start_times", "end_times"), rank)
        return (columns["end_times"] - columns["start_times"]) / 1e9

    def start_times(self, rank=None):
        """When each call began: seconds since the start of the run, float64."""
        return (self.events(("start_times",), rank)["start_times"] - self._run.origin_ns) / 1e9

    def end_times(self, rank=None):
        """When each call ended: seconds since the start of the run, float64."""
        return (self.events(("end_times",), rank)["end_times"] - self._run.origin_ns) / 1e9

    def await_times(self, rank=None):
        """How long the task was suspended during each call: seconds, float64; 0 outside tasks."""
        return self.events(("await_ns",), rank)["await_ns"] / 1e9


class RegionStatistics(Statistics):
    """A region on all ranks. Beside the attributes of Statistics:

    name; id: its row of region_table; per_rank: {rank: RankStatistics} of the ranks that have calls of it, also by
    indexing: region[rank]; source_file, source_line, source_text, tags: where it is defined (None if not known).
    """

    def __init__(self, run, region, ranks):
        self._run = run
        self.id = region
        self.name = run.region_names[region]
        self.per_rank = {one.rank: one for one in ranks}
        self._set(*_merged(ranks))
        self.source_file, self.source_line, self.source_text, self.tags = _source_of(ranks)

    @property
    def exclusive_ns(self):
        return sum(one.exclusive_ns for one in self.per_rank.values())

    def events(self, columns=None, rank=None):
        """{column: array} of its calls, as Results.events."""
        return self._run.events(rank=rank, region=self.id, columns=columns)

    def __getitem__(self, rank):
        return self.per_rank[rank]

    def __repr__(self):
        return (
            f"<lanescope.RegionStatistics {self.name!r}: {self.calls:,} calls, {self.total_time:.6f} s,"
            f" on ranks {list(self.per_rank)}>"
        )


class RankStatistics(Statistics):
    """A region on one rank. rank, name, id, and the attributes of Statistics."""

    def __init__(self, run, region, rank, source):
        self._run = run
        self.id = region
        self.name = run.region_names[region]
        self.rank = rank
        self._source = source
        self._exclusive = None

    @property
    def exclusive_ns(self):
        if self._exclusive is None:
            stack = self._run.call_stack(self.rank)
            self._exclusive = int(stack.exclusive_ns[(stack.region_indices == self.id) & ~stack.is_open].sum())
        return self._exclusive

    def events(self, columns=None, rank=None):
        """{column: array} of its calls, as Results.events. KeyError: another rank than its own."""
        if rank not in (None, self.rank):
            raise KeyError(f"these are the calls of rank {self.rank}, not {rank}")
        return self._run.events(rank=self.rank, region=self.id, columns=columns)

    @property
    def threads(self):
        """Indices of the threads that made its calls, sorted."""
        return np.unique(self.events(("thread_ids",))["thread_ids"]).tolist()

    def for_thread(self, index):
        """CallGroup of its calls on that thread."""
        return CallGroup(self._run, self.id, self.rank, {"thread": index})

    def for_task(self, index):
        """CallGroup of its calls in that task."""
        return CallGroup(self._run, self.id, self.rank, {"task": index})

    def __repr__(self):
        sums = f"{self.calls:,} calls, {self.total_time:.6f} s"
        return f"<lanescope.RankStatistics {self.name!r} on rank {self.rank}: {sums}>"


class CallGroup(Statistics):
    """The calls of a region on one thread, or in one task, of a rank, with the attributes of Statistics."""

    def __init__(self, run, region, rank, lane):
        self._run = run
        self.id = region
        self.name = run.region_names[region]
        self.rank = rank
        self._lane = lane
        columns = self.events(("start_times", "end_times", "call_ids"))
        self._call_ids = columns["call_ids"]
        self._set(*summed(columns["end_times"] - columns["start_times"]))

    @property
    def exclusive_ns(self):
        stack = self._run.call_stack(self.rank)
        return int(stack.exclusive_ns[np.searchsorted(stack.call_ids, self._call_ids)].sum())

    def events(self, columns=None, rank=None):
        """{column: array} of its calls, as Results.events. KeyError: another rank than its own."""
        if rank not in (None, self.rank):
            raise KeyError(f"these are the calls of rank {self.rank}, not {rank}")
        return self._run.events(rank=self.rank, region=self.id, columns=columns, **self._lane)

    def __repr__(self):
        where = " ".join(f"{kind} {index}" for kind, index in self._lane.items())
        return f"<lanescope.CallGroup {self.name!r} on {where} of rank {self.rank}: {self.calls:,} calls>"


INDEX_COLUMNS = ("source_lines", "source_files", "source_texts", "tags", "exclusive_totals", "summary_statistics")


def read_regions(run, calls, source):
    """{name: RegionStatistics}, made when asked for, in the order of region_table; of the regions that have calls."""
    there = source.columns("rank_region_index")
    columns = source.read("rank_region_index", [name for name in INDEX_COLUMNS if name in there])
    with_calls = np.flatnonzero(calls.index["event_counts"] > 0)
    order = with_calls[np.lexsort((calls.index["ranks"][with_calls], calls.index["region_ids"][with_calls]))]
    regions, starts = np.unique(calls.index["region_ids"][order], return_index=True)
    places = {
        run.region_names[region]: (region, rows) for region, rows in zip(regions.tolist(), np.split(order, starts[1:]))
    }

    def build(name):
        region, rows = places[name]
        return RegionStatistics(run, region, [_of_rank(run, calls, source, columns, place) for place in rows.tolist()])

    return Lazy(places, build)


def _of_rank(run, calls, source, columns, place):
    row, region, rank, count = (
        int(calls.index[name][place]) for name in ("rows", "region_ids", "ranks", "event_counts")
    )
    one = RankStatistics(run, region, rank, {name: values[row] for name, values in columns.items()})
    _fill(one, count, source.is_foreign)
    return one


def _fill(one, count, is_foreign):
    """From the file's own sums where it has them; another program's -1 for the exclusive time means unknown."""
    stored = one._source.get("summary_statistics")
    if stored is None:
        columns = one.events(("start_times", "end_times"))
        one._set(*summed(columns["end_times"] - columns["start_times"]))
    else:
        fields = [stored[name].item() for name in ("total", "minimum", "maximum", "mean", "m2")]
        one._set(count, *fields)
    exclusive = one._source.get("exclusive_totals")
    if exclusive is not None and not (is_foreign and exclusive == -1):
        one._exclusive = int(exclusive)


def summed(durations):
    """calls, total, minimum, maximum, mean and sum of squared deviations of an int64 array."""
    count = len(durations)
    if not count:
        return 0, 0, None, None, math.nan, 0.0
    total = int(durations.sum())
    mean = total / count
    return count, total, int(durations.min()), int(durations.max()), mean, float(np.square(durations - mean).sum())


def _merged(ranks):
    calls = sum(one.calls for one in ranks)
    total = sum(one.total_ns for one in ranks)
    mean = total / calls
    m2 = sum(one._m2 + one.calls * (one.mean_ns - mean) ** 2 for one in ranks)
    return calls, total, min(one.min_ns for one in ranks), max(one.max_ns for one in ranks), mean, m2


def _source_of(ranks):
    """Of the first rank that knows it."""
    for one in ranks:
        line, file = int(one._source.get("source_lines", -1)), one._source.get("source_files") or None
        if file is not None or line > 0:
            break
    texts = [one._source.get("source_texts") for one in ranks]
    tags = next((one._source["tags"] for one in ranks if one._source.get("tags") not in (None, "", "[]")), "[]")
    return file, line if line > 0 else None, next(filter(None, texts), None), _list_of(tags)


def _list_of(tags):
    try:
        return list(json.loads(tags))
    except (ValueError, TypeError):
        return [tags]
