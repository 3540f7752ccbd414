# SPDX-License-Identifier: BSD-3-Clause
"""Libraries that a Python program calls find its session, and record into it on the same timeline."""
import pytest

pytest.importorskip("h5py")
from runs import Run  # noqa: E402

LIBRARY = """
    import ctypes, os
    import lanescope
    lsc = ctypes.CDLL(os.path.join(os.environ["LANESCOPE_BUILD"], ".libs", "liblanescope.so"))
    lsc.lsc_session_default.restype = ctypes.c_uint64
    def region(name):
        number = ctypes.c_uint32()
        assert lsc.lsc_region(name.encode(), ctypes.byref(number)) == 0
        return number.value
"""


def test_three_languages_one_region(run, tmp_path):
    done = run(
        LIBRARY
        + """
    shared = region("shared")
    assert lsc.lsc_session_default() == 0
    assert lsc.lsc_enter(shared) != 0
    with lanescope.session("run.h5", verbose=False):
        assert lsc.lsc_session_default() != 0
        for _ in range(5):
            with lanescope.region("shared"):
                assert lsc.lsc_enter(shared) == 0
                lsc.lsc_fortran_begin(shared, None)
                lsc.lsc_fortran_end(shared, None)
                assert lsc.lsc_leave(shared) == 0
        assert lsc.lsc_fortran_lanes(1) == 0
        with lanescope.region("shared"):
            lsc.lsc_fortran_begin(shared, None)
            lsc.lsc_fortran_end(shared, None)
    assert lsc.lsc_session_default() == 0
    assert lsc.lsc_enter(shared) != 0
    """
    )
    assert done.returncode == 0, done.stderr
    run = Run(tmp_path / "run.h5")
    assert run.region_table["names"] == ["shared"]
    calls = {call["call_ids"]: call for call in run.calls("shared")}
    python, c, fortran = ([call for call in calls.values() if call["apis"] == api] for api in range(3))
    assert [len(python), len(c), len(fortran)] == [6, 5, 6]
    assert all(call["parent_ids"] == -1 for call in python)
    assert all(calls[call["parent_ids"]]["apis"] == 0 for call in c)
    assert [call["thread_ids"] for call in fortran] == [-1] * 5 + [0]
    assert [call["parent_ids"] == -1 for call in fortran] == [True] * 5 + [False]
    assert run.lane_table["kind"] == ["unknown", "thread"]
    assert run.lane_table["name"][0] == "fortran"


def test_who_joins_leaves_it_to_python(run, tmp_path):
    done = run(
        LIBRARY
        + """
    mpi = ctypes.CDLL(os.path.join(os.environ["LANESCOPE_BUILD"], ".libs", "liblanescope_mpi.so"))
    with lanescope.session("run.h5", verbose=False):
        assert mpi.lsc_init(b"other.h5", None) == 0
        assert lsc.lsc_enter(region("joined")) == 0 and lsc.lsc_leave(region("joined")) == 0
        assert mpi.lsc_flush() != 0
        assert mpi.lsc_finalize() == 0 and mpi.lsc_finalize() == 0
        assert lsc.lsc_enter(region("joined")) == 0 and lsc.lsc_leave(region("joined")) == 0
    """
    )
    assert done.returncode == 0, done.stderr
    assert Run(tmp_path / "run.h5").count("joined") == 2
    assert not (tmp_path / "other.h5").exists()


def test_a_fork_has_no_default(run):
    done = run(
        LIBRARY
        + """
    with lanescope.session("run.h5", verbose=False):
        child = os.fork()
        if not child:
            os._exit(lsc.lsc_session_default() != 0 or lsc.lsc_enter(region("child")) == 0)
        assert os.waitpid(child, 0)[1] == 0
    """
    )
    assert done.returncode == 0, done.stderr


