# SPDX-License-Identifier: BSD-3-Clause
"""Compressed files: what they hold is what a plain file holds, and h5py reads them with nothing added."""
import os
import shutil
import subprocess

import h5py
import lanescope
import numpy as np
import pytest
from runs import Run

MERGE = os.path.join(os.environ.get("LANESCOPE_BUILD", "."), "lanescope-merge")


def compression(path):
    """The level of each column of /events, None where it is not compressed."""
    with h5py.File(path) as file:
        for name, dataset in file["events"].items():
            assert dataset.shuffle == (dataset.compression == "gzip"), name
        return {name: dataset.compression_opts for name, dataset in file["events"].items()}


def record(calls):
    for _ in range(calls):
        with lanescope.region("outer"), lanescope.region("inner"):
            pass


def rows(path):
    """Every column of /events, by HDF5 alone."""
    with h5py.File(path) as file:
        return {name: dataset[:] for name, dataset in file["events"].items()}


def assert_same_rows(one, other):
    one, other = rows(one), rows(other)
    assert one.keys() == other.keys()
    for name in one:
        assert one[name].dtype == other[name].dtype, name
        np.testing.assert_array_equal(one[name], other[name], err_msg=name)


@pytest.mark.parametrize("compress, level", [(1, 1), (True, 1), (6, 6), (9, 9), (None, None), (False, None)])
def test_the_level(tmp_path, compress, level):
    with lanescope.session(tmp_path / "run.h5", compress=compress, verbose=False):
        record(50)
    assert set(compression(tmp_path / "run.h5").values()) == {level}
    assert len(Run(tmp_path / "run.h5").calls("inner")) == 50


@pytest.mark.parametrize("text, level", [("3", 3), ("0", None), ("", None), ("10", None), ("fast", None), ("-1", None)])
def test_the_environment(tmp_path, monkeypatch, text, level):
    monkeypatch.setenv("LANESCOPE_COMPRESS", text)
    with lanescope.session(tmp_path / "run.h5", verbose=False):
        record(5)
    with lanescope.session(tmp_path / "own.h5", compress=7, verbose=False):
        record(5)
    assert set(compression(tmp_path / "run.h5").values()) == {level}
    assert set(compression(tmp_path / "own.h5").values()) == {7}


@pytest.mark.parametrize("compress, error", [(10, ValueError), (-1, ValueError), ("1", TypeError), (1.0, TypeError)])
def test_what_is_no_level(tmp_path, compress, error):
    with pytest.raises(error):
        lanescope.session(tmp_path / "run.h5", compress=compress)


def test_a_manager_and_checkpoints(tmp_path):
    manager = lanescope.ProfileManager()
    manager.setup(tmp_path / "run.h5", compress=2, verbose=False)
    with manager.region("first"):
        pass
    manager.collect(tmp_path / "run.1.h5")
    with manager.region("second"):
        pass
    manager.finalize()
    for name, region in (("run.1.h5", "first"), ("run.h5", "second")):
        assert set(compression(tmp_path / name).values()) == {2}
        assert len(Run(tmp_path / name).calls(region)) == 1


@pytest.mark.parametrize("calls", [0, 1, 16383, 16384, 16385, 100000])
def test_rows_around_the_end_of_a_chunk(tmp_path, calls):
    """Two rows a call, and 32,768 a chunk."""
    with lanescope.session(tmp_path / "run.h5", compress=True, verbose=False, return_results=True) as session:
        record(calls)
    path = tmp_path / "run.h5"
    with h5py.File(path) as file:
        starts = file["events"]["start_times"]
        assert len(starts) == 2 * calls
        assert starts.chunks == (None if not calls else (min(2 * calls, 32768),))
    results = lanescope.read_h5(path)
    kept = session.results
    for name in ("inner", "outer") if calls else ():
        np.testing.assert_array_equal(results[name].start_times(), kept[name].start_times())
        np.testing.assert_array_equal(results[name].durations(), kept[name].durations())
        assert len(results[name].durations()) == calls


@pytest.mark.skipif(not os.access(MERGE, os.X_OK), reason="there is no lanescope-merge")
def test_merging_from_and_to_compressed_files(tmp_path):
    def merge(out, source, *options):
        subprocess.run([MERGE, "-q", *options, tmp_path / out, tmp_path / source], check=True, timeout=60)

    with lanescope.session(tmp_path / "packed.h5", compress=True, verbose=False):
        record(50000)
    merge("plain.h5", "packed.h5")
    merge("again.h5", "plain.h5", "--compress", "5")
    assert set(compression(tmp_path / "plain.h5").values()) == {None}
    assert set(compression(tmp_path / "again.h5").values()) == {5}
    for name in ("plain.h5", "again.h5"):
        assert_same_rows(tmp_path / name, tmp_path / "packed.h5")
    for bad in (["-z"], ["-z", "0"], ["-z", "11"], ["-z", "a"]):
        found = subprocess.run([MERGE, *bad, tmp_path / "a.h5", tmp_path / "plain.h5"], capture_output=True, timeout=60)
        assert found.returncode == 2 and b"from 1 to 9" in found.stderr


@pytest.mark.skipif(shutil.which("h5repack") is None, reason="there is no h5repack")
def test_the_tools_of_hdf5(tmp_path):
    with lanescope.session(tmp_path / "run.h5", compress=True, verbose=False):
        record(40000)
    command = ["h5repack", "-f", "NONE", "-l", "CONTI", "run.h5", "plain.h5"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=60)
    assert set(compression(tmp_path / "plain.h5").values()) == {None}
    assert_same_rows(tmp_path / "plain.h5", tmp_path / "run.h5")


PROGRAM = """
import lanescope, sys
from mpi4py import MPI
rank, size = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size
calls = eval(sys.argv[1])[rank]
# Rank 0's level counts.
with lanescope.session("run.h5", verbose=False, compress=None if rank else 4):
    for turn in range(calls):
        with lanescope.region("all"), lanescope.region(f"only {rank}"):
            pass
"""


@pytest.mark.parametrize("calls", [[40000], [30000, 0, 40000], [0, 5, 70000, 1, 33000]])
def test_ranks(mpirun, tmp_path, calls):
    mpirun(len(calls), PROGRAM, str(calls))
    assert set(compression(tmp_path / "run.h5").values()) == {4}
    run = Run(tmp_path / "run.h5")
    assert run.rank_table["calls"].tolist() == [2 * count for count in calls]
    counts = np.bincount(run.events["ranks"], minlength=len(calls))
    assert counts.tolist() == [2 * count for count in calls]
