# SPDX-License-Identifier: BSD-3-Clause
"""Sessions that follow tasks and greenlets: what is in their files, row by row."""
import asyncio
import sys
import threading
import time

import lanescope
import pytest
from runs import Run


def sessions_left():
    return [name for name in ("run_forever", "create_task") if "LoopMethod" in repr(vars(asyncio.BaseEventLoop)[name])]


def own_names(names):
    """Without the tasks that asyncio.run makes of its own at its end."""
    return sorted(name for name in names if not name.startswith("BaseEventLoop."))


async def job(number, steps=3):
    with lanescope.region("job"):
        for _ in range(steps):
            await asyncio.sleep(0.002)
        begin = time.perf_counter_ns()
        while time.perf_counter_ns() - begin < 1_000_000:
            pass
    return number


async def main():
    with lanescope.region("main"):
        return await asyncio.gather(*(job(i) for i in range(3)))


def test_gathered_jobs_are_lanes_of_their_own(tmp_path):
    before = {name: vars(asyncio.BaseEventLoop)[name] for name in ("run_forever", "create_task")}
    with lanescope.session(tmp_path / "run.h5", track_async=True, verbose=False):
        assert asyncio.run(main()) == [0, 1, 2]
    assert {name: vars(asyncio.BaseEventLoop)[name] for name in before} == before
    run = Run(tmp_path / "run.h5")
    jobs = run.calls("job")
    assert len({call["thread_ids"] for call in jobs}) == 1
    assert len({call["task_ids"] for call in jobs}) == 3 and min(call["task_ids"] for call in jobs) >= 0
    for call in jobs:
        duration = call["end_times"] - call["start_times"]
        assert call["parent_ids"] == -1
        assert call["await_ns"] >= 6_000_000
        assert 1_000_000 <= duration - call["await_ns"] < duration
    table = run.task_table
    assert own_names(table["coro_name"]) == ["job", "job", "job", "main"] and set(table["kind"]) == {"task"}
    assert all(steps >= 4 for steps, name in zip(table["steps"], table["coro_name"]) if name == "job")
    lanes = dict(zip(run.lane_table["lanes"], run.lane_table["kind"]))
    assert sorted(lanes.values()) == ["task"] * 4


def test_without_track_async_there_are_no_tasks(tmp_path):
    with lanescope.session(tmp_path / "run.h5", verbose=False):
        asyncio.run(main())
    run = Run(tmp_path / "run.h5")
    assert "task_ids" not in run.events and len(run.task_table["index"]) == 0


def test_decorated_coroutines_know_their_await_time(tmp_path):
    @lanescope.profile("fetch")
    async def fetch():
        await asyncio.sleep(0.005)

    async def three():
        await asyncio.gather(fetch(), fetch(), fetch())

    with lanescope.session(tmp_path / "run.h5", track_async=True, verbose=False):
        asyncio.run(three())
    calls = Run(tmp_path / "run.h5").calls("fetch")
    assert len(calls) == 3 and len({call["task_ids"] for call in calls}) == 3
    assert all(5_000_000 <= call["await_ns"] <= call["end_times"] - call["start_times"] for call in calls)


def test_two_managers_follow_the_same_tasks_each_in_its_own_file(tmp_path):
    one, other = lanescope.ProfileManager(), lanescope.ProfileManager()

    async def work():
        with one.region("a"):
            await asyncio.sleep(0)
            with other.region("b"):
                await asyncio.sleep(0)

    one.setup(tmp_path / "1.h5", track_async=True, verbose=False)
    asyncio.run(work())
    other.setup(tmp_path / "2.h5", track_async=True, verbose=False)
    asyncio.run(work())
    one.finalize()
    asyncio.run(work())
    other.finalize()
    asyncio.run(work())
    first, second = Run(tmp_path / "1.h5"), Run(tmp_path / "2.h5")
    assert (first.count("a"), second.count("b")) == (2, 2)
    for run, name in ((first, "a"), (second, "b")):
        tasks = [run.task_table["coro_name"][call["task_ids"]] for call in run.calls(name)]
        assert [task.rpartition(".")[2] for task in tasks] == ["work", "work"]
        assert own_names(run.task_table["coro_name"]) == tasks
        assert run.task_table["index"].tolist() == list(range(6))


