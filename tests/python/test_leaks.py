# SPDX-License-Identifier: BSD-3-Clause
"""Nothing is left behind: one test a type, by counting references, and one for the memory of whole sessions."""
import gc
import tracemalloc
import weakref

import lanescope
import numpy as np
import pytest
from lanescope import _core

from leaks import TURNS, grown, kept


@pytest.fixture(params=["open", "closed"])
def state(request, tmp_path):
    if request.param == "open":
        lanescope.setup(tmp_path / "run.h5", verbose=False)
    yield
    if request.param == "open":
        lanescope.finalize()


def test_region(state):
    name = "leak".join(["of a ", "region"])
    region = lanescope.region(name)

    def use():
        with lanescope.region(name):
            pass
        with pytest.raises(TypeError):
            lanescope.region(None)

    assert grown(use, region, name, type(region)) == [0, 0, 0]
    assert kept(use) < TURNS


def test_region_method(state):
    region = lanescope.region("leak of a method")
    method = lanescope.Region.__enter__

    def use():
        region.__enter__()
        region.__exit__(None, None, None)
        lanescope.Region.__enter__(region)
        lanescope.Region.__exit__(region, None, None, None)
        with pytest.raises(TypeError):
            method(42)

    assert grown(use, region, method, type(method)) == [0, 0, 0]
    assert kept(use) < TURNS


def test_profiled(state):
    def function(argument):
        return argument

    argument = object()
    decorate = lanescope.profile("leak of a decorator")
    region = lanescope.region("leak of a decorator")

    def use():
        decorated = decorate(function)
        assert decorated(argument) is argument
        with pytest.raises(TypeError):
            decorated()

    assert grown(use, function, argument, region, _core.Profiled) == [0, 0, 0, 0]
    assert kept(use) < TURNS


def test_profiled_in_a_cycle_is_collected():
    def function():
        pass

    decorated = lanescope.profile("leak in a cycle")(function)
    decorated.itself = decorated
    gone = weakref.ref(decorated)
    del decorated
    gc.collect()
    assert gone() is None


CLEARED = """
    import ctypes, os
    import lanescope
    from lanescope import _core

    PY_TP_CLEAR = 51
    get_slot = ctypes.pythonapi.PyType_GetSlot
    get_slot.restype, get_slot.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_int)

    def clear(object):
        ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object)(get_slot(type(object), PY_TP_CLEAR))(object)

    def told(action):
        try:
            action()
        except RuntimeError:
            return True

    region, decorated = lanescope.region("cleared"), lanescope.profile("cleared")(lambda: None)
    enter = region.__enter__
    lanescope.setup("run.h5", verbose=False)
    clear(region), clear(decorated)
    assert told(decorated) and told(lambda: region.__enter__()) and told(lambda: lanescope.Region.__exit__(region))
    assert enter() is region
    lanescope.finalize()
    clear(_core)
    assert told(lambda: lanescope.region("another")) and told(lambda: lanescope.Region("another")) and told(region.call)
    print("told", flush=True)
    os._exit(0)  # Python's own end wants the dict of the module
"""


def test_what_the_collector_has_cleared_can_be_called(run):
    """As finalizers may, that come late in a garbage."""
    done = run(CLEARED)
    assert done.returncode == 0 and done.stdout == "told\n", done.stderr


def test_report(tmp_path):
    _core.recorder.open(None, False)
    with lanescope.region("leak of a report"):
        pass
    report = _core.recorder.save(tmp_path / "run.h5", close=True, keep_events=True)[1]
    columns = ("region_ids", "ranks", "event_offsets", "source_files", "summary_statistics")

    def use():
        table = report.table("rank_region_index", columns)
        assert table["region_ids"].base is report
        assert set(columns) < set(report.columns("rank_region_index")) and report.columns("missing") == ()
        assert len(report.table("events", report.columns("events"))["start_times"]) == 1
        with pytest.raises(TypeError):
            report.columns(1)
        with pytest.raises(KeyError):
            report.table("rank_region_index", ("missing",))
        with pytest.raises(KeyError):
            report.table("missing", ("ranks",))
        with pytest.raises(TypeError):
            report.table("rank_region_index", (1,))

    assert grown(use, report, type(report), *columns) == [0] * 7
    assert kept(use) < TURNS
    with pytest.raises(TypeError):
        _core.Report()


def test_a_column_outlives_its_report(tmp_path):
    _core.recorder.open(None, False)
    for _ in range(7):
        with lanescope.region("leak of a column"):
            pass
    report = _core.recorder.save(tmp_path / "run.h5", close=True)[1]
    counts = report.table("rank_region_index", ("event_counts",))["event_counts"]
    del report
    gc.collect()
    assert counts.tolist() == [7]
    assert counts.dtype == np.uint64 and not counts.flags.writeable


def test_errors():
    def use():
        with pytest.raises(lanescope.StateError):
            _core.recorder.close()
        with pytest.raises(ValueError):
            lanescope.region("a\0b")

    assert grown(use, lanescope.StateError) == [0]
    assert kept(use) < TURNS


def test_lane_ids():
    threads = np.arange(100)

    def use():
        lanescope.lane_ids(threads, [-1] * 100)
        with pytest.raises(ValueError):
            lanescope.lane_ids(threads, [1])
        with pytest.raises(TypeError):
            lanescope.lane_ids([1.5])

    assert grown(use, threads, np.dtype("int64"))[0] == 0
    assert kept(use) < TURNS


def test_whole_sessions(tmp_path):
    def use():
        with lanescope.session(tmp_path / "run.h5", verbose=False):
            with lanescope.region("leak of a session"):
                pass

    tracemalloc.start()
    for _ in range(50):
        use()
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(200):
        use()
    gc.collect()
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert after - before < 200 * 8


def test_nesting():
    starts, ends, lanes = np.array([0, 1, 5]), np.array([9, 4, 8]), np.array([-2, -2, -2])
    bad = np.array([9, 10, 8])

    def use():
        parents, levels = _core.nest(starts, ends, lanes)
        assert _core.depths(parents).tolist() == levels.tolist() == [0, 1, 1]
        assert _core.exclusive(ends - starts, parents).tolist() == [3, 3, 3]
        for action in (
            lambda: _core.nest(starts, bad, lanes),
            lambda: _core.nest(bad, starts, lanes),
            lambda: _core.nest(starts, ends, [1]),
            lambda: _core.depths([0]),
            lambda: _core.exclusive([1], [7]),
        ):
            with pytest.raises(ValueError):
                action()

    assert grown(use, starts, ends, lanes, lanescope.NestingError) == [0, 0, 0, 0]
    assert kept(use) < TURNS
