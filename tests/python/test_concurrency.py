# SPDX-License-Identifier: BSD-3-Clause
"""Trackers: what the module has, going in and out, several at a time, forks."""
import itertools
import threading

import lanescope
import pytest
from lanescope import concurrency
from lanescope.concurrency import ConcurrencyTracker

from lanes import in_thread, installed


def test_constants():
    assert (concurrency.NO_TASK, concurrency.UNKNOWN, concurrency.CPU_SAMPLE_MASK) == (-1, -1, 255)
    assert concurrency.lane_ids is lanescope.lane_ids


def test_every_public_name_is_there():
    assert sorted(concurrency.__all__) == sorted(
        "CPU_SAMPLE_MASK NO_TASK UNKNOWN ConcurrencyTracker TaskInfo TaskRecord ThreadInfo ThreadRecord lane_ids"
        " lane_tables_from_columns".split()
    )
    for name in concurrency.__all__:
        assert hasattr(concurrency, name)


class TestInstall:
    def test_registers_no_thread(self):
        with installed() as tracker:
            assert tracker.threads == [] and tracker.tasks == []
            assert tracker.current_thread().index == 0

    def test_twice_is_once(self):
        before = threading.getprofile()
        tracker = ConcurrencyTracker()
        tracker.install()
        tracker.install()
        in_thread(lambda: None)
        assert len(tracker.threads) == 1
        tracker.uninstall()
        assert threading.getprofile() is before
        in_thread(lambda: None)
        assert len(tracker.threads) == 1

    def test_uninstall_at_any_time(self):
        tracker = ConcurrencyTracker(track_async=True)
        for _ in range(3):
            tracker.uninstall()
        for _ in range(3):
            tracker.install()
            tracker.uninstall()
            tracker.uninstall()
        assert threading.getprofile() is None

    def test_again_goes_on_with_the_same_tables(self):
        tracker = ConcurrencyTracker()
        for count in (1, 2):
            tracker.install()
            in_thread(lambda: None)
            tracker.uninstall()
            assert len(tracker.threads) == count

    def test_a_tracker_takes_a_session_only_when_it_is_used(self):
        idle = [ConcurrencyTracker(track_async=True) for _ in range(200)]
        used = []
        with pytest.raises(lanescope.Error, match="63"):
            for _ in range(64):
                used.append(ConcurrencyTracker())
                used[-1].install()
        assert len(used) == 64
        used[63].uninstall()
        assert used[63]._installed is False
        for tracker in used:
            tracker.uninstall()
        del used, tracker
        with installed() as tracker:
            in_thread(lambda: None)
            assert len(tracker.threads) == 1
        del idle

    @pytest.mark.parametrize("order", itertools.permutations(range(3)))
    def test_several_in_any_order(self, order):
        before = threading.getprofile()
        trackers = [ConcurrencyTracker(track_async=i == 1) for i in range(3)]
        for tracker in trackers:
            tracker.install()
        expected = [0, 0, 0]
        left = set(range(3))
        for gone in (*order, None):
            in_thread(lambda: None)
            for i in left:
                expected[i] += 1
            assert [len(tracker.threads) for tracker in trackers] == expected
            if gone is not None:
                trackers[gone].uninstall()
                left.discard(gone)
        assert threading.getprofile() is before

    def test_trackers_number_threads_on_their_own(self):
        with installed() as first:
            in_thread(lambda: None, name="one")
            with installed() as second:
                in_thread(lambda: None, name="two")
                assert [thread.name for thread in first.threads] == ["one", "two"]
                assert [(thread.index, thread.name) for thread in second.threads] == [(0, "two")]


class TestFork:
    def test_the_child_stands_down_and_the_parent_goes_on(self, run):
        done = run(
            """
            import asyncio, os, threading
            from lanescope import concurrency

            original = asyncio.BaseEventLoop.create_task, asyncio.BaseEventLoop.run_forever
            tracker = concurrency.ConcurrencyTracker(track_async=True)
            tracker.install()
            seen = []

            def thread():
                each = threading.Thread(target=seen.append, args=(1,))
                each.start()
                each.join()

            async def main():
                await asyncio.sleep(0)

            thread()
            asyncio.run(main())
            threads, tasks = len(tracker.threads), len(tracker.tasks)
            assert threads == 2 and tasks == 3, (threads, tasks)
            pid = os.fork()
            if pid == 0:
                ok = tracker.threads == [] and tracker.tasks == []
                ok = ok and threading.getprofile() is None
                ok = ok and (asyncio.BaseEventLoop.create_task, asyncio.BaseEventLoop.run_forever) == original
                thread()
                asyncio.run(main())
                ok = ok and tracker.threads == [] and tracker.tasks == []
                ok = ok and not any(len(column) for table in tracker.snapshot().values() for column in table.values())
                tracker.uninstall()
                own = concurrency.ConcurrencyTracker(track_async=True)
                own.install()
                thread()
                asyncio.run(main())
                ok = ok and len(own.threads) == 2 and len(own.tasks) == 3
                os._exit(0 if ok else 1)
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
            assert (len(tracker.threads), len(tracker.tasks)) == (threads, tasks)
            thread()
            asyncio.run(main())
            assert (len(tracker.threads), len(tracker.tasks)) == (threads + 1, tasks + 3)
            tracker.uninstall()
            """
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")

    def test_within_a_step_of_a_task(self, run):
        done = run(
            """
            import asyncio, os, threading
            from lanescope import concurrency

            tracker = concurrency.ConcurrencyTracker(track_async=True)
            tracker.install()

            async def main():
                pid = os.fork()
                if pid == 0:
                    os._exit(0 if tracker.tasks == [] and threading.getprofile() is None else 1)
                await asyncio.sleep(0.001)
                return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

            assert asyncio.run(main()) == 0
            assert tracker.tasks[0].done and tracker.tasks[0].steps >= 2
            """
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
