# SPDX-License-Identifier: BSD-3-Clause
"""lanescope-merge: the merged file beside the collected one, row by row, and inputs that are not as they should be."""
import os
import random
import shutil
import subprocess

import pytest

h5py = pytest.importorskip("h5py")
import numpy as np  # noqa: E402
from lanescope import _check  # noqa: E402
from runs import Run  # noqa: E402

BUILD = os.environ.get("LANESCOPE_BUILD", "")
PROGRAM = os.path.join(BUILD, "tests", "mpi", "test_merge")
COMMAND = os.path.join(BUILD, "lanescope-merge")
COMMAND = COMMAND if os.access(COMMAND, os.X_OK) else shutil.which("lanescope-merge")
TIMEOUT = 120
RANKS = [1, 2, 3, 4]


def merge(*arguments, timeout=TIMEOUT):
    return subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, text=True, timeout=timeout)


def merged(*arguments):
    done = merge(*arguments)
    assert done.returncode == 0, done.stderr
    return Run(arguments[0])


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """files(ranks): a folder with what tests/mpi/test_merge.c writes on so many ranks."""
    made = {}
    launcher = shutil.which("mpirun")
    if launcher is None or not os.access(PROGRAM, os.X_OK):
        pytest.skip("no mpirun, or the test's program was not built")

    def make(ranks):
        if ranks not in made:
            folder = tmp_path_factory.mktemp(f"merge{ranks}")
            done = subprocess.run(
                [launcher, "--oversubscribe", "-n", str(ranks), PROGRAM, str(folder)],
                env={**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"},
                capture_output=True,
                text=True,
                timeout=TIMEOUT,
            )
            assert done.returncode == 0, done.stderr
            made[ranks] = folder
        return made[ranks]

    return make


# What two collects of the same calls differ in: what was spent up to each, and when they were.
MEASURED = {("thread_table", "cpu_ns"), ("rank_table", "overhead_ns"), ("open_calls", "await_ns")}
# Sums of ticks, by the rate of the clock up to the collect: a few ns apart.
ROUNDED = {("task_table", "running_ns"), ("task_table", "suspended_ns")}


def same_column(one, other):
    if isinstance(one, list) or isinstance(other, list):
        return one == other
    return one.dtype == other.dtype and one.tobytes() == other.tobytes()


def assert_same(one, other):
    assert set(one.tables) == set(other.tables)
    for group, columns in one.tables.items():
        assert set(columns) == set(other.tables[group]), group
        for name, values in columns.items():
            if (group, name) in ROUNDED:
                assert abs(values - other.tables[group][name]).max(initial=0) <= 1000, f"{group}/{name}"
            elif (group, name) not in MEASURED:
                assert same_column(values, other.tables[group][name]), f"{group}/{name}"


@pytest.mark.parametrize("ranks", RANKS)
def test_files_of_ranks_give_the_collected_file(files, tmp_path, ranks):
    folder = files(ranks)
    inputs = [folder / f"same.rank{rank}.h5" for rank in range(ranks)]
    random.Random(ranks).shuffle(inputs)
    run, collected = merged(tmp_path / "out.h5", *inputs), Run(folder / "same.h5")
    assert len(run.events["ranks"]) > 20 * min(ranks, 3) and "open_calls" in run.tables
    assert_same(run, collected)
    parts = [Run(folder / f"same.rank{rank}.h5") for rank in range(ranks)]
    assert run.rank_table["overhead_ns"].tolist() == [part.rank_table["overhead_ns"][0] for part in parts]
    for name in set(run.metadata) | set(collected.metadata):
        if name not in ("finalize_time_ns", "run_job", "merged_files"):
            assert run.metadata[name] == collected.metadata[name], name


def by_number(run, rank):
    """Every call of a rank by its number, with the name of its region: [(name, parent, thread, task, api, open)]."""
    calls = {}
    for table in ("events", "open_calls"):
        columns = run.tables.get(table, {"ranks": []})
        for i in range(len(columns["ranks"])):
            if columns["ranks"][i] != rank:
                continue
            name = columns["region_names"][i] if table == "open_calls" else run.region_table["names"][
                columns["region_ids"][i]]
            lane = [int(columns[column][i]) if column in columns else None
                    for column in ("parent_ids", "thread_ids", "task_ids", "apis")]
            times = int(columns["start_times"][i]), int(columns["end_times"][i]) if table == "events" else None
            assert int(columns["call_ids"][i]) not in calls
            calls[int(columns["call_ids"][i])] = ((name, *lane, table), times)
    assert sorted(calls) == list(range(len(calls)))
    return [calls[number] for number in range(len(calls))]


def assert_whole(run, whole):
    """The same calls with the same numbers, and each inside the one of the session around it."""
    assert run.rank_table["ranks"].tolist() == whole.rank_table["ranks"].tolist()
    assert sorted(run.region_table["names"]) == sorted(whole.region_table["names"])
    for column in ("calls", "open_calls", "threads", "tasks"):
        assert run.rank_table[column].tolist() == whole.rank_table[column].tolist(), column
    for rank in run.rank_table["ranks"]:
        mine, around = by_number(run, rank), by_number(whole, rank)
        assert [call for call, _ in mine] == [call for call, _ in around]
        for (_, (start, end)), (_, (outer_start, outer_end)) in zip(mine, around):
            assert outer_start <= start and (end is None or end <= outer_end)


def assert_sums(run):
    """The index and the lanes are what their calls add up to."""
    events, index, origin = run.events, run.rank_region_index, run.metadata["start_time_ns"]
    durations = events["end_times"] - events["start_times"]
    inside = {}
    for i in range(len(durations)):
        key = int(events["ranks"][i]), int(events["parent_ids"][i])
        inside[key] = inside.get(key, 0) + int(durations[i])
    for row in range(len(index["ranks"])):
        first, count = int(index["event_offsets"][row]), int(index["event_counts"][row])
        piece = slice(first, first + count)
        assert set(events["ranks"][piece]) == {index["ranks"][row]}
        assert set(events["region_ids"][piece]) == {index["region_ids"][row]}
        assert (np.diff(events["call_ids"][piece]) > 0).all()
        sums = index["summary_statistics"][row]
        assert (sums["total"], sums["minimum"], sums["maximum"]) == (
            durations[piece].sum(), durations[piece].min(), durations[piece].max())
        assert (sums["first"], sums["last"]) == (durations[piece][0], durations[piece][-1])
        own = sum(int(durations[i]) - inside.get((int(events["ranks"][i]), int(events["call_ids"][i])), 0)
                  for i in range(first, first + count))
        assert index["exclusive_totals"][row] == own
    assert int(index["event_counts"].sum()) == len(durations)
    tasks = events.get("task_ids", np.full(len(durations), -1))
    lanes = np.where(tasks >= 0, tasks, np.where(events["thread_ids"] < 0, -1, -2 - events["thread_ids"]))
    for row in range(len(run.lane_table["lanes"])):
        mine = (events["ranks"] == run.lane_table["ranks"][row]) & (lanes == run.lane_table["lanes"][row])
        assert run.lane_table["calls"][row] == mine.sum()
        if mine.any():
            assert run.lane_table["last_ns"][row] == events["end_times"][mine].max() - origin
            assert run.lane_table["busy_ns"][row] == covered(events["start_times"][mine], events["end_times"][mine])


def covered(starts, ends):
    total, until = 0, None
    for start, end in sorted(zip(starts.tolist(), ends.tolist())):
        if until is None or start >= until:
            total, until = total + end - start, end
        elif end > until:
            total, until = total + end - until, end
    return total


@pytest.mark.parametrize("ranks", RANKS)
def test_checkpoints_are_the_run(files, tmp_path, ranks):
    folder = files(ranks)
    steps = [folder / f"steps.{n}.h5" for n in (1, 2, 3)]
    run, whole = merged(tmp_path / "out.h5", *reversed(steps)), Run(folder / "whole.h5")
    assert_whole(run, whole)
    assert_sums(run)
    last = Run(steps[-1])
    for table in ("thread_table", "task_table"):
        assert {name: list(values) for name, values in run.tables[table].items()} == {
            name: list(values) for name, values in last.tables[table].items()}


@pytest.mark.parametrize("ranks", RANKS)
def test_checkpoints_of_ranks_that_went_apart(files, tmp_path, ranks):
    folder = files(ranks)
    inputs = [folder / "apart.2.h5", *(folder / f"apart.rank{rank}.h5" for rank in range(ranks)), folder / "apart.1.h5"]
    run = merged(tmp_path / "out.h5", *inputs)
    assert_whole(run, Run(folder / "whole.h5"))
    assert_sums(run)


def test_merging_in_two_steps_is_the_same(files, tmp_path):
    folder = files(3)
    steps = [folder / f"steps.{n}.h5" for n in (1, 2, 3)]
    at_once = merged(tmp_path / "once.h5", *steps)
    merged(tmp_path / "two.h5", *steps[:2])
    assert_same(merged(tmp_path / "out.h5", tmp_path / "two.h5", steps[2]), at_once)
    same = [folder / f"same.rank{rank}.h5" for rank in range(3)]
    merged(tmp_path / "last.h5", *same[1:])
    assert_same(merged(tmp_path / "all.h5", tmp_path / "last.h5", same[0]), Run(folder / "same.h5"))


def session_id(path):
    return Run(path).metadata.get("session_id")


def test_files_of_a_session_know_which(files, tmp_path):
    """All ranks the same, whether collected or gone apart, and over a second communicator of the same ranks."""
    folder = files(3)
    of_a = {session_id(folder / name) for name in ("a.1.h5", "a.rank0.h5", "a.rank1.h5", "a.rank2.h5")}
    of_b = {session_id(folder / f"b.rank{rank}.h5") for rank in range(3)}
    of_c = {session_id(folder / f"c.{n}.h5") for n in (1, 2)}
    assert len(of_a) == len(of_b) == len(of_c) == len(of_a | of_b | of_c) / 3 == 1
    assert {None, 0}.isdisjoint(of_a | of_b | of_c)
    merged(tmp_path / "a.h5", folder / "a.1.h5", *(folder / f"a.rank{rank}.h5" for rank in (2, 0, 1)))
    assert session_id(tmp_path / "a.h5") in of_a
    run = merged(tmp_path / "c.h5", folder / "c.2.h5", folder / "c.1.h5")
    parts = [Run(folder / f"c.{n}.h5").rank_table["calls"] for n in (1, 2)]
    assert run.rank_table["calls"].tolist() == sum(parts).tolist()
    assert run.metadata["session_id"] in of_c


def test_files_of_two_sessions_are_not_mixed(files, tmp_path):
    folder = files(3)
    inputs = [folder / "a.rank0.h5", folder / "b.rank1.h5", folder / "a.rank2.h5", folder / "a.1.h5"]
    done = merge(tmp_path / "out.h5", *inputs)
    assert done.returncode == 1
    assert f"'{inputs[1]}' is of another run than '{inputs[0]}': it is of another session" in done.stderr, done.stderr
    assert Run(tmp_path / "out.h5").rank_table["status"].tolist() == [0, 1, 0]
    rest = merge(tmp_path / "rest.h5", *inputs[1:3])
    assert rest.returncode == 1 and str(inputs[2]) in rest.stderr
    merge(tmp_path / "part.h5", inputs[0], *inputs[2:])
    assert merge(tmp_path / "more.h5", tmp_path / "part.h5", inputs[1]).returncode == 1
    assert merged(tmp_path / "a.h5", tmp_path / "part.h5", folder / "a.rank1.h5").rank_table["status"].max() == 0


def test_files_that_do_not_know_their_session_are_merged_as_before(files, tmp_path):
    folder = files(3)

    def forget(file):
        del file["metadata"].attrs["session_id"], file["rank_table/collects"]

    old = [spoil(folder / f"{name}.rank{rank}.h5", tmp_path / f"{rank}.h5", forget)
           for rank, name in enumerate(("a", "b", "a"))]
    run = merged(tmp_path / "out.h5", *old)
    assert run.rank_table["status"].tolist() == [0, 0, 0] and "session_id" not in run.metadata
    known = merged(tmp_path / "known.h5", old[0], folder / "a.rank1.h5", old[2])
    assert known.metadata["session_id"] == session_id(folder / "a.rank1.h5")


def test_a_missing_rank_is_named(files, tmp_path):
    folder = files(4)
    done = merge(tmp_path / "out.h5", folder / "same.rank0.h5", folder / "same.rank2.h5")
    assert done.returncode == 0
    assert "of rank 1, 3: 2 of 4 ranks are missing" in done.stderr
    run = Run(tmp_path / "out.h5")
    assert run.rank_table["status"].tolist() == [0, 2, 0, 2]
    assert run.metadata["mpi_size"] == 4
    assert set(run.events["ranks"].tolist()) == {0, 2}


def test_a_missing_checkpoint_is_named(files, tmp_path):
    folder = files(2)
    done = merge(tmp_path / "out.h5", folder / "steps.1.h5", folder / "steps.3.h5")
    assert done.returncode == 0
    assert "calls of rank 0 that were open in one input are in no later one" in done.stderr
    assert "ranks 0-1: collect 1 is missing" in done.stderr
    run = Run(tmp_path / "out.h5")
    assert set(run.open_calls["region_names"]) == {"never ends"}
    assert run.rank_table["dropped_calls"].tolist() == [1, 1]
    assert run.rank_table["drop_reason"] == ["collect 1 is missing"] * 2
    assert run.rank_table["status"].tolist() == [1, 1] and run.rank_table["collects"] == ["0,2"] * 2
    old = [spoil(folder / f"steps.{n}.h5", tmp_path / f"old{n}.h5", without_collects) for n in (1, 3)]
    run = merged(tmp_path / "old.h5", *old)
    assert run.rank_table["drop_reason"] == ["an input is missing"] * 2
    assert run.rank_table["status"].tolist() == [0, 0] and run.rank_table["collects"] == ["", ""]


def without_collects(file):
    del file["rank_table/collects"]


def test_a_rank_that_ends_before_the_others_is_named(files, tmp_path):
    """As where it was killed after the second checkpoint."""
    folder = files(3)
    inputs = [folder / "apart.1.h5", folder / "apart.2.h5", folder / "apart.rank0.h5", folder / "apart.rank2.h5"]
    done = merge(tmp_path / "out.h5", *inputs)
    assert done.returncode == 0
    assert "rank 1: nothing after collect 1\n" in done.stderr and done.stderr.count("collect") == 1, done.stderr
    run = Run(tmp_path / "out.h5")
    assert run.rank_table["status"].tolist() == [0, 1, 0]
    assert run.rank_table["collects"] == ["0-2", "0-1", "0-2"]
    assert run.rank_table["drop_reason"] == ["", "nothing after collect 1", ""]
    again = merge(tmp_path / "again.h5", tmp_path / "out.h5")
    assert "rank 1: nothing after collect 1\n" in again.stderr
    assert_same(Run(tmp_path / "again.h5"), run)
    done = merge(tmp_path / "all.h5", tmp_path / "out.h5", folder / "apart.rank1.h5")
    assert (done.returncode, done.stderr) == (0, "")
    assert_same(Run(tmp_path / "all.h5"), merged(tmp_path / "once.h5", *inputs, folder / "apart.rank1.h5"))


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_missing_checkpoint_without_open_calls_is_named(files, tmp_path, ranks):
    folder = files(ranks)
    steps = [folder / f"shut.{n}.h5" for n in (1, 2, 3)]
    every = merged(tmp_path / "every.h5", *steps)
    assert every.rank_table["collects"] == ["0-2"] * ranks and every.rank_table["status"].max() == 0
    said = "ranks 0-1" if ranks > 1 else "rank 0"
    for left_out, collects, words in ((1, "0,2", "collect 1 is missing"), (0, "1-2", "collect 0 is missing")):
        done = merge(tmp_path / "out.h5", *(path for i, path in enumerate(steps) if i != left_out))
        assert done.returncode == 0 and f"{said}: {words}\n" in done.stderr, done.stderr
        run = Run(tmp_path / "out.h5")
        assert run.rank_table["collects"] == [collects] * ranks and run.rank_table["status"].tolist() == [1] * ranks
        assert run.rank_table["drop_reason"] == [words] * ranks and run.rank_table["dropped_calls"].max() == 0
        assert_same(merged(tmp_path / "all.h5", tmp_path / "out.h5", steps[left_out]), every)
    done = merge(tmp_path / "last.h5", steps[2])
    assert f"{said}: collects 0-1 are missing\n" in done.stderr


def test_ranks_that_were_collected_elsewhere_before_are_not_behind(files, tmp_path):
    """Rank 0 of half.h5 has had one collect more than rank 1: both are in all the files of the run."""
    folder = files(2)
    parts = [Run(folder / f"half.{n}.h5").rank_table["collects"] for n in (1, 2)]
    assert parts == [["1", "0"], ["2", "1"]]
    done = merge(tmp_path / "out.h5", *(folder / f"half.{n}.h5" for n in (2, 1)))
    assert "rank 0: collect 0 is missing\n" in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert Run(tmp_path / "out.h5").rank_table["status"].tolist() == [1, 0]
    done = merge(tmp_path / "apart.h5", folder / "half.1.h5", folder / "half.2.h5", folder / "half.rank0.h5")
    assert "rank 1: nothing after collect 1\n" in done.stderr, done.stderr


@pytest.mark.bad_files
def test_clocks_that_were_never_compared_are_unknown(files, tmp_path):
    """And the check takes that as it is. tests/check-clocks has real ones."""
    folder = files(3)

    def change(file):
        attributes = file["metadata"].attrs
        attributes["clock"] = "elsewhere"
        assert [attributes.pop(f"run_clock_{of}_ns") for of in ("offset", "error")] == [0, 0]

    other = spoil(folder / "same.rank1.h5", tmp_path / "other.h5", change)
    done = merge(tmp_path / "out.h5", folder / "same.rank0.h5", other, folder / "same.rank2.h5")
    assert done.returncode == 0 and "clock_error_ns is -1" in done.stderr
    assert Run(tmp_path / "out.h5").rank_table["clock_error_ns"].tolist() == [0, -1, 0]
    for row, value, words in ((1, -2, "or -1 for unknown"), (0, -1, "its own clock")):
        bad = spoil(tmp_path / "out.h5", tmp_path / "bad.h5", set_value("rank_table/clock_error_ns", row, value))
        (line,) = _check.check(bad).violations
        assert line.startswith(f"rank_table row {row}: clock_error_ns is {value}") and words in line


def test_clocks_that_were_compared_before_are_not_guessed(files, tmp_path):
    folder = files(3)

    def compared(offset, error):
        def change(file):
            file["metadata"].attrs["clock"] = f"elsewhere {offset}"
            file["metadata"].attrs["run_clock_offset_ns"] = np.int64(offset)
            file["metadata"].attrs["run_clock_error_ns"] = np.int64(error)

        return change

    ranks = [folder / "same.rank0.h5"]
    for rank, offset, error in ((1, 10**12, 700), (2, -(10**9), 30)):
        ranks.append(spoil(folder / f"same.rank{rank}.h5", tmp_path / f"rank{rank}.h5", compared(offset, error)))
    run = merged(tmp_path / "out.h5", *ranks)
    assert run.rank_table["clock_offset_ns"].tolist() == [0, 10**12, -(10**9)]
    assert run.rank_table["clock_error_ns"].tolist() == [0, 700, 30]
    assert "run_clock_offset_ns" not in run.metadata
    rest = merged(tmp_path / "rest.h5", *ranks[1:])
    assert rest.rank_table["clock_offset_ns"].tolist() == [0, 0, -(10**9) - 10**12]
    assert rest.rank_table["clock_error_ns"].tolist() == [0, 0, 730]
    assert (rest.metadata["run_clock_offset_ns"], rest.metadata["run_clock_error_ns"]) == (10**12, 700)
    steps = merged(tmp_path / "steps.h5", tmp_path / "rest.h5", ranks[0])
    assert steps.rank_table["clock_error_ns"].tolist() == [0, 700, 1430]
    assert same_column(steps.events["start_times"], run.events["start_times"])


def spoil(path, copy, change):
    shutil.copy(path, copy)
    with h5py.File(copy, "r+") as file:
        change(file)
    return copy


def set_value(name, row, value):
    def change(file):
        file[name][row] = value

    return change


DAMAGE = {
    "newer": (lambda file: file.attrs.__setitem__("lanescope_format", np.int64(2)), "newer"),
    "no format": (lambda file: file.attrs.__delitem__("lanescope_format"), "not written by lanescope"),
    "no events": (lambda file: file.__delitem__("events"), "is missing"),
    "a column less": (lambda file: file.__delitem__("events/call_ids"), "events/call_ids is missing"),
    "a call id twice": (set_value("events/call_ids", 0, 1), "call_ids"),
    "a call id too large": (set_value("events/call_ids", 0, 1 << 40), "call_ids"),
    "a parent after its child": (set_value("events/parent_ids", 0, 1 << 30), "parent"),
    "no such thread": (set_value("events/thread_ids", 0, 99), "thread_table"),
    "an end before its start": (set_value("events/end_times", 0, 0), "times"),
    "no such region": (set_value("rank_region_index/region_ids", 0, 1000), "no name"),
    "a wrong count": (set_value("rank_region_index/event_counts", 0, 1 << 62), "where its calls are"),
    "calls of another region": (set_value("events/region_ids", 0, 1), "rank_region_index"),
    "rank table": (set_value("rank_table/calls", 0, 3), "does not count"),
    "clock": (lambda file: file["metadata"].attrs.__setitem__("run_clock_offset_ns", np.int64(1 << 62)),
              "run_clock_offset_ns"),
    "collects": (set_value("rank_table/collects", 0, "1-0"), "list of collects"),
    "mpi_size": (lambda file: file["metadata"].attrs.__setitem__("mpi_size", np.int64(1 << 40)), "mpi_size"),
    "another type": (lambda file: (file.__delitem__("events/ranks"),
                                   file.create_dataset("events/ranks", data=np.zeros(3))), "another type"),
    "a link to elsewhere": (lambda file: (file.__delitem__("events"), file.__setitem__(
        "events", h5py.ExternalLink("other.h5", "events"))), "is missing"),
}


@pytest.mark.bad_files
@pytest.mark.parametrize("what", DAMAGE)
def test_a_damaged_input_is_named_and_left_out(files, tmp_path, what):
    folder = files(2)
    change, said = DAMAGE[what]
    bad = spoil(folder / "same.rank0.h5", tmp_path / "bad.h5", change)
    done = merge(tmp_path / "out.h5", bad, folder / "same.rank1.h5")
    assert done.returncode == 1
    assert str(bad) in done.stderr and said in done.stderr, done.stderr
    assert_same(Run(tmp_path / "out.h5"), merged(tmp_path / "good.h5", folder / "same.rank1.h5"))


@pytest.mark.bad_files
def test_what_is_no_file_of_a_run(files, tmp_path):
    folder, good = files(2), files(2) / "same.rank1.h5"
    text, cut, empty = tmp_path / "text.h5", tmp_path / "cut.h5", tmp_path / "empty.h5"
    text.write_text("not HDF5\n" * 100)
    cut.write_bytes(good.read_bytes()[:-3000])
    empty.write_bytes(b"")
    for bad in (text, cut, empty, tmp_path / "missing.h5", tmp_path, "/dev/zero"):
        done = merge(tmp_path / "out.h5", bad, good)
        assert (done.returncode, str(bad) in done.stderr) == (1, True), done.stderr
        assert merge(tmp_path / "none.h5", bad).returncode == 2
        assert not (tmp_path / "none.h5").exists()
    for other in (folder / "steps.1.h5", files(3) / "same.rank0.h5"):
        done = merge(tmp_path / "out.h5", folder / "same.rank0.h5", other)
        assert done.returncode == 1 and "another run" in done.stderr and str(other) in done.stderr
    done = merge(tmp_path / "out.h5", good, good)
    assert done.returncode == 1 and "the same collect" in done.stderr
    done = merge(tmp_path / "out.h5", folder / "steps.1.h5", folder / "steps.2.h5")
    done = merge(tmp_path / "again.h5", tmp_path / "out.h5", folder / "steps.1.h5")
    assert done.returncode == 1 and "holds collect 0 of rank 0, as" in done.stderr, done.stderr
    old = spoil(folder / "steps.1.h5", tmp_path / "old.h5", without_collects)
    done = merge(tmp_path / "again.h5", tmp_path / "out.h5", old)
    assert done.returncode == 2 and "the same calls" in done.stderr, done.stderr


def test_the_command_line(files, tmp_path):
    good = files(2) / "same.rank1.h5"
    assert merge("--help").stdout.startswith("usage: lanescope-merge")
    assert merge("--version").stdout.startswith("lanescope-merge ")
    assert merge().returncode == merge(tmp_path / "out.h5").returncode == merge("--odd", "a", "b").returncode == 2
    shutil.copy(good, tmp_path / "in.h5")
    done = merge(tmp_path / "in.h5", tmp_path / "in.h5")
    assert done.returncode == 2 and "is an input, too" in done.stderr
    assert (tmp_path / "in.h5").read_bytes() == good.read_bytes()
    assert merge(tmp_path / "no" / "out.h5", good).returncode == 2
    done = merge("-q", tmp_path / "out.h5", files(1) / "same.rank0.h5")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
