# SPDX-License-Identifier: BSD-3-Clause
"""asyncio's tasks as lanes: the rows of their table, and the calls that they record."""
import asyncio
import gc
import logging
import threading
import time

import lanescope
import pytest
from lanescope import _core, concurrency
from lanescope.concurrency import ConcurrencyTracker

from lanes import Recording, installed, rows_of, sleeper
from runs import Run


class TestTable:
    def test_the_main_task_is_among_them(self):
        async def main():
            assert asyncio.get_running_loop().get_task_factory() is None
            await asyncio.sleep(0)
            return "result"

        with installed() as tracker:
            assert asyncio.run(main()) == "result"
        (row,) = rows_of(tracker, "main")
        assert row["kind"] == "task" and row["coro_name"] == main.__qualname__ and row["index"] == 0
        assert row["steps"] == 2 and row["thread_index"] == 0
        assert row["created_ns"] <= row["done_ns"]

    def test_times_are_those_of_the_steps(self):
        stamps = []

        async def job():
            for _ in range(5):
                begin = time.perf_counter_ns()
                while time.perf_counter_ns() < begin + 1_000_000:
                    pass
                stamps.append((begin, time.perf_counter_ns()))
                await asyncio.sleep(0.002)

        with installed() as tracker:
            asyncio.run(job())
        (row,) = rows_of(tracker, "job")
        ran = sum(end - begin for begin, end in stamps)
        waited = sum(begin - end for (_, end), (begin, _) in zip(stamps, stamps[1:]))
        assert row["steps"] == 6
        assert ran <= row["running_ns"] <= row["done_ns"] - row["created_ns"] - row["suspended_ns"]
        assert row["suspended_ns"] >= 5 * 2_000_000 - 10_000
        assert row["suspended_ns"] <= waited + 10_000_000_000

    def test_the_wait_before_the_first_step_is_no_suspension(self):
        async def main():
            task = asyncio.create_task(sleeper(0))
            time.sleep(0.02)
            await task

        with installed() as tracker:
            asyncio.run(main())
        (row,) = rows_of(tracker, "sleeper")
        assert row["steps"] == 2 and row["suspended_ns"] < 15_000_000

    def test_names_are_those_of_the_tasks(self):
        async def main():
            first = asyncio.create_task(sleeper(0), name="given")
            second = asyncio.create_task(sleeper(0))
            third = asyncio.create_task(sleeper(0))
            third.set_name("later")
            default = second.get_name()
            await asyncio.gather(first, second, third)
            return default

        with installed() as tracker:
            default = asyncio.run(main())
        assert [row["name"] for row in rows_of(tracker, "sleeper")] == ["given", default, "later"]

    def test_a_name_that_changes_while_the_task_runs(self):
        async def main():
            me = asyncio.current_task()
            seen = []
            for name in ("one", "two", "größer", "two"):
                me.set_name(name)
                seen.append((tracker.tasks[0].name, tracker.snapshot()["tasks"]["name"][0]))
                await asyncio.sleep(0)
            me.set_name("last")
            return seen

        with installed() as tracker:
            seen = asyncio.run(main())
        assert seen == [(name, name) for name in ("one", "two", "größer", "two")]
        assert tracker.tasks[0].name == "last"

    @pytest.mark.parametrize(
        "name, kept",
        [("\ud800x", "?x"), ("a\0b", "a"), ("é" * 3000, "é" * 2048), ("", ""), ("\N{SNOWMAN}", "\N{SNOWMAN}")],
    )
    def test_names_that_cannot_be_stored_as_they_are(self, name, kept):
        async def main():
            asyncio.current_task().set_name(name)

        with installed() as tracker:
            asyncio.run(main())
        assert tracker.tasks[0].name == kept

    def test_a_task_that_is_under_way(self):
        async def main():
            me = tracker.current_thread()
            inner = asyncio.create_task(sleeper(60))
            await asyncio.sleep(0)
            record = tracker.tasks[1]
            assert not record.done and record.steps == 1 and record.done_ns == -1
            assert me.task is tracker.tasks[0] and isinstance(me.task, concurrency.TaskRecord)
            assert record.step_started_ns <= record.last_step_end_ns
            inner.cancel()
            await asyncio.wait([inner])
            assert record.done and record.steps == 2

        with installed() as tracker:
            asyncio.run(main())
            assert tracker.current_thread().task is None

    def test_a_loop_on_a_worker_thread_reports_that_thread(self):
        with installed() as tracker:
            tracker.current_thread()
            thread = threading.Thread(target=lambda: asyncio.run(sleeper(0)), name="loop")
            thread.start()
            thread.join(60)
        (row,) = rows_of(tracker, "sleeper")
        assert tracker.threads[row["thread_index"]].name == "loop" and row["thread_index"] == 1

    def test_loops_on_several_threads_at_once(self):
        async def main():
            await asyncio.gather(*(sleeper(0.001) for _ in range(20)))

        with installed() as tracker:
            threads = [threading.Thread(target=lambda: asyncio.run(main())) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(60)
        rows = rows_of(tracker, "sleeper")
        assert len(rows) == 80 and all(row["steps"] == 2 and row["done_ns"] > 0 for row in rows)
        assert sorted(collections_count(row["thread_index"] for row in rows)) == [20] * 4

    def test_repeated_runs(self):
        with installed() as tracker:
            for count in range(1, 4):
                asyncio.run(sleeper(0))
                assert len(rows_of(tracker, "sleeper")) == count

    def test_tasks_before_and_after_are_not_in_the_table(self):
        async def main():
            early = asyncio.create_task(sleeper(0.005))
            tracker.install()
            await asyncio.create_task(sleeper(0.001))
            tracker.uninstall()
            late = asyncio.create_task(sleeper(0))
            await asyncio.gather(early, late)

        tracker = ConcurrencyTracker(track_async=True)
        asyncio.run(main())
        assert len(tracker.tasks) == 1 and tracker.tasks[0].done

    def test_without_track_async_there_are_no_tasks(self):
        create_task = vars(asyncio.BaseEventLoop)["create_task"]
        with installed(track_async=False) as tracker:
            assert vars(asyncio.BaseEventLoop)["create_task"] is create_task
            asyncio.run(sleeper(0))
        assert tracker.tasks == []


def collections_count(values):
    values = list(values)
    return [values.count(value) for value in set(values)]


class TestRegions:
    def test_three_gathered_jobs(self, tmp_path):
        async def job(region, seconds):
            with region:
                await asyncio.sleep(seconds)
                with lanescope.region("inner"):
                    pass

        async def main():
            await asyncio.gather(*(job(lanescope.region("job"), 0.002 * (3 - i)) for i in range(3)))

        with Recording(tmp_path / "run.h5") as recording:
            asyncio.run(main())
        calls = recording.run.calls("job")
        assert {call["thread_ids"] for call in calls} == {0}
        assert len({call["task_ids"] for call in calls}) == 3 and min(call["task_ids"] for call in calls) >= 0
        assert recording.parents("job") == [None] * 3 and recording.parents("inner") == ["job"] * 3
        for call in calls:
            assert 1_900_000 <= call["await_ns"] <= call["end_times"] - call["start_times"]
        assert recording.run.rank_table["open_calls"].tolist() == [0]

    def test_duration_less_await_is_the_work(self, tmp_path):
        spent = []

        async def job():
            with lanescope.region("job"):
                for _ in range(3):
                    begin = time.perf_counter_ns()
                    while time.perf_counter_ns() < begin + 2_000_000:
                        pass
                    spent.append(time.perf_counter_ns() - begin)
                    await asyncio.sleep(0.005)

        with Recording(tmp_path / "run.h5") as recording:
            asyncio.run(job())
        (call,) = recording.run.calls("job")
        work = call["end_times"] - call["start_times"] - call["await_ns"]
        assert work >= sum(spent) and call["await_ns"] >= 15_000_000 - 30_000

    def test_outside_tasks_there_is_no_await_time(self, tmp_path):
        with Recording(tmp_path / "run.h5") as recording:
            with lanescope.region("before"):
                asyncio.run(sleeper(0.001))
        (call,) = recording.run.calls("before")
        assert (call.get("await_ns", 0), call.get("task_ids", -1), call["thread_ids"]) == (0, -1, 0)

    def test_the_call_of_a_cancelled_task_is_recorded(self, tmp_path):
        async def job():
            with lanescope.region("cancelled"):
                await asyncio.sleep(60)

        async def main():
            task = asyncio.create_task(job())
            await asyncio.sleep(0.001)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        with Recording(tmp_path / "run.h5") as recording:
            asyncio.run(main())
        (call,) = recording.run.calls("cancelled")
        assert call["task_ids"] >= 0 and call["await_ns"] > 500_000
        (index,) = [i for i, name in enumerate(recording.run.task_table["coro_name"]) if name.endswith("job")]
        assert call["task_ids"] == index and recording.run.task_table["steps"][index] == 2

    @pytest.mark.parametrize("collections", range(4))
    def test_a_task_that_is_given_up_closes_its_call_on_its_lane(self, tmp_path, caplog, collections):
        """Without references a pending task is deleted, and its coroutine closed; here within the same region."""
        caplog.set_level(logging.CRITICAL + 1)

        async def job(future):
            with lanescope.region("given up"):
                await future

        async def main():
            future = asyncio.get_running_loop().create_future()
            task = asyncio.create_task(job(future))
            await asyncio.sleep(0)
            for _ in range(collections):
                gc.collect()
            del task, future
            with lanescope.region("given up"):
                gc.collect()
                await asyncio.sleep(0)

        with Recording(tmp_path / "run.h5") as recording:
            asyncio.run(main())
        call, main_call = recording.run.calls("given up")
        assert call["task_ids"] != main_call["task_ids"] and recording.parents("given up") == [None, None]
        assert main_call["start_times"] < call["end_times"] < main_call["end_times"]
        assert recording.run.task_table["done_ns"].tolist()[call["task_ids"]] != -1
        assert recording.run.rank_table["open_calls"].tolist() == [0]

    def test_async_generators_within_tasks(self, tmp_path):
        async def numbers():
            with lanescope.region("generator"):
                for i in range(3):
                    yield i
                    await asyncio.sleep(0)

        async def job():
            with lanescope.region("consumer"):
                return [i async for i in numbers()]

        async def main():
            return await asyncio.gather(job(), job())

        with Recording(tmp_path / "run.h5") as recording:
            assert asyncio.run(main()) == [[0, 1, 2]] * 2
        assert recording.parents("generator") == ["consumer"] * 2
        assert len({call["task_ids"] for call in recording.run.calls("generator")}) == 2

    def test_a_file_has_the_names_of_tasks_that_go_on(self, tmp_path):
        async def main():
            asyncio.current_task().set_name("renamed")
            _core.refresh_names()
            _core.recorder.save(tmp_path / "early.h5", quiet=True)

        with Recording(tmp_path / "run.h5") as recording:
            asyncio.run(main())
        assert Run(tmp_path / "early.h5").task_table["name"] == ["renamed"]
        assert recording.run.task_table["name"][0] == "renamed"
