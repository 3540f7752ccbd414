# SPDX-License-Identifier: BSD-3-Clause
"""Managers, and what a session may be told: pauses, no lanes, no profiling."""
import gc
import inspect
import pickle
import threading
import weakref

import h5py
import lanescope
import pytest
from lanescope import ProfileManager
from runs import Run


def call(manager, name, times=1):
    for _ in range(times):
        with manager.region(name):
            pass


def test_managers_record_at_the_same_time_and_apart(tmp_path):
    compute, io = ProfileManager(), ProfileManager()

    @io.profile("write")
    def write():
        call(compute, "solve", 2)

    with compute.session(file_path=tmp_path / "compute.h5", verbose=False):
        with io.session(tmp_path / "io.h5", verbose=False):
            with lanescope.session(tmp_path / "default.h5", verbose=False):
                call(compute, "both", 3)
                call(io, "both", 5)
                call(lanescope, "both", 7)
                write()
            write()
        write()
    runs = {name: Run(tmp_path / f"{name}.h5") for name in ("compute", "io", "default")}
    counts = {name: [run.count("both"), run.count("solve"), run.count("write")] for name, run in runs.items()}
    assert counts == {"compute": [3, 6, 0], "io": [5, 0, 2], "default": [7, 0, 0]}
    assert all(run.thread_table["index"].tolist() == [0] for run in runs.values())


def test_sessions_of_managers_end_in_any_order(tmp_path):
    first, second = ProfileManager(), ProfileManager()
    first.setup(tmp_path / "1.h5", verbose=False)
    second.setup(tmp_path / "2.h5", verbose=False)
    call(first, "a")
    assert first.finalize() == str(tmp_path / "1.h5")
    call(first, "a")
    call(second, "a", 2)
    with pytest.raises(lanescope.StateError, match="ProfileManager"):
        second.setup(tmp_path / "3.h5")
    assert second.finalize() == str(tmp_path / "2.h5")
    assert [Run(tmp_path / f"{i}.h5").count("a") for i in (1, 2)] == [1, 2]


def test_the_class_acts_on_the_default_manager(tmp_path):
    with ProfileManager.session(tmp_path / "run.h5", verbose=False):
        assert ProfileManager.region("a") is lanescope.region("a")
        with ProfileManager.profile_region(region_name="a"), lanescope.region("a"):
            pass
        ProfileManager.profile("f")(lambda: None)()
        lanescope.profile("f")(lambda: None)()
    run = Run(tmp_path / "run.h5")
    assert (run.count("a"), run.count("f")) == (2, 2)


def test_everyday_calls_of_scope_profiler(tmp_path, monkeypatch):
    import lanescope as sp

    monkeypatch.chdir(tmp_path)
    with sp.session(verbose=False):
        @sp.profile("main")
        def main():
            with sp.region("work"):
                pass
        main()
    run = Run("profiling_data.h5")
    assert (run.count("main"), run.count("work")) == (1, 1)
    sp.setup(file_path="other.h5", label="128 ranks", track_threads=True, verbose=False)
    main()
    sp.finalize()
    assert Run("other.h5").metadata["label"] == "128 ranks"


def test_signatures_tell_what_can_be_given():
    for function in (lanescope.session, lanescope.setup, ProfileManager().session, ProfileManager.setup):
        names = list(inspect.signature(function).parameters)
        assert names[:6] == ["path", "track_threads", "track_async", "label", "return_results", "verbose"]
        with pytest.raises(TypeError):
            function(unknown=1)
    with pytest.raises(TypeError, match="file_path"):
        lanescope.session("a.h5", file_path="b.h5")


