# SPDX-License-Identifier: BSD-3-Clause
"""Trackers: constants, records, tables, hooks of threads, several trackers, forks."""
import _thread
import ctypes
import itertools
import os
import subprocess
import sys
import threading
import time

import lanescope
import numpy as np
import pytest
from lanescope import concurrency
from lanescope.concurrency import ConcurrencyTracker, TaskRecord, ThreadRecord

from lanes import Recording, installed

THREAD_COLUMNS = ["index", "ident", "native_id", "name", "daemon", "start_ns", "end_ns", "cpu_ns"]
TASK_COLUMNS = [
    "index",
    "kind",
    "name",
    "coro_name",
    "thread_index",
    "created_ns",
    "done_ns",
    "steps",
    "running_ns",
    "suspended_ns",
]


def in_thread(function, **options):
    """Runs it on a new thread and hands back its result or its exception."""
    outcome = []

    def run():
        try:
            outcome.append((function(), None))
        except BaseException as error:
            outcome.append((None, error))

    thread = threading.Thread(target=run, **options)
    thread.start()
    thread.join(60)
    assert not thread.is_alive()
    result, error = outcome[0]
    if error is not None:
        raise error
    return result


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


class TestThreadRecordMadeByHand:
    def test_is_what_the_thread_says(self):
        before = time.perf_counter_ns()
        record = ThreadRecord(3, threading.current_thread())
        assert record.alive and record.cpu_ns > 0 and record.task is None
        assert (record.index, record.name, record.ident) == (3, threading.current_thread().name, threading.get_ident())
        assert record.native_id == threading.get_native_id() and record.daemon is False
        assert before <= record.start_ns <= time.perf_counter_ns() and record.end_ns == -1

    def test_of_a_thread_that_was_not_started(self):
        record = ThreadRecord(0, threading.Thread(name="later", daemon=True))
        assert (record.name, record.daemon, record.ident, record.native_id) == ("later", True, 0, 0)

    def test_cpu_time_never_goes_back(self):
        record = ThreadRecord(0, threading.current_thread())
        seen = [record.cpu_ns]
        for _ in range(50):
            sum(range(2000))
            record.sample_cpu()
            seen.append(record.cpu_ns)
        assert seen == sorted(seen) and seen[-1] > seen[0]
        record.cpu_ns = 2**60
        record.sample_cpu()
        assert record.cpu_ns == 2**60

    def test_repr(self):
        record = ThreadRecord(7, threading.current_thread())
        assert "index=7" in repr(record) and "finished" not in repr(record)
        record.end_ns = record.start_ns + 1
        assert "index=7" in repr(record) and "finished" in repr(record) and not record.alive


class TestTaskRecordMadeByHand:
    def test_begins_with_nothing(self):
        record = TaskRecord(4, "task", "Task-9", "main", 2)
        assert (record.index, record.kind, record.name, record.coro_name, record.thread_index) == (
            4,
            "task",
            "Task-9",
            "main",
            2,
        )
        assert record.done_ns == -1 and not record.done
        assert (record.steps, record.running_ns, record.suspended_ns) == (0, 0, 0)
        assert abs(record.created_ns - time.perf_counter_ns()) < 1e9

    def test_steps_and_gaps_add_up(self):
        record = TaskRecord(0, "task", "t", "f", 0)
        time.sleep(0.002)
        begins, ends = [], []
        for _ in range(3):
            begins.append(record.enter_step())
            time.sleep(0.001)
            record.leave_step()
            ends.append(record.last_step_end_ns)
            time.sleep(0.001)
        assert record.steps == 3
        assert record.running_ns == sum(end - begin for begin, end in zip(begins, ends))
        assert record.suspended_ns == sum(begin - end for begin, end in zip(begins[1:], ends))
        assert begins[0] == record.step_started_ns - (begins[2] - begins[0])

    def test_the_first_finish_wins(self):
        record = TaskRecord(0, "task", "t", "f", 0)
        record.finish()
        done = record.done_ns
        assert record.done and done >= record.created_ns
        time.sleep(0.001)
        record.finish()
        assert record.done_ns == done
        assert "finished" in repr(record) and "index=0" in repr(record)


