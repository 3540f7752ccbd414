# SPDX-License-Identifier: BSD-3-Clause
"""Greenlets as lanes, on every thread."""
import asyncio
import gc
import threading
import time

import lanescope
import pytest
from lanescope.concurrency import ConcurrencyTracker

from lanes import Recording, in_thread, installed

greenlet = pytest.importorskip("greenlet")


def rows_of(tracker):
    """The rows of greenlets, as dicts."""
    columns = tracker.snapshot()["tasks"]
    rows = [{name: values[i] for name, values in columns.items()} for i in range(len(columns["kind"]))]
    return [row for row in rows if row["kind"] == "greenlet"]


def busy(nanoseconds):
    begin = time.perf_counter_ns()
    while time.perf_counter_ns() < begin + nanoseconds:
        pass


def two_that_alternate(turns=3):
    """Runs two greenlets in turn; returns the order in which they said something."""
    said = []
    main = greenlet.getcurrent()

    def speak(name):
        for _ in range(turns):
            with lanescope.region(name):
                said.append(name)
                main.switch()
        return name

    speakers = [greenlet.greenlet(speak) for _ in range(2)]
    results = [speaker.switch(name) for speaker, name in zip(speakers, "ab")]
    while not all(speaker.dead for speaker in speakers):
        results = [speaker.switch() for speaker in speakers if not speaker.dead]
    assert results == ["a", "b"]
    return said


@pytest.fixture(autouse=True)
def trace_function_is_left_alone():
    before = greenlet.gettrace()
    yield
    assert greenlet.gettrace() is before
    greenlet.settrace(None)


@pytest.mark.parametrize("where", ["main", "worker"])
def test_are_tasks_of_their_own(tmp_path, where):
    said = []

    def work():
        with lanescope.region("around"):
            said.extend(two_that_alternate())

    with Recording(tmp_path / "run.h5") as recording:
        work() if where == "main" else in_thread(work, name="worker")
    assert said == ["a", "b"] * 3
    table = recording.run.task_table
    assert table["kind"] == ["greenlet"] * 2
    assert [name.endswith("speak") for name in table["coro_name"]] == [True, True]
    assert table["steps"].tolist() == [4, 4]
    assert (table["done_ns"] > table["created_ns"]).all()
    thread = {"main": threading.current_thread().name, "worker": "worker"}[where]
    assert [recording.run.thread_table["name"][i] for i in table["thread_index"]] == [thread] * 2
    assert {call["task_ids"] for call in recording.run.calls("a")} == {0}
    assert {call["task_ids"] for call in recording.run.calls("b")} == {1}
    assert recording.parents("a") == recording.parents("b") == [None] * 3
    assert [call["task_ids"] for call in recording.run.calls("around")] == [-1]
    assert all(call["await_ns"] > 0 for call in recording.run.calls("a"))


def test_time_switched_away_is_suspension(tmp_path):
    def sleeper():
        with lanescope.region("held"):
            busy(2_000_000)
            main.switch()
            busy(2_000_000)

    main = greenlet.getcurrent()
    with Recording(tmp_path / "run.h5") as recording:
        other = greenlet.greenlet(sleeper)
        other.switch()
        time.sleep(0.01)
        other.switch()
    (call,) = recording.run.calls("held")
    assert call["await_ns"] >= 9_900_000
    assert call["end_times"] - call["start_times"] - call["await_ns"] >= 4_000_000
    (row,) = rows_from(recording)
    assert row["running_ns"] >= 4_000_000 and row["suspended_ns"] >= 9_900_000 and row["steps"] == 2


def rows_from(recording):
    table = recording.tables["tasks"]
    return [{name: values[i] for name, values in table.items()} for i in range(len(table["kind"]))]


def test_the_main_greenlet_has_no_lane():
    with installed() as tracker:
        other = greenlet.greenlet(lambda: None)
        other.switch()
        greenlet.greenlet(lambda: greenlet.getcurrent().parent.switch()).switch()
    assert [row["name"] for row in rows_of(tracker)] == ["greenlet-0", "greenlet-1"]


def test_throw_counts_as_a_step_and_exceptions_go_through():
    def worker():
        try:
            main.switch()
        except KeyError:
            main.switch("caught")
        raise ValueError("at the end")

    main = greenlet.getcurrent()
    with installed() as tracker:
        other = greenlet.greenlet(worker)
        other.switch()
        assert other.throw(KeyError) == "caught"
        with pytest.raises(ValueError, match="at the end"):
            other.switch()
    (row,) = rows_of(tracker)
    assert row["steps"] == 3 and row["done_ns"] != -1


