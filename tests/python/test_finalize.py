# SPDX-License-Identifier: BSD-3-Clause
"""Scripts that end MPI before their session, or leave both to the end."""
import sys

import h5py
import pytest
from runs import Run

PROGRAM = """
import atexit, os, sys, threading
{imports}
import lanescope

def record(rank):
    for turn in range(3 + rank):
        with lanescope.region("work"):
            pass
    thread = threading.Thread(target=lanescope.profile("threaded")(lambda: None), name="worker")
    thread.start()
    thread.join()
"""

MPI = "from mpi4py import MPI; rank = MPI.COMM_WORLD.rank"
WRITTEN = "lanescope: {} was written"


def program(*lines, imports=MPI):
    return PROGRAM.format(imports=imports) + "\n".join(lines) + "\n"


def check_file(path, ranks, opens=0):
    run = Run(path)
    assert run.rank_table["ranks"].tolist() == list(range(ranks))
    assert run.rank_table["calls"].tolist() == [4 + rank for rank in range(ranks)]
    assert run.rank_table["open_calls"].tolist() == [opens] * ranks
    assert [run.count("work", rank) for rank in range(ranks)] == [3 + rank for rank in range(ranks)]
    assert run.thread_table["name"] == ["MainThread", "worker"] * ranks
    assert run.metadata["python_version"] == ".".join(map(str, sys.version_info[:3]))
    return run


def names(folder):
    return sorted(path.name for path in folder.glob("*.h5"))


@pytest.mark.parametrize("ranks", [1, 3])
def test_finalized_in_the_block(mpirun, tmp_path, ranks):
    done = mpirun(
        ranks, program('with lanescope.session("run.h5", label="short"):', "    record(rank)", "    MPI.Finalize()")
    )
    assert done.returncode == 0, done.stderr
    check_file(tmp_path / "run.h5", ranks)
    assert names(tmp_path) == ["run.h5"]
    assert done.stdout.count("lanescope [short]: ") == 1 and f"{ranks} rank" in done.stdout
    assert done.stdout.count(f"file: {tmp_path / 'run.h5'}") == 1
    assert done.stderr == ""


@pytest.mark.parametrize("ranks", [1, 2])
def test_calls_that_end_later_are_kept(mpirun, tmp_path, ranks):
    done = mpirun(
        ranks,
        program(
            'session = lanescope.setup("run.h5")',
            'with lanescope.region("outer"):',
            "    record(rank)",
            "    MPI.Finalize()",
            'with lanescope.region("after"):',
            "    pass",
            'assert lanescope.finalize() == session.path == os.path.abspath("run.h5")',
            "assert lanescope.finalize() is None",
        ),
    )
    assert done.returncode == 0, done.stderr
    assert check_file(tmp_path / "run.h5", ranks, opens=1).open_calls["region_names"] == ["outer"] * ranks
    late = ["run.late.h5"] if ranks == 1 else [f"run.late.rank{rank}.h5" for rank in range(ranks)]
    assert names(tmp_path) == sorted(["run.h5", *late])
    for name in late:
        assert sorted(Run(tmp_path / name).region_table["names"]) == ["after", "outer"]
    assert done.stderr == f"lanescope: calls that ended after MPI_Finalize are in {tmp_path / late[0]}\n"
    assert done.stdout.count("file: ") == 1