class TestSnapshot:
    def test_of_a_tracker_that_was_never_used(self):
        tables = ConcurrencyTracker().snapshot()
        assert list(tables) == ["threads", "tasks"]
        assert list(tables["threads"]) == THREAD_COLUMNS and list(tables["tasks"]) == TASK_COLUMNS
        check_types(tables, 0, 0)

    def test_rows_are_in_the_order_of_registration(self):
        with installed(track_async=False) as tracker:
            threads = [threading.Thread(target=tracker.current_thread, name=f"w{i}", daemon=i == 1) for i in range(5)]
            for thread in threads:
                thread.start()
                thread.join()
            tracker.current_thread()
        tables = tracker.snapshot()
        check_types(tables, 6, 0)
        rows = tables["threads"]
        assert rows["name"] == ["w0", "w1", "w2", "w3", "w4", threading.current_thread().name]
        assert rows["index"].tolist() == list(range(6))
        assert rows["daemon"].tolist() == [0, 1, 0, 0, 0, 0]
        assert rows["ident"].tolist()[5] == threading.get_ident()
        assert [record.native_id for record in tracker.threads] == rows["native_id"].tolist()
        assert rows["native_id"].tolist()[5] == threading.get_native_id()
        assert (rows["end_ns"][:5] > rows["start_ns"][:5]).all() and rows["end_ns"][5] == -1
        assert (rows["cpu_ns"] > 0).all()
        assert (np.diff(rows["start_ns"]) > 0).all()

    def test_the_origin_is_taken_off_known_times(self):
        with installed() as tracker:
            in_thread(tracker.current_thread)
            tracker.current_thread()
        plain, shifted = tracker.snapshot(), tracker.snapshot(12345)
        for name in ("start_ns", "end_ns"):
            known = plain["threads"][name] != -1
            assert (shifted["threads"][name][known] == plain["threads"][name][known] - 12345).all()
            assert (shifted["threads"][name][~known] == -1).all()
        assert plain["threads"]["end_ns"].tolist()[1] == -1

    def test_consumes_no_call(self, tmp_path):
        with Recording(tmp_path / "run.h5", track_async=False) as recording:
            for _ in range(10):
                with lanescope.region("kept"):
                    pass
                recording.tracker.snapshot()
        assert recording.run.count("kept") == 10

    def test_and_the_file_agree(self, tmp_path):
        with Recording(tmp_path / "run.h5", track_async=False) as recording:
            in_thread(lambda: None, name="one")
            with lanescope.region("main"):
                pass
        table, rows = recording.run.thread_table, recording.tables["threads"]
        assert table["name"] == rows["name"] == ["one", threading.current_thread().name]
        for column in ("index", "ident", "native_id", "daemon"):
            assert table[column].tolist() == rows[column].tolist()
        assert table["end_ns"].tolist()[1] == rows["end_ns"].tolist()[1] == -1

    def test_becomes_objects(self):
        with installed() as tracker:
            in_thread(lambda: None, name="one", daemon=True)
            tracker.current_thread()
        threads, tasks = concurrency.lane_tables_from_columns(3, tracker.snapshot(tracker.threads[0].start_ns))
        assert tasks == []
        assert [(thread.rank, thread.index, thread.name, thread.daemon, thread.alive) for thread in threads] == [
            (3, 0, "one", True, False),
            (3, 1, threading.current_thread().name, False, True),
        ]
        assert threads[0].start_time == 0.0 and 0 < threads[0].end_time < 60 and threads[1].end_time is None

    def test_arrays_are_the_callers_own(self):
        with installed() as tracker:
            tracker.current_thread()
            column = tracker.snapshot()["threads"]["index"]
            column[0] = 99
            assert tracker.snapshot()["threads"]["index"].tolist() == [0]

    def test_while_threads_come_and_go(self):
        stop = threading.Event()

        def come_and_go():
            while not stop.is_set():
                in_thread(lambda: None)

        with installed() as tracker:
            makers = [threading.Thread(target=come_and_go) for _ in range(2)]
            for maker in makers:
                maker.start()
            until = time.monotonic() + 1
            while time.monotonic() < until:
                rows = tracker.snapshot()["threads"]
                assert rows["index"].tolist() == list(range(len(rows["name"])))
                ended = rows["end_ns"] != -1
                assert (rows["end_ns"][ended] >= rows["start_ns"][ended]).all()
            stop.set()
            for maker in makers:
                maker.join(60)


