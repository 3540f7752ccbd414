# SPDX-License-Identifier: BSD-3-Clause
"""Files of programs that are Fortran alone, opened with h5py: every call of every thread and rank, and its parent."""
import os
import shutil
import subprocess

import pytest

h5py = pytest.importorskip("h5py")
from runs import Run  # noqa: E402

PROGRAMS = os.path.join(os.environ.get("LANESCOPE_BUILD", ""), "tests", "fortran")
TIMEOUT = 120
THREADS, INNER = 2, 3


def program(name):
    path = os.path.join(PROGRAMS, name)
    if not os.access(path, os.X_OK):
        pytest.skip(f"there is no {path}: the Fortran module was not built, or its tests were not")
    return path


def run_ranks(folder, mode, ranks=4):
    launcher = shutil.which("mpirun")
    if launcher is None:
        pytest.skip("no mpirun")
    done = subprocess.run(
        [launcher, "--oversubscribe", "-n", str(ranks), program("test_ranks"), str(folder), mode],
        env={**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"},
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


def check_calls(run, ranks):
    """Each thread of rank r made 10 + r outer calls with 3 inner ones each; parents hold their children in time."""
    assert run.region_table["names"] == ["inner", "outer"] or run.region_table["names"] == ["outer", "inner"]
    assert list(run.rank_table["ranks"]) == list(range(ranks))
    for rank in range(ranks):
        outer = {call["call_ids"]: call for call in run.calls("outer", rank)}
        inner = run.calls("inner", rank)
        assert len(outer) == THREADS * (10 + rank)
        assert len(inner) == INNER * len(outer)
        assert all(call["parent_ids"] == -1 for call in outer.values())
        children = dict.fromkeys(outer, 0)
        for call in inner:
            parent = outer[call["parent_ids"]]
            children[call["parent_ids"]] += 1
            assert parent["start_times"] <= call["start_times"] <= call["end_times"] <= parent["end_times"]
            assert parent["thread_ids"] == call["thread_ids"]
        assert set(children.values()) == {INNER}
    assert sum(run.rank_table["dropped_calls"]) == 0


@pytest.mark.parametrize("mode", ["plain", "integer", "world", "late"])
def test_calls_of_unknown_threads(tmp_path, mode):
    said = run_ranks(tmp_path, mode)
    run = Run(tmp_path / "run.h5")
    check_calls(run, 4)
    assert set(run.events["thread_ids"]) == {-1}
    assert "thread_table" not in run.tables or len(run.thread_table["index"]) == 0
    lanes = run.lane_table
    assert list(lanes["ranks"]) == [0, 1, 2, 3]
    assert list(lanes["lanes"]) == [-1] * 4
    assert lanes["kind"] == ["unknown"] * 4
    assert lanes["name"] == ["fortran"] * 4
    assert list(lanes["calls"]) == [THREADS * (10 + rank) * (1 + INNER) for rank in range(4)]
    assert ("run.h5 was written" in said) == (mode == "late")


def test_calls_of_known_threads(tmp_path):
    run_ranks(tmp_path, "lanes")
    run = Run(tmp_path / "run.h5")
    check_calls(run, 4)
    assert run.lane_table["kind"] == ["thread"] * 8
    assert list(run.lane_table["lanes"]) == [-2, -3] * 4
    for rank in range(4):
        mine = run.events["thread_ids"][run.events["ranks"] == rank]
        assert sorted(set(mine)) == [0, 1]
        assert (mine == 0).sum() == (mine == 1).sum() == (10 + rank) * (1 + INNER)


def test_source_and_label(tmp_path):
    run_ranks(tmp_path, "plain", ranks=2)
    run = Run(tmp_path / "run.h5")
    index, names = run.rank_region_index, run.region_table["names"]
    found = {
        names[region]: (file, line)
        for region, file, line in zip(index["region_ids"], index["source_files"], index["source_lines"])
    }
    assert found == {"outer": ("test_ranks.f90", 11), "inner": ("", -1)}
    assert run.metadata["label"] == "ranks"


def test_compressed(tmp_path):
    run_ranks(tmp_path, "packed")
    check_calls(Run(tmp_path / "run.h5"), 4)
    with h5py.File(tmp_path / "run.h5") as file:
        assert {dataset.compression_opts for dataset in file["events"].values()} == {3}


def test_communicator_freed_after_init(tmp_path):
    run_ranks(tmp_path, "freed")
    check_calls(Run(tmp_path / "run.h5"), 2)


def test_null_communicator_opens_nothing(tmp_path):
    run_ranks(tmp_path, "null", ranks=2)
    assert list(tmp_path.iterdir()) == []


def test_c_and_fortran_join_one_another(tmp_path):
    subprocess.run([program("languages"), str(tmp_path)], check=True, timeout=TIMEOUT, cwd=tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["by_c.h5", "by_fortran.h5"]
    by_c, by_fortran = Run(tmp_path / "by_c.h5"), Run(tmp_path / "by_fortran.h5")
    assert by_c.region_table["names"] == by_fortran.region_table["names"] == ["shared"]
    assert by_fortran.count("shared") == 3
    calls = by_c.calls("shared")
    fortran = [call for call in calls if call["apis"] == 2]
    c = [call for call in calls if call["apis"] == 1]
    assert [call["thread_ids"] for call in fortran] == [-1] * 4 + [0] * 5
    assert [call["parent_ids"] for call in fortran] == [-1] * 4 + [c[0]["call_ids"]] * 5
    assert [call["thread_ids"] for call in c] == [0] * 3
    assert [call["parent_ids"] for call in c] == [-1] * 3


def test_life(tmp_path):
    subprocess.run([program("test_life"), str(tmp_path)], check=True, timeout=TIMEOUT)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept.h5", "life.1.h5", "life.h5", "open.h5"]
    flushed, last = Run(tmp_path / "life.1.h5"), Run(tmp_path / "life.h5")
    assert [flushed.count("solve"), flushed.count("other")] == [1, 0]
    assert [last.count("solve"), last.count("other")] == [0, 1]
    assert last.metadata["label"] == "life"
    assert Run(tmp_path / "kept.h5").count("kept") == 1


def test_calls_without_an_end(tmp_path):
    subprocess.run([program("test_life"), str(tmp_path)], check=True, timeout=TIMEOUT)
    run = Run(tmp_path / "open.h5")
    assert [run.count("outer"), run.count("inner")] == [0, 1]
    assert run.open_calls["region_names"] == ["outer", "inner"]
    assert list(run.open_calls["depth"]) == [0, 1]
    outer, inner = run.open_calls["call_ids"]
    assert list(run.open_calls["parent_ids"]) == [-1, outer]
    assert run.calls("inner")[0]["parent_ids"] == outer
    assert inner > run.calls("inner")[0]["call_ids"]
