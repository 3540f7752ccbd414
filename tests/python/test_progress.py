# SPDX-License-Identifier: BSD-3-Clause
"""What a collect that takes long shows on the terminal, and where it shows nothing."""
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time

import pytest
from runs import Run

LATE = """
import os, sys, time
if len(sys.argv) > 4:  # a terminal of its own, and not the launcher's
    os.dup2(os.open(sys.argv[4], os.O_WRONLY | os.O_NOCTTY), 2)
import mpi4py.MPI as MPI
import lanescope

with lanescope.session(sys.argv[1], comm=MPI.COMM_WORLD, verbose=sys.argv[3] == "verbose"):
    with lanescope.region("step"):
        pass
    if MPI.COMM_WORLD.rank:
        time.sleep(float(sys.argv[2]))
"""
LINE = re.compile(r"lanescope: run\.h5: ([^\r\n]+?) \((\d+) s\)")


def shown_on_a_terminal(command, columns=80, add_its_name=False, seconds=60):
    """What a command writes, to whatever it takes for a terminal; the command must succeed."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    command = [*command, os.ttyname(theirs)] if add_its_name else command
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

    def command(seconds, verbose="verbose", name="run.h5"):
        return [*launcher(2), sys.executable, str(script), str(tmp_path / name), str(seconds), verbose]

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


@pytest.mark.parametrize("columns, is_own", [(0, False), (60, False), (100, True)])
def test_it_is_no_longer_than_the_terminal_is_wide(late, columns, is_own):
    """A carriage return does not lead back over two lines. A terminal that does not know its width has 80 columns."""
    name = "a-" + "x" * 80 + ".h5"
    output = shown_on_a_terminal(late(3.5, name=name), columns, is_own)
    lines = re.findall(r"lanescope: a-[^\r\n]*\)", output)
    assert lines, output
    for line in lines:
        shown = re.fullmatch(r"lanescope: (a-x*)\.\.\.(x*\.h5): [^()]+ \(\d+ s\)", line)
        assert shown and len(line) == (columns or 80) - 1, line
        assert abs(len(shown[1]) - len(shown[2])) <= 1


@pytest.mark.parametrize("seconds, verbose", [(0.2, "verbose"), (4, "silent")])
def test_nothing_when_it_is_short_or_silent(late, seconds, verbose):
    assert not LINE.search(shown_on_a_terminal(late(seconds, verbose)))


def test_nothing_where_there_is_no_terminal(late):
    done = subprocess.run(late(4), capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert not LINE.search(done.stdout + done.stderr)
