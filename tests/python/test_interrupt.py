# SPDX-License-Identifier: BSD-3-Clause
"""Signals on a rank that waits for the others in a collect: their handlers run, and what they raise ends the wait."""
import pytest
from runs import Run
from test_leaving import check_apart, names, program

# A signal to this process in a second, when it waits in the collect: for 600 s if nothing ends that.
ALARM = """
import threading

def alarm(number):
    threading.Timer(1, os.kill, (os.getpid(), number)).start()
"""


def with_alarm(*lines):
    return program(ALARM, *lines)


@pytest.mark.parametrize("who", [0, 1])
def test_it_waits_for_the_grace(mpirun, tmp_path, who, monkeypatch):
    """The others are still at work when it has written its file, and learn of it when they come."""
    monkeypatch.setenv("LANESCOPE_GRACE", "1")
    done = mpirun(
        3,
        with_alarm(
            "try:",
            '    with lanescope.session("run.h5") as session:',
            "        record()",
            f"        if rank == {who}:",
            "            alarm(signal.SIGINT)",
            "        else:",
            f'            wait_for("run.rank{who}.h5")',
            "except KeyboardInterrupt as error:",
            f"    assert rank == {who} and not session.is_open and not lanescope._session._open",
            "    before = error.__context__",
            "    assert isinstance(before, lanescope.CollectError) and before.status == lanescope.Status.APART",
            "    assert before.written == os.path.abspath(f'run.rank{rank}.h5')",
            "except lanescope.CollectError as error:",
            f"    assert rank != {who} and error.status == lanescope.Status.APART",
            "else:",
            "    os._exit(5)",
        ),
    )
    assert done.returncode == 0, done.stderr
    check_apart(tmp_path, 3)
    lines = done.stderr.splitlines()
    assert len(lines) == 1 and "lanescope-merge" in lines[0], done.stderr
    missing = {0: "ranks 1-2 ", 1: "ranks 0 and 2 "}[who]
    assert missing in lines[0] and "600" not in lines[0]


def test_without_a_communicator_of_its_own(mpirun, tmp_path, monkeypatch):
    """A session that was opened before MPI: the wait is for the communicator that the collect makes."""
    monkeypatch.setenv("LANESCOPE_GRACE", "1")
    code = with_alarm(
        "try:",
        '    with lanescope.session("run.h5", verbose=False):',
        "        record()",
        "        MPI.Init()",
        "        if MPI.COMM_WORLD.rank == 1:",
        "            alarm(signal.SIGINT)",
        "        else:",
        '            wait_for("run.rank1.h5")',
        "            os._exit(0)",
        "except KeyboardInterrupt as error:",
        "    os._exit(0)",
        "os._exit(5)",
    )
    code = code.replace("from mpi4py import MPI", "import mpi4py\nmpi4py.rc.initialize = False\nfrom mpi4py import MPI")
    done = mpirun(2, code.replace("world, rank = MPI.COMM_WORLD, MPI.COMM_WORLD.rank", "rank = 0"), recover=True)
    assert done.returncode == 0, done.stderr
    assert names(tmp_path) == ["run.rank1.h5"]


@pytest.mark.parametrize("then", ["raise KeyboardInterrupt", "pass"])
def test_the_others_come(mpirun, tmp_path, then, monkeypatch):
    """They do when the handler has run, within the grace: one file, and the exception, if it raised one."""
    monkeypatch.setenv("LANESCOPE_GRACE", "60")
    done = mpirun(
        3,
        with_alarm(
            "def handle(number, frame):",
            '    open("handled", "w").close()',
            f"    {then}",
            "",
            "signal.signal(signal.SIGUSR1, handle)",
            "raised = None",
            "try:",
            '    with lanescope.session("run.h5", verbose=False) as session:',
            "        record()",
            "        if rank == 1:",
            "            alarm(signal.SIGUSR1)",
            "        else:",
            '            wait_for("handled")',
            "except KeyboardInterrupt as error:",
            "    raised = error",
            "    assert error.__context__ is None",
            f"assert (raised is not None) == (rank == 1 and {then != 'pass'})",
            "assert not session.is_open and not lanescope._session._open",
        ),
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert names(tmp_path) == ["run.h5"]
    assert Run(tmp_path / "run.h5").rank_table["calls"].tolist() == [10, 11, 12]


def test_the_collect_fails_all_the_same(mpirun, tmp_path):
    """The session stays open, as after any failure, and is collected elsewhere."""
    done = mpirun(
        2,
        with_alarm(
            'session = lanescope.setup("no/run.h5", verbose=False)',
            "record()",
            "signal.signal(signal.SIGUSR1, lambda number, frame: [open('handled', 'w').close(), 1 / 0])",
            "if rank:",
            "    alarm(signal.SIGUSR1)",
            "else:",
            '    wait_for("handled")',
            "try:",
            "    lanescope.finalize()",
            "except ZeroDivisionError as error:",
            "    assert rank and isinstance(error.__context__, lanescope.CollectError)",
            "    assert error.__context__.written is None and 'there is no folder' in str(error.__context__)",
            "except lanescope.CollectError:",
            "    assert not rank",
            "assert session.is_open",
            'lanescope.finalize("run.h5")',
        ),
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert Run(tmp_path / "run.h5").rank_table["calls"].tolist() == [10, 11]
