# SPDX-License-Identifier: BSD-3-Clause
"""The file of a real run says the same as the program's own book: every call, its rank, thread, parent and times."""
import json
from collections import Counter, defaultdict

import h5py
import numpy as np
import pytest

from heat_run import run_heat, run_python, EXAMPLES
from runs import assert_all_good

STEPS, EVERY = 60, 20
CLOCK_TOLERANCE_NS = 20_000  # of the map from the processor's counter to CLOCK_MONOTONIC, on a busy machine


def read_calls(path):
    """{(rank, thread name, region): [(start, end, call id, parent id)]} by start, in ns of the rank's own clock."""
    calls = defaultdict(list)
    with h5py.File(path, "r") as run:
        names = run["region_table/names"].asstr()[:]
        offset = run["rank_table/clock_offset_ns"][:]
        table = run["thread_table"]
        thread = dict(zip(zip(table["ranks"][:], table["index"][:]), table["name"].asstr()[:]))
        events = {name: column[:].tolist() for name, column in run["events"].items()}
        for rank, region, index, start, end, call, parent in zip(
                *(events[name] for name in ("ranks", "region_ids", "thread_ids", "start_times", "end_times", "call_ids",
                                            "parent_ids"))):
            times = (start - int(offset[rank]), end - int(offset[rank]))
            calls[rank, thread[rank, index], names[region]].append((*times, call, parent))
    return {key: sorted(rows) for key, rows in calls.items()}


def read_book(path):
    """{(rank, thread name, region): [(before entry, after entry, before exit, after exit)]} by entry."""
    calls = defaultdict(list)
    for rank, rows in enumerate(json.loads(path.read_text())):
        for region, thread, *times in rows:
            calls[rank, thread, region].append(tuple(times))
    return {key: sorted(rows) for key, rows in calls.items()}


@pytest.fixture(scope="module", params=[0, 1, 2, 3, 4], ids=["alone", "1", "2", "3", "4"])
def run(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(f"heat{request.param}")
    out, book, kept = folder / "run.h5", folder / "book.json", folder / "kept"
    done = run_heat(request.param, "--n", 50, "--steps", STEPS, "--every", EVERY, "--out", out, "--counts", book,
                    "--checkpoints", kept)
    assert_all_good(folder)
    return {"ranks": max(request.param, 1), "done": done, "out": out, "calls": read_calls(out), "book": read_book(book),
            "kept": kept}


def test_every_call_of_the_book_is_in_the_file_and_no_other(run):
    recorded = {key: len(rows) for key, rows in run["calls"].items() if key[2] != "solve"}
    assert recorded == {key: len(rows) for key, rows in run["book"].items()}


def test_the_counts_are_what_the_arguments_ask_for(run):
    counts = Counter()
    for (rank, _, region), rows in run["calls"].items():
        counts[rank, region] += len(rows)
    expected = {"solve": 1, "step": STEPS, "halo": STEPS, "compute": STEPS, "reduce": STEPS // EVERY + 2,
                "checkpoint": STEPS // EVERY}
    assert counts == {(rank, region): count for rank in range(run["ranks"]) for region, count in expected.items()}


def test_every_time_lies_where_the_program_saw_it(run):
    for key, rows in run["book"].items():
        for (start, end, _, _), (before_entry, after_entry, before_exit, after_exit) in zip(run["calls"][key], rows):
            assert before_entry - CLOCK_TOLERANCE_NS <= start <= after_entry + CLOCK_TOLERANCE_NS, key
            assert before_exit - CLOCK_TOLERANCE_NS <= end <= after_exit + CLOCK_TOLERANCE_NS, key


def test_calls_nest_as_the_program_does(run):
    parents = {"solve": {None}, "step": {"solve"}, "halo": {"step"}, "compute": {"step"}, "reduce": {"solve"},
               "checkpoint": {None}}
    calls = {(rank, call): (region, start, end)
             for (rank, _, region), rows in run["calls"].items() for start, end, call, _ in rows}
    found = defaultdict(set)
    for (rank, _, region), rows in run["calls"].items():
        for start, end, _, parent in rows:
            around, begin, over = (None, start, end) if parent == -1 else calls[rank, parent]
            found[region].add(around)
            assert begin <= start and end <= over, region
    assert found == parents


def test_the_index_and_the_rank_table_agree_with_the_calls(run):
    count, total = Counter(), Counter()
    for (rank, _, region), rows in run["calls"].items():
        count[rank, region] += len(rows)
        total[rank, region] += sum(end - start for start, end, _, _ in rows)
    with h5py.File(run["out"], "r") as file:
        index, table = file["rank_region_index"], file["rank_table"]
        names = file["region_table/names"].asstr()[:][index["region_ids"][:]]
        keys = list(zip(index["ranks"][:].tolist(), names))
        assert dict(zip(keys, index["event_counts"][:].tolist())) == count
        assert dict(zip(keys, index["summary_statistics"]["total"].tolist())) == total
        calls = [sum(n for (rank, _), n in count.items() if rank == each) for each in range(run["ranks"])]
        assert table["calls"][:].tolist() == calls
        assert not table["open_calls"][:].any() and not table["dropped_calls"][:].any() and not table["status"][:].any()
        assert file["metadata"].attrs["mpi_size"] == run["ranks"]


def test_rank_0_alone_prints_one_line_and_the_summary(run):
    lines = run["done"].stdout.splitlines()
    assert lines[0].startswith(f"heat: 50 x 50 points, {STEPS} steps on {run['ranks']} rank(s): error ")
    assert sum(line.startswith("heat:") for line in lines) == 1
    for region in ("solve", "step", "halo", "compute", "reduce", "checkpoint"):
        assert sum(line.split()[:1] == [region] for line in lines) == 1, region
    assert run["done"].stderr == ""


def test_the_checkpoints_hold_the_whole_field(run):
    for step in range(EVERY, STEPS + 1, EVERY):
        parts = [np.load(path) for path in sorted(run["kept"].glob(f"heat.step{step:06d}.rank*.npy"))]
        assert len(parts) == run["ranks"]
        assert np.concatenate(parts).shape == (50, 50)
    assert len(list(run["kept"].iterdir())) == run["ranks"] * (STEPS // EVERY)


def test_a_checkpoint_that_fails_on_one_rank_ends_all_and_the_file_is_there(tmp_path):
    (tmp_path / f"heat.step{EVERY:06d}.rank001.npy").mkdir()
    done = run_python(2, EXAMPLES / "heat" / "sim.py", "--n", 50, "--steps", STEPS, "--every", EVERY, "--out",
                      tmp_path / "run.h5", "--checkpoints", tmp_path)
    assert done.returncode != 0
    assert "IsADirectoryError" in done.stderr
    with h5py.File(tmp_path / "run.h5", "r") as file:
        assert file["rank_table/ranks"][:].tolist() == [0, 1]


def test_a_wrong_result_is_an_error(tmp_path):
    source = (EXAMPLES / "heat" / "sim.py").read_text()
    call = "            self.exchange_halo()\n"
    assert call in source
    broken = tmp_path / "sim.py"
    broken.write_text(source.replace(call, ""))
    done = run_python(2, broken, "--n", 50, "--steps", STEPS, "--out", tmp_path / "run.h5")
    assert done.returncode != 0
    assert done.stderr.count("heat: wrong result") == 1
