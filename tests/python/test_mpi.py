# SPDX-License-Identifier: BSD-3-Clause
"""Under the launcher: one file of all ranks, or one each where MPI never runs."""
import json

import pytest
from runs import Run

RANKS = [1, 2, 3, 4]

PROGRAM = """
import json, sys, threading, time
import lanescope
{imports}

def record(rank):
    stamps = []
    for turn in range(10 * rank):
        before = time.perf_counter_ns()
        with lanescope.region("all"), lanescope.region(f"only {{rank}}"):
            pass
        stamps.append((before, time.perf_counter_ns()))
    if rank % 2:
        thread = threading.Thread(target=lanescope.profile("threaded")(lambda: None), name=f"worker of {{rank}}")
        thread.start()
        thread.join()
    json.dump(stamps, open(f"stamps{{rank}}.json", "w"))
"""


def program(imports, *lines):
    return PROGRAM.format(imports=imports) + "\n" + "\n".join(lines) + "\n"


WITH_MPI = "from mpi4py import MPI"


def check_merged(path, ranks, folder):
    run = Run(path)
    assert run.metadata["mpi_size"] == ranks
    assert run.rank_table["ranks"].tolist() == list(range(ranks))
    assert len(set(run.rank_table["pid"].tolist())) == ranks
    threads = [(rank > 0) + rank % 2 for rank in range(ranks)]
    assert run.rank_table["threads"].tolist() == threads
    for rank in range(ranks):
        stamps = json.loads((folder / f"stamps{rank}.json").read_text())
        for name in ("all", f"only {rank}"):
            calls = run.calls(name, rank)
            assert len(calls) == 10 * rank
            for call, (before, after) in zip(calls, stamps):
                assert before - 100_000 <= call["start_times"] <= call["end_times"] <= after + 100_000
        assert run.count("threaded", rank) == rank % 2
        assert run.rank_table["calls"][rank] == 20 * rank + rank % 2
    assert len(run.events["ranks"]) == sum(run.rank_table["calls"].tolist())
    names = {name for rank in range(1, ranks) for name in ("all", f"only {rank}", "threaded")}
    assert sorted(run.region_table["names"]) == sorted(names)
    table = list(zip(run.thread_table["ranks"].tolist(), run.thread_table["name"]))
    assert table == [(r, name) for r in range(1, ranks) for name in ["MainThread", *[f"worker of {r}"] * (r % 2)]]
    return run


@pytest.mark.parametrize("ranks", RANKS)
def test_a_block(mpirun, tmp_path, ranks):
    done = mpirun(
        ranks,
        program(WITH_MPI, 'with lanescope.session("run.h5"):', "    record(MPI.COMM_WORLD.rank)"),
    )
    assert done.returncode == 0, done.stderr
    check_merged(tmp_path / "run.h5", ranks, tmp_path)
    assert done.stdout.count("lanescope: ") == 1
    assert f"lanescope: {ranks} rank" in done.stdout
    assert done.stdout.count(f"file: {tmp_path / 'run.h5'}") == 1
    assert sorted(path.name for path in tmp_path.glob("*.h5*")) == ["run.h5"]


