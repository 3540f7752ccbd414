# SPDX-License-Identifier: BSD-3-Clause
"""Threads as lanes: how a tracker finds them, and what they record until their end."""
import _thread
import ctypes
import os
import subprocess
import sys
import threading
import time

import lanescope
import pytest

from lanes import Recording, in_thread, installed

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
