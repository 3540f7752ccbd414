# SPDX-License-Identifier: BSD-3-Clause
"""read_h5 on files of several ranks, of tasks, without parents, of another program, damaged, replaced, and no files."""
import os
import shutil
import sys

import h5py
import lanescope
import numpy as np
import pytest
from fibers import take_turns
from heat_run import run_python
from lanescope import FormatError, NestingError, _core, _results
from runs import Run

pytestmark = pytest.mark.bad_files

MPI_PROGRAM = """
import sys, threading
from mpi4py import MPI
import lanescope
from lanescope import _core, _results

rank = MPI.COMM_WORLD.rank

def work(turns):
    for turn in range(turns):
        with lanescope.region(f"only {rank}"):
            for _ in range(turn % 3):
                with lanescope.region("all"):
                    pass

_core.recorder.open("three", False)
_core.recorder.attach(_core.COMM_WORLD, "run.h5", 60.0)
if rank != 1:
    threads = [threading.Thread(target=work, args=(9,), name=f"w{k} of {rank}") for k in range(3)]
    work(20)
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with lanescope.region("all"):
        pass
    if rank == 2:
        lanescope.region("left open").__enter__()
        work(5)
saved = _core.recorder.save(sys.argv[1], timeout=60.0, close=True, keep_events=True)
results = _results.after_save(saved[1], saved[0], *saved[2:])
assert (results is not None) == (rank == 0), rank
if results:
    assert results.ranks == [0, 1, 2] and type(results._source).__name__ == "FileSource"
    print("calls", results["all"].calls)
"""


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    pytest.importorskip("mpi4py")
    folder = tmp_path_factory.mktemp("three")
    (folder / "program.py").write_text(MPI_PROGRAM)
    done = run_python(3, folder / "program.py", folder / "run.h5")
    assert done.returncode == 0, done.stderr
    run = Run(folder / "run.h5")
    assert done.stdout == f"calls {run.count('all', 0) + run.count('all', 2)}\n"
    return run, folder / "run.h5"


def rows_of(run, rank):
    """The completed calls of a rank, with their names, by call id."""
    names = run.region_table["names"]
    calls = [{**call, "name": name} for name in names for call in run.calls(name, rank)]
    return sorted(calls, key=lambda call: call["call_ids"])


def test_three_ranks_of_which_one_is_silent(three):
    run, path = three
    results = lanescope.read_h5(path)
    assert results.ranks == list(results.threads) == [0, 1, 2]
    assert list(results.regions) == run.region_table["names"] and set(results.regions) == {"all", "only 0", "only 2"}
    assert results.threads[1] == results.lanes[1] == results.thread_summary(1) == [] and len(results.call_stack(1)) == 0
    assert [thread.name for thread in results.threads[2]] == ["MainThread", "w0 of 2", "w1 of 2", "w2 of 2"]
    region = results["all"]
    assert list(region.per_rank) == [0, 2] and region.calls == region[0].calls + region[2].calls
    lengths = [call["end_times"] - call["start_times"] for rank in (0, 2) for call in run.calls("all", rank)]
    assert region.durations().tolist() == [ns / 1e9 for ns in lengths]
    assert (region.total_ns, region.min_ns, region.max_ns) == (sum(lengths), min(lengths), max(lengths))
    assert region.mean_ns == pytest.approx(np.mean(lengths)) and region.std_ns == pytest.approx(np.std(lengths, ddof=1))
    assert len(region.durations(1)) == 0 and len(region.durations(2)) == region[2].calls == len(region[2].durations())
    with pytest.raises(KeyError, match="calls of rank 2, not 0"):
        region[2].durations(0)
    with pytest.raises(KeyError):
        region[1]
    for rank in (0, 2):
        calls = rows_of(run, rank)
        events = results.events(rank, columns=("regions", "call_ids", "parent_ids", "ranks"))
        order = np.argsort(events["call_ids"])
        assert events["regions"][order].tolist() == [call["name"] for call in calls]
        assert events["parent_ids"][order].tolist() == [call["parent_ids"] for call in calls]
        assert set(events["ranks"].tolist()) == {rank}
        summary = results.thread_summary(rank)
        assert [row["num_calls"] for row in summary] == [
            sum(call["thread_ids"] == index for call in calls) for index in range(4)
        ]
    assert results.open_calls(2)["region_names"] == ["left open"] and results.open_calls(0)["region_names"] == []
    assert results.events(region="only 2")["ranks"].tolist() == [2] * run.count("only 2", 2)


