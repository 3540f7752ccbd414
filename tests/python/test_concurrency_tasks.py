# SPDX-License-Identifier: BSD-3-Clause
"""asyncio's tasks as lanes: what they record, and that nothing else about them is different."""
import asyncio
import collections.abc
import contextvars
import functools
import gc
import inspect
import logging
import sys
import threading
import time
import traceback
import types
import warnings

import lanescope
import pytest
from lanescope import _core, concurrency
from lanescope.concurrency import ConcurrencyTracker

from lanes import Recording, installed
from runs import Run

SINCE_3_11 = pytest.mark.skipif(sys.version_info < (3, 11), reason="asyncio.TaskGroup came with Python 3.11")
SINCE_3_12 = pytest.mark.skipif(sys.version_info < (3, 12), reason="eager tasks came with Python 3.12")


def rows_of(tracker, coro_name):
    """The task rows of one coroutine, as dicts."""
    columns = tracker.snapshot()["tasks"]
    return [
        {name: values[i] for name, values in columns.items()}
        for i, name in enumerate(columns["coro_name"])
        if name.rpartition(".")[2] == coro_name
    ]


async def sleeper(seconds):
    await asyncio.sleep(seconds)
    return seconds


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


class TestNothingElseChanges:
    def test_results_and_exceptions(self):
        values = [None, (1, 2), (), StopAsyncIteration(3), ValueError("a value"), "text"]

        async def give(value):
            await asyncio.sleep(0)
            return value

        async def fail(error):
            await asyncio.sleep(0)
            raise error

        async def main():
            results = [await asyncio.create_task(give(value)) for value in values]
            assert all(result is value for result, value in zip(results, values))
            for error in (ValueError("x"), KeyError("y")):
                task = asyncio.create_task(fail(error))
                with pytest.raises(type(error)) as caught:
                    await task
                assert caught.value is error and task.exception() is error
                assert caught.traceback[-1].name == "fail"
            with pytest.raises(RuntimeError, match="StopIteration"):
                await asyncio.create_task(fail(StopIteration(1)))

        with installed():
            asyncio.run(main())

    def test_tracebacks_have_no_frame_of_ours(self):
        async def fail():
            await asyncio.sleep(0)
            raise KeyError("here")

        def frames():
            try:
                asyncio.run(fail())
            except KeyError as error:
                walk = traceback.walk_tb(error.__traceback__)
                return [(frame.f_code.co_filename, frame.f_code.co_name) for frame, _ in walk]

        plain = frames()
        with installed():
            assert frames() == plain

    def test_keyboard_interrupt_goes_through(self):
        async def interrupted():
            await asyncio.sleep(0)
            raise KeyboardInterrupt

        with installed() as tracker:
            with pytest.raises(KeyboardInterrupt):
                asyncio.run(interrupted())
        assert tracker.tasks[0].done

    @pytest.mark.parametrize("point", range(4))
    def test_cancellation_at_every_await(self, point):
        async def job(log):
            try:
                for i in range(3):
                    log.append(i)
                    await asyncio.sleep(0)
            except asyncio.CancelledError:
                log.append("cancelled")
                await asyncio.sleep(0)
                log.append("cleaned")
                raise

        async def cancel_at(count):
            log = []
            task = asyncio.create_task(job(log))
            for _ in range(count):
                await asyncio.sleep(0)
            task.cancel("why")
            try:
                await task
            except asyncio.CancelledError as error:
                log.append(error.args)
            log.append(task.cancelled())
            return log

        plain = asyncio.run(cancel_at(point))
        with installed() as tracker:
            assert asyncio.run(cancel_at(point)) == plain
        (row,) = rows_of(tracker, "job")
        assert row["done_ns"] != -1 and row["steps"] == {0: 1, 1: 3, 2: 4, 3: 5}[point]

    def test_cancellation_that_is_swallowed(self):
        async def stubborn():
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                return "no"

        async def main():
            task = asyncio.create_task(stubborn())
            await asyncio.sleep(0)
            task.cancel()
            return await task

        with installed() as tracker:
            assert asyncio.run(main()) == "no"
        assert rows_of(tracker, "stubborn")[0]["steps"] == 2

    def test_a_task_cancelled_before_its_first_step_leaves_no_warning(self):
        async def main():
            task = asyncio.create_task(sleeper(1))
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            del task
            gc.collect()

        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with installed() as tracker:
                asyncio.run(main())
        (row,) = rows_of(tracker, "sleeper")
        assert row["steps"] == 1 and row["done_ns"] != -1

    def test_a_coroutine_that_was_never_awaited_warns_as_before(self):
        with installed():
            with pytest.warns(RuntimeWarning, match="coroutine 'sleeper' was never awaited"):
                sleeper(1)
                gc.collect()
            loop = asyncio.new_event_loop()
            loop.close()
            with pytest.warns(RuntimeWarning, match="coroutine 'sleeper' was never awaited"):
                with pytest.raises(RuntimeError, match="closed"):
                    loop.create_task(sleeper(1))
                gc.collect()

    def test_a_task_that_could_not_be_made_is_not_in_the_table(self):
        with installed() as tracker:
            loop = asyncio.new_event_loop()
            with pytest.raises(TypeError, match="coroutine was expected"):
                loop.create_task(42)
            loop.close()
            coroutine = sleeper(1)
            with pytest.raises(RuntimeError):
                loop.create_task(coroutine)
            coroutine.close()
            with pytest.raises(TypeError):
                loop.create_task()
        assert tracker.tasks == []

    def test_context_variables(self):
        variable = contextvars.ContextVar("variable", default="outer")

        async def job(value):
            variable.set(value)
            await asyncio.sleep(0)
            return variable.get()

        async def main():
            values = await asyncio.gather(*(job(i) for i in range(3)))
            return values, variable.get()

        with installed():
            assert asyncio.run(main()) == ([0, 1, 2], "outer")

    @SINCE_3_11
    def test_a_context_of_its_own(self):
        variable = contextvars.ContextVar("variable", default="outer")
        context = contextvars.copy_context()
        context.run(variable.set, "given")

        async def job():
            await asyncio.sleep(0)
            return variable.get()

        async def main():
            return await asyncio.create_task(job(), context=context)

        with installed():
            assert asyncio.run(main()) == "given"

    @SINCE_3_11
    def test_task_groups(self):
        async def fail():
            await asyncio.sleep(0.001)
            raise ValueError("of a group")

        async def main():
            async with asyncio.TaskGroup() as group:
                done = group.create_task(sleeper(0), name="first")
            assert done.result() == 0
            with pytest.raises(BaseException) as caught:
                async with asyncio.TaskGroup() as group:
                    group.create_task(fail())
                    waiting = group.create_task(sleeper(60))
            assert [str(error) for error in caught.value.exceptions] == ["of a group"] and waiting.cancelled()

        with installed() as tracker:
            asyncio.run(main())
        assert [row["name"] for row in rows_of(tracker, "sleeper")][0] == "first"
        assert all(row["done_ns"] != -1 for row in rows_of(tracker, "sleeper") + rows_of(tracker, "fail"))

    def test_wait_for(self):
        async def main():
            assert await asyncio.wait_for(sleeper(0), 10) == 0
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(sleeper(60), 0.001)
            task = asyncio.create_task(sleeper(0.001))
            assert await asyncio.shield(task) == 0.001

        with installed():
            asyncio.run(main())

    def test_debug_mode(self):
        async def main():
            task = asyncio.create_task(sleeper(0.001))
            await asyncio.sleep(0)
            assert task.get_coro().cr_origin is None or "main" in str(task.get_coro().cr_origin)
            assert "created at" in repr(task)
            await task

        with installed():
            asyncio.run(main(), debug=True)

    def test_a_coroutine_that_is_sent_to_within_itself(self):
        async def main():
            mine = asyncio.current_task().get_coro()
            for resume in (lambda: mine.send(None), lambda: mine.throw(KeyError), mine.close):
                with pytest.raises(ValueError, match="already executing"):
                    resume()
            await asyncio.sleep(0)

        with installed() as tracker:
            asyncio.run(main())
        assert tracker.tasks[0].steps == 2

    def test_coroutines_of_generators(self):
        @types.coroutine
        def old(value):
            yield
            return value

        class Own(collections.abc.Coroutine):
            def __init__(self):
                self.sent = []

            def send(self, value):
                self.sent.append(value)
                if len(self.sent) == 3:
                    raise StopIteration("own")

            def throw(self, *error):
                raise error[0]

            def close(self):
                pass

            def __await__(self):
                return iter(self.send, 0)

        async def main():
            return await asyncio.create_task(old(5)), await asyncio.create_task(Own())

        with installed() as tracker:
            assert asyncio.run(main()) == (5, "own")
        names = [row.coro_name for row in tracker.tasks]
        assert any(name.endswith("old") for name in names) and any(name.endswith("Own") for name in names)
        assert [record.steps for record in tracker.tasks[1:3]] == [2, 3]