def test_silence(mpirun, tmp_path):
    done = mpirun(2, program('lanescope.setup("run.h5", verbose=False)', "record(rank)", "MPI.Finalize()"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    check_file(tmp_path / "run.h5", 2)


def test_summary_at_the_exit(mpirun, tmp_path):
    done = mpirun(2, program('lanescope.setup("run.h5")', "record(rank)", "MPI.Finalize()"))
    assert (done.returncode, done.stderr) == (0, "")
    check_file(tmp_path / "run.h5", 2)
    assert done.stdout.count("file: ") == 1


@pytest.mark.parametrize("ranks", [1, 3])
def test_after_python_is_gone(mpirun, tmp_path, ranks):
    """mpi4py's own MPI_Finalize, with nobody left to print a summary."""
    lines = ['lanescope.setup("run.h5")', "record(rank)", "atexit.unregister(lanescope._session._finish_all)"]
    done = mpirun(ranks, program(*lines))
    assert done.returncode == 0, done.stderr
    check_file(tmp_path / "run.h5", ranks)
    assert (done.stdout, done.stderr) == ("", WRITTEN.format(tmp_path / "run.h5") + "\n")


IN_SCRIPT, AFTER_PYTHON = "MPI.Finalize()", "atexit.unregister(lanescope._session._finish_all)"


@pytest.mark.parametrize(
    "io, order, end",
    [
        ("ompio", "before", IN_SCRIPT),
        ("ompio", "after", AFTER_PYTHON),
        ("romio321", "before", AFTER_PYTHON),
        ("romio321", "after", IN_SCRIPT),
    ],
)
def test_parallel_file_of_h5py_open(mpirun, tmp_path, monkeypatch, io, order, end):
    if "True" not in mpirun(1, program("print(h5py.get_config().mpi)", imports="import h5py")).stdout:
        pytest.skip("h5py has no MPI")
    monkeypatch.setenv("OMPI_MCA_io", io)
    own = [
        'own = h5py.File("own.hdf5", "w", driver="mpio", comm=MPI.COMM_WORLD)',
        'own.create_dataset("data", data=[1, 2, 3])',
        "own.flush()",
    ]
    session = ['lanescope.setup("run.h5", verbose=False)', "record(rank)"]
    lines = [*own, *session] if order == "before" else [*session, *own]
    done = mpirun(2, program(*lines, end, imports=f"{MPI}; import h5py"))
    assert done.returncode == 0, done.stderr
    check_file(tmp_path / "run.h5", 2)
    with h5py.File(tmp_path / "own.hdf5") as own_file:
        assert own_file["data"][...].tolist() == [1, 2, 3]


def test_collected_to_another_path_before(mpirun, tmp_path):
    done = mpirun(
        2,
        program(
            'lanescope.setup("run.h5", verbose=False)',
            'with lanescope.region("early"):',
            "    pass",
            'lanescope.collect("early.h5")',
            "record(rank)",
            "MPI.Finalize()",
            'assert lanescope.finalize("last.h5").startswith(os.path.abspath("last"))',
        ),
    )
    assert done.returncode == 0, done.stderr
    assert Run(tmp_path / "early.h5").region_table["names"] == ["early"]
    check_file(tmp_path / "run.h5", 2)


def test_a_rank_that_does_not_come(mpirun, tmp_path):
    done = mpirun(
        3,
        program(
            'lanescope.setup("run.h5", timeout=3)',
            "record(rank)",
            "if rank == 1:",
            "    import time; time.sleep(12)",
            "MPI.Finalize()",
            "try:",
            "    lanescope.finalize()",
            "except lanescope.CollectError as error:",
            "    assert error.status == lanescope.Status.APART, error",
            "else:",
            "    raise SystemExit(3)",
            "assert not lanescope._core.recorder.is_open()",
        ),
    )
    assert done.returncode == 0, done.stderr
    assert names(tmp_path) == [f"run.rank{rank}.h5" for rank in range(3)]
    for rank in range(3):
        assert Run(tmp_path / f"run.rank{rank}.h5").rank_table["calls"].tolist() == [4 + rank]


def test_mpi_started_and_ended_within_the_session(mpirun, tmp_path):
    """The session had no communicator when MPI ended: a file a rank, and one line."""
    done = mpirun(
        2,
        program(
            'lanescope.setup("run.h5")',
            "MPI.Init()",
            "record(MPI.COMM_WORLD.rank)",
            "MPI.Finalize()",
            imports="import mpi4py; mpi4py.rc.initialize = False; from mpi4py import MPI",
        ),
    )
    assert done.returncode == 0, done.stderr
    assert names(tmp_path) == ["run.rank0.h5", "run.rank1.h5"]
    assert len(done.stderr.splitlines()) == 1 and "is finalized" in done.stderr


def test_two_programs(mpirun, tmp_path):
    """mpirun -n 2 profiled : -n 2 not: refused for all ranks, right for those of a communicator."""
    (tmp_path / "silent.py").write_text(
        "from mpi4py import MPI\nMPI.COMM_WORLD.Split(1, 0)\nMPI.COMM_WORLD.Barrier()\n"
    )
    done = mpirun(
        2,
        program(
            "mine = MPI.COMM_WORLD.Split(0, rank)",
            "try:",
            '    lanescope.setup("run.h5")',
            "except ValueError as error:",
            '    assert "2 programs" in str(error), error',
            "else:",
            "    raise SystemExit(3)",
            'with lanescope.session("run.h5", comm=mine):',
            "    record(rank)",
            "MPI.COMM_WORLD.Barrier()",
        ),
        ":",
        "-n",
        "2",
        sys.executable,
        tmp_path / "silent.py",
    )
    assert done.returncode == 0, done.stderr
    check_file(tmp_path / "run.h5", 2)
    assert names(tmp_path) == ["run.h5"]


@pytest.mark.parametrize("launcher", ["OMPI_COMM_WORLD", "PMI"])
def test_launcher_of_another_mpi(run, tmp_path, launcher):
    """Three processes that MPI knows as three times rank 0."""
    pytest.importorskip("mpi4py")
    code = program('with lanescope.session("run.h5"):', "    record(rank)")
    done = [run(code, **{f"{launcher}_RANK": str(rank), f"{launcher}_SIZE": "3"}) for rank in range(3)]
    assert [one.returncode for one in done] == [0, 0, 0], done[0].stderr
    assert names(tmp_path) == [f"run.rank{rank}.h5" for rank in range(3)]
    for rank in range(3):
        check_file(tmp_path / f"run.rank{rank}.h5", 1)
    assert [one.stdout.count("file: ") for one in done] == [1, 0, 0]
    assert "started 3 processes" in done[0].stderr and len(done[0].stderr.splitlines()) == 1
    assert done[1].stderr == done[2].stderr == ""
