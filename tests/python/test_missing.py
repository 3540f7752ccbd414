# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that do not come to the collect: dead, busy or late. The others go apart, and one says who was missing."""
import pytest
from runs import Run
from test_merge import merge

PROGRAM = """
import os, signal, sys, threading, time
import lanescope

missing, when, words, timeout = eval(sys.argv[1]), sys.argv[2], sys.argv[3], float(sys.argv[4])
options = {}
OPTIONS
if when == "never attached":
    lanescope.setup("run.h5", timeout=timeout, **options)
from mpi4py import MPI
if when == "attached":
    lanescope.setup("run.h5", timeout=timeout, **options)

world, rank = MPI.COMM_WORLD, MPI.COMM_WORLD.rank
others = [k for k in range(world.size) if k not in missing]
waiting = f".run.h5.waiting-{os.environ['PMIX_NAMESPACE']}"

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

def die_after(seconds):
    threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGKILL)).start()

record()
BEFORE
world.Barrier()
if rank in missing:
    FATE
try:
    lanescope.finalize()
except lanescope.CollectError as error:
    assert error.status == lanescope.Status.APART, error
    assert f"run.rank{rank}.h5" in str(error) and (words in str(error) or rank in missing), error
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
STATES = ["attached", "never attached"]


def program(fate, before="", options=""):
    return PROGRAM.replace("FATE", fate).replace("BEFORE", before).replace("OPTIONS", options)


def check_files(folder, ranks):
    """Nothing is there but the files of these ranks."""
    names = sorted(path.name for path in folder.iterdir() if path.name not in ("program.py", "__pycache__"))
    assert names == [f"run.rank{k}.h5" for k in ranks]
    for rank in ranks:
        assert Run(folder / f"run.rank{rank}.h5").rank_table["calls"].tolist() == [10 + rank]


def lines(done):
    return [line for line in done.stderr.splitlines() if line.startswith("lanescope: ")]


def check_line(done, folder, words):
    path, stem = folder / "run.h5", folder / "run"
    (line,) = lines(done)
    assert f"{path} was not written: {words} did not arrive at step 'arrive' within " in line, done.stderr
    assert line.endswith(f"lanescope-merge {path} {stem}.rank*.h5")


CASES = [
    *((fate, "attached", 3, [1, 2], "ranks 1-2") for fate in FATES),
    *((fate, "attached", 3, [0], "rank 0") for fate in FATES),
    *((fate, "never attached", 3, [0], "rank 0") for fate in FATES),
    ("killed", "attached", 3, [1], "rank 1"),
    ("killed", "attached", 4, [0, 2], "ranks 0 and 2"),
    ("killed", "never attached", 3, [1], "rank 1"),
    ("killed", "never attached", 4, [0, 1], "ranks 0-1"),
    ("killed", "never attached", 4, [1, 3], "ranks 1 and 3"),
]


@pytest.mark.parametrize("fate, when, ranks, missing, words", CASES)
def test_one_line_says_who_is_missing(mpirun, tmp_path, fate, when, ranks, missing, words):
    done = mpirun(ranks, program(FATES[fate]), missing, when, words, 2, recover=True)
    check_files(tmp_path, [rank for rank in range(ranks) if rank not in missing])
    check_line(done, tmp_path, words)


def test_merging_says_what_a_killed_rank_did_not_write(mpirun, tmp_path):
    """It was there for a checkpoint; what it recorded after that died with it."""
    code = program(FATES["killed"], before='lanescope.collect("ck1.h5")\nrecord()')
    mpirun(3, code, [1], "attached", "rank 1", 2, recover=True)
    inputs = [tmp_path / name for name in ("ck1.h5", "run.rank0.h5", "run.rank2.h5")]
    assert {Run(path).metadata["session_id"] for path in inputs} == {Run(inputs[0]).metadata["session_id"]}
    done = merge(tmp_path / "all.h5", *inputs)
    assert (done.returncode, done.stderr) == (0, "lanescope-merge: rank 1: nothing after collect 0\n")
    ranks = Run(tmp_path / "all.h5").rank_table
    assert ranks["calls"].tolist() == [20, 11, 24]
    assert ranks["status"].tolist() == [0, 1, 0] and ranks["collects"] == ["0-1", "0", "0-1"]


@pytest.mark.parametrize("when", STATES)
@pytest.mark.parametrize("late", [0, 2])
def test_a_late_rank_is_silent(mpirun, tmp_path, when, late):
    """It comes when all others have written, finds the verdict or their files, and writes its own."""
    fate = "\n    ".join(["while not others_wrote(): time.sleep(0.05)", "time.sleep(0.5)"])
    done = mpirun(3, program(fate), [late], when, f"rank {late}", 2, recover=True)
    assert done.returncode == 0, done.stderr
    check_files(tmp_path, [0, 1, 2])
    check_line(done, tmp_path, f"rank {late}")


@pytest.mark.parametrize("late", [0, 2])
def test_mpi_ends_after_a_late_rank(mpirun, tmp_path, late):
    code = program("while not others_wrote(): time.sleep(0.05)")
    code = code.replace("os._exit(0)\n    time", "break\n    time").replace("os._exit(4)", "")
    done = mpirun(3, code, [late], "attached", f"rank {late}", 2)
    assert done.returncode == 0, done.stderr
    check_files(tmp_path, [0, 1, 2])


def test_who_gives_up_first_knows_who_came_later(mpirun, tmp_path):
    """Rank 3 has another second and a half when the first give up, and is not missing."""
    fate = "loop()\nif rank == 3: time.sleep(2.5)"
    done = mpirun(4, program(fate), [0, 2], "never attached", "ranks 0 and 2", 4, recover=True)
    check_files(tmp_path, [1, 3])
    check_line(done, tmp_path, "ranks 0 and 2")


def test_a_rank_that_dies_while_it_waits(mpirun, tmp_path):
    """It was in the folder of those that wait, and touches its entry no more."""
    before = "if rank == 0: die_after(4.5)"
    fate = "if rank == 2: loop()"
    done = mpirun(4, program(fate, before), [0, 2], "never attached", "ranks 0 and 2", 8, recover=True)
    check_files(tmp_path, [1, 3])
    check_line(done, tmp_path, "ranks 0 and 2")


def test_an_older_run_counts_for_nothing(mpirun, tmp_path):
    """It was killed while it waited, under the same name of the job."""
    before = """