class TestTheUsersCoroutineIsShown:
    def seen(self):
        async def wanted():
            await asyncio.sleep(0.001)

        async def main():
            coroutine = wanted()
            task = asyncio.create_task(coroutine, name="shown")
            await asyncio.sleep(0)
            shown = task.get_coro()
            facts = {
                "name": (shown.__name__, shown.__qualname__),
                "repr": repr(shown) == repr(coroutine),
                "frame": shown.cr_frame is coroutine.cr_frame and shown.cr_frame.f_code is wanted.__code__,
                "code": shown.cr_code is wanted.__code__,
                "await": shown.cr_await is coroutine.cr_await and shown.cr_await is not None,
                "running": (shown.cr_running, asyncio.current_task().get_coro().cr_running),
                "origin": shown.cr_origin and [name for _, _, name in shown.cr_origin],
                "class": isinstance(shown, types.CoroutineType) and shown.__class__ is types.CoroutineType,
                "abc": isinstance(shown, collections.abc.Coroutine),
                "inspect": (inspect.iscoroutine(shown), inspect.isawaitable(shown), inspect.isgenerator(shown)),
                "state": inspect.getcoroutinestate(shown),
                "asyncio": asyncio.iscoroutine(shown),
                "doc": shown.__doc__,
                "task": repr(task).split("wait_for")[0].replace(hex(id(task)), ""),
                "stack": [frame.f_code.co_name for frame in task.get_stack()],
            }
            await task
            facts["after"] = (shown.cr_frame, inspect.getcoroutinestate(shown), repr(task).split(" result")[0])
            with pytest.raises(RuntimeError, match="cannot reuse already awaited coroutine"):
                shown.send(None)
            return facts

        return asyncio.run(main())

    def test_by_everything_that_looks_at_it(self):
        plain = self.seen()
        with installed() as tracker:
            assert self.seen() == plain
        assert plain["name"][1] in [record.coro_name for record in tracker.tasks]
        assert plain["frame"] is plain["code"] is plain["await"] is True

    def test_attributes_can_be_set_and_are_missing_as_before(self):
        async def main():
            shown = asyncio.current_task().get_coro()
            shown.__name__, shown.__qualname__ = "other", "some.other"
            assert (shown.__name__, shown.__qualname__) == ("other", "some.other")
            assert "some.other()" in repr(asyncio.current_task())
            with pytest.raises(AttributeError, match="gi_frame"):
                shown.gi_frame
            with pytest.raises(AttributeError):
                shown.cr_frame = None
            with pytest.raises(TypeError):
                shown.__name__ = 3

        with installed():
            asyncio.run(main())

    def test_it_can_be_awaited_by_hand(self):
        tracker = _core.Tracker()
        tracker.open()

        async def outer():
            return await _core.wrap(sleeper(0.001), tracker)

        assert asyncio.run(outer()) == 0.001
        wrapped = _core.wrap(sleeper(0), tracker)
        assert inspect.getcoroutinestate(wrapped) == inspect.CORO_CREATED
        wrapped.close()
        assert inspect.getcoroutinestate(wrapped) == inspect.CORO_CLOSED
        with pytest.raises(TypeError):
            wrapped.throw()
        with pytest.raises(TypeError):
            iter(wrapped)
        with pytest.raises(TypeError):
            type(wrapped.close.__self__)()

    def test_values_come_out_whole(self):
        tracker = _core.Tracker()
        tracker.open()

        async def give(value):
            return value

        for value in ((1, 2), (), ValueError("v"), None, 0):
            with pytest.raises(StopIteration) as caught:
                _core.wrap(give(value), tracker).send(None)
            assert caught.value.value is value or caught.value.value == value