def without(path, *names):
    """A copy of the file without these groups, columns or attributes."""
    copy = path.with_name("-".join(("without", *(name.replace("/", ".") for name in names))) + ".h5")
    shutil.copy(path, copy)
    with h5py.File(copy, "r+") as file:
        for name in names:
            del (file if name in file else file.attrs)[name]
    return copy


FOREIGN = ("lanescope_format", "rank_table", "lane_table", "rank_region_index/exclusive_totals")
IDS = ("events/call_ids", "events/parent_ids")


@pytest.mark.parametrize(
    "missing",
    [
        ("events/parent_ids",),
        IDS,
        ("events/call_ids",),
        (*IDS, *FOREIGN),
        (*IDS, *FOREIGN, "rank_region_index/summary_statistics", "events/ranks", "events/region_ids"),
    ],
    ids=["parents", "both", "numbers", "foreign", "little"],
)
def test_what_is_missing_is_worked_out(three, missing):
    whole, part = lanescope.read_h5(three[1]), lanescope.read_h5(without(three[1], *missing))
    ranks = [0, 2] if "rank_table" in missing else [0, 1, 2]
    assert part.ranks == ranks
    for rank in ranks:
        assert list(part.call_stack(rank)) == list(whole.call_stack(rank))
        assert part.call_stack(rank).call_ids.tolist() == whole.call_stack(rank).call_ids.tolist()
        assert part.thread_summary(rank) == whole.thread_summary(rank)
        for mine, other in zip(part.lanes[rank], whole.lanes[rank]):
            for name in ("lane", "kind", "name", "label", "calls", "first_time", "last_time", "busy_time"):
                if not (name == "last_time" and other.open_calls):
                    assert getattr(mine, name) == getattr(other, name), name
    for region in (None, "all", "only 2"):
        one, other = part.events(region=region), whole.events(region=region)
        assert all(one[name].dtype == other[name].dtype and (one[name] == other[name]).all() for name in one)
    for name, region in whole.regions.items():
        assert part[name].exclusive_ns == region.exclusive_ns
        for field in ("calls", "total_ns", "min_ns", "max_ns", "mean_ns", "std_ns"):
            assert getattr(part[name], field) == pytest.approx(getattr(region, field), rel=1e-9), field


def make_foreign(path, starts, ends, **columns):
    """A columnar file of schema 2 with no more than it must have; all calls of one region."""
    with h5py.File(path, "w") as file:
        file.attrs["scope_profiler_schema"] = 2
        file.attrs["storage_layout"] = "columnar"
        file.create_group("metadata").attrs["hostname"] = "elsewhere"
        file["region_table/names"] = np.array(["solve"], h5py.string_dtype())
        for name, value in (("region_ids", 0), ("ranks", 3), ("event_offsets", 0), ("event_counts", len(starts))):
            file[f"rank_region_index/{name}"] = np.array([value], "u8")
        for name, values in {"start_times": starts, "end_times": ends, **columns}.items():
            file[f"events/{name}"] = np.array(values, "i8")
    return path


