# SPDX-License-Identifier: BSD-3-Clause
"""What was recorded is what the file says, row by row."""
import os
import sys
import threading
import time

import lanescope
import pytest
from runs import Run, Stamped, assert_within


def test_every_call_is_a_row_with_its_times(tmp_path):
    outer, inner = Stamped("outer"), Stamped("inner")
    with lanescope.session(tmp_path / "run.h5", verbose=False):
        for turn in range(50):
            with outer:
                for _ in range(turn % 4):
                    with inner:
                        pass
    run = Run(tmp_path / "run.h5")
    assert run.region_table["names"] == ["outer", "inner"] or run.region_table["names"] == ["inner", "outer"]
    assert len(run.events["ranks"]) == 50 + len(inner.stamps)
    assert_within(run.calls("outer"), outer.stamps)
    assert_within(run.calls("inner"), inner.stamps)


def test_parents_are_the_calls_around(tmp_path):
    names = ["a", "b", "c"]
    with lanescope.session(tmp_path / "run.h5", verbose=False):
        for _ in range(3):
            with lanescope.region("a"):
                with lanescope.region("b"):
                    with lanescope.region("c"):
                        pass
                with lanescope.region("c"):
                    pass
    run = Run(tmp_path / "run.h5")
    rows = [(name, call) for name in names for call in run.calls(name)]
    rows.sort(key=lambda row: row[1]["call_ids"])
    assert [row[1]["call_ids"] for row in rows] == list(range(12))
    assert [row[0] for row in rows] == ["a", "b", "c", "c"] * 3
    assert [row[1]["parent_ids"] for row in rows] == [p for k in (0, 4, 8) for p in (-1, k, k + 1, k)]


def test_recursion_nests(tmp_path):
    @lanescope.profile("down")
    def down(depth):
        return down(depth - 1) if depth else 0

    with lanescope.session(tmp_path / "run.h5", verbose=False):
        down(20)
    calls = Run(tmp_path / "run.h5").calls("down")
    assert [call["parent_ids"] for call in calls] == list(range(-1, 20))


def test_calls_of_python_are_marked_so_where_the_column_is_there(tmp_path):
    with lanescope.session(tmp_path / "run.h5", verbose=False):
        with lanescope.region("a"):
            pass
    events = Run(tmp_path / "run.h5").events
    assert "apis" not in events or set(events["apis"]) == {0}


def test_an_open_call_is_kept_apart(tmp_path):
    with lanescope.region("before"):
        lanescope.setup(tmp_path / "run.h5", verbose=False)
        with lanescope.region("done"):
            pass
        with lanescope.region("open"):
            lanescope.finalize()
    run = Run(tmp_path / "run.h5")
    assert run.region_table["names"] == ["done"]
    assert run.open_calls["region_names"] == ["open"]
    assert run.rank_table["open_calls"].tolist() == [1]


def test_the_source_is_the_line_of_the_first_use(tmp_path):
    with lanescope.session(tmp_path / "run.h5", verbose=False):
        for name in ("source of test", "source of test"):
            with lanescope.region(name):
                pass
    run = Run(tmp_path / "run.h5")
    line = test_the_source_is_the_line_of_the_first_use.__code__.co_firstlineno + 3
    assert run.rank_region_index["source_lines"].tolist() == [line]
    assert run.rank_region_index["source_files"] == [__file__]


def test_exceptions_end_their_calls_and_go_on(tmp_path):
    with lanescope.session(tmp_path / "run.h5", verbose=False):
        with pytest.raises(KeyError, match="gone"):
            with lanescope.region("outer"):
                with lanescope.region("inner"):
                    raise KeyError("gone")
    run = Run(tmp_path / "run.h5")
    assert run.count("outer") == run.count("inner") == 1
    assert "open_calls" not in run.tables


def test_metadata_tells_of_the_run(tmp_path):
    with lanescope.session(tmp_path / "run.h5", verbose=False, label="größer"):
        pass
    metadata = Run(tmp_path / "run.h5").metadata
    assert metadata["label"] == "größer"
    assert metadata["python_version"].split(".")[:2] == list(map(str, sys.version_info[:2]))
    assert metadata["lanescope_version"] == lanescope.__version__
    assert metadata["mpi_size"] == 1


def test_one_thread_after_the_other_is_a_lane_each(tmp_path):
    seen = []

    def work(number):
        with lanescope.region("work"):
            seen.append((f"lane {number}", threading.get_ident(), threading.get_native_id()))

    with lanescope.session(tmp_path / "run.h5", verbose=False):
        for number in range(1000):
            thread = threading.Thread(target=work, args=(number,), name=f"lane {number}", daemon=number % 3 == 0)
            thread.start()
            thread.join()
    run = Run(tmp_path / "run.h5")
    table = run.thread_table
    assert list(zip(table["name"], table["ident"].tolist(), table["native_id"].tolist())) == seen
    assert table["daemon"].tolist() == [int(number % 3 == 0) for number in range(1000)]
    assert [call["thread_ids"] for call in run.calls("work")] == list(range(1000))
    assert sorted(run.lane_table["lanes"].tolist(), reverse=True) == [-2 - number for number in range(1000)]
    assert sorted(run.lane_table["name"]) == sorted(table["name"])