IN_C = LIBRARY + """
    files = ctypes.CDLL(os.path.join(os.environ["LANESCOPE_BUILD"], ".libs", "liblanescope_mpi.so"))
    def opened(path):
        assert files.lsc_init_as(1, path.encode(), None) == 0
    def written():
        assert files.lsc_finalize_as(1, None) == 0
    python = lanescope.region("python")
    decorated = lanescope.profile("decorated")(lambda: None)
"""


def test_python_records_into_the_session_that_c_opened(run, tmp_path):
    done = run(
        IN_C
        + """
    with python:
        pass
    for number in range(2):
        opened(f"{number}.h5")
        with python:
            assert lsc.lsc_enter(region("c")) == 0 and lsc.lsc_leave(region("c")) == 0
            with python.call():
                decorated()
        written()
        with python:
            decorated()
    """
    )
    assert done.returncode == 0, done.stderr
    for number in range(2):
        run = Run(tmp_path / f"{number}.h5")
        assert [run.count(name) for name in ("python", "c", "decorated")] == [2, 1, 1]
        assert sorted(run.events["apis"].tolist()) == [0, 0, 0, 1]


def test_a_session_of_python_joins_the_one_that_c_opened(run, tmp_path):
    done = run(
        IN_C
        + """
    import asyncio, pytest
    async def main():
        with python:
            await asyncio.sleep(0.001)
    opened("c.h5")
    with lanescope.session("python.h5", track_async=True) as session:
        assert session.is_open and session.tracker is not None
        asyncio.run(main())
        with pytest.raises(lanescope.StateError, match="C or Fortran"):
            session.collect("other.h5")
    assert not session.is_open and session.written is None
    with python:
        pass
    lanescope.setup("python.h5")
    assert lanescope.finalize() is None
    with lanescope.session("python.h5") as session:
        decorated()
        written()
        assert not session.is_open
    with lanescope.session("after.h5", verbose=False):
        decorated()
    """
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    run = Run(tmp_path / "c.h5")
    assert (run.count("python"), run.count("decorated")) == (2, 1)
    assert run.calls("python")[0]["await_ns"] >= 1_000_000
    assert Run(tmp_path / "after.h5").count("decorated") == 1
    assert not (tmp_path / "python.h5").exists() and not (tmp_path / "other.h5").exists()


def test_managers_do_not_join(run, tmp_path):
    done = run(
        IN_C
        + """
    manager = lanescope.ProfileManager()
    opened("c.h5")
    with manager.region("mine"):
        pass
    with manager.session("mine.h5", verbose=False):
        with manager.region("mine"), python:
            pass
    written()
    """
    )
    assert done.returncode == 0, done.stderr
    assert Run(tmp_path / "mine.h5").region_table["names"] == ["mine"]
    assert Run(tmp_path / "c.h5").region_table["names"] == ["python"]


def test_a_session_is_handed_over_by_capsule(run, tmp_path):
    done = run(
        IN_C
        + """
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.POINTER(ctypes.c_uint64), (ctypes.py_object, ctypes.c_char_p)
    lsc.lsc_begin.argtypes = lsc.lsc_end.argtypes = (ctypes.c_uint64, ctypes.c_uint32)
    manager = lanescope.ProfileManager()
    session = manager.session("mine.h5", verbose=False)
    capsule = session.capsule
    handle = get(capsule, b"lanescope.session")
    assert handle[0] == 0
    with session, manager.region("outer"):
        assert handle[0] == manager._recorder.handle != 0
        assert lsc.lsc_begin(handle[0], region("kernel")) == 0 == lsc.lsc_end(handle[0], region("kernel"))
    del manager, session
    assert handle[0] == 0
    """
    )
    assert done.returncode == 0, done.stderr
    run = Run(tmp_path / "mine.h5")
    (outer,), (kernel,) = run.calls("outer"), run.calls("kernel")
    assert kernel["parent_ids"] == outer["call_ids"] and (outer["apis"], kernel["apis"]) == (0, 1)
