# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that do not come to the collect: dead, stopped, busy or late. The others go apart and say who was missing."""
import pytest
from runs import Run

PROGRAM = """
import os, signal, sys, time
import lanescope
from mpi4py import MPI

world, rank = MPI.COMM_WORLD, MPI.COMM_WORLD.rank
missing, others = eval(sys.argv[1]), [k for k in range(world.size) if k not in eval(sys.argv[1])]

def record():
    for turn in range(10 + rank):
        with lanescope.region("work"):
            pass

def others_wrote():
    return all(os.path.exists(f"run.rank{k}.h5") for k in others)

def loop():
    while not others_wrote():
        pass
    os._exit(0)

lanescope.setup("run.h5", timeout=2)
record()
world.Barrier()
if rank in missing:
    FATE
try:
    lanescope.finalize()
except lanescope.CollectError as error:
    assert error.status == lanescope.Status.APART, error
    assert f"run.rank{rank}.h5" in str(error), error
else:
    os._exit(3)
assert not lanescope._core.recorder.is_open()
# With a rank dead, MPI_Finalize need not come back.
for turn in range(300):
    if others_wrote():
        os._exit(0)
    time.sleep(0.1)
os._exit(4)
"""

FATES = {
    "killed": "os.kill(os.getpid(), signal.SIGKILL)",
    "gone": "os._exit(0)",
    "busy": "loop()",
}


def check_files(folder, ranks):
    assert sorted(path.name for path in folder.iterdir() if ".h5" in path.name) == [f"run.rank{k}.h5" for k in ranks]
    for rank in ranks:
        assert Run(folder / f"run.rank{rank}.h5").rank_table["calls"].tolist() == [10 + rank]


def lines(done):
    return [line for line in done.stderr.splitlines() if line.startswith("lanescope: ")]


@pytest.mark.parametrize("fate", FATES)
@pytest.mark.parametrize("missing, words", [([1], "rank 1"), ([1, 2], "ranks 1-2")])
def test_rank_0_says_who_is_missing(mpirun, tmp_path, fate, missing, words):
    done = mpirun(3, PROGRAM.replace("FATE", FATES[fate]), missing, recover=True)
    check_files(tmp_path, [rank for rank in range(3) if rank not in missing])
    path, stem = tmp_path / "run.h5", tmp_path / "run"
    (line,) = lines(done)
    assert f"{path} was not written: {words} did not arrive at step 'arrive' within 2 s" in line, done.stderr
    assert line.endswith(f"lanescope-merge {path} {stem}.rank*.h5")


@pytest.mark.parametrize("fate", FATES)
def test_rank_0_is_missing(mpirun, tmp_path, fate):
    done = mpirun(3, PROGRAM.replace("FATE", FATES[fate]), [0], recover=True)
    check_files(tmp_path, [1, 2])
    found = lines(done)
    assert len(found) == 2, done.stderr
    for rank in (1, 2):
        assert any(f"rank {rank} heard nothing from rank 0 at step 'arrive'" in line for line in found)


@pytest.mark.parametrize("late", [0, 2])
def test_a_late_rank_finds_the_verdict(mpirun, tmp_path, late):
    """It comes when all others have written, and MPI ends as ever."""
    program = PROGRAM.replace("os._exit(0)\n    time", "break\n    time").replace("os._exit(4)", "")
    done = mpirun(3, program.replace("FATE", "while not others_wrote(): time.sleep(0.05)"), [late])
    assert done.returncode == 0, done.stderr
    check_files(tmp_path, [0, 1, 2])
    assert "lanescope-merge" in done.stderr
