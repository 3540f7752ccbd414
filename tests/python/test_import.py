# SPDX-License-Identifier: BSD-3-Clause
"""What importing does, which is nothing."""


def test_importing_starts_nothing(run, tmp_path):
    done = run(
        """
        import ctypes, os, sys, threading
        import numpy  # starts the threads of its own libraries


        def descriptors():
            return sorted(os.listdir("/proc/self/fd"))

        threads, files = len(os.listdir("/proc/self/task")), descriptors()
        import lanescope
        assert len(os.listdir("/proc/self/task")) == threads
        assert threading.active_count() == 1
        assert descriptors() == files
        assert not lanescope._core.mpi_is_active()
        assert "mpi4py" not in sys.modules and "h5py" not in sys.modules
        mpi = next((line.split()[-1] for line in open("/proc/self/maps") if "/libmpi." in line), None)
        if mpi:
            started = ctypes.c_int(-1)
            ctypes.CDLL(mpi).MPI_Initialized(ctypes.byref(started))
            assert started.value == 0
        """
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["program.py"]


def test_a_session_without_mpi_starts_none(run):
    done = run(
        """
        import lanescope
        with lanescope.session("run.h5", verbose=False):
            assert not lanescope._core.mpi_is_active()
        assert not lanescope._core.mpi_is_active()
        """
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_names_of_the_package(run):
    done = run(
        """
        import lanescope
        assert lanescope.__version__ == "0.1.0"
        assert all(hasattr(lanescope, name) for name in lanescope.__all__)
        assert issubclass(lanescope.StateError, lanescope.Error)
        assert issubclass(lanescope.CollectError, lanescope.Error)
        assert issubclass(lanescope.Error, Exception)
        assert lanescope.Error("x").status is None
        assert lanescope.Status(0).name == "OK"
        """
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_module_goes_and_comes_again(run):
    done = run(
        """
        import gc, sys, importlib
        import lanescope
        first = lanescope._core
        region = lanescope.region("kept")
        for name in [name for name in sys.modules if name.startswith("lanescope")]:
            del sys.modules[name]
        del lanescope
        import lanescope
        assert lanescope._core is not first
        assert lanescope.region("kept") is not region
        with region, lanescope.region("kept"):
            pass
        del first
        gc.collect()
        with region:
            pass
        """
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_type_stubs_name_what_is_there():
    import ast
    import pathlib

    import lanescope

    stubs = ast.parse(pathlib.Path(lanescope.__file__).with_name("__init__.pyi").read_text())
    names = {node.name: node for node in stubs.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    assert set(names) | {"__version__"} == set(lanescope.__all__)
    assert [node.target.id for node in names["Status"].body] == [status.name for status in lanescope.Status]
