# SPDX-License-Identifier: BSD-3-Clause
"""Results say what the rows of the file say, by plain Python over h5py, and are the same from memory and the file."""
import random
import statistics
import sys
import threading

import lanescope
import numpy as np
import pytest
from lanescope import _core, _results
from runs import Run

NAMES = ["solve", "löse", "halo", "I/O", "recursion"]


def record(seed, depth=0):
    """Calls at random, nested, some of them again inside themselves."""
    generator = random.Random(seed)
    for _ in range(generator.randint(1, 4)):
        with lanescope.region(generator.choice(NAMES)):
            if depth < 5:
                record(generator.random(), depth + 1)


def somewhere():
    with lanescope.region("somewhere"):
        pass


class Recorded:
    """One run: the results of it from both places, and its rows as dicts, with the region's name, by call id."""

    def __init__(self, path):
        _core.recorder.open("both", False)
        threads = [
            threading.Thread(target=record, args=(seed,), name=f"worker {seed}", daemon=seed == 2) for seed in range(4)
        ]
        somewhere()
        record(99)
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        opened = [lanescope.region(name) for name in ("solve", "never done")]
        for region in opened:
            region.__enter__()
        record(100)
        saved = _core.recorder.save(path, keep_events=True)
        for region in reversed(opened):
            region.__exit__(None, None, None)
        _core.recorder.close()
        self.memory = _results.after_save(saved[1], *[saved[0], *saved[2:]])
        self.file = lanescope.read_h5(path)
        self.run = Run(path)
        self.calls = [call for name in self.run.region_table["names"] for call in named(self.run.calls(name), name)]
        self.open = [
            {**{column: values[i] for column, values in self.run.open_calls.items()}, "end_times": -1}
            for i in range(len(self.run.open_calls["ranks"]))
        ]
        for call in self.open:
            call["name"] = call["region_names"]
        self.all = sorted(self.calls + self.open, key=lambda call: call["call_ids"])


def named(calls, name):
    return [{**call, "name": name} for call in calls]


def length(call):
    return 0 if call["end_times"] == -1 else call["end_times"] - call["start_times"]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    return Recorded(tmp_path_factory.mktemp("results") / "run.h5")


@pytest.fixture(params=["memory", "file"])
def results(request, recorded):
    return getattr(recorded, request.param)


def test_they_come_from_where_they_should(recorded):
    assert type(recorded.memory._source).__name__ == "ReportSource"
    assert type(recorded.file._source).__name__ == "FileSource"
    assert len(recorded.calls) > 100 and len(recorded.open) == 2
    assert {call["parent_ids"] for call in recorded.calls} & {call["call_ids"] for call in recorded.open}


def test_statistics(results, recorded):
    inside = {call["call_ids"]: 0 for call in recorded.all}
    for call in recorded.calls:
        if call["parent_ids"] >= 0:
            inside[call["parent_ids"]] += length(call)
    assert list(results.regions) == recorded.run.region_table["names"]
    for name, region in results.regions.items():
        calls = [call for call in recorded.calls if call["name"] == name]
        lengths = [length(call) for call in calls]
        for one in (region, region[0], region.per_rank[0]):
            assert one.name == name and one.calls == len(calls) == len(one.durations())
            assert (one.total_ns, one.min_ns, one.max_ns) == (sum(lengths), min(lengths), max(lengths))
            assert one.mean_ns == pytest.approx(statistics.mean(lengths), rel=1e-12)
            assert one.std_ns == pytest.approx(statistics.stdev(lengths) if len(lengths) > 1 else 0.0, rel=1e-9)
            assert one.exclusive_ns == sum(length(call) - inside[call["call_ids"]] for call in calls)
            assert one.total_time == one.total_ns / 1e9 and one.std_time == one.std_ns / 1e9
            assert one.durations().tolist() == [ns / 1e9 for ns in lengths]
            origin = recorded.run.metadata["start_time_ns"]
            assert one.start_times().tolist() == [(call["start_times"] - origin) / 1e9 for call in calls]
            assert one.end_times(0).tolist() == [(call["end_times"] - origin) / 1e9 for call in calls]
            assert one.await_times().tolist() == [0.0] * len(calls)


