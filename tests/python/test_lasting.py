# SPDX-License-Identifier: BSD-3-Clause
"""Functions whose calls return before the body runs: coroutines, generators, async generators; and calls as objects."""
import asyncio
import gc
import inspect
import sys
import threading
import time

import lanescope
import pytest
from runs import Run


@pytest.fixture
def recorded(tmp_path):
    """recorded(): ends the session of the test and gives its file."""
    lanescope.setup(tmp_path / "run.h5", verbose=False)

    def end():
        return Run(lanescope.finalize())

    yield end
    lanescope.finalize()


@lanescope.profile("numbers")
def numbers(count):
    """Doc."""
    total = 0
    try:
        for i in range(count):
            total += (yield i) or 0
    finally:
        time.sleep(0.001)
    return total


@lanescope.profile
async def fetch(value, delay=0.002):
    await asyncio.sleep(delay)
    return value


@lanescope.profile("stream")
async def stream(count, closed):
    try:
        for i in range(count):
            await asyncio.sleep(0)
            closed.append((yield i))
    except KeyError as error:
        yield error
    finally:
        await asyncio.sleep(0)
        closed.append("closed")


def test_kinds_and_names_stay():
    assert inspect.isgeneratorfunction(numbers) and numbers.__name__ == "numbers" and numbers.__doc__ == "Doc."
    assert inspect.iscoroutinefunction(fetch) and asyncio.iscoroutinefunction(fetch)
    assert inspect.isasyncgenfunction(stream)
    assert list(inspect.signature(fetch).parameters) == ["value", "delay"]
    assert fetch.__wrapped__.__qualname__ == "fetch"


def test_a_generator_lasts_from_its_first_step_to_its_end(recorded):
    generator = numbers(3)
    time.sleep(0.003)
    before = time.perf_counter_ns()
    assert next(generator) == 0
    begun = time.perf_counter_ns()
    assert generator.send(10) == 1 and generator.send(20) == 2
    with pytest.raises(StopIteration) as end:
        generator.send(30)
    after = time.perf_counter_ns()
    assert end.value.value == 60
    numbers(3)  # never begun
    (call,) = recorded().calls("numbers")
    assert before <= call["start_times"] <= begun
    assert begun + 1_000_000 <= call["end_times"] <= after


@pytest.mark.parametrize("how", ["close", "throw", "delete", "exhaust", "error", "collect"])
def test_a_generator_is_closed_once_however_it_is_closed(recorded, how):
    generator = numbers(2)
    next(generator)
    if how == "close":
        generator.close()
        generator.close()
    elif how == "throw":
        with pytest.raises(KeyError):
            generator.throw(KeyError("k"))
    elif how == "exhaust":
        generator.send(1)
        with pytest.raises(StopIteration):
            generator.send(1)
    elif how == "error":
        with pytest.raises(TypeError):
            generator.send("text")
    elif how == "collect":
        cycle = [generator]
        cycle.append(cycle)
        del cycle
    del generator
    gc.collect()
    run = recorded()
    assert run.count("numbers") == 1
    assert "open_calls" not in run.tables


def test_a_generator_closed_on_another_thread_stays_on_the_lane_that_opened_it(recorded):
    opened = []

    def begin():
        generator = numbers(3)
        next(generator)
        opened.append(generator)

    with lanescope.region("main"):
        pass
    thread = threading.Thread(target=begin, name="opener")
    thread.start()
    thread.join()
    opened.pop().close()
    run = recorded()
    (call,) = run.calls("numbers")
    assert run.thread_table["name"][call["thread_ids"]] == "opener"
    assert run.thread_table["name"][run.calls("main")[0]["thread_ids"]] == "MainThread"


def test_generators_that_interleave_are_each_recorded(recorded):
    first, second = numbers(2), numbers(2)
    next(first)
    time.sleep(0.002)
    next(second)
    first.close()
    time.sleep(0.002)
    second.close()
    one, other = recorded().calls("numbers")
    assert one["start_times"] + 2_000_000 <= other["start_times"] < one["end_times"]
    assert one["end_times"] + 2_000_000 <= other["end_times"]
    assert one["parent_ids"] == other["parent_ids"] == -1


def test_a_coroutine_lasts_until_it_ends(recorded):
    before = time.perf_counter_ns()
    assert asyncio.run(fetch(42)) == 42
    after = time.perf_counter_ns()
    (call,) = recorded().calls("fetch")
    assert before <= call["start_times"] and call["end_times"] <= after
    assert call["end_times"] - call["start_times"] >= 2_000_000


def test_gathered_coroutines_overlap_and_none_is_lost(recorded):
    async def main():
        return await asyncio.gather(*(fetch(i, 0.001 * (i % 3)) for i in range(30)))

    assert asyncio.run(main()) == list(range(30))
    run = recorded()
    assert run.count("fetch") == 30 and "open_calls" not in run.tables