def test_a_name_given_late_is_in_the_file(tmp_path):
    async def named():
        with lanescope.region("a"):
            asyncio.current_task().set_name("solver")
            lanescope.collect(tmp_path / "middle.h5")

    with lanescope.session(tmp_path / "run.h5", track_async=True, verbose=False):
        asyncio.run(named())
    assert Run(tmp_path / "middle.h5").task_table["name"] == ["solver"]
    assert Run(tmp_path / "run.h5").task_table["name"][0] == "solver"


def test_started_threads_have_a_row_also_if_they_record_nothing(tmp_path):
    with lanescope.session(tmp_path / "run.h5", verbose=False):
        thread = threading.Thread(target=time.sleep, args=(0.001,), name="silent", daemon=True)
        thread.start()
        thread.join()
    table = Run(tmp_path / "run.h5").thread_table
    assert table["name"] == ["silent"] and table["daemon"].tolist() == [1] and table["end_ns"][0] > 0


def test_a_loop_on_a_worker_thread(tmp_path):
    with lanescope.session(tmp_path / "run.h5", track_async=True, verbose=False):
        thread = threading.Thread(target=lambda: asyncio.run(main()), name="loop")
        thread.start()
        thread.join()
    run = Run(tmp_path / "run.h5")
    assert {run.thread_table["name"][call["thread_ids"]] for call in run.calls("job")} == {"loop"}
    assert {run.thread_table["name"][index] for index in run.task_table["thread_index"]} == {"loop"}


def test_greenlets_are_lanes(tmp_path):
    greenlet = pytest.importorskip("greenlet")
    region = lanescope.region("part")

    def part(other):
        with region:
            other[0].switch()

    with lanescope.session(tmp_path / "run.h5", track_async=True, verbose=False):
        back = [greenlet.getcurrent()]
        ones = [greenlet.greenlet(part) for _ in range(3)]
        for one in ones:
            one.switch(back)
        for one in ones:
            one.switch()
    run = Run(tmp_path / "run.h5")
    calls = run.calls("part")
    assert len(calls) == 3 and len({call["task_ids"] for call in calls}) == 3
    assert run.task_table["kind"] == ["greenlet"] * 3
    assert all(call["parent_ids"] == -1 and call["await_ns"] > 0 for call in calls)


def test_the_results_speak_of_tasks(tmp_path):
    with lanescope.session(tmp_path / "run.h5", track_async=True, return_results=True, verbose=False) as session:
        asyncio.run(main())
    for results in (session.results, lanescope.read_h5(tmp_path / "run.h5")):
        tasks = results.tasks[0]
        assert own_names(task.coro_name for task in tasks) == ["job", "job", "job", "main"]
        assert all(task.done and (task.awaiting_time >= 0.006 or "." in task.coro_name) for task in tasks)
        labels = [results.lane_label(0, task.index) for task in tasks]
        assert all(label.endswith("on MainThread") for label in labels)


@pytest.mark.parametrize("error", ["raise SystemExit(3)", "raise ValueError('mine')", "raise KeyboardInterrupt"])
def test_what_was_recorded_is_written_when_an_error_ends_the_program(run, tmp_path, error):
    done = run(
        f"""
        import asyncio, lanescope
        async def main():
            with lanescope.region("a"):
                await asyncio.sleep(0)
                {error}
        lanescope.setup("run.h5", track_async=True, verbose=False)
        asyncio.run(main())
        """
    )
    assert done.returncode == {"S": 3, "V": 1, "K": -2}[error[6]], done.stderr
    assert ("mine" in done.stderr) == ("mine" in error) and ("KeyboardInterrupt" in done.stderr) == ("Key" in error)
    assert Run(tmp_path / "run.h5").count("a") == 1


def test_daemon_threads_record_while_the_interpreter_shuts_down(run):
    for _ in range(5):
        done = run(
            """
            import asyncio, threading, time, lanescope
            region = lanescope.region("late")
            def forever():
                while True:
                    with region, lanescope.region("more"):
                        pass
            async def tasks():
                while True:
                    with region:
                        await asyncio.sleep(0)
            lanescope.setup("run.h5", track_async=True, verbose=False)
            for target in (forever, forever, lambda: asyncio.run(tasks())):
                threading.Thread(target=target, daemon=True).start()
            time.sleep(0.05)
            """
        )
        assert (done.returncode, done.stderr) == (0, "")


def test_no_hook_is_left():
    assert sessions_left() == [] and threading._profile_hook is None and sys.getprofile() is None