def test_a_file_of_another_program(tmp_path):
    results = lanescope.read_h5(make_foreign(tmp_path / "run.h5", [110, 120, 150], [190, 130, 160]))
    assert results.ranks == [3] and results.metadata == {"hostname": "elsewhere"} and results.origin_ns == 110
    stack = results.call_stack(3)
    assert stack.parents.tolist() == [-1, 0, 0] and stack.exclusive_ns.tolist() == [60, 10, 10]
    region = results["solve"]
    assert (region.calls, region.total_ns, region.exclusive_ns) == (3, 100, 80)
    assert region.std_ns == pytest.approx(np.std([80, 10, 10], ddof=1))
    assert (region.source_file, region.source_line, region.source_text, region.tags) == (None, None, None, [])
    (lane,) = results.lanes[3]
    assert (lane.label, lane.calls, lane.busy_time, lane.first_time) == ("thread 0", 3, 80e-9, 0.0)
    assert results.threads[3] == [] and results.thread_summary(3) == []
    assert results.events()["thread_ids"].tolist() == [0, 0, 0] and results.events()["ranks"].tolist() == [3, 3, 3]


def test_numbers_that_another_program_did_not_make(tmp_path):
    minus = {"call_ids": [-1] * 3, "parent_ids": [-1] * 3}
    results = lanescope.read_h5(make_foreign(tmp_path / "run.h5", [110, 120, 150], [190, 130, 160], **minus))
    assert results.call_stack(3).depths.tolist() == [0, 1, 1]
    assert results.events()["parent_ids"].tolist() == [-1, 0, 0]


def test_calls_that_overlap_on_a_lane(tmp_path):
    results = lanescope.read_h5(make_foreign(tmp_path / "run.h5", [0, 5], [10, 15]))
    words = r"lane -2 of rank 3 are not properly nested: 'solve' \(5 to 15 ns\) begins inside 'solve' \(0 to 10 ns\)"
    with pytest.raises(NestingError, match=words) as told:
        results.call_stack(3)
    assert told.value.calls == (0, 1) and told.value.lane == -2
    assert results["solve"].total_ns == 20
    with pytest.raises(NestingError):
        results["solve"].exclusive_ns


def test_calls_that_overlap_on_two_lanes_or_on_none(tmp_path):
    two = lanescope.read_h5(make_foreign(tmp_path / "two.h5", [0, 5, 6], [10, 15, 9], thread_ids=[0, 1, 1]))
    assert two.call_stack(3).parents.tolist() == [-1, -1, 1]
    none = lanescope.read_h5(make_foreign(tmp_path / "none.h5", [0, 5, 6], [10, 15, 9], thread_ids=[-1] * 3))
    assert none.call_stack(3).parents.tolist() == [-1, -1, -1]
    (lane,) = none.lanes[3]
    assert (lane.label, lane.kind, lane.busy_time) == ("unknown lane", "unknown", 15e-9)
    columns = {"thread_ids": [0] * 3, "task_ids": [4, 7, 7], "await_ns": [3, 0, 1]}
    tasks = lanescope.read_h5(make_foreign(tmp_path / "tasks.h5", [0, 5, 6], [10, 15, 9], **columns))
    assert tasks.call_stack(3).lanes.tolist() == [4, 7, 7] and tasks.call_stack(3).parents.tolist() == [-1, -1, 1]
    assert tasks["solve"].await_times().tolist() == [3e-9, 0.0, 1e-9]
    assert tasks["solve"][3].for_task(7).calls == 2 and tasks.for_task(3, 4)["await_ns"].tolist() == [3]
    assert [lane.label for lane in tasks.lanes[3]] == ["task 4", "task 7"]


