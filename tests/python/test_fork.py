# SPDX-License-Identifier: BSD-3-Clause
"""A child of fork has no session, writes nothing and leaves the parent alone."""
from runs import Run


def test_children_stand_down(run, tmp_path):
    done = run(
        """
        import os, sys, lanescope
        region = lanescope.region("a")

        @lanescope.profile("f")
        def f():
            pass

        def child(way):
            with region:
                f()
            assert not session.is_open and lanescope.finalize() is None
            try:
                lanescope.collect("child.h5")
            except lanescope.StateError:
                pass
            else:
                os._exit(9)
            if way == "exit":
                sys.exit(0)
            os._exit(0)

        with lanescope.session("run.h5") as session:
            for way in ("exit", "_exit"):
                with region:
                    f()
                pid = os.fork()
                if pid == 0:
                    child(way)
                assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        """
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout.count("file: ") == 1
    run = Run(tmp_path / "run.h5")
    assert (run.count("a"), run.count("f")) == (2, 2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["program.py", "run.h5"]


def test_a_child_may_open_a_session_of_its_own(run, tmp_path):
    done = run(
        """
        import os, lanescope
        lanescope.setup("parent.h5", verbose=False)
        pid = os.fork()
        with lanescope.region("a"):
            pass
        if pid == 0:
            lanescope.setup("child.h5", verbose=False)
            for _ in range(2):
                with lanescope.region("b"):
                    pass
        else:
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        lanescope.finalize()
        """
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    parent, child = Run(tmp_path / "parent.h5"), Run(tmp_path / "child.h5")
    assert (parent.count("a"), parent.count("b")) == (1, 0)
    assert (child.count("a"), child.count("b")) == (0, 2)
    assert parent.rank_table["pid"] != child.rank_table["pid"]


def test_pools_of_processes(run, tmp_path):
    done = run(
        """
        import concurrent.futures, multiprocessing, lanescope

        @lanescope.profile("square")
        def square(x):
            return x * x

        if __name__ == "__main__":
            context = multiprocessing.get_context("fork")
            with lanescope.session("run.h5", verbose=False):
                with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
                    assert list(pool.map(square, range(10))) == [x * x for x in range(10)]
                square(3)
        """
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert Run(tmp_path / "run.h5").count("square") == 1