def test_a_greenlet_that_is_given_up_is_over(tmp_path):
    def worker():
        with lanescope.region("given up"):
            main.switch()

    main = greenlet.getcurrent()
    with Recording(tmp_path / "run.h5") as recording:
        other = greenlet.greenlet(worker)
        other.switch()
        with lanescope.region("given up"):
            del other
            gc.collect()
    call, outer = sorted(recording.run.calls("given up"), key=lambda call: call["task_ids"], reverse=True)
    assert (call["task_ids"], outer["task_ids"]) == (0, -1)
    assert outer["start_times"] < call["end_times"] < outer["end_times"]
    assert rows_from(recording)[0]["done_ns"] != -1


def test_many_of_them():
    """More than a thread keeps at hand, in the order of a ring, with addresses that come again."""
    main = greenlet.getcurrent()

    def member(number):
        for _ in range(3):
            main.switch(number)

    with installed() as tracker:
        for _ in range(3):
            members = [greenlet.greenlet(member) for _ in range(300)]
            assert [each.switch(i) for i, each in enumerate(members)] == list(range(300))
            for _ in range(3):
                for each in members:
                    each.switch()
            assert all(each.dead for each in members)
    rows = rows_of(tracker)
    assert len(rows) == 900
    assert all(row["steps"] == 4 and row["done_ns"] != -1 for row in rows)


def test_switches_between_greenlets_that_are_not_the_main_one():
    order = []

    def first():
        order.append("first")
        b.switch()
        order.append("first again")

    def second():
        order.append("second")
        a.switch()

    with installed() as tracker:
        a, b = greenlet.greenlet(first), greenlet.greenlet(second)
        a.switch()
    assert order == ["first", "second", "first again"]
    assert [row["steps"] for row in rows_of(tracker)] == [2, 1]


def test_a_trace_function_that_was_there_is_called_and_comes_back():
    events = []

    def trace(event, greenlets):
        events.append(event)

    greenlet.settrace(trace)
    try:
        with installed() as tracker:
            assert greenlet.gettrace() is not trace
            greenlet.greenlet(lambda: None).switch()
        assert greenlet.gettrace() is trace
        assert events == ["switch", "switch"] and len(rows_of(tracker)) == 1
    finally:
        greenlet.settrace(None)


def test_an_exception_of_the_trace_function_goes_through():
    def trace(event, greenlets):
        raise KeyError(event)

    greenlet.settrace(trace)
    try:
        with installed():
            with pytest.raises(KeyError, match="switch"):
                greenlet.greenlet(lambda: None).switch()
    finally:
        greenlet.settrace(None)


def test_a_trace_function_set_on_top_stays():
    events = []
    tracker = ConcurrencyTracker(track_async=True)
    tracker.install()
    below = greenlet.gettrace()

    def trace(event, greenlets):
        events.append(event)
        below(event, greenlets)

    greenlet.settrace(trace)
    try:
        greenlet.greenlet(lambda: None).switch()
        tracker.uninstall()
        assert greenlet.gettrace() is trace
        greenlet.greenlet(lambda: None).switch()
        assert len(rows_of(tracker)) == 1 and len(events) == 4
        tracker.install()
        greenlet.greenlet(lambda: None).switch()
        rows = rows_of(tracker)
        assert len(rows) == 2 and all(row["steps"] == 1 for row in rows)
        tracker.uninstall()
    finally:
        greenlet.settrace(None)


def test_other_threads_lose_the_hook_at_their_next_switch():
    ready, go = threading.Event(), threading.Event()
    seen = []

    def work():
        main = greenlet.getcurrent()
        other = greenlet.greenlet(lambda: [main.switch() for _ in range(3)])
        other.switch()
        seen.append(greenlet.gettrace())
        ready.set()
        go.wait(60)
        other.switch()
        seen.append(greenlet.gettrace())
        other.switch()

    tracker = ConcurrencyTracker(track_async=True)
    tracker.install()
    thread = threading.Thread(target=work)
    thread.start()
    assert ready.wait(60)
    tracker.uninstall()
    go.set()
    thread.join(60)
    assert seen[0] is not None and seen[1] is None
    (row,) = rows_of(tracker)
    assert row["steps"] <= 2


def test_a_thread_that_was_there_before_is_followed_from_its_first_call_on(tmp_path):
    go, ready = threading.Event(), threading.Event()

    def work():
        def inner():
            ready.set()
            go.wait(60)
            with lanescope.region("first"):
                main.switch()
            with lanescope.region("second"):
                pass

        main = greenlet.getcurrent()
        other = greenlet.greenlet(inner)
        other.switch()
        with lanescope.region("main"):
            other.switch()

    thread = threading.Thread(target=work)
    thread.start()
    assert ready.wait(60)
    with Recording(tmp_path / "run.h5") as recording:
        go.set()
        thread.join(60)
    run = recording.run
    lanes = [run.calls(name)[0]["task_ids"] for name in ("first", "second", "main")]
    assert lanes == [0, 0, -1]
    assert recording.parents("second") == [None]
    assert run.rank_table["open_calls"].tolist() == [0]