@pytest.mark.parametrize("place", ["memory", "file"])
def test_tasks_are_lanes(tmp_path, place):
    _core.recorder.open(None, False)
    take_turns(_core.recorder.handle, ["reader 0", "reader 1"])
    saved = _core.recorder.save(tmp_path / "run.h5", keep_events=True, close=True)
    results = {"memory": _results.after_save(saved[1], saved[0], 0, 1), "file": lanescope.read_h5(saved[0])}[place]
    rows = Run(tmp_path / "run.h5")
    first, second = results.tasks[0]
    assert (first.kind, first.name, first.coro_name, first.steps) == ("fiber", "reader 0", "io.<locals>.loop", 3)
    assert first.done and not second.done and second.wall_time is None and first.wall_time > 0
    for task, i in ((first, 0), (second, 1)):
        assert task.running_time == rows.task_table["running_ns"][i] / 1e9
        assert task.awaiting_time == rows.task_table["suspended_ns"][i] / 1e9 > 0
    thread = results.threads[0][0].name
    assert [lane.label for lane in results.lanes[0]] == [f"reader {k} (loop) on {thread}" for k in range(2)]
    assert [lane.kind for lane in results.lanes[0]] == ["fiber", "fiber"]
    group = results["step"][0].for_task(1)
    assert group.calls == 4 and len(results.for_task(0, 1)["ranks"]) == 4
    assert len(results.for_thread(0, 0)["ranks"]) == 8 == results.thread_summary(0)[0]["num_calls"]
    stack = results.call_stack(0).on_lane(1)
    assert stack.depths.tolist() == [0, 1, 1, 1] and stack.parents.tolist() == [-1, 0, 0, 0]
    assert stack.await_ns[0] > 0 and stack.await_ns[1:].tolist() == [0, 0, 0]
    assert sorted(results["step"].await_times().tolist()) == sorted(ns / 1e9 for ns in rows.events["await_ns"].tolist())
    assert {name: column.tolist() for name, column in results.events().items()} == {
        name: column.tolist() for name, column in rows.events.items()
    }


def test_statistics_read_no_events(tmp_path, monkeypatch):
    with lanescope.session(tmp_path / "run.h5", verbose=False):
        for _ in range(100):
            with lanescope.region("solve"):
                pass
    read = []
    source = lanescope._source.FileSource
    real = source.read

    def noted(self, table, *rest):
        read.append((table, rest))
        return real(self, table, *rest)

    monkeypatch.setattr(source, "read", noted)
    results = lanescope.read_h5(tmp_path / "run.h5")
    assert results["solve"].std_time > 0 and results["solve"].exclusive_ns and results.lanes[0] and results.threads[0]
    assert "events" not in {table for table, _ in read}
    results.events(columns=("start_times",))
    assert [rest for table, rest in read if table == "events"] == [(["start_times"], [(0, 100)])]


@pytest.fixture
def path(tmp_path):
    with lanescope.session(tmp_path / "run.h5", verbose=False):
        with lanescope.region("outer"), lanescope.region("inner"):
            pass
    return tmp_path / "run.h5"


def test_any_kind_of_path(path, monkeypatch):
    monkeypatch.chdir(path.parent)
    for given in (path, str(path), os.fsencode(path), "run.h5"):
        assert lanescope.read_h5(given).path == str(path)


def test_no_such_file(tmp_path):
    with pytest.raises(FileNotFoundError, match="nothing.h5"):
        lanescope.read_h5(tmp_path / "nothing.h5")
    with pytest.raises(IsADirectoryError):
        lanescope.read_h5(tmp_path)


def test_no_hdf5_file(tmp_path):
    for content in (b"", b"no run\n" * 1000):
        (tmp_path / "run.h5").write_bytes(content)
        with pytest.raises(FormatError, match="run.h5 is no HDF5 file"):
            lanescope.read_h5(tmp_path / "run.h5")
    assert issubclass(FormatError, ValueError) and issubclass(FormatError, lanescope.Error)


def test_no_run(tmp_path):
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["data"] = [1, 2]
    with pytest.raises(FormatError, match="other.h5 is an HDF5 file, but no run of lanescope"):
        lanescope.read_h5(tmp_path / "other.h5")


@pytest.mark.parametrize("number", [2, 0, 10**6, "new"])
def test_another_format(path, number):
    with h5py.File(path, "r+") as file:
        file.attrs["lanescope_format"] = number
    with pytest.raises(FormatError, match=rf"run.h5 has lanescope_format {number}, .* reads 1 to 1"):
        lanescope.read_h5(path)