def test_a_cancelled_coroutine_has_ended(recorded):
    async def main():
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(fetch(1, 10), 0.01)
        task = asyncio.ensure_future(fetch(2, 10))
        task.cancel()  # before its first step: it never runs
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    run = recorded()
    assert run.count("fetch") == 1 and "open_calls" not in run.tables


def test_exceptions_pass_unchanged(recorded):
    @lanescope.profile("fails")
    async def fails():
        raise LookupError("mine")

    @lanescope.profile("fails too")
    def fails_too():
        yield 1
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        asyncio.run(fails())
    with pytest.raises(LookupError, match="mine"):
        list(fails_too())
    run = recorded()
    assert (run.count("fails"), run.count("fails too")) == (1, 1)


@pytest.mark.parametrize("how", ["exhaust", "break", "aclose", "throw", "leave"])
def test_an_async_generator_is_closed_once(recorded, how):
    closed, seen = [], []

    async def main():
        generator = stream(3, closed)
        if how == "exhaust":
            seen.extend([i async for i in generator])
        elif how == "break":
            async for i in generator:
                seen.append(i)
                break
            await generator.aclose()
        elif how == "aclose":
            seen.append(await generator.asend(None))
            seen.append(await generator.asend("sent"))
            await generator.aclose()
            await generator.aclose()
        elif how == "throw":
            await generator.__anext__()
            seen.append(type(await generator.athrow(KeyError("k"))))
            with pytest.raises(StopAsyncIteration):
                await generator.__anext__()
        else:
            seen.append(await generator.__anext__())
            del generator
            gc.collect()
            await asyncio.sleep(0.01)  # the loop's hook closes it

    asyncio.run(main())
    expected = {"exhaust": [0, 1, 2], "break": [0], "aclose": [0, 1], "throw": [KeyError], "leave": [0]}
    assert seen == expected[how]
    assert closed.count("closed") == 1
    assert "sent" in closed or how != "aclose"
    run = recorded()
    assert run.count("stream") == 1 and "open_calls" not in run.tables


def test_methods_of_these_kinds(recorded):
    class Thing:
        @lanescope.profile("Thing.each")
        def each(self):
            yield self

        @classmethod
        @lanescope.profile("Thing.make")
        async def make(cls):
            return cls()

        @lanescope.profile("Thing.static")
        @staticmethod
        def static():
            yield 1

    thing = asyncio.run(Thing.make())
    assert list(thing.each()) == [thing] and list(Thing.static()) == [1] == list(thing.static())
    run = recorded()
    assert [run.count(f"Thing.{name}") for name in ("each", "make", "static")] == [1, 1, 2]


def test_a_call_object_ends_where_and_when_it_likes(recorded):
    region = lanescope.region("crossing")
    first, second = region.call(), region.call()
    assert first.__enter__() is first
    second.__enter__()
    with pytest.raises(RuntimeError, match="has begun"):
        first.__enter__()
    first.__exit__(None, None, None)
    first.__exit__(None, None, None)
    thread = threading.Thread(target=second.__exit__, args=(None, None, None))
    thread.start()
    thread.join()
    with first:  # again
        pass
    run = recorded()
    calls = run.calls("crossing")
    assert len(calls) == 3 and "open_calls" not in run.tables
    assert {run.thread_table["name"][call["thread_ids"]] for call in calls} == {"MainThread"}
    assert calls[0]["start_times"] < calls[1]["start_times"] < calls[0]["end_times"] < calls[1]["end_times"]


def test_without_a_session_they_run_unprofiled():
    assert list(numbers(2)) == [0, 1]
    assert asyncio.run(fetch(1)) == 1
    with lanescope.region("none").call():
        pass


def test_a_session_that_closes_in_between_does_no_harm(tmp_path):
    generator = numbers(2)
    with lanescope.session(tmp_path / "1.h5", verbose=False):
        next(generator)
    with lanescope.session(tmp_path / "2.h5", verbose=False):
        generator.close()
        with lanescope.region("after"):
            pass
    assert Run(tmp_path / "1.h5").open_calls["region_names"] == ["numbers"]
    second = Run(tmp_path / "2.h5")
    assert (second.count("numbers"), second.count("after")) == (0, 1)


def test_calls_leave_nothing_behind(recorded):
    region = lanescope.region("leak of calls")

    def use():
        with region.call():
            pass
        list(numbers(0))

    use()
    gc.collect()
    before = sys.getrefcount(region), len(gc.get_objects())
    for _ in range(500):
        use()
    gc.collect()
    assert (sys.getrefcount(region), len(gc.get_objects())) == before
    with pytest.raises(TypeError):
        lanescope._core.Call()
