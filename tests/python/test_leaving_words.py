# SPDX-License-Identifier: BSD-3-Clause
"""What somebody reads when ranks leave a session by exceptions: theirs, and no more beside it than must be said."""
import pytest
from runs import Run
from test_leaving import check_apart, names, program


def said(done):
    return [line for line in done.stderr.splitlines() if line.startswith("lanescope: ")]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_one_line_has_the_command(mpirun, tmp_path, order, monkeypatch):
    """They leave further apart than the grace. The first says who is missing, each where its calls are."""
    monkeypatch.setenv("LANESCOPE_GRACE", "0.5")
    done = mpirun(
        3,
        program(
            f"before = dict(zip({order[1:]}, {order}))",
            "try:",
            '    with lanescope.session("run.h5", timeout=30):',
            "        record()",
            "        if rank in before:",
            '            wait_for(f"run.rank{before[rank]}.h5")',
            '        raise KeyError("mine")',
            "except KeyError as error:",
            "    assert error.__context__ is None",
        ),
    )
    assert done.returncode == 0, done.stderr
    check_apart(tmp_path, 3)
    path = tmp_path / "run"
    whole = [line for line in said(done) if "lanescope-merge" in line]
    assert len(whole) == 1 and f"lanescope-merge {path}.h5 {path}.rank*.h5" in whole[0], done.stderr
    missing = sorted(order[1:])
    assert (f"ranks {missing[0]}-{missing[1]} " if missing != [0, 2] else "ranks 0 and 2 ") in whole[0]
    own = [f"lanescope: the calls of rank {rank} are in {path}.rank{rank}.h5" for rank in range(3)]
    assert sorted(line for line in said(done) if line not in whole) == own


# Each rank writes to a file of its own, since the launcher mixes what they write.
APART = 'os.dup2(os.open(f"stderr{rank}", os.O_WRONLY | os.O_CREAT | os.O_APPEND), 2)'


def check_only_rank_0_told(folder, message):
    """One line of all ranks, and one traceback on each: that of what the program raised."""
    texts = [(folder / f"stderr{rank}").read_text() for rank in range(3)]
    lines = [line for text in texts for line in text.splitlines() if line.startswith("lanescope: ")]
    assert len(lines) == 1 and lines[0].startswith("lanescope: rank 0, step '"), texts
    assert lines[0] in texts[0] and message in lines[0]
    for text in texts:
        assert text.count("Traceback") == text.count("KeyError: 'mine'") == 1, texts
    return texts


FAILS = {
    "no folder": ('"no/run.h5"', "pass", "there is no folder"),
    "collected before": ('"run.h5"', 'session.collect("run.h5")', "was collected to"),
}


@pytest.mark.parametrize("why", FAILS)
def test_nobody_catches_it_and_the_collect_fails(mpirun, tmp_path, why):
    """One line for all ranks and all attempts, before what the program raised."""
    path, then, message = FAILS[why]
    mpirun(
        3,
        program(
            APART,
            f"with lanescope.session({path}, verbose=False) as session:",
            "    record()",
            f"    {then}",
            '    raise KeyError("mine")',
        ),
        recover=True,
    )
    texts = check_only_rank_0_told(tmp_path, message)
    for text in texts:
        assert text.endswith("KeyError: 'mine'\n"), texts
    assert names(tmp_path) == (["run.h5"] if why == "collected before" else [])


def test_without_a_block(mpirun, tmp_path):
    code = program(APART, 'lanescope.setup("no/run.h5")', "record()", 'raise KeyError("mine")')
    mpirun(3, code, recover=True)
    check_only_rank_0_told(tmp_path, "there is no folder")


CAUGHT = (
    "try:",
    '    with lanescope.session("no/run.h5", verbose=False):',
    "        record()",
    '        raise KeyError("mine")',
    "except KeyError:",
    "    pass",
)


@pytest.mark.parametrize("then, causes", [("pass", 1), ('rank or open("no", "w").close()', 2)])
def test_the_program_goes_on_and_the_collect_fails_again(mpirun, tmp_path, then, causes):
    """Another cause is told, the same is not told twice."""
    done = mpirun(3, program(*CAUGHT, then, "world.Barrier()"))
    assert done.returncode == 0, done.stderr
    assert len(said(done)) == len(set(said(done))) == causes, done.stderr
    assert done.stderr.splitlines() == said(done)


def test_the_collect_at_the_end_succeeds(mpirun, tmp_path):
    done = mpirun(3, program(*CAUGHT, "world.Barrier()", 'rank or os.mkdir("no")', "world.Barrier()"))
    assert done.returncode == 0, done.stderr
    assert len(said(done)) == 1
    assert Run(tmp_path / "no" / "run.h5").rank_table["calls"].tolist() == [10, 11, 12]


def test_a_rank_fails_alone(mpirun, tmp_path, monkeypatch):
    """It cannot write the file of its own: that the others do not know."""
    monkeypatch.setenv("LANESCOPE_GRACE", "0.5")
    (tmp_path / "run.rank1.h5").mkdir()
    done = mpirun(
        2,
        program(
            "try:",
            '    with lanescope.session("run.h5", verbose=False):',
            "        record()",
            "        if rank == 0:",
            '            wait_for("gone")',
            '        raise KeyError("mine")',
            "except KeyError:",
            "    if rank:",
            '        open("gone", "w").close()',
        ),
    )
    assert done.returncode == 0, done.stderr
    assert [line for line in said(done) if "run.rank1.h5" in line], done.stderr


def test_exit_without_a_block_is_a_normal_end(mpirun, tmp_path, monkeypatch):
    """Python tells nobody that sys.exit ends the program, and with which status: this rank waits for the others."""
    monkeypatch.setenv("LANESCOPE_GRACE", "0.2")
    done = mpirun(
        2,
        program(
            'lanescope.setup("run.h5", verbose=False)',
            "record()",
            "if rank:",
            "    sys.exit(3)",
            "time.sleep(2)",
            "lanescope.finalize()",
        ),
    )
    assert done.returncode == 3 and said(done) == []
    assert names(tmp_path) == ["run.h5"]
    assert Run(tmp_path / "run.h5").rank_table["calls"].tolist() == [10, 11]
