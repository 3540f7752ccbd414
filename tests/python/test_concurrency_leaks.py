# SPDX-License-Identifier: BSD-3-Clause
"""Trackers leave nothing behind: one test a type, by counting references, and one for the memory of whole trackers."""
import asyncio
import gc
import logging
import sys
import threading
import weakref

import pytest
from lanescope import _core, concurrency
from lanescope.concurrency import ConcurrencyTracker

from lanes import installed
from leaks import TURNS, grown, grown_resident, kept

greenlet = pytest.importorskip("greenlet")


async def nothing():
    await asyncio.sleep(0)


def test_tracker():
    def use():
        tracker = _core.Tracker()
        tracker.register_thread()
        _core.lane_tables(tracker)
        _core.lane_row(tracker, 0, 1, 0, 1)
        with pytest.raises(TypeError):
            _core.lane_tables(42)
        with pytest.raises(TypeError):
            _core.Tracker("handle")

    assert grown(use, _core.Tracker) == [0]
    assert kept(use) < TURNS


def test_concurrency_tracker_and_records():
    def use():
        with installed() as tracker:
            record = tracker.current_thread()
            assert tracker.threads == [record] and record.task is None
            repr(record), repr(tracker)

    assert grown(use, ConcurrencyTracker, concurrency.ThreadRecord, _core.Tracker) == [0, 0, 0]
    assert kept(use) < TURNS


def test_record_in_a_cycle_is_collected():
    tracker = ConcurrencyTracker()
    record = tracker.current_thread()
    gone = weakref.ref(record), weakref.ref(tracker)
    del record, tracker
    gc.collect()
    assert gone[0]() is None and gone[1]() is None


@pytest.mark.parametrize("end", ["returns", "raises", "closed", "given up", "never run", "thrown into"])
def test_task_coroutine(end):
    tracker = _core.Tracker()
    tracker.open()
    value = object()

    async def job():
        await asyncio.sleep(0)
        if end == "raises":
            raise KeyError(value)
        return value

    class Task:
        def get_name(self):
            return "a task"

    def use():
        coroutine = _core.wrap(job(), tracker)
        task = Task()
        _core.bind(coroutine, task)
        weakref.ref(coroutine)
        if end == "never run":
            coroutine.close()
            return
        coroutine.send(None)
        if end in ("returns", "raises"):
            with pytest.raises((StopIteration, KeyError)):
                coroutine.send(None)
        elif end == "closed":
            coroutine.close()
        elif end == "thrown into":
            with pytest.raises(ValueError):
                coroutine.throw(ValueError())

    coroutine_type = type(_core.wrap(nothing_closed(), tracker))
    assert grown(use, value, tracker, job, Task, coroutine_type) == [0] * 5


def nothing_closed():
    coroutine = nothing()
    coroutine.close()
    return coroutine


def test_tasks_in_cycles_are_collected():
    gone = []

    async def main():
        future = asyncio.get_running_loop().create_future()

        async def waits():
            await future

        task = asyncio.create_task(waits())
        await asyncio.sleep(0)
        gone.append(weakref.ref(task.get_coro()))
        del task

    logging.getLogger("asyncio").disabled = True
    try:
        with installed():
            asyncio.run(main())
            gc.collect()
            assert gone[0]() is None
    finally:
        logging.getLogger("asyncio").disabled = False


def test_loop_method_and_factory():
    async def main():
        loop = asyncio.get_running_loop()
        tracker = ConcurrencyTracker(track_async=True)
        tracker.instrument_loop(loop)
        await loop.create_task(nothing())
        tracker.uninstall()

    def use():
        original = asyncio.BaseEventLoop.create_task
        creator = _core.LoopMethod(original)
        creator.__get__(None, int), creator.__get__(5, int), creator.__name__, creator.__doc__
        assert _core.LoopMethod(int, len)("7") == 7
        with pytest.raises(TypeError):
            _core.LoopMethod(int, len)(7)
        with pytest.raises(AttributeError):
            creator.missing
        with installed():
            pass

    objects = _core.LoopMethod, vars(asyncio.BaseEventLoop)["create_task"], vars(asyncio.BaseEventLoop)["run_forever"]
    assert grown(use, *objects) == [0, 0, 0]
    with installed():
        assert kept_by_loop(main) < 40 * 200


def kept_by_loop(main):
    """Growth of the number of objects over 200 turns in one loop, in units of bytes of a small object."""

    async def turns(count):
        for _ in range(count):
            await main()
        gc.collect()
        return len(gc.get_objects())

    async def measured():
        before = await turns(20)
        return 40 * (await turns(200) - before)

    return asyncio.run(measured())


def test_thread_hook():
    def profile(frame, event, arg):
        pass

    def use():
        threading.setprofile(profile)
        with installed():
            thread = threading.Thread(target=int)
            thread.start()
            thread.join()
        threading.setprofile(None)

    for _ in range(20):
        use()
    gc.collect()
    before = sys.getrefcount(profile), sys.getrefcount(_core.ThreadHook)
    for _ in range(200):
        use()
    gc.collect()
    assert (sys.getrefcount(profile), sys.getrefcount(_core.ThreadHook)) == before


def test_greenlet_hook_and_lanes():
    def trace(event, greenlets):
        pass

    def run():
        main.switch()

    main = greenlet.getcurrent()
    kept_alive = []

    def use():
        greenlet.settrace(trace)
        with installed():
            other = greenlet.greenlet(run)
            other.switch()
            other.switch()
            half = greenlet.greenlet(run)
            half.switch()
            kept_alive.append(weakref.ref(other))
            del other, half
        greenlet.settrace(None)

    gone = grown(use, trace, run)
    assert gone == [0, 0]
    assert all(reference() is None for reference in kept_alive)


def test_memory_of_trackers_that_are_deleted():
    async def main():
        await asyncio.gather(*(nothing() for _ in range(200)))

    def use():
        with installed() as tracker:
            asyncio.run(main())
            assert len(tracker.tasks) >= 201

    assert grown_resident(use, 10, 100) < 4 << 20
