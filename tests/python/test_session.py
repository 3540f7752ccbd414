# SPDX-License-Identifier: BSD-3-Clause
"""The life of a session: what may be called when, and what is in which file."""
import os
import pathlib
import threading

import h5py
import lanescope
import pytest
from runs import Run


def call(name, times=1):
    for _ in range(times):
        with lanescope.region(name):
            pass


def test_a_block_collects_at_its_end(tmp_path):
    path = tmp_path / "run.h5"
    with lanescope.session(path, verbose=False) as session:
        assert session.is_open and session.written is None
        call("a")
        assert not path.exists()
    assert not session.is_open
    assert session.written == str(path)
    assert Run(path).count("a") == 1
    call("a")
    assert Run(path).count("a") == 1


def test_without_a_block(tmp_path):
    lanescope.setup(tmp_path / "run.h5", verbose=False)
    call("first", 2)
    assert lanescope.collect(tmp_path / "middle.h5") == str(tmp_path / "middle.h5")
    call("second", 3)
    assert lanescope.finalize() == str(tmp_path / "run.h5")
    assert lanescope.finalize() is None
    middle, end = Run(tmp_path / "middle.h5"), Run(tmp_path / "run.h5")
    assert (middle.count("first"), middle.count("second")) == (2, 0)
    assert (end.count("first"), end.count("second")) == (0, 3)


def test_a_call_is_reported_once_when_it_has_ended(tmp_path):
    with lanescope.session(tmp_path / "run.h5", verbose=False) as session:
        with lanescope.region("long"):
            session.collect(tmp_path / "middle.h5")
    middle, end = Run(tmp_path / "middle.h5"), Run(tmp_path / "run.h5")
    assert middle.open_calls["region_names"] == ["long"]
    assert end.count("long") == 1
    assert "open_calls" not in end.tables


def test_one_session_after_the_other(tmp_path):
    for number in range(5):
        with lanescope.session(tmp_path / f"{number}.h5", verbose=False):
            call("a", number)
    for number in range(5):
        assert Run(tmp_path / f"{number}.h5").rank_table["calls"].tolist() == [number]


def test_the_same_block_twice(tmp_path):
    session = lanescope.session(tmp_path / "run.h5", verbose=False)
    for times in (1, 2):
        with session:
            call("a", times)
        assert Run(session.path).count("a") == times


def test_only_one_at_a_time(tmp_path):
    with lanescope.session(tmp_path / "run.h5", verbose=False):
        with pytest.raises(lanescope.StateError, match="open already"):
            lanescope.setup(tmp_path / "other.h5")
        with pytest.raises(lanescope.StateError, match="open already"):
            with lanescope.session(tmp_path / "other.h5"):
                pass
        with pytest.raises(lanescope.StateError, match="open already"):
            lanescope._core.recorder.open(None, False)
        call("a")
    assert Run(tmp_path / "run.h5").count("a") == 1
    assert not (tmp_path / "other.h5").exists()


def test_collecting_without_a_session(tmp_path):
    with pytest.raises(lanescope.StateError):
        lanescope.collect(tmp_path / "run.h5")
    session = lanescope.session(tmp_path / "run.h5", verbose=False)
    with pytest.raises(lanescope.StateError):
        session.collect(tmp_path / "run.h5")


def test_finalized_inside_its_block(tmp_path):
    with lanescope.session(tmp_path / "run.h5", verbose=False):
        call("a")
        lanescope.finalize()
        call("a")
    assert Run(tmp_path / "run.h5").count("a") == 1


class Custom(BaseException):
    pass


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt, SystemExit, Custom])
def test_an_exception_leaves_after_the_collect(tmp_path, kind):
    error = kind("mine")
    with pytest.raises(kind) as caught:
        with lanescope.session(tmp_path / "run.h5", verbose=False):
            call("a")
            raise error
    assert caught.value is error
    assert error.__context__ is None and error.__cause__ is None
    assert Run(tmp_path / "run.h5").count("a") == 1