def test_the_calls_of_a_region_on_one_thread(results, recorded):
    stack = {call["call_ids"]: call for call in recorded.all}
    for name, region in results.regions.items():
        calls = [call for call in recorded.calls if call["name"] == name]
        assert region[0].threads == sorted({call["thread_ids"] for call in calls})
        for index in (*region[0].threads, 77):
            mine = [call for call in calls if call["thread_ids"] == index]
            group = region[0].for_thread(index)
            assert group.calls == len(mine) and group.total_ns == sum(map(length, mine))
            own = sum(map(length, mine)) - sum(
                length(call)
                for call in recorded.calls
                if call["parent_ids"] >= 0 and any(stack[call["parent_ids"]] is outer for outer in mine)
            )
            assert group.exclusive_ns == own
            if mine:
                assert (group.min_ns, group.max_ns) == (min(map(length, mine)), max(map(length, mine)))
                assert group.mean_ns == pytest.approx(statistics.mean(map(length, mine)))
                deviation = statistics.stdev(map(length, mine)) if len(mine) > 1 else 0
                assert group.std_ns == pytest.approx(deviation, rel=1e-9)
            else:
                assert group.min_ns is None and np.isnan([group.mean_time, group.std_time, group.min_time]).all()


def test_where_a_region_is_defined(results, recorded):
    region = results["somewhere"]
    assert (region.source_file, region.tags, region.source_text) == (__file__, [], None)
    assert region.source_line == somewhere.__code__.co_firstlineno + 1


def test_ranks_threads_and_lanes(results, recorded):
    table = recorded.run.thread_table
    assert results.ranks == [0] == list(results.threads) == list(results.lanes) == list(results.tasks)
    threads = results.threads[0]
    assert [thread.name for thread in threads] == table["name"] == ["MainThread", *(f"worker {k}" for k in range(4))]
    assert [thread.daemon for thread in threads] == [False, False, False, True, False]
    assert [thread.ident for thread in threads] == table["ident"].tolist()
    assert [thread.start_time for thread in threads] == [ns / 1e9 for ns in table["start_ns"].tolist()]
    assert threads[0].alive and threads[0].wall_time is None and not threads[1].alive
    assert threads[1].wall_time == pytest.approx((table["end_ns"][1] - table["start_ns"][1]) / 1e9)
    assert [thread.cpu_time for thread in threads] == [ns / 1e9 for ns in table["cpu_ns"].tolist()]
    assert results.tasks[0] == []
    lanes = results.lanes[0]
    assert [lane.lane for lane in lanes] == recorded.run.lane_table["lanes"].tolist() == [-2, -3, -4, -5, -6]
    assert [lane.label for lane in lanes] == table["name"]
    assert [(lane.calls, lane.open_calls) for lane in lanes] == [
        (sum(call["thread_ids"] == i for call in recorded.calls), 2 * (i == 0)) for i in range(5)
    ]
    with pytest.raises(KeyError):
        results.threads[1]


def test_labels_of_lanes(results):
    assert results.lane_label(0, -2) == "MainThread" and results.lane_label(0, -4) == "worker 1"
    assert results.lane_label(0, -1) == "unknown lane"
    assert results.lane_label(0, -100) == "thread 98" and results.lane_label(0, 5) == "task 5"


def test_events(results, recorded):
    rows = sorted(recorded.calls, key=lambda call: (call["region_ids"], call["call_ids"]))
    events = results.events(columns=("regions", "durations", "lanes", "call_ids", "parent_ids", "start_times"))
    assert events["regions"].tolist() == [call["name"] for call in rows]
    assert events["durations"].tolist() == [length(call) for call in rows]
    assert events["lanes"].tolist() == [-2 - call["thread_ids"] for call in rows]
    for column in ("call_ids", "parent_ids", "start_times"):
        assert events[column].tolist() == [call[column] for call in rows]
    default = results.events()
    assert set(default) == {*recorded.run.events, "task_ids", "await_ns"}
    assert default["task_ids"].tolist() == [-1] * len(rows) and default["await_ns"].tolist() == [0] * len(rows)
    assert [default[name].dtype.str for name in ("ranks", "region_ids", "thread_ids")] == ["<u4", "<u4", "<i8"]


