# SPDX-License-Identifier: BSD-3-Clause
"""The records of threads and tasks: made by hand, and a tracker's."""
import threading
import time

import lanescope
import pytest
from lanescope.concurrency import ConcurrencyTracker, TaskRecord, ThreadRecord

from lanes import Recording, installed


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