def test_an_exception_leaves_unchanged_when_the_collect_fails(tmp_path, capfd):
    with pytest.raises(KeyError, match="mine"):
        with lanescope.session(tmp_path / "missing" / "run.h5", verbose=False):
            call("a")
            raise KeyError("mine")
    assert "run.h5" in capfd.readouterr().err
    assert lanescope.finalize(tmp_path / "rescued.h5")
    assert Run(tmp_path / "rescued.h5").count("a") == 1


def test_a_failed_collect_keeps_what_was_recorded(tmp_path):
    lanescope.setup(tmp_path / "missing" / "run.h5", verbose=False)
    call("a", 3)
    with pytest.raises(lanescope.CollectError, match="run.h5") as caught:
        lanescope.finalize()
    assert caught.value.status == lanescope.Status.IO
    call("a", 4)
    lanescope.finalize(tmp_path / "run.h5")
    assert Run(tmp_path / "run.h5").count("a") == 7


def test_yesterdays_file_is_whole_after_a_failure(tmp_path):
    (tmp_path / "run.h5").mkdir()
    with pytest.raises(lanescope.CollectError):
        with lanescope.session(tmp_path / "run.h5", verbose=False):
            call("a")
    assert (tmp_path / "run.h5").is_dir()
    lanescope.finalize(tmp_path / "other.h5")
    assert Run(tmp_path / "other.h5").count("a") == 1
    assert sorted(os.listdir(tmp_path)) == ["other.h5", "run.h5"]


def test_the_same_path_again_is_refused(tmp_path):
    with lanescope.session(tmp_path / "run.h5", verbose=False) as session:
        call("a", 2)
        session.collect(tmp_path / "middle.h5")
        call("a", 3)
        with pytest.raises(lanescope.CollectError) as caught:
            session.collect(tmp_path / "middle.h5")
        assert caught.value.status == lanescope.Status.COLLECTED
        assert Run(tmp_path / "middle.h5").count("a") == 2
        lanescope.collect(tmp_path / "middle.h5", replace=True)
        assert Run(tmp_path / "middle.h5").count("a") == 3
    with lanescope.session(tmp_path / "run.h5", verbose=False, replace=True):
        lanescope.collect(tmp_path / "run.h5")


def test_a_file_of_before_is_replaced(tmp_path):
    (tmp_path / "run.h5").write_text("yesterday's")
    with lanescope.session(tmp_path / "run.h5", verbose=False):
        call("a")
    assert Run(tmp_path / "run.h5").count("a") == 1


@pytest.mark.parametrize("kind", [str, os.fsencode, pathlib.Path])
def test_paths_of_every_kind(tmp_path, kind):
    with lanescope.session(kind(str(tmp_path / "größe 🙂.h5")), verbose=False):
        call("a")
    assert Run(tmp_path / "größe 🙂.h5").count("a") == 1


def test_a_relative_path_is_where_it_was_given(tmp_path, monkeypatch):
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path)
    with lanescope.session("run.h5", verbose=False):
        os.chdir("below")
    assert (tmp_path / "run.h5").exists()


@pytest.mark.parametrize("path, error", [("", ValueError), ("a\0b", ValueError), (3.5, TypeError)])
def test_paths_that_are_none(path, error):
    with pytest.raises(error):
        lanescope.session(path)


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf"), "soon"])
def test_timeouts_that_are_none(timeout):
    with pytest.raises(ValueError):
        lanescope.session("run.h5", timeout=timeout)


@pytest.mark.parametrize("label, error", [(5, TypeError), ("a\0b", ValueError), ("\ud800", ValueError)])
def test_labels_that_are_none(label, error, tmp_path):
    with pytest.raises(error):
        lanescope.setup(tmp_path / "run.h5", label=label)


def test_a_communicator_is_one_of_mpi4py(tmp_path):
    with pytest.raises(TypeError, match="mpi4py"):
        lanescope.session(tmp_path / "run.h5", comm="world")