def test_events_of_a_part(results, recorded):
    solve = recorded.run.region_table["names"].index("solve")
    for chosen, test in (
        ({"rank": 0}, lambda call: True),
        ({"rank": 1}, lambda call: False),
        ({"region": "solve"}, lambda call: call["name"] == "solve"),
        ({"region": solve}, lambda call: call["name"] == "solve"),
        ({"region": "nobody"}, lambda call: False),
        ({"rank": 0, "thread": 2}, lambda call: call["thread_ids"] == 2),
        ({"rank": 0, "lane": -5, "region": "halo"}, lambda call: call["thread_ids"] == 3 and call["name"] == "halo"),
        ({"rank": 0, "task": 0}, lambda call: False),
        ({"rank": 0, "task": -1}, lambda call: True),
    ):
        events = results.events(columns=("call_ids",), **chosen)
        assert list(events) == ["call_ids"]
        assert sorted(events["call_ids"].tolist()) == sorted(call["call_ids"] for call in recorded.calls if test(call))
    assert results.for_thread(0, 2)["call_ids"].tolist() == results.events(0, thread=2)["call_ids"].tolist()
    assert len(results.for_task(0, 3)["ranks"]) == 0


def test_what_events_refuse(results):
    with pytest.raises(ValueError, match="no column 'end'; there are start_times, "):
        results.events(columns=("end",))
    with pytest.raises(TypeError, match="sequence of names, not 'ranks'"):
        results.events(columns="ranks")
    with pytest.raises(ValueError, match="give the rank"):
        results.events(thread=1)


def test_open_calls(results, recorded):
    calls = results.open_calls()
    assert calls["region_names"] == ["solve", "never done"] and calls["depth"].tolist() == [0, 1]
    for name, values in recorded.run.open_calls.items():
        assert list(calls[name]) == list(values)
    assert results.open_calls(1)["region_names"] == [] == results.open_calls(1)["call_ids"].tolist()


def test_call_stack(results, recorded):
    stack = results.call_stack(0)
    assert len(stack) == len(recorded.all)
    assert stack.call_ids.tolist() == list(range(len(stack)))
    assert stack.parents.tolist() == [call["parent_ids"] for call in recorded.all]
    levels = []
    for call in recorded.all:
        levels.append(levels[call["parent_ids"]] + 1 if call["parent_ids"] >= 0 else 0)
    assert stack.depths.tolist() == levels and max(levels) > 4
    for row, (node, call) in enumerate(zip(stack, recorded.all)):
        inner = [k for k, other in enumerate(recorded.all) if other["parent_ids"] == row]
        still = call["end_times"] == -1
        own = 0 if still else length(call) - sum(length(recorded.all[k]) for k in inner)
        assert stack.children(row).tolist() == inner
        assert node == (
            row, call["name"], -2 - call["thread_ids"], call["start_times"], call["end_times"], length(call), own, 0,
            levels[row], call["parent_ids"], still,
        )  # fmt: skip
    assert stack[-1] == stack[len(stack) - 1]
    with pytest.raises(IndexError):
        stack[len(stack)]
    assert stack.roots().tolist() == [row for row, level in enumerate(levels) if level == 0]


def test_the_call_stack_of_one_lane(results, recorded):
    for lane in range(-6, -1):
        part = results.call_stack(0).on_lane(lane)
        calls = [call for call in recorded.all if call["thread_ids"] == -2 - lane]
        assert part.call_ids.tolist() == [call["call_ids"] for call in calls]
        around = [-1 if row < 0 else part.call_ids[row] for row in part.parents.tolist()]
        assert around == [call["parent_ids"] for call in calls]
    assert len(results.call_stack(0).on_lane(3)) == 0


