# SPDX-License-Identifier: BSD-3-Clause
"""Finds the built package and runs programs of its users, alone and under a launcher, never without a time limit.

The package is on PYTHONPATH, or in python/ of the build folder that LANESCOPE_BUILD names.
"""
import os
import shutil
import subprocess
import sys
import textwrap

import pytest

TIMEOUT = 120

if "LANESCOPE_BUILD" in os.environ:
    _package = os.path.join(os.path.abspath(os.environ["LANESCOPE_BUILD"]), "python")
    sys.path.insert(0, _package)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (_package, os.environ.get("PYTHONPATH"))))

import lanescope  # noqa: E402

try:
    import h5py  # noqa: F401
except ImportError:
    assert_all_good = None
else:
    from runs import assert_all_good


@pytest.fixture(autouse=True)
def no_session_left():
    """Each test begins and ends without an open session."""
    assert not lanescope._core.recorder.is_open()
    yield
    if lanescope._core.recorder.is_open():
        lanescope._core.recorder.close()
        pytest.fail("the test left its session open")


def pytest_configure(config):
    config.addinivalue_line("markers", "bad_files: the test damages files; they are not looked at when it is over")


@pytest.fixture(autouse=True)
def good_files(request, tmp_path):
    """What a test leaves in its folder keeps every promise of the format."""
    yield
    if assert_all_good and not request.node.get_closest_marker("bad_files"):
        assert_all_good(tmp_path)


@pytest.fixture(scope="session")
def good(tmp_path_factory):
    """The path of a file, to be copied, in which there is some of everything and every promise of the format is
    kept."""
    from broken import record_good

    folder = tmp_path_factory.mktemp("good")
    record_good(folder)
    assert_all_good(folder)
    return folder / "run.h5"


@pytest.fixture
def run(tmp_path):
    """run(code, *arguments): the finished process of a Python program in a folder of its own."""

    def run_program(code, *arguments, prefix=(), **environment):
        program = tmp_path / "program.py"
        program.write_text(textwrap.dedent(code))
        return subprocess.run(
            [*prefix, sys.executable, str(program), *map(str, arguments)],
            cwd=tmp_path,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
        )

    return run_program


@pytest.fixture
def launcher(monkeypatch):
    """launcher(ranks): the words in front of a program that start it on so many ranks, this environment permitting."""
    mpirun = shutil.which("mpirun")
    if mpirun is None:
        pytest.skip("no mpirun")
    pytest.importorskip("mpi4py")
    monkeypatch.setenv("OMPI_ALLOW_RUN_AS_ROOT", "1")
    monkeypatch.setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
    return lambda ranks: (mpirun, "--oversubscribe", "--timeout", str(TIMEOUT - 10), "-n", str(ranks))


@pytest.fixture
def mpirun(run, launcher):
    """mpirun(ranks, code, *arguments): the same under the launcher; recover: which goes on when a rank dies."""

    def run_ranks(ranks, code, *arguments, recover=False):
        prefix = launcher(ranks) + (("--enable-recovery",) if recover else ())
        return run(code, *arguments, prefix=prefix)

    return run_ranks