def test_threads_that_record_when_the_session_ends_do_no_harm(tmp_path):
    stop, started = threading.Event(), threading.Event()

    def work():
        while not stop.is_set():
            call("work")
            started.set()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for number in range(5):
        lanescope.setup(tmp_path / f"{number}.h5", verbose=False)
        if number == 0:
            for thread in threads:
                thread.start()
        assert started.wait(timeout=60)
        stop_now = number == 4
        if stop_now:
            stop.set()
            for thread in threads:
                thread.join()
        lanescope.finalize()
    assert Run(tmp_path / "4.h5").rank_table["dropped_calls"].tolist() == [0]


def test_a_session_left_open_is_collected_at_the_end_of_the_program(run, tmp_path):
    done = run(
        """
        import lanescope
        lanescope.setup("run.h5", verbose=False)
        with lanescope.region("a"):
            pass
        """
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert Run(tmp_path / "run.h5").count("a") == 1


def test_also_when_the_program_fails(run, tmp_path):
    done = run(
        """
        import lanescope
        lanescope.setup("run.h5", verbose=False)
        with lanescope.region("a"):
            raise KeyError("mine")
        """
    )
    assert done.returncode == 1 and "KeyError: 'mine'" in done.stderr
    assert Run(tmp_path / "run.h5").count("a") == 1


def test_what_goes_wrong_at_the_end_of_the_program_is_seen(run):
    done = run(
        """
        import lanescope
        lanescope.setup("missing/run.h5", verbose=False)
        """
    )
    assert "CollectError" in done.stderr and "missing" in done.stderr


def test_regions_during_the_shutdown_of_the_interpreter_do_no_harm(run, tmp_path):
    done = run(
        """
        import atexit, lanescope, threading, time

        class Late:
            def __del__(self):
                with region:
                    pass

        def daemon():
            while True:
                with region:
                    time.sleep(0.0001)

        region = lanescope.region("late")
        late = Late()
        atexit.register(Late().__del__)
        threading.Thread(target=daemon, daemon=True).start()
        lanescope.setup("run.h5", verbose=False)
        late.self = late
        """
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (tmp_path / "run.h5").exists()


def test_h5py_opens_what_was_written_while_another_file_is_open(tmp_path):
    with h5py.File(tmp_path / "own.h5", "w") as own:
        own["data"] = [1, 2, 3]
        with lanescope.session(tmp_path / "run.h5", verbose=False):
            call("a", 3)
        own["more"] = [4]
        assert own["data"][...].tolist() == [1, 2, 3]
    with h5py.File(tmp_path / "own.h5") as own:
        assert own["more"][...].tolist() == [4]
    assert Run(tmp_path / "run.h5").count("a") == 3


def test_the_target_open_in_a_reader(tmp_path):
    with lanescope.session(tmp_path / "run.h5", verbose=False):
        call("old", 2)
    with h5py.File(tmp_path / "run.h5") as reader:
        with lanescope.session(tmp_path / "run.h5", verbose=False):
            call("new", 3)
        assert reader["region_table/names"].asstr()[...].tolist() == ["old"]
    assert Run(tmp_path / "run.h5").count("new") == 3


@pytest.mark.parametrize("order", ["h5py, lanescope", "lanescope, h5py"])
def test_h5py_imported_before_and_after(run, tmp_path, order):
    done = run(
        f"""
        import {order}
        own = h5py.File("own.h5", "w")
        own["data"] = list(range(1000))
        with lanescope.session("run.h5", verbose=False):
            for _ in range(100):
                with lanescope.region("a"):
                    pass
        own["more"] = [1]
        own.close()
        assert h5py.File("own.h5")["data"][999] == 999
        assert h5py.File("run.h5")["rank_table/calls"][0] == 100
        """
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert Run(tmp_path / "run.h5").count("a") == 100