def test_installed_within_a_greenlet(tmp_path):
    def inner():
        with Recording(tmp_path / "run.h5") as recording:
            with lanescope.region("inner"):
                main.switch()
        return recording

    main = greenlet.getcurrent()
    other = greenlet.greenlet(inner)
    other.switch()
    recording = other.switch()
    (call,) = recording.run.calls("inner")
    assert call["task_ids"] == 0 and call["await_ns"] > 0


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_several_trackers(order):
    trackers = [ConcurrencyTracker(track_async=True) for _ in range(2)]
    main = greenlet.getcurrent()
    trackers[0].install()
    old = greenlet.greenlet(lambda: [main.switch() for _ in range(3)])
    old.switch()
    trackers[1].install()
    old.switch()
    assert [row["steps"] for row in rows_of(trackers[0])] == [2]
    assert [row["steps"] for row in rows_of(trackers[1])] == [1]
    trackers[order[0]].uninstall()
    counts = [len(rows_of(tracker)) for tracker in trackers]
    greenlet.greenlet(lambda: None).switch()
    counts[order[1]] += 1
    assert [len(rows_of(tracker)) for tracker in trackers] == counts
    trackers[order[1]].uninstall()
    assert greenlet.gettrace() is None
    old.switch()
    old.switch()


def test_a_task_of_asyncio_that_uses_greenlets(tmp_path):
    """Plain functions that wait for coroutines: the task's step goes through a greenlet and back."""

    def wait_for(awaitable):
        return greenlet.getcurrent().parent.switch(awaitable)

    async def run_plain(function):
        other = greenlet.greenlet(function)
        result = other.switch()
        while not other.dead:
            result = other.switch(await result)
        return result

    def plain():
        with lanescope.region("plain"):
            wait_for(asyncio.sleep(0.001))
            with lanescope.region("inner"):
                return wait_for(asyncio.sleep(0.001, "done"))

    async def main():
        with lanescope.region("task"):
            return await asyncio.gather(run_plain(plain), run_plain(plain))

    with Recording(tmp_path / "run.h5") as recording:
        assert asyncio.run(main()) == ["done"] * 2
    assert recording.parents("plain") == [None] * 2 and recording.parents("inner") == ["plain"] * 2
    kinds = recording.run.task_table["kind"]
    assert [kinds[call["task_ids"]] for call in recording.run.calls("plain")] == ["greenlet"] * 2
    assert recording.run.rank_table["open_calls"].tolist() == [0]


def test_a_loop_of_asyncio_within_a_greenlet_that_is_left_in_the_middle_of_a_step(tmp_path):
    main = greenlet.getcurrent()

    async def job():
        with lanescope.region("job"):
            main.switch()
            with lanescope.region("inner"):
                await asyncio.sleep(0)

    with Recording(tmp_path / "run.h5") as recording:
        other = greenlet.greenlet(lambda: asyncio.run(job()))
        other.switch()
        with lanescope.region("main"):
            pass
        other.switch()
    run = recording.run
    lanes = {name: run.calls(name)[0]["task_ids"] for name in ("job", "inner", "main")}
    assert lanes["main"] == -1 and lanes["job"] == lanes["inner"] >= 0
    assert recording.parents("inner") == ["job"] and recording.parents("main") == [None]
    assert run.rank_table["open_calls"].tolist() == [0]


def test_gevent(run, tmp_path):
    pytest.importorskip("gevent")
    done = run(
        """
        from gevent import monkey
        monkey.patch_all()
        import gevent, time
        import lanescope
        from lanescope import _core, concurrency

        _core.recorder.open(None, False)
        tracker = concurrency._for_session(_core.recorder.handle, True)
        tracker.install()

        def job(number):
            with lanescope.region("job"):
                time.sleep(0.01 * number)

        gevent.joinall([gevent.spawn(job, number) for number in (3, 2, 1)])
        tracker.uninstall()
        rows = tracker.snapshot()["tasks"]
        jobs = [i for i, name in enumerate(rows["coro_name"]) if name == "job"]
        assert len(jobs) == 3, rows["coro_name"]
        assert all(rows["name"][i].startswith("Greenlet-") for i in jobs), rows["name"]
        assert all(rows["steps"][i] == 2 and rows["done_ns"][i] != -1 for i in jobs)
        _core.recorder.save("run.h5", quiet=True)
        _core.recorder.close()
        """
    )
    assert done.returncode == 0, done.stderr
    from runs import Run

    calls = Run(tmp_path / "run.h5").calls("job")
    assert len({call["task_ids"] for call in calls}) == 3
    assert all(call["await_ns"] >= 9_000_000 and call["parent_ids"] == -1 for call in calls)
