# SPDX-License-Identifier: BSD-3-Clause
"""The tables of a tracker: their columns, rows and times, and the objects made of them."""
import threading
import time

import lanescope
import numpy as np
from lanescope import concurrency
from lanescope.concurrency import ConcurrencyTracker

from lanes import Recording, in_thread, installed

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
