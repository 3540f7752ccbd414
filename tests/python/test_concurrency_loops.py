# SPDX-License-Identifier: BSD-3-Clause
"""How a tracker comes to asyncio's tasks: hooks in the loop's methods, and task factories."""
import asyncio
import functools
import gc
import inspect
import sys

import lanescope
import pytest
from lanescope.concurrency import ConcurrencyTracker

from lanes import Recording, installed, rows_of, sleeper

SINCE_3_12 = pytest.mark.skipif(sys.version_info < (3, 12), reason="eager tasks came with Python 3.12")


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