def check_types(tables, threads, tasks):
    for table, rows in ((tables["threads"], threads), (tables["tasks"], tasks)):
        for name, column in table.items():
            assert len(column) == rows
            if name in ("name", "kind", "coro_name"):
                assert type(column) is list and all(type(text) is str for text in column)
            else:
                assert column.dtype == (np.int8 if name == "daemon" else np.int64) and column.shape == (rows,)


class TestRecordsOfATracker:
    def test_are_the_same_object_each_time(self):
        with installed() as tracker:
            record = tracker.current_thread()
            assert tracker.current_thread() is record
            assert tracker.threads[0] is record
            assert isinstance(record, ThreadRecord)

    def test_are_read_when_they_are_looked_at(self):
        go, there = threading.Event(), threading.Event()

        def wait():
            there.set()
            go.wait(60)

        with installed() as tracker:
            thread = threading.Thread(target=wait, name="waits")
            thread.start()
            assert there.wait(60)
            (record,) = tracker.threads
            assert record.alive and "finished" not in repr(record) and "index=0" in repr(record)
            assert (record.name, record.ident, record.native_id) == ("waits", thread.ident, thread.native_id)
            assert record.end_ns == -1 and record.cpu_ns > 0
            go.set()
            thread.join()
            assert not record.alive and "finished" in repr(record) and record.end_ns > record.start_ns
            assert record.cpu_ns <= record.end_ns - record.start_ns + 10_000_000

    def test_cpu_time_of_a_running_thread_grows(self):
        with installed() as tracker:
            record = tracker.current_thread()
            before = record.cpu_ns
            until = time.thread_time_ns() + 5_000_000
            while time.thread_time_ns() < until:
                pass
            record.sample_cpu()
            assert record.cpu_ns - before >= 5_000_000
            assert abs(record.cpu_ns - time.thread_time_ns()) < 50_000_000

    def test_keep_their_tracker(self):
        tracker = ConcurrencyTracker()
        record = tracker.current_thread()
        del tracker
        assert record.name == threading.current_thread().name

    def test_of_a_session_that_is_closed(self, tmp_path):
        with Recording(tmp_path / "run.h5") as recording:
            record = recording.tracker.current_thread()
        with pytest.raises(lanescope.StateError, match="closed"):
            record.name
        with pytest.raises(lanescope.StateError, match="closed"):
            recording.tracker.current_thread()
        assert recording.tracker.threads == [] and len(recording.tracker.snapshot()["threads"]["index"]) == 0


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


CALLS_BACK = """
#include <pthread.h>
static void *work(void *call) {
  for (int i = 0; i < 3; i++) ((void (*)(void))call)();
  return NULL;
}
int run(void *call) {
  pthread_t thread;
  return pthread_create(&thread, NULL, work, call) || pthread_join(thread, NULL);
}
"""