def test_threads_at_once_keep_their_calls_apart(tmp_path):
    barrier = threading.Barrier(8)
    stamped = {}

    def work(number):
        mine = stamped[number] = Stamped(f"of {number}")
        barrier.wait(timeout=60)
        for _ in range(100):
            with lanescope.region("around"), mine:
                time.sleep(0)

    with lanescope.session(tmp_path / "run.h5", verbose=False):
        threads = [threading.Thread(target=work, args=(n,), name=f"worker {n}") for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    run = Run(tmp_path / "run.h5")
    assert run.count("around") == 800
    around = {call["call_ids"]: call for call in run.calls("around")}
    for number in range(8):
        calls = run.calls(f"of {number}")
        assert_within(calls, stamped[number].stamps)
        thread, = {call["thread_ids"] for call in calls}
        assert run.thread_table["name"][thread] == f"worker {number}"
        assert all(around[call["parent_ids"]]["thread_ids"] == thread for call in calls)


def test_the_main_thread_has_its_name(tmp_path):
    with lanescope.session(tmp_path / "run.h5", verbose=False):
        with lanescope.region("a"):
            pass
    table = Run(tmp_path / "run.h5").thread_table
    assert table["name"] == ["MainThread"]
    assert table["ident"].tolist() == [threading.main_thread().ident]
    assert table["native_id"].tolist() == [threading.main_thread().native_id]
    assert table["daemon"].tolist() == [0]
    assert Run(tmp_path / "run.h5").rank_table["pid"].tolist() == [os.getpid()]


@pytest.mark.parametrize(
    "name, written",
    [
        ("\ud800 lone", "? lone"),
        ("é" * 4000, "é" * 2048),
        ("x" + "é" * 4000, "x" + "é" * 2047),
        ("cut\0here", "cut"),
    ],
)
def test_thread_names_that_no_file_can_hold(tmp_path, name, written):
    def work():
        with lanescope.region("work"):
            pass

    with lanescope.session(tmp_path / "run.h5", verbose=False):
        thread = threading.Thread(target=work, name=name)
        thread.start()
        thread.join()
    assert Run(tmp_path / "run.h5").thread_table["name"] == [written]


def test_a_foreign_thread_keeps_the_name_that_the_system_knows(tmp_path):
    import _thread

    done = threading.Event()

    def work():
        with lanescope.region("work"):
            pass
        known.append(threading._active.get(threading.get_ident()))
        done.set()

    known = []
    with lanescope.session(tmp_path / "run.h5", verbose=False):
        _thread.start_new_thread(work, ())
        assert done.wait(timeout=60)
    assert known == [None], "describing the thread made a dummy of it"
    assert len(Run(tmp_path / "run.h5").thread_table["name"]) == 1


def test_a_session_opened_inside_a_region_on_another_thread(tmp_path):
    """The first call that the session sees of the thread is the end of a region, which an exception leaves."""

    def work():
        try:
            with lanescope.region("left"):
                lanescope.setup(tmp_path / "run.h5", verbose=False)
                raise KeyError("kept")
        except KeyError as error:
            caught.append(error.args)

    caught = []
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    lanescope.finalize()
    assert caught == [("kept",)]
    assert Run(tmp_path / "run.h5").count("left") == 0


def test_a_region_left_on_another_thread_is_closed_on_the_lane_that_opened_it(tmp_path):
    region = lanescope.region("moved")
    with lanescope.session(tmp_path / "run.h5", verbose=False):
        thread = threading.Thread(target=region.__enter__, name="opener")
        thread.start()
        thread.join()
        time.sleep(0.002)
        with lanescope.region("here"):
            region.__exit__(None, None, None)
    run = Run(tmp_path / "run.h5")
    (call,) = run.calls("moved")
    assert run.thread_table["name"][call["thread_ids"]] == "opener"
    assert call["end_times"] - call["start_times"] >= 2_000_000 and call["parent_ids"] == -1
    assert "open_calls" not in run.tables


def test_regions_that_cross_are_each_closed_at_their_own_end(tmp_path):
    first, second = lanescope.region("first"), lanescope.region("second")
    with lanescope.session(tmp_path / "run.h5", verbose=False):
        for _ in range(3):
            first.__enter__()
            second.__enter__()
            first.__exit__(None, None, None)
            second.__exit__(None, None, None)
        first.__exit__(None, None, None)
        with second:
            pass
    run = Run(tmp_path / "run.h5")
    ones, others = run.calls("first"), run.calls("second")
    assert (len(ones), len(others)) == (3, 4) and "open_calls" not in run.tables
    for one, other in zip(ones, others):
        assert one["start_times"] < other["start_times"] < one["end_times"] < other["end_times"]
        assert one["parent_ids"] == other["parent_ids"] == -1