class TestHooks:
    def attributes(self):
        return tuple(vars(asyncio.BaseEventLoop)[name] for name in ("create_task", "run_forever"))

    def test_are_the_identical_objects_afterwards(self):
        before = self.attributes()
        with installed():
            during = self.attributes()
            assert during[0] is not before[0] and during[1] is not before[1]
            with installed(), installed(track_async=False):
                assert self.attributes() == during
            assert self.attributes() == during
        after = self.attributes()
        assert after[0] is before[0] and after[1] is before[1]

    def test_look_like_the_methods(self):
        plain = asyncio.BaseEventLoop.create_task
        with installed():
            hooked = asyncio.BaseEventLoop.create_task
            assert (hooked.__name__, hooked.__doc__) == (plain.__name__, plain.__doc__)
            assert inspect.signature(hooked) == inspect.signature(plain)
            assert hooked.__wrapped__ is plain

    def test_several_trackers_removed_in_any_order(self):
        async def main():
            await asyncio.gather(sleeper(0), sleeper(0))

        before = self.attributes()
        for order in ((0, 1), (1, 0)):
            trackers = [ConcurrencyTracker(track_async=True) for _ in range(2)]
            for tracker in trackers:
                tracker.install()
            asyncio.run(main())
            assert [len(rows_of(tracker, "sleeper")) for tracker in trackers] == [2, 2]
            trackers[order[0]].uninstall()
            asyncio.run(main())
            assert len(rows_of(trackers[order[0]], "sleeper")) == 2
            assert len(rows_of(trackers[order[1]], "sleeper")) == 4
            trackers[order[1]].uninstall()
            assert self.attributes() == before
            asyncio.run(main())
            assert [len(rows_of(tracker, "sleeper")) for tracker in trackers] in ([2, 4], [4, 2])

    def test_a_step_counts_in_every_tracker(self):
        with installed() as first:
            with installed() as second:
                asyncio.run(sleeper(0.002))
        rows = [rows_of(tracker, "sleeper")[0] for tracker in (first, second)]
        assert [row["steps"] for row in rows] == [2, 2]
        assert abs(int(rows[0]["suspended_ns"]) - int(rows[1]["suspended_ns"])) < 1_000_000

    def test_one_that_goes_while_a_task_runs(self):
        async def main():
            second.uninstall()
            await asyncio.sleep(0)
            first.uninstall()
            await asyncio.sleep(0)

        first, second = ConcurrencyTracker(track_async=True), ConcurrencyTracker(track_async=True)
        first.install()
        second.install()
        asyncio.run(main())
        assert first.tasks[0].done and second.tasks[0].done

    def test_a_tracker_that_is_deleted_while_its_task_runs(self):
        async def main():
            nonlocal tracker
            tracker.uninstall()
            tracker = None
            gc.collect()
            await asyncio.sleep(0)
            return 1

        tracker = ConcurrencyTracker(track_async=True)
        tracker.install()
        assert asyncio.run(main()) == 1

    def test_what_the_application_put_on_top_stays(self):
        before = self.attributes()
        tracker = ConcurrencyTracker(track_async=True)
        tracker.install()
        below = vars(asyncio.BaseEventLoop)["create_task"]

        @functools.wraps(below)
        def on_top(self, *args, **kwargs):
            calls.append(1)
            return below(self, *args, **kwargs)

        calls = []
        asyncio.BaseEventLoop.create_task = on_top
        try:
            asyncio.run(sleeper(0))
            assert len(rows_of(tracker, "sleeper")) == 1
            tracker.uninstall()
            assert vars(asyncio.BaseEventLoop)["create_task"] is on_top
            asyncio.run(sleeper(0))
            assert len(rows_of(tracker, "sleeper")) == 1
            tracker.install()
            asyncio.run(sleeper(0))
            assert len(rows_of(tracker, "sleeper")) == 2
            tracker.uninstall()
            assert vars(asyncio.BaseEventLoop)["create_task"] is on_top and len(calls) >= 9
        finally:
            asyncio.BaseEventLoop.create_task = before[0]
        assert self.attributes() == before


