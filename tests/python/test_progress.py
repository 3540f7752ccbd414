# SPDX-License-Identifier: BSD-3-Clause
"""What a collect that takes long shows on the terminal, and where it shows nothing."""
import os
import pty
import re
import select
import subprocess
import sys
import time

import pytest
from runs import Run

LATE = """
import sys, time
import mpi4py.MPI as MPI
import lanescope

with lanescope.session(sys.argv[1], comm=MPI.COMM_WORLD, verbose=sys.argv[3] == "verbose"):
    with lanescope.region("step"):
        pass
    if MPI.COMM_WORLD.rank:
        time.sleep(float(sys.argv[2]))
"""
LINE = re.compile(r"lanescope: run\.h5: ([^\r\n]+?) \((\d+) s\)")


def shown_on_a_terminal(command, seconds=60):
    """What a command writes, to whatever it takes for a terminal; the command must succeed."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs)
    os.close(theirs)
    end, output = time.monotonic() + seconds, b""
    try:
        while time.monotonic() < end:
            if not select.select([ours], [], [], 0.2)[0]:
                continue
            try:
                output += os.read(ours, 65536)
            except OSError:  # everybody has closed the other end
                break
        assert process.wait(timeout=max(1, end - time.monotonic())) == 0, output
    finally:
        if process.poll() is None:
            process.kill()
        os.close(ours)
    return output.decode()


@pytest.fixture
def late(tmp_path, launcher):
    script = tmp_path / "late.py"
    script.write_text(LATE)

    def command(seconds, verbose="verbose"):
        return [*launcher(2), sys.executable, str(script), str(tmp_path / "run.h5"), str(seconds), verbose]

    return command


def test_it_says_what_it_waits_for(tmp_path, late):
    shown = LINE.findall(shown_on_a_terminal(late(5)))
    assert shown, "nothing was shown"
    assert "wait for the other ranks" in {doing for doing, _ in shown}
    seconds = [int(number) for _, number in shown]
    assert seconds == sorted(seconds) and seconds[0] == 2 and seconds[-1] >= 4
    assert len(Run(tmp_path / "run.h5").calls("step", rank=1)) == 1


def test_it_takes_the_line_away(late):
    output = shown_on_a_terminal(late(3.5))
    behind = output[LINE.search(output).start() :]
    last = list(LINE.finditer(behind))[-1]
    assert re.match(r"\s*\r {%d,}\r" % len(last.group()), behind[last.end() :])


@pytest.mark.parametrize("seconds, verbose", [(0.2, "verbose"), (4, "silent")])
def test_nothing_when_it_is_short_or_silent(late, seconds, verbose):
    assert not LINE.search(shown_on_a_terminal(late(seconds, verbose)))


def test_nothing_where_there_is_no_terminal(late):
    done = subprocess.run(late(4), capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert not LINE.search(done.stdout + done.stderr)
