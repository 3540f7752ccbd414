# SPDX-License-Identifier: BSD-3-Clause
"""What scope-profiler's reader of columnar files (schema 2) needs: every dataset, its type and length, and how they
hang together. The reader here does what that one does: takes whole columns and cuts them by the index."""
import json
import numbers

import h5py
import numpy as np
import pytest

PROGRAM = """
    import sys, threading
    import mpi4py.MPI as MPI
    import lanescope

    @lanescope.profile("leaf")
    def leaf():
        pass

    def work(turns):
        with lanescope.region("outer"):
            for _ in range(turns):
                leaf()
                with lanescope.region("middle"):
                    leaf()

    rank = MPI.COMM_WORLD.rank
    with lanescope.session("run.h5", verbose=False):
        if rank != 1:
            work(5 + rank)
            thread = threading.Thread(target=work, args=(3,))
            thread.start()
            thread.join()
        if rank == 2:
            with lanescope.region("only here"):
                leaf()
        with lanescope.region("open"):
            lanescope.collect("middle.h5")
"""
COLUMNS = {
    "region_table/names": "str",
    "rank_region_index/region_ids": "<u4",
    "rank_region_index/ranks": "<u4",
    "rank_region_index/event_offsets": "<u8",
    "rank_region_index/event_counts": "<u8",
    "rank_region_index/source_lines": "<i8",
    "rank_region_index/source_files": "str",
    "rank_region_index/source_texts": "str",
    "rank_region_index/tags": "str",
    "rank_region_index/exclusive_totals": "<i8",
    "events/start_times": "<i8",
    "events/end_times": "<i8",
    "events/call_ids": "<i8",
    "events/parent_ids": "<i8",
}
STATISTICS = {
    "total": "<i8", "minimum": "<i8", "maximum": "<i8", "first": "<i8", "last": "<i8", "start_minimum": "<i8",
    "end_maximum": "<i8", "gpu_count": "<u8", "gpu_total": "<i8", "mean": "<f8", "m2": "<f8",
}


@pytest.fixture(params=["middle.h5", "run.h5"])
def file(request, mpirun, tmp_path):
    done = mpirun(3, PROGRAM)
    assert done.returncode == 0, done.stderr
    with h5py.File(tmp_path / request.param, "r") as file:
        yield file


def text(value):
    return value.decode() if isinstance(value, bytes) else value


def regions(file):
    """[(rank, name, columns of its calls)], cut out of whole columns by the index."""
    names = [text(name) for name in file["region_table/names"][()]]
    index = {name: column[()] for name, column in file["rank_region_index"].items()}
    events = {name: column[()] for name, column in file["events"].items()}
    for row in range(len(index["ranks"])):
        first, count = int(index["event_offsets"][row]), int(index["event_counts"][row])
        cut = {name: values[first : first + count] for name, values in events.items()}
        yield int(index["ranks"][row]), names[int(index["region_ids"][row])], row, cut


def test_attributes_are_plain_scalars(file):
    schema = file.attrs["scope_profiler_schema"]
    assert isinstance(schema, numbers.Integral) and not isinstance(schema, bool) and schema == 2
    assert file.attrs["storage_layout"] == "columnar"
    for name, value in file["metadata"].attrs.items():
        assert isinstance(value, (str, numbers.Integral)), name
    assert file["metadata"].attrs["mpi_size"] == 3
    assert not [name for name in file if name.startswith("rank") and name[4:].isdigit()]


def test_types_and_lengths(file):
    for name, kind in COLUMNS.items():
        data = file[name]
        assert data.ndim == 1 and {len(column) for column in data.parent.values()} == {len(data)}, name
        if kind == "str":
            string = h5py.check_string_dtype(data.dtype)
            assert string is not None and string.encoding == "utf-8" and string.length is None, name
        else:
            assert data.dtype.str == kind, name
    statistics = file["rank_region_index/summary_statistics"].dtype
    assert {name: statistics[name].str for name in statistics.names} == STATISTICS


def test_the_index_covers_the_events(file):
    names = [text(name) for name in file["region_table/names"][()]]
    index = file["rank_region_index"]
    pairs = list(zip(index["ranks"][()].tolist(), index["region_ids"][()].tolist()))
    assert len(set(pairs)) == len(pairs) and len(set(names)) == len(names)
    assert {names[region] for _, region in pairs} == set(names)
    at = 0
    for first, count in sorted(zip(index["event_offsets"][()].tolist(), index["event_counts"][()].tolist())):
        assert first == at and count > 0
        at += count
    assert at == len(file["events/start_times"])


def test_calls_are_those_that_were_made(file):
    calls = {(rank, name): len(cut["call_ids"]) for rank, name, _, cut in regions(file)}
    expected = {}
    for rank in (0, 2):
        turns = 5 + rank + 3
        expected |= {(rank, "outer"): 2, (rank, "leaf"): 2 * turns, (rank, "middle"): turns}
    expected[2, "leaf"] += 1
    expected[2, "only here"] = 1
    if file.filename.endswith("run.h5"):
        expected = {(rank, "open"): 1 for rank in range(3)}
    assert calls == expected


def test_parents_and_times(file):
    everywhere = {}
    for rank, name, _, cut in regions(file):
        assert (np.diff(cut["call_ids"]) > 0).all() and (cut["start_times"] <= cut["end_times"]).all()
        assert (cut["ranks"] == rank).all()
        columns = (cut[key].tolist() for key in ("start_times", "end_times", "call_ids", "parent_ids"))
        for start, end, call, parent in zip(*columns):
            everywhere[rank, call] = (name, start, end, parent)
    inside = {"leaf": {"outer", "middle", "only here"}, "middle": {"outer"}, "outer": {None}, "only here": {None},
              "open": {None}}
    for (rank, call), (name, start, end, parent) in everywhere.items():
        over = everywhere.get((rank, parent)) if parent >= 0 else (None, start, end, None)
        assert over and over[1] <= start and end <= over[2] and parent < call
        assert over[0] in inside[name]


def test_index_columns(file):
    index = file["rank_region_index"]
    inner = {}
    cuts = list(regions(file))
    for rank, _, _, cut in cuts:
        for duration, parent in zip((cut["end_times"] - cut["start_times"]).tolist(), cut["parent_ids"].tolist()):
            inner[rank, parent] = inner.get((rank, parent), 0) + duration
    for rank, name, row, cut in cuts:
        durations = (cut["end_times"] - cut["start_times"]).tolist()
        exclusive = sum(durations) - sum(inner.get((rank, call), 0) for call in cut["call_ids"].tolist())
        assert index["exclusive_totals"][row] == exclusive >= 0
        assert json.loads(text(index["tags"][row])) == []
        assert int(index["source_lines"][row]) == -1 or text(index["source_files"][row])
        statistics = index["summary_statistics"][row]
        assert statistics["total"] == sum(durations) and statistics["minimum"] == min(durations)
        assert statistics["maximum"] == max(durations) and statistics["first"] == durations[0]
        assert statistics["last"] == durations[-1] and statistics["gpu_count"] == statistics["gpu_total"] == 0
        assert statistics["start_minimum"] == cut["start_times"].min()
        assert statistics["end_maximum"] == cut["end_times"].max()
        assert statistics["mean"] == pytest.approx(np.mean(durations))
        assert statistics["m2"] == pytest.approx(np.var(durations) * len(durations), rel=1e-9, abs=1e-6)