class TestThreads:
    def test_are_registered_at_their_first_bytecode(self):
        with installed() as tracker:
            assert in_thread(lambda: len(tracker.threads), name="new") == 1
            assert [thread.name for thread in tracker.threads] == ["new"]

    def test_the_hook_takes_itself_away(self):
        with installed():
            assert in_thread(sys.getprofile) is None

    def test_a_profile_function_of_the_application_gets_the_event_and_stays(self):
        events = []

        def profile(frame, event, arg):
            events.append((event, frame.f_code.co_name))

        threading.setprofile(profile)
        try:
            with installed() as tracker:
                assert in_thread(sys.getprofile, name="profiled") is profile
                assert len(tracker.threads) == 1
            with_tracker = list(events)
            assert threading.getprofile() is profile
            events.clear()
            in_thread(sys.getprofile, name="profiled")
            assert with_tracker == events and events
        finally:
            threading.setprofile(None)

    def test_a_profile_function_set_afterwards_stays(self):
        def profile(frame, event, arg):
            pass

        try:
            with installed() as tracker:
                threading.setprofile(profile)
                assert in_thread(sys.getprofile) is profile
                in_thread(tracker.current_thread)
                assert len(tracker.threads) == 1
            assert threading.getprofile() is profile
        finally:
            threading.setprofile(None)

    def test_an_exception_of_the_profile_function_is_that_threads(self, monkeypatch):
        caught = []
        monkeypatch.setattr(threading, "excepthook", lambda args: caught.append(args.exc_type))

        def profile(frame, event, arg):
            raise KeyError(event)

        threading.setprofile(profile)
        try:
            with installed() as tracker:
                thread = threading.Thread(target=int)
                thread.start()
                thread.join(60)
                assert len(tracker.threads) == 1
        finally:
            threading.setprofile(None)
        assert caught == [KeyError]

    def test_from_elsewhere_are_registered_when_they_record(self, tmp_path):
        done = threading.Semaphore(0)

        def record():
            with lanescope.region("raw"):
                pass
            done.release()

        with Recording(tmp_path / "run.h5", track_async=False) as recording:
            for _ in range(2):
                _thread.start_new_thread(record, ())
                assert done.acquire(timeout=60)
        calls = recording.run.calls("raw")
        assert [call["thread_ids"] for call in calls] == [0, 1]

    def test_a_raw_thread_that_calls_back_keeps_its_lane(self, tmp_path):
        """Each callback has a thread state of its own; the thread is one."""
        source, library = tmp_path / "calls.c", tmp_path / "calls.so"
        source.write_text(CALLS_BACK)
        compiler = os.environ.get("CC", "cc").split()
        subprocess.run([*compiler, "-shared", "-fPIC", "-o", library, source, "-lpthread"], check=True, timeout=60)

        @ctypes.CFUNCTYPE(None)
        def record():
            with lanescope.region("callback"):
                pass

        with Recording(tmp_path / "run.h5") as recording:
            assert ctypes.CDLL(str(library)).run(record) == 0
        assert [call["thread_ids"] for call in recording.run.calls("callback")] == [0, 0, 0]
        assert recording.run.thread_table["end_ns"].tolist()[0] > 0

    def test_what_runs_after_the_end_of_a_thread_is_on_its_lane(self, tmp_path):
        """Finalizers of thread-local values run when the thread is over for Python."""
        local = threading.local()

        class Late:
            def __del__(self):
                with lanescope.region("late"):
                    pass

        def work():
            with lanescope.region("early"):
                local.value = Late()

        with Recording(tmp_path / "run.h5") as recording:
            in_thread(work)
        (early,), (late,) = recording.run.calls("early"), recording.run.calls("late")
        assert early["thread_ids"] == late["thread_ids"] == 0
        assert len(recording.run.thread_table["name"]) == 1

    def test_of_a_pool(self):
        from concurrent.futures import ThreadPoolExecutor

        with installed() as tracker:
            with ThreadPoolExecutor(2, thread_name_prefix="pool") as pool:
                list(pool.map(lambda _: time.sleep(0.002), range(10)))
            names = [thread.name for thread in tracker.threads]
        assert sorted(names) == [f"pool_{i}" for i in range(len(names))] and 1 <= len(names) <= 2

    def test_a_thread_that_dies_by_an_exception_has_ended(self, monkeypatch):
        monkeypatch.setattr(threading, "excepthook", lambda args: None)
        with installed() as tracker:
            thread = threading.Thread(target=lambda: 1 / 0)
            thread.start()
            thread.join(60)
            assert [record.alive for record in tracker.threads] == [False]


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


@pytest.mark.parametrize("track_async", [False, True])
def test_daemon_threads_may_run_into_the_end_of_the_interpreter(run, track_async):
    program = f"""
        import asyncio, threading, time
        import lanescope
        from lanescope import _core, concurrency

        _core.recorder.open(None, False)
        tracker = concurrency._for_session(_core.recorder.handle, {track_async})
        tracker.install()
        alone = concurrency.ConcurrencyTracker({track_async})
        alone.install()
        region = lanescope.region("daemon")

        def work():
            while True:
                with region:
                    tracker.current_thread()

        async def steps():
            while True:
                with region:
                    await asyncio.sleep(0)

        for target in (work, lambda: asyncio.run(steps())) * 3:
            threading.Thread(target=target, daemon=True).start()
        time.sleep(0.02)
        """
    for _ in range(10):
        done = run(program)
        assert (done.returncode, done.stdout) == (0, ""), done.stderr
