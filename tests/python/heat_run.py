# SPDX-License-Identifier: BSD-3-Clause
"""Runs examples/heat/sim.py for the tests, under the launcher or alone."""
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
TIMEOUT_S = 180


def environment():
    """What Open MPI needs to start as root, for the run alone."""
    return {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def launcher(ranks):
    """The command in front of a program on so many ranks; none for one rank alone (0)."""
    if ranks == 0:
        return []
    mpirun = shutil.which(os.environ.get("MPIRUN", "mpirun"))
    if mpirun is None:
        pytest.skip("no mpirun")
    command = [mpirun, "--version"]
    version = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False).stdout
    options = ["--oversubscribe", "--timeout", str(TIMEOUT_S - 10)] if "Open MPI" in version else []
    return [mpirun, *options, "-n", str(ranks)]


def run_python(ranks, script, *arguments):
    """The finished process, output and errors as text."""
    command = [*launcher(ranks), sys.executable, str(script), *map(str, arguments)]
    return subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=TIMEOUT_S, check=False)


def run_heat(ranks, *arguments):
    done = run_python(ranks, EXAMPLES / "heat" / "sim.py", *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return done
