# SPDX-License-Identifier: BSD-3-Clause
"""Interrupts, exits and new processes in the middle of a region: errors arrive unchanged, and the nesting is right."""
import lanescope
import numpy as np
import pytest

from leaks import grown_resident
from runs import Run

INTERRUPTED = """
    import signal, lanescope

    def stop(number, frame):
        raise KeyboardInterrupt("again")

    outer, inner = lanescope.region("outer"), lanescope.region("inner")
    decorated = lanescope.profile("decorated")(lambda: sum(range(50)))
    interrupts = 0
    with lanescope.session("run.h5", verbose=False):
        signal.signal(signal.SIGALRM, stop)
        while interrupts < 1000:
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.0002)
                while True:
                    with outer:
                        with inner, lanescope.region("inner"):
                            decorated()
            except KeyboardInterrupt as error:
                assert error.args == ("again",)
                interrupts += 1
        with lanescope.region("after"):
            pass
"""


def test_interrupts_at_any_moment_leave_the_nesting_right(run, tmp_path):
    done = run(INTERRUPTED)
    assert (done.returncode, done.stderr) == (0, "")
    run = Run(tmp_path / "run.h5")
    assert "open_calls" not in run.tables
    ids, parents = ({name: column[run.events["region_ids"] == i] for i, name in enumerate(run.region_table["names"])}
                    for column in (run.events["call_ids"], run.events["parent_ids"]))
    assert parents["after"].tolist() == [-1]
    assert len(ids["outer"]) >= 900 and (parents["outer"] == -1).all()
    assert np.isin(parents["inner"], [*ids["outer"], *ids["inner"]]).all()
    assert np.isin(parents["decorated"], ids["inner"]).all()


def test_new_processes_of_both_kinds(run, tmp_path):
    done = run(
        """
        import multiprocessing, os, sys, lanescope

        def work(number):
            with lanescope.region("unrecorded"):
                pass
            with lanescope.session(f"child.{os.getpid()}.{number}.h5", verbose=False):
                with lanescope.region("child"):
                    pass
            return number

        if __name__ == "__main__":
            with lanescope.session("parent.h5", verbose=False):
                with lanescope.region("parent"):
                    for kind in ("fork", "spawn"):
                        with multiprocessing.get_context(kind).Pool(2) as pool:
                            assert pool.map(work, range(6)) == list(range(6))
                with lanescope.region("after"):
                    pass
        """
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    parent = Run(tmp_path / "parent.h5")
    assert parent.region_table["names"] == ["parent", "after"]
    assert parent.rank_table["calls"].tolist() == [2]
    children = list(tmp_path.glob("child.*.h5"))
    assert len(children) == 12
    for path in children:
        child = Run(path)
        assert child.region_table["names"] == ["child"] and child.rank_table["calls"].tolist() == [1]
        assert "open_calls" not in child.tables


@pytest.mark.parametrize("end", ["raise SystemExit(7)", "sys.exit(7)", "raise LookupError('mine')", "os.kill(0, 2)"])
def test_what_ends_the_program_within_regions_is_seen_and_nothing_is_lost(run, tmp_path, end):
    done = run(
        f"""
        import os, sys, lanescope
        os.setpgrp()
        lanescope.setup("run.h5", verbose=False)
        with lanescope.region("done"):
            pass
        with lanescope.region("outer"), lanescope.region("inner"):
            {end}
        """
    )
    expected = {"raise S": 7, "sys.exi": 7, "raise L": 1, "os.kill": -2}
    assert done.returncode == expected[end[:7]], done.stderr
    assert ("LookupError: mine" in done.stderr) == ("Lookup" in end)
    assert ("KeyboardInterrupt" in done.stderr) == ("kill" in end)
    run = Run(tmp_path / "run.h5")
    assert [run.count(name) for name in ("done", "outer", "inner")] == [1, 1, 1]
    assert run.calls("inner")[0]["parent_ids"] == run.calls("outer")[0]["call_ids"]


def test_ten_thousand_sessions_keep_memory_level():
    manager = lanescope.ProfileManager()
    region = manager.region("a")

    def use():
        manager._recorder.open(None, False)
        tracker = lanescope.concurrency._for_session(manager._recorder.handle, True)
        tracker.install()
        with region, region.call():
            tracker.current_thread()
        tracker.uninstall()
        manager._recorder.close()

    assert grown_resident(use, 1000, 9000) < 4 * 2**20


def test_whole_sessions_keep_memory_level(tmp_path):
    def use():
        with lanescope.session(tmp_path / "run.h5", track_async=True, verbose=False):
            with lanescope.region("a"):
                pass

    assert grown_resident(use, 100, 400) < 4 * 2**20