class TestTaskFactories:
    @pytest.mark.parametrize("when", ["before", "after"])
    def test_of_the_application_runs(self, when):
        made = []

        def factory(loop, coro, **options):
            made.append(coro.__name__)
            return asyncio.Task(coro, loop=loop, **options)

        async def main():
            asyncio.get_running_loop().set_task_factory(factory)
            if when == "before":
                tracker.install()
            await asyncio.create_task(sleeper(0))
            assert asyncio.get_running_loop().get_task_factory() is factory

        tracker = ConcurrencyTracker(track_async=True)
        if when == "after":
            tracker.install()
        asyncio.run(main())
        tracker.uninstall()
        assert made[0] == "sleeper" and len(rows_of(tracker, "sleeper")) == 1

    @SINCE_3_12
    def test_eager_tasks(self, tmp_path):
        async def job(value):
            with lanescope.region("eager"):
                if value:
                    await asyncio.sleep(0.001)
            return value

        async def main():
            asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
            with lanescope.region("around"):
                done = asyncio.create_task(job(0), name="at once")
                waits = asyncio.create_task(job(1), name="later")
            assert done.done() and not waits.done()
            return await done, await waits

        with Recording(tmp_path / "run.h5") as recording:
            assert asyncio.run(main()) == (0, 1)
        assert recording.parents("eager") == [None, None]
        table = recording.run.task_table
        names = [name for name, coro in zip(table["name"], table["coro_name"]) if coro.endswith("job")]
        assert names == ["at once", "later"]

    def test_instrument_loop_without_install(self):
        async def main():
            loop = asyncio.get_running_loop()
            assert loop.get_task_factory() is None
            tracker.instrument_loop(loop)
            factory = loop.get_task_factory()
            tracker.instrument_loop(loop)
            assert loop.get_task_factory() is factory
            await asyncio.create_task(sleeper(0), name="by the factory")
            tracker.uninstall()
            assert loop.get_task_factory() is None
            await asyncio.create_task(sleeper(0))

        tracker = ConcurrencyTracker(track_async=True)
        asyncio.run(main())
        (row,) = rows_of(tracker, "sleeper")
        assert row["name"] == "by the factory" and row["steps"] == 2 and row["done_ns"] != -1

    def test_instrument_loop_chains_to_the_factory_before(self):
        made = []

        def factory(loop, coro, **options):
            made.append(1)
            return asyncio.Task(coro, loop=loop, **options)

        async def main():
            loop = asyncio.get_running_loop()
            loop.set_task_factory(factory)
            for tracker in trackers:
                tracker.instrument_loop(loop)
            await asyncio.create_task(sleeper(0))
            trackers[0].uninstall()
            await asyncio.create_task(sleeper(0))
            trackers[1].uninstall()
            await asyncio.create_task(sleeper(0))

        trackers = [ConcurrencyTracker(track_async=True) for _ in range(2)]
        asyncio.run(main())
        assert len(made) >= 3
        assert [len(rows_of(tracker, "sleeper")) for tracker in trackers] == [1, 2]
        assert [row["steps"] for tracker in trackers for row in rows_of(tracker, "sleeper")] == [2, 2, 2]

    def test_an_instrumented_loop_with_the_hooks_in_has_one_lane_a_task(self):
        async def main():
            loop = asyncio.get_running_loop()
            tracker.instrument_loop(loop)
            tracker.install()
            await asyncio.create_task(sleeper(0))
            tracker.instrument_loop(loop)
            await asyncio.create_task(sleeper(0))

        tracker = ConcurrencyTracker(track_async=True)
        asyncio.run(main())
        tracker.uninstall()
        assert [row["steps"] for row in rows_of(tracker, "sleeper")] == [2, 2]

    def test_a_loop_with_a_create_task_of_its_own(self):
        class Loop(asyncio.SelectorEventLoop):
            def create_task(self, coro, **options):
                factory = self.get_task_factory()
                options = {key: value for key, value in options.items() if value is not None}
                return factory(self, coro, **options) if factory else asyncio.Task(coro, loop=self, **options)

        async def main():
            await asyncio.create_task(sleeper(0))

        with installed() as tracker:
            loop = Loop()
            try:
                loop.run_until_complete(main())
                assert len(rows_of(tracker, "sleeper")) == 1
            finally:
                loop.close()

    def test_uvloop(self, tmp_path):
        uvloop = pytest.importorskip("uvloop")

        async def job():
            with lanescope.region("uv"):
                await asyncio.sleep(0.02)

        async def main():
            await asyncio.gather(job(), job())

        with Recording(tmp_path / "run.h5") as recording:
            loop = uvloop.new_event_loop()
            recording.tracker.instrument_loop(loop)
            recording.tracker.instrument_loop(loop)
            try:
                loop.run_until_complete(main())
                assert loop.get_task_factory() is not None
                recording.tracker.uninstall()
                assert loop.get_task_factory() is None
            finally:
                loop.close()
        calls = recording.run.calls("uv")
        assert len({call["task_ids"] for call in calls}) == 2 and all(call["await_ns"] > 10_000_000 for call in calls)
        assert any(name.endswith("main") for name in recording.run.task_table["coro_name"])