def test_silence(mpirun, tmp_path):
    done = mpirun(
        2,
        program(WITH_MPI, 'with lanescope.session("run.h5", verbose=False):', "    record(MPI.COMM_WORLD.rank)"),
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    check_merged(tmp_path / "run.h5", 2, tmp_path)


def test_left_to_the_end_of_the_program(mpirun, tmp_path):
    done = mpirun(3, program(WITH_MPI, 'lanescope.setup("run.h5")', "record(MPI.COMM_WORLD.rank)"))
    assert done.returncode == 0, done.stderr
    check_merged(tmp_path / "run.h5", 3, tmp_path)
    assert done.stdout.count("file: ") == 1


def test_mpi_started_after_the_session(mpirun, tmp_path):
    done = mpirun(
        3,
        program(
            "import mpi4py; mpi4py.rc.initialize = False; from mpi4py import MPI",
            'lanescope.setup("run.h5")',
            "assert not lanescope._core.mpi_is_active()",
            "MPI.Init()",
            "record(MPI.COMM_WORLD.rank)",
            "lanescope.finalize()",
            "MPI.Finalize()",
        ),
    )
    assert done.returncode == 0, done.stderr
    check_merged(tmp_path / "run.h5", 3, tmp_path)


def test_collecting_in_the_middle(mpirun, tmp_path):
    done = mpirun(
        2,
        program(
            WITH_MPI,
            'lanescope.setup("run.h5", verbose=False)',
            "record(MPI.COMM_WORLD.rank)",
            'lanescope.collect("middle.h5")',
            'with lanescope.region("late"):',
            "    pass",
            "lanescope.finalize()",
        ),
    )
    assert done.returncode == 0, done.stderr
    check_merged(tmp_path / "middle.h5", 2, tmp_path)
    run = Run(tmp_path / "run.h5")
    assert run.region_table["names"] == ["late"]
    assert run.events["ranks"].tolist() == [0, 1]


def test_a_communicator_of_some_ranks(mpirun, tmp_path):
    done = mpirun(
        4,
        program(
            WITH_MPI,
            "world = MPI.COMM_WORLD",
            "half = world.Split(world.rank % 2, world.rank)",
            'with lanescope.session(f"half{world.rank % 2}.h5", comm=half, verbose=False):',
            "    half.Free()",
            '    with lanescope.region(f"by {world.rank}"):',
            "        pass",
        ),
    )
    assert done.returncode == 0, done.stderr
    for half in range(2):
        run = Run(tmp_path / f"half{half}.h5")
        assert run.metadata["mpi_size"] == 2
        assert run.region_table["names"] == [f"by {half}", f"by {half + 2}"]
        assert run.events["ranks"].tolist() == [0, 1]


def test_an_intercommunicator_and_no_communicator_are_refused(mpirun):
    done = mpirun(
        2,
        program(
            WITH_MPI,
            "world, rank = MPI.COMM_WORLD, MPI.COMM_WORLD.rank",
            "inter = world.Split(rank, 0).Create_intercomm(0, world, 1 - rank)",
            "for comm in (MPI.COMM_NULL, inter):",
            "    try:",
            '        lanescope.setup("run.h5", comm=comm)',
            "    except (ValueError, lanescope.Error):",
            "        pass",
            "    else:",
            "        raise SystemExit(3)",
            "assert not lanescope._core.recorder.is_open()",
        ),
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("ranks", [2, 4])
def test_mpi_never_started(mpirun, tmp_path, ranks):
    done = mpirun(
        ranks,
        program(
            "import os",
            'with lanescope.session("run.h5"):',
            '    record(int(os.environ["OMPI_COMM_WORLD_RANK"]))',
        ),
    )
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in tmp_path.glob("*.h5")) == [f"run.rank{k}.h5" for k in range(ranks)]
    for rank in range(ranks):
        run = Run(tmp_path / f"run.rank{rank}.h5")
        assert run.rank_table["calls"].tolist() == [20 * rank + rank % 2]
        names = ["all", f"only {rank}", *["threaded"] * (rank % 2)] if rank else []
        assert run.region_table["names"] == names
    assert done.stdout.count("file: ") == 1
    assert f"rank 0 of {ranks} alone" in done.stdout
    assert len(done.stderr.strip().splitlines()) == 1 and "lanescope" in done.stderr


def test_every_rank_gets_the_error(mpirun, tmp_path):
    done = mpirun(
        3,
        program(
            WITH_MPI,
            'lanescope.setup("missing/run.h5", verbose=False)',
            "record(MPI.COMM_WORLD.rank)",
            "try:",
            "    lanescope.finalize()",
            "except lanescope.CollectError as error:",
            "    assert error.status == lanescope.Status.IO and 'missing' in str(error)",
            "else:",
            "    raise SystemExit(3)",
            'lanescope.finalize("run.h5")',
        ),
    )
    assert done.returncode == 0, done.stderr
    check_merged(tmp_path / "run.h5", 3, tmp_path)


@pytest.mark.parametrize("order", ["import h5py, lanescope", "import lanescope, h5py"])
@pytest.mark.parametrize("io", ["ompio", "romio321"])
def test_h5py_has_a_file_of_its_own_open(mpirun, tmp_path, order, io, monkeypatch):
    monkeypatch.setenv("OMPI_MCA_io", io)
    done = mpirun(
        2,
        program(
            order + "; from mpi4py import MPI",
            "rank = MPI.COMM_WORLD.rank",
            'own = h5py.File(f"own{rank}.h5", "w")',
            'own["data"] = [rank]',
            'with lanescope.session("run.h5", verbose=False):',
            "    record(rank)",
            'own["more"] = [rank + 1]',
            "own.close()",
            'assert h5py.File(f"own{rank}.h5")["more"][0] == rank + 1',
        ),
    )
    assert done.returncode == 0, done.stderr
    check_merged(tmp_path / "run.h5", 2, tmp_path)


def test_an_exception_on_every_rank(mpirun, tmp_path):
    done = mpirun(
        2,
        program(
            WITH_MPI,
            "try:",
            '    with lanescope.session("run.h5", verbose=False):',
            "        record(MPI.COMM_WORLD.rank)",
            '        raise KeyError("mine")',
            "except KeyError:",
            "    pass",
        ),
    )
    assert done.returncode == 0, done.stderr
    check_merged(tmp_path / "run.h5", 2, tmp_path)


def test_a_rank_that_does_not_come(mpirun, tmp_path):
    done = mpirun(
        3,
        program(
            WITH_MPI,
            "rank = MPI.COMM_WORLD.rank",
            'lanescope.setup("run.h5", timeout=3)',
            "record(rank)",
            "if rank == 1:",
            "    time.sleep(12)",
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
    assert not (tmp_path / "run.h5").exists()
    for rank in range(3):
        assert Run(tmp_path / f"run.rank{rank}.h5").rank_table["calls"].tolist() == [20 * rank + rank % 2]