if rank == 1:
    os.mkdir(waiting)
    for name in "0", "2", "missing", "spoken":
        with open(f"{waiting}/{name}", "w") as file:
            file.write("rank 7 did not arrive\\\\n")
        os.utime(f"{waiting}/{name}", (time.time() - 60,) * 2)
"""
    done = mpirun(4, program("loop()", before), [0, 2], "attached", "ranks 0 and 2", 2, recover=True)
    check_files(tmp_path, [1, 3])
    check_line(done, tmp_path, "ranks 0 and 2")


def test_without_the_folder_each_speaks(mpirun, tmp_path):
    """Its name is taken by a file."""
    before = "if rank == 1: open(waiting, 'w').close()"
    done = mpirun(3, program("loop()", before), [0], "attached", "heard nothing from rank 0", 2, recover=True)
    (taken,) = tmp_path.glob(".run.h5.waiting-*")
    taken.unlink()
    check_files(tmp_path, [1, 2])
    found = lines(done)
    assert len(found) == 2, done.stderr
    for rank in (1, 2):
        assert any(f"rank {rank} heard nothing from rank 0 at step 'arrive'" in line for line in found)


@pytest.mark.parametrize("talker", [0, 1])
def test_one_that_may_speak_does(mpirun, tmp_path, talker):
    """The others are quiet, also who finds out first."""
    options = f"options = dict(verbose=int(os.environ['OMPI_COMM_WORLD_RANK']) == {talker})"
    done = mpirun(3, program("loop()", "", options), [2], "never attached", "rank 2", 2, recover=True)
    check_files(tmp_path, [0, 1])
    check_line(done, tmp_path, "rank 2")


OPENING = """
import os, sys, time
import lanescope
from mpi4py import MPI

world, rank = MPI.COMM_WORLD, MPI.COMM_WORLD.rank
missing, words = eval(sys.argv[1]), sys.argv[2]
world.Barrier()
if rank in missing:
    time.sleep(60)
try:
    lanescope.setup("run.h5", timeout=2)
except lanescope.Error as error:
    assert error.status == lanescope.Status.TIMEOUT, error
    assert f"{words} did not arrive at step 'attach' within " in str(error), error
    assert "not be able to make other communicators" in str(error), error
else:
    os._exit(3)
assert not lanescope._core.recorder.is_open()
print("named", rank, flush=True)
open(f"named{rank}", "w").close()
while not all(os.path.exists(f"named{k}") for k in range(world.size) if k not in missing):
    time.sleep(0.05)
world.Abort(7)
"""


@pytest.mark.parametrize("missing, words", [([0], "rank 0"), ([1, 3], "ranks 1 and 3"), ([0, 1], "ranks 0-1")])
def test_missing_when_the_session_opens(mpirun, tmp_path, missing, words):
    done = mpirun(4, OPENING, missing, words)
    there = [rank for rank in range(4) if rank not in missing]
    assert sorted(done.stdout.split("\n")) == ["", *(f"named {rank}" for rank in there)], done.stderr
    assert lines(done) == []
    names = sorted(path.name for path in tmp_path.iterdir() if path.name not in ("program.py", "__pycache__"))
    assert names == [f"named{rank}" for rank in there]
