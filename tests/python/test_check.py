# SPDX-License-Identifier: BSD-3-Clause
"""`lanescope check`: each promise of the format, broken once in a good file, is named with its table and row."""
import subprocess
import sys

import h5py
import lanescope
import numpy as np
import pytest
from lanescope import _check, _check_calls, _check_nesting

from broken import MUTATIONS, Edit

pytestmark = pytest.mark.bad_files
TIMEOUT_S = 120


def test_a_good_file_is_good(good):
    found = _check.check(good)
    with h5py.File(good, "r") as file:
        counts = len(file["rank_table/ranks"]), len(file["events/ranks"]), 2, len(file["region_table/names"])
    assert (found.violations, found.is_whole) == ([], True)
    assert (found.ranks, found.calls, found.open_calls, found.regions) == counts


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_broken_promise_is_named(good, tmp_path, name):
    edit = Edit(good, tmp_path / "bad.h5")
    change, words = MUTATIONS[name]
    change(edit)
    found = _check.check(edit.done())
    assert any(words in line for line in found.violations), "\n".join(found.violations)


def test_the_first_violations_are_named_and_no_more(good, tmp_path):
    edit = Edit(good, tmp_path / "bad.h5")
    for column in ("total", "minimum", "maximum", "first", "last", "start_minimum", "end_maximum", "mean"):
        rows = edit.file["rank_region_index/summary_statistics"][:]
        rows[column] += 1
        edit.file["rank_region_index/summary_statistics"][:] = rows
    found = _check.check(edit.done())
    assert len(found.violations) == _check.LIMIT and not found.is_whole
    rows = len(rows)
    assert found.violations[3] == f"rank_region_index: the same in {rows - 3} more rows up to {rows - 1}"


@pytest.mark.parametrize("window", [1, 3, 16])
def test_pieces_and_windows_of_any_size_find_the_same(good, tmp_path, monkeypatch, window):
    monkeypatch.setattr(_check_calls, "PIECE", window)
    monkeypatch.setattr(_check_calls, "WINDOW", window)
    monkeypatch.setattr(_check_nesting, "WINDOW", window)
    assert _check.check(good).violations == []
    for name in (
        "parent_far",
        "parent_none",
        "parent_lane",
        "child_outside",
        "number_missing",
        "lane_busy",
        "exclusive",
        "statistics_m2",
    ):
        edit = Edit(good, tmp_path / f"{name}.h5")
        change, words = MUTATIONS[name]
        change(edit)
        found = _check.check(edit.done())
        assert any(words in line for line in found.violations), "\n".join(found.violations)


EXTREMES = [0, 2**63 - 1, -(2**63)]


@pytest.mark.parametrize(
    "table", ["rank_table", "thread_table", "task_table", "lane_table", "rank_region_index", "events", "open_calls"]
)
def test_whatever_number_stands_in_a_column_the_check_comes_to_its_end(good, tmp_path, table):
    edit = Edit(good, tmp_path / "bad.h5")
    columns = {name: data[:] for name, data in edit.file[table].items() if data.dtype.kind in "iu"}
    edit.done()
    for name, values in columns.items():
        for extreme in EXTREMES:
            changed = values.copy()
            changed[-1] = np.int64(extreme).astype(values.dtype)
            with h5py.File(edit.path, "r+") as file:
                file[table][name][:] = changed
            found = _check.check(edit.path)
            assert found.violations or found.is_whole
        with h5py.File(edit.path, "r+") as file:
            file[table][name][:] = values


def make_big(path, calls):
    """One rank and one lane whose calls come in pairs, outer and inner, of 10 and 4 ns."""
    pairs = calls // 2
    with lanescope.session(path, verbose=False):
        with lanescope.region("outer"), lanescope.region("inner"):
            pass
    with h5py.File(path, "r+") as file:
        origin = int(file["metadata"].attrs["start_time_ns"])
        place = np.arange(pairs)
        columns = {
            "start_times": np.concatenate([origin + 20 * place, origin + 20 * place + 2]),
            "end_times": np.concatenate([origin + 20 * place + 10, origin + 20 * place + 6]),
            "ranks": np.zeros(calls, "u4"),
            "region_ids": np.repeat(np.array([0, 1], "u4"), pairs),
            "thread_ids": np.zeros(calls, "i8"),
            "call_ids": np.concatenate([2 * place, 2 * place + 1]),
            "parent_ids": np.concatenate([np.full(pairs, -1), 2 * place]),
        }
        del file["events"]
        for name, values in columns.items():
            file[f"events/{name}"] = values
        file["rank_table/calls"][0] = file["lane_table/calls"][0] = calls
        file["lane_table/first_ns"][0] = 0
        file["lane_table/last_ns"][0] = 20 * (pairs - 1) + 10
        file["lane_table/busy_ns"][0] = 10 * pairs
        file["region_table/names"][:] = ["outer", "inner"]
        index = file["rank_region_index"]
        index["event_offsets"][:], index["event_counts"][:] = [0, pairs], pairs
        index["region_ids"][:], index["exclusive_totals"][:] = [0, 1], [6 * pairs, 4 * pairs]
        rows = index["summary_statistics"][:]
        for name in ("minimum", "maximum", "first", "last", "mean"):
            rows[name] = [10, 4]
        rows["total"], rows["m2"] = [10 * pairs, 4 * pairs], 0
        rows["start_minimum"] = [origin, origin + 2]
        rows["end_maximum"] = [origin + 20 * (pairs - 1) + 10, origin + 20 * (pairs - 1) + 6]
        index["summary_statistics"][:] = rows


PEAK = """
import re, sys
from lanescope.__main__ import main
status = main(["check", *sys.argv[1:]])
print(re.search(r"VmHWM:\\s*(\\d+) kB", open("/proc/self/status").read())[1])
sys.exit(status)
"""


def test_memory_does_not_grow_with_the_number_of_calls(tmp_path):
    peaks = {}
    for calls in (3_000_000, 9_000_000):
        path = tmp_path / "big.h5"
        make_big(path, calls)
        done = subprocess.run(
            [sys.executable, "-c", PEAK, path], capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert f"good: 1 rank, {calls:,} calls" in done.stdout
        peaks[calls] = int(done.stdout.splitlines()[-1])
    assert peaks[9_000_000] < 1.1 * peaks[3_000_000]
    assert peaks[9_000_000] < 1 << 20


def test_a_wrong_parent_in_a_later_window_of_a_big_file_is_named(tmp_path):
    path = tmp_path / "big.h5"
    make_big(path, 3_000_000)
    with h5py.File(path, "r+") as file:
        file["events/parent_ids"][2_900_000] -= 2
    found = _check.check(path)
    assert found.violations and found.violations[0].startswith("events row 2900000: parent_ids is 2799998")