def test_a_rank_that_there_is_not(results):
    with pytest.raises(KeyError, match="no rank 1"):
        results.call_stack(1)


def test_thread_summary(results, recorded):
    by_id = {call["call_ids"]: call for call in recorded.all}

    def is_root(call):
        while call["parent_ids"] >= 0:
            call = by_id[call["parent_ids"]]
            if call["end_times"] != -1:
                return False
        return True

    summary = results.thread_summary(0)
    assert [row["name"] for row in summary] == [thread.name for thread in results.threads[0]]
    for row, thread in zip(summary, results.threads[0]):
        mine = [call for call in recorded.calls if call["thread_ids"] == thread.index]
        assert row["num_calls"] == len(mine)
        assert row["region_time"] == sum(length(call) for call in mine if is_root(call)) / 1e9
        assert (row["index"], row["alive"]) == (thread.index, thread.alive)
        assert (row["wall_time"], row["cpu_time"]) == (thread.wall_time, thread.cpu_time)


def test_both_are_equal_in_every_table(recorded):
    memory, file = recorded.memory, recorded.file
    assert memory.metadata == file.metadata and memory.metadata["label"] == "both"
    assert memory.path == file.path and memory.origin_ns == file.origin_ns
    for table in _results.TABLES:
        assert_equal(memory.table(table), file.table(table))
    assert memory.table("open_calls") and memory.table("events")


def test_both_are_equal_by_every_method(recorded):
    memory, file = recorded.memory, recorded.file
    assert memory.threads[0] == file.threads[0] and memory.lanes[0] == file.lanes[0]
    assert memory.thread_summary(0) == file.thread_summary(0)
    assert repr(memory) == repr(file) and memory.ranks == file.ranks and memory.region_names == file.region_names
    assert_equal(memory.events(), file.events())
    assert_equal(memory.for_thread(0, 1), file.for_thread(0, 1))
    assert_equal(memory.open_calls(), file.open_calls())
    assert list(memory.call_stack(0)) == list(file.call_stack(0))
    assert list(memory.regions) == list(file.regions)
    for name in memory.regions:
        one, other = memory[name], file[name]
        for part in ("calls", "total_ns", "min_ns", "max_ns", "mean_ns", "std_ns", "exclusive_ns", "source_line"):
            assert getattr(one, part) == getattr(other, part), part
        assert one.durations().tolist() == other.durations().tolist()


def assert_equal(one, other):
    assert set(one) == set(other)
    for name, values in one.items():
        assert type(values) is type(other[name]), name
        if isinstance(values, list):
            assert values == other[name], name
        else:
            assert values.dtype == other[name].dtype and (values == other[name]).all(), name


def test_no_such_table(results):
    with pytest.raises(ValueError, match="'event' is no table of a run; there are rank_table, "):
        results.table("event")


def test_a_frame(results, recorded):
    pandas = pytest.importorskip("pandas")
    frame = results.to_dataframe()
    assert len(frame) == len(recorded.calls) and frame["region"].dtype == "category"
    totals = frame.assign(ns=frame.end_times - frame.start_times).groupby("region").ns.sum()
    assert {name: totals[name] for name in results.regions} == {n: r.total_ns for n, r in results.regions.items()}
    part = results.to_dataframe(0, "halo", columns=("durations",))
    assert list(part) == ["region", "durations"] and set(part["region"]) == {"halo"}
    assert isinstance(part, pandas.DataFrame)


def test_a_frame_without_pandas(results, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="python3-pandas"):
        results.to_dataframe()


def test_closed_results(recorded, tmp_path):
    with lanescope.read_h5(recorded.file.path) as results:
        assert results["solve"].calls and results.threads[0]
    for ask in (
        lambda: results.regions,
        lambda: results.threads,
        lambda: results.metadata,
        lambda: results.path,
        lambda: results.region_names,
        lambda: results.events(),
        lambda: results.open_calls(),
        lambda: results.call_stack(0),
        lambda: results.table("events"),
    ):
        with pytest.raises(lanescope.StateError, match="closed"):
            ask()
    assert repr(results) == "<lanescope.Results, closed>"
    results.close()