def test_all_open_sessions_are_collected_at_the_end_of_the_program(run, tmp_path):
    done = run(
        """
        import lanescope
        managers = [lanescope.ProfileManager() for _ in range(3)]
        for i, manager in enumerate(managers):
            manager.setup(f"{i}.h5", verbose=False)
            for _ in range(i + 1):
                with manager.region("a"):
                    pass
        del manager, managers
        """
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert [Run(tmp_path / f"{i}.h5").count("a") for i in range(3)] == [1, 2, 3]


def test_one_that_cannot_be_written_does_not_keep_the_others_back(run, tmp_path):
    done = run(
        """
        import os, lanescope
        managers = [lanescope.ProfileManager() for _ in range(3)]
        for i, manager in enumerate(managers):
            os.mkdir(f"in{i}")
            manager.setup(f"in{i}/run.h5", verbose=False)
        os.rmdir("in1")
        """
    )
    assert "in1" in done.stderr
    assert (tmp_path / "in0" / "run.h5").exists() and (tmp_path / "in2" / "run.h5").exists()


def test_a_pause_leaves_out_what_begins_in_it(tmp_path):
    with lanescope.session(tmp_path / "run.h5", verbose=False):
        with lanescope.region("a"):
            lanescope.pause()
            with lanescope.region("a"):
                call(lanescope, "b")
                lanescope.resume()
                call(lanescope, "c")
            lanescope.pause()
        lanescope.profile("d")(call)(lanescope, "e")
        thread = threading.Thread(target=call, args=(lanescope, "f"))
        thread.start()
        thread.join()
        lanescope.resume()
        call(lanescope, "g")
    run = Run(tmp_path / "run.h5")
    assert run.region_table["names"] == ["a", "c", "g"]
    assert run.rank_table["calls"].tolist() == [3]
    assert run.calls("c")[0]["parent_ids"] == run.calls("a")[0]["call_ids"]


def test_without_a_session_there_is_nothing_to_pause():
    for function in (lanescope.pause, lanescope.resume, ProfileManager().pause):
        with pytest.raises(lanescope.StateError, match="setup"):
            function()


def test_without_lanes_there_is_one(tmp_path):
    def work():
        with lanescope.region("outer"):
            call(lanescope, "inner", 10)

    with lanescope.session(tmp_path / "run.h5", track_threads=False, verbose=False) as session:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with lanescope.region("open"):
            session.collect(tmp_path / "open.h5")
    run = Run(tmp_path / "open.h5")
    assert "thread_table" not in run.tables
    assert "thread_ids" not in run.events and "thread_ids" not in run.open_calls
    assert run.lane_table["lanes"].tolist() == [-1]
    assert (run.lane_table["kind"], run.lane_table["name"]) == (["unknown"], ["python"])
    assert run.lane_table["calls"].tolist() == [44]
    outer = {row["call_ids"]: row for row in run.calls("outer")}
    parents = [row["parent_ids"] for row in run.calls("inner")]
    assert sorted(parents) == sorted(10 * list(outer))
    assert all(row["parent_ids"] == -1 for row in outer.values())


def test_a_deactivated_session_writes_nothing(tmp_path):
    with lanescope.session(tmp_path / "run.h5", deactivate_profiling=True) as session:
        assert not session.is_open
        call(lanescope, "a")
    assert session.written is None and list(tmp_path.iterdir()) == []
    lanescope.setup(tmp_path / "run.h5", deactivate_profiling=True)
    assert lanescope.finalize() is None


def test_regions_of_a_manager_stay_in_the_process():
    manager = ProfileManager()
    assert pickle.loads(pickle.dumps(lanescope.region("p"))) is lanescope.region("p")
    with pytest.raises(TypeError, match="ProfileManager"):
        pickle.dumps(manager.region("p"))
    assert manager.region("p") is manager.region("p") is not lanescope.region("p")


def test_managers_are_collected():
    manager = ProfileManager()
    region = manager.region("gone")
    gone = weakref.ref(manager)
    function = manager.profile("gone")(lambda: 42)
    del manager
    gc.collect()
    assert gone() is None
    with region:
        assert function() == 42


def test_many_managers_keep_memory_level():
    for _ in range(200):
        manager = ProfileManager()
        manager._recorder.open(None, False)
        call(manager, "a")
        manager._recorder.close()
    del manager
    gc.collect()
    assert sum(isinstance(thing, lanescope._core.Recorder) for thing in gc.get_objects()) <= 2


def test_the_file_of_a_run_without_lanes_is_a_run(tmp_path):
    with lanescope.session(tmp_path / "run.h5", track_threads=False, verbose=False):
        call(lanescope, "a", 3)
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["rank_table/threads"][...].tolist() == [0]
        assert file["events/start_times"].shape == (3,)


def test_results_are_returned_where_they_are_asked_for(tmp_path):
    with lanescope.session(tmp_path / "1.h5", return_results=True, verbose=False) as session:
        assert session.results is None
        call(lanescope, "a", 3)
    assert session.results.regions["a"].calls == 3
    assert session.results.path == str(tmp_path / "1.h5")
    lanescope.setup(tmp_path / "2.h5", verbose=False)
    call(lanescope, "b", 2)
    results = lanescope.finalize(return_results=True)
    assert list(results.regions) == ["b"]
    (tmp_path / "2.h5").unlink()
    assert len(results.events()["start_times"]) == 2
    assert lanescope.finalize(return_results=True) is None
    lanescope.setup(tmp_path / "3.h5", verbose=False)
    assert lanescope.finalize() == str(tmp_path / "3.h5")


def test_results_of_several_ranks_are_on_rank_0(mpirun, tmp_path):
    done = mpirun(
        3,
        """
        from mpi4py import MPI
        import lanescope
        rank = MPI.COMM_WORLD.rank
        with lanescope.session("run.h5", return_results=True, verbose=False) as session:
            for _ in range(rank):
                with lanescope.region("a"):
                    pass
        if rank:
            assert session.results is None
        else:
            assert session.results.ranks == [0, 1, 2]
            assert session.results.events()["ranks"].tolist() == [1, 2, 2]
        """,
    )
    assert done.returncode == 0, done.stderr