@pytest.mark.parametrize("schema, layout", [(1, "columnar"), (3, "columnar"), (2, "other"), (2, None)])
def test_another_schema(tmp_path, schema, layout):
    path = make_foreign(tmp_path / "run.h5", [1], [2])
    with h5py.File(path, "r+") as file:
        file.attrs["scope_profiler_schema"] = schema
        del file.attrs["storage_layout"]
        if layout:
            file.attrs["storage_layout"] = layout
    with pytest.raises(FormatError, match=f"scope_profiler_schema {schema}, .* reads 2 alone"):
        lanescope.read_h5(path)


def test_a_file_that_was_cut(path):
    size = path.stat().st_size
    for keep in (size - 1, size // 2, 600):
        os.truncate(path, keep)
        with pytest.raises(FormatError, match="run.h5 is damaged"):
            lanescope.read_h5(path)


@pytest.mark.parametrize(
    "name", ["region_table", "events", "rank_region_index/event_counts", "events/start_times", "region_table/names"]
)
def test_a_table_that_is_missing(path, name):
    with pytest.raises(FormatError, match=f"has no {name}"):
        lanescope.read_h5(without(path, name))


def change(path, name, values):
    with h5py.File(path, "r+") as file:
        kind = file[name].dtype
        del file[name]
        file[name] = np.array(values, kind)


@pytest.mark.parametrize(
    "name, values, words",
    [
        ("events/end_times", [1], "the columns of events differ in length: .*end_times 1"),
        ("events/end_times", [[1, 2]], "events/end_times is no column"),
        ("rank_region_index/event_counts", [1, 2], "row 1 of rank_region_index speaks of .* 2 calls from row 1"),
        ("rank_region_index/event_offsets", [0, 2**63], "rank_region_index speaks of"),
        ("rank_region_index/region_ids", [0, 2], "speaks of region 2 .* there are 2 regions"),
    ],
)
def test_tables_that_do_not_fit(path, name, values, words):
    change(path, name, values)
    with pytest.raises(FormatError, match=words):
        lanescope.read_h5(path)


@pytest.mark.parametrize(
    "parents, words", [([-1, 7], "has the parent 7"), ([1, 0], "is inside itself"), ([-5, -1], "has the parent -5")]
)
def test_parents_that_lead_nowhere(path, parents, words):
    change(path, "events/parent_ids", parents)
    results = lanescope.read_h5(path)
    assert results["inner"].calls == 1
    with pytest.raises(FormatError, match=f"damaged: .*{words}"):
        results.call_stack(0)


def test_ends_before_starts_in_a_file_without_parents(path):
    change(path, "events/end_times", [5, 5])
    with pytest.raises(FormatError, match="ends before it starts"):
        lanescope.read_h5(without(path, *IDS)).call_stack(0)


def test_nobody_waits_for_the_reader(path, tmp_path):
    results = lanescope.read_h5(path)
    assert results["outer"].calls == 1
    with h5py.File(path, "r+") as file:
        file.attrs["note"] = "written meanwhile"
    with pytest.raises(lanescope.Error, match="another file than the one that was opened"):
        results.events()


def test_a_file_that_was_replaced(path):
    results = lanescope.read_h5(path)
    with lanescope.session(path, verbose=False):
        with lanescope.region("another run"):
            pass
    with pytest.raises(lanescope.Error, match="run.h5 is another file than the one that was opened"):
        results.events()
    assert list(lanescope.read_h5(path).regions) == ["another run"]
    path.unlink()
    with pytest.raises(FileNotFoundError):
        results.events()


def test_a_file_that_may_only_be_read(path):
    path.chmod(0o444)
    path.parent.chmod(0o555)
    try:
        assert lanescope.read_h5(path)["outer"].calls == 1
    finally:
        path.parent.chmod(0o755)


def test_without_h5py(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(ImportError, match="python3-h5py of Debian"):
        lanescope.read_h5(path)
    assert _core.nest([0], [1], [-2])
