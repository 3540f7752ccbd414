# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that leave a session by an exception: they wait for the others for a short grace, and the exception goes on."""
import pytest
from runs import Run

PROGRAM = """
import os, signal, sys, time
import lanescope
from mpi4py import MPI

world, rank = MPI.COMM_WORLD, MPI.COMM_WORLD.rank

def record():
    for turn in range(10 + rank):
        with lanescope.region("work"):
            pass

def wait_for(name):
    for turn in range(600):
        if os.path.exists(name):
            return
        time.sleep(0.1)
    raise SystemExit(f"{name} did not come")
"""

LEAVE = {
    "an error": 'raise KeyError("mine")',
    "exit": "sys.exit(3)",
    "an interrupt": "signal.raise_signal(signal.SIGINT)",
}


def program(*lines):
    return PROGRAM + "\n".join(lines) + "\n"


def names(folder):
    return sorted(path.name for path in folder.iterdir() if ".h5" in path.name)


def check_apart(folder, ranks):
    assert names(folder) == [f"run.rank{rank}.h5" for rank in range(ranks)]
    for rank in range(ranks):
        assert Run(folder / f"run.rank{rank}.h5").rank_table["calls"].tolist() == [10 + rank]


@pytest.mark.parametrize("how", LEAVE)
def test_all_leave(mpirun, tmp_path, how, monkeypatch):
    """One later than the other, within the grace: one file, and every rank's exception is the one that was raised."""
    monkeypatch.setenv("LANESCOPE_GRACE", "60")
    done = mpirun(
        3,
        program(
            "try:",
            '    with lanescope.session("run.h5", verbose=False):',
            "        record()",
            "        time.sleep(rank)",
            "        try:",
            f"            {LEAVE[how]}",
            "        except BaseException as error:",
            "            raised = error",
            "            raise",
            "except BaseException as error:",
            "    assert error is raised and error.__context__ is None",
            "else:",
            "    os._exit(5)",
        ),
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert names(tmp_path) == ["run.h5"]
    assert Run(tmp_path / "run.h5").rank_table["calls"].tolist() == [10, 11, 12]


@pytest.mark.parametrize("how", LEAVE)
@pytest.mark.parametrize("who", [0, 1])
def test_one_leaves(mpirun, tmp_path, who, how, monkeypatch):
    """It has written its file while the others are still at work; these learn of it when they come."""
    monkeypatch.setenv("LANESCOPE_GRACE", "1")
    done = mpirun(
        3,
        program(
            "try:",
            '    with lanescope.session("run.h5"):',
            "        record()",
            f"        if rank == {who}:",
            f"            {LEAVE[how]}",
            f'        wait_for("run.rank{who}.h5")',
            "except lanescope.CollectError as error:",
            f"    assert rank != {who} and error.status == lanescope.Status.APART",
            "    assert f'run.rank{rank}.h5' in str(error)",
            "except (KeyError, SystemExit, KeyboardInterrupt) as error:",
            f"    assert rank == {who}, error",
        ),
    )
    assert done.returncode == 0, done.stderr
    check_apart(tmp_path, 3)
    own = [line for line in done.stderr.splitlines() if f"rank {who} are in {tmp_path / f'run.rank{who}.h5'}" in line]
    assert len(own) == 1 and own[0].startswith("lanescope: ")


@pytest.mark.parametrize("begin", ['with lanescope.session("run.h5"):', 'if lanescope.setup("run.h5"):'])
def test_nobody_catches_it(mpirun, tmp_path, begin, monkeypatch):
    monkeypatch.setenv("LANESCOPE_GRACE", "1")
    done = mpirun(
        2,
        program(
            begin,
            "    record()",
            "    if rank:",
            '        raise KeyError("mine")',
            '    wait_for("run.rank1.h5")',
            "    try:",
            "        lanescope.finalize()",
            "    except lanescope.CollectError:",
            "        pass",
        ),
    )
    assert done.returncode == 1
    assert done.stderr.count("KeyError: 'mine'") == 1 and "Traceback" in done.stderr
    check_apart(tmp_path, 2)


def test_mpi_is_aborted_afterwards(mpirun, tmp_path, monkeypatch):
    """As `python3 -m mpi4py` does after an exception: the rank has written by then."""
    monkeypatch.setenv("LANESCOPE_GRACE", "1")
    again = 'import os, sys\nif "AGAIN" not in os.environ:\n    os.environ["AGAIN"] = "1"\n'
    again += '    os.execv(sys.executable, [sys.executable, "-m", "mpi4py", *sys.argv])\n'
    done = mpirun(
        3,
        again
        + program(
            'with lanescope.session("run.h5"):',
            "    record()",
            "    if rank == 1:",
            '        raise KeyError("mine")',
            "    world.recv(source=1)",
        ),
    )
    assert done.returncode == 1
    assert done.stderr.count("KeyError: 'mine'") == 1
    assert names(tmp_path) == ["run.rank1.h5"]
    assert Run(tmp_path / "run.rank1.h5").rank_table["calls"].tolist() == [11]


def test_mpi_is_aborted_in_the_block(mpirun, tmp_path):
    """Nothing is collected, nothing waits, and what was there before stays."""
    (tmp_path / "run.h5").write_bytes(b"yesterday")
    done = mpirun(
        3,
        program(
            'with lanescope.session("run.h5"):',
            "    record()",
            "    if rank == 1:",
            "        world.Abort(7)",
            "    world.recv(source=1)",
        ),
    )
    assert done.returncode == 7, done.stderr
    assert names(tmp_path) == ["run.h5"] and (tmp_path / "run.h5").read_bytes() == b"yesterday"


def test_a_grace_is_no_longer_than_the_timeout(mpirun, tmp_path, monkeypatch):
    monkeypatch.setenv("LANESCOPE_GRACE", "100000")
    done = mpirun(
        2,
        program(
            "try:",
            '    with lanescope.session("run.h5", timeout=1, verbose=False):',
            "        record()",
            "        if rank:",
            '            raise KeyError("mine")',
            '        wait_for("run.rank1.h5")',
            "except (KeyError, lanescope.CollectError):",
            "    pass",
        ),
    )
    assert done.returncode == 0, done.stderr
    check_apart(tmp_path, 2)
