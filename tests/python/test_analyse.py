# SPDX-License-Identifier: BSD-3-Clause
"""The scripts of examples/analyse on the file of a real run, against sums over its calls one by one."""
import os
import subprocess
import sys
from collections import defaultdict

import h5py
import pytest

from heat_run import EXAMPLES, TIMEOUT_S, run_heat
from runs import assert_good

RANKS = 2


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("analyse") / "run.h5"
    run_heat(RANKS, "--n", 50, "--steps", 40, "--every", 10, "--out", path)
    assert_good(path)
    return path


@pytest.fixture(scope="module")
def calls(path):
    """[(rank, region, thread name, start, end)]"""
    with h5py.File(path, "r") as run:
        events = {name: column[:].tolist() for name, column in run["events"].items()}
        names = run["region_table/names"].asstr()[:]
        table = run["thread_table"]
        thread = dict(zip(zip(table["ranks"][:], table["index"][:]), table["name"].asstr()[:]))
    return [(events["ranks"][i], names[events["region_ids"][i]], thread[events["ranks"][i], events["thread_ids"][i]],
             events["start_times"][i], events["end_times"][i]) for i in range(len(events["ranks"]))]


def seconds_per_region(calls):
    seconds = defaultdict(lambda: [0.0] * RANKS)
    for rank, region, _, start, end in calls:
        seconds[region][rank] += (end - start) / 1e9
    return seconds


def script(name, *arguments, **environment):
    command = [sys.executable, str(EXAMPLES / "analyse" / name), *map(str, arguments)]
    return subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=TIMEOUT_S,
                          check=False)


def output(*arguments, **environment):
    done = script(*arguments, **environment)
    assert done.returncode == 0 and not done.stderr, done.stdout + done.stderr
    return done.stdout.splitlines()


def test_time_per_region(path, calls):
    header, *lines = output("time_per_region.py", path)
    assert header.split() == ["region", "rank", "0", "rank", "1"]
    shown = {line.split()[0]: list(map(float, line.split()[1:])) for line in lines}
    expected = seconds_per_region(calls)
    assert len(lines) == len(expected)
    for region, seconds in expected.items():
        assert shown[region] == pytest.approx(seconds, abs=1.1e-6)
    totals = [sum(values) for values in shown.values()]
    assert totals == sorted(totals, reverse=True)


def test_imbalance(path, calls):
    _, *lines = output("imbalance.py", path)
    expected = seconds_per_region(calls)
    assert len(lines) == len(expected)
    for line in lines:
        region, mean, longest, excess, ratio, word, slowest = line.split()
        seconds = expected[region]
        assert word == "rank" and seconds[int(slowest)] == max(seconds)
        assert float(longest) == pytest.approx(max(seconds), abs=1.1e-6)
        assert float(mean) == pytest.approx(sum(seconds) / RANKS, abs=1.1e-6)
        assert float(excess) == pytest.approx(max(seconds) - sum(seconds) / RANKS, abs=1.1e-6)
        assert float(ratio) == pytest.approx(max(seconds) / (sum(seconds) / RANKS), abs=1e-3)


def test_frame(path, calls):
    pytest.importorskip("pandas")
    header, _, *lines = output("frame.py", path)
    assert header.split() == ["count", "mean", "std", "min", "50%", "99%", "max"]
    shown = {line.split()[0]: list(map(float, line.split()[1:])) for line in lines}
    expected = defaultdict(list)
    for _, region, _, start, end in calls:
        expected[region].append((end - start) / 1e3)
    assert shown.keys() == expected.keys()
    for region, durations in expected.items():
        count, mean, _, least, _, _, most = shown[region]
        wanted = [len(durations), sum(durations) / len(durations), min(durations), max(durations)]
        assert [count, mean, least, most] == pytest.approx(wanted, abs=1.1e-3)


def test_dataset(path, calls):
    pytest.importorskip("xarray")
    shown = {}
    for line in output("dataset.py", path):
        region, *parts = line.split("  ")
        for part in parts:
            rank, seconds = part.removeprefix("rank ").split(": ")
            shown[region, int(rank)] = float(seconds)
    expected = {(region, rank): value for region, values in seconds_per_region(calls).items()
                for rank, value in enumerate(values) if value}
    assert shown == pytest.approx(expected, abs=1.1e-6)


def lanes_of(calls, rank):
    """{thread name: (calls, seconds covered, regions)}"""
    lanes = defaultdict(list)
    for call_rank, region, thread, start, end in calls:
        if call_rank == rank:
            lanes[thread].append((start, end, region))
    found = {}
    for thread, rows in lanes.items():
        covered, reached = 0, 0
        for start, end, _ in sorted(rows):
            covered += max(0, end - max(start, reached))
            reached = max(reached, end)
        found[thread] = (len(rows), covered / 1e9, ", ".join(sorted({region for *_, region in rows})))
    return found


@pytest.mark.parametrize("rank", range(RANKS))
def test_lanes_without_pandas(path, calls, rank, tmp_path):
    (tmp_path / "pandas.py").write_text("raise ImportError('hidden')\n")
    search = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    header, *lines = output("lanes.py", path, rank, PYTHONPATH=search)
    assert header.split("\t") == ["lane", "kind", "name", "calls", "from s", "to s", "busy s", "regions"]
    shown = {}
    for line in lines:
        lane, kind, name, count, begin, end, busy, regions = line.split("\t")
        assert kind == "thread" and int(lane) <= -2 and float(begin) <= float(end)
        shown[name] = (int(count), pytest.approx(float(busy), abs=1.1e-6), regions)
    assert lanes_of(calls, rank) == shown
    assert "MainThread" in shown and any(name.startswith("checkpoint") for name in shown)


def test_lanes_with_pandas(path, calls):
    pytest.importorskip("pandas")
    header, *lines = output("lanes.py", path)
    assert header.split() == ["lane", "kind", "name", "calls", "from", "s", "to", "s", "busy", "s", "regions"]
    expected = lanes_of(calls, 0)
    assert {line.split()[2]: int(line.split()[3]) for line in lines} == {
        name: count for name, (count, _, _) in expected.items()}


def test_a_rank_that_is_not_there_and_a_missing_argument_are_told(path):
    assert "has no rank 7" in script("lanes.py", path, 7).stderr
    for name in ("time_per_region.py", "imbalance.py", "lanes.py", "frame.py", "dataset.py"):
        done = script(name)
        assert done.returncode == 1 and "usage: python3 " + name in done.stderr
