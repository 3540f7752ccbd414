# SPDX-License-Identifier: BSD-3-Clause
"""asyncio's tasks and coroutines under a tracker: nothing about them is different from without."""
import asyncio
import collections.abc
import contextvars
import gc
import inspect
import sys
import traceback
import types
import warnings

import pytest
from lanescope import _core

from lanes import installed, rows_of, sleeper

SINCE_3_11 = pytest.mark.skipif(sys.version_info < (3, 11), reason="asyncio.TaskGroup came with Python 3.11")


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