def test_what_words_show(results):
    assert repr(results).startswith("<lanescope.Results '/") and " 1 rank, " in repr(results)
    assert "'solve'" in repr(results["solve"]) and "rank 0" in repr(results["solve"][0])
    assert "thread 1 of rank 0" in repr(results["solve"][0].for_thread(1))
    assert "5 lanes" in repr(results.call_stack(0))
    assert "worker 0" in repr(results.threads[0][1]) and "worker 0" in repr(results.lanes[0][1])
    with pytest.raises(KeyError):
        results["never done"]


def test_nothing_was_recorded(tmp_path):
    _core.recorder.open(None, False)
    saved = _core.recorder.save(tmp_path / "run.h5", keep_events=True, close=True)
    for results in (_results.after_save(saved[1], saved[0], 0, 1), lanescope.read_h5(saved[0])):
        assert dict(results.regions) == {} and results.ranks == [0] and results.threads[0] == results.lanes[0] == []
        assert len(results.events()["ranks"]) == 0 and len(results.call_stack(0)) == 0
        assert results.thread_summary(0) == [] and results.open_calls()["region_names"] == []
        assert list(results.call_stack(0)) == [] and results.call_stack(0).roots().tolist() == []


def test_without_events_in_the_report_the_file_is_read(tmp_path):
    _core.recorder.open(None, False)
    with lanescope.region("solve"):
        pass
    saved = _core.recorder.save(tmp_path / "run.h5", close=True)
    assert saved[1].columns("events") == () and saved[1].columns("open_calls") == () == saved[1].columns("nothing")
    results = _results.after_save(saved[1], saved[0], 0, 1)
    assert results["solve"].calls == 1 and type(results._source).__name__ == "FileSource"
    assert _results.after_save(None, saved[0], 1, 2) is None


def test_results_outlive_the_file_in_memory(tmp_path):
    _core.recorder.open(None, False)
    with lanescope.region("solve"):
        pass
    saved = _core.recorder.save(tmp_path / "run.h5", keep_events=True, close=True)
    results = _results.after_save(saved[1], saved[0], 0, 1)
    (tmp_path / "run.h5").unlink()
    del saved
    assert results["solve"].durations().tolist() == [results["solve"].total_time]
    assert not results.events()["start_times"].flags.writeable


def test_more_events_than_one_piece(tmp_path):
    _core.recorder.open(None, False)
    regions = [lanescope.region(name) for name in NAMES]
    for turn in range(50_001):
        with regions[turn % 5]:
            pass
    saved = _core.recorder.save(tmp_path / "run.h5", keep_events=True, close=True)
    memory, file = _results.after_save(saved[1], saved[0], 0, 1), lanescope.read_h5(saved[0])
    assert_equal(memory.events(), file.events())
    assert np.sort(memory.events()["call_ids"]).tolist() == list(range(50_001))


def test_a_session_without_lanes(tmp_path):
    _core.recorder.open(None, True)
    thread = threading.Thread(target=record, args=(5,))
    thread.start()
    record(6)
    thread.join()
    saved = _core.recorder.save(tmp_path / "run.h5", keep_events=True, close=True)
    memory, file = _results.after_save(saved[1], saved[0], 0, 1), lanescope.read_h5(saved[0])
    for table in _results.TABLES:
        assert_equal(memory.table(table), file.table(table))
    for results in (memory, file):
        assert results.threads[0] == [] == results.thread_summary(0) and results.table("thread_table") == {}
        assert [lane.label for lane in results.lanes[0]] == ["unknown lane"]
        events = results.events()
        assert set(events["thread_ids"].tolist()) == {-1} and set(results.call_stack(0).lanes.tolist()) == {-1}
        assert results.call_stack(0).depths.max() > 1
