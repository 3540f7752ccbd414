# SPDX-License-Identifier: BSD-3-Clause
"""Reads a file as a user would, with h5py alone, and keeps the times that a test takes itself."""
import os
import time

import h5py
import lanescope
from lanescope import _check

_good = set()


def assert_good(path):
    """The file keeps every promise of its format: what `lanescope check` finds, in this process, once a file."""
    status = os.stat(path)
    identity = (os.path.abspath(path), status.st_ino, status.st_mtime_ns)
    if identity in _good:
        return
    found = _check.check(path)
    assert not found.violations and found.is_whole, "\n".join([str(path), *found.violations])
    _good.add(identity)


def assert_all_good(folder):
    """Likewise for every file of lanescope in a folder."""
    for path in sorted(folder.rglob("*.h5")):
        if path.is_file() and _is_ours(path):
            assert_good(path)


def _is_ours(path):
    if not h5py.is_hdf5(path):
        return False
    with h5py.File(path, "r") as file:
        return "lanescope_format" in file.attrs


class Run:
    """The tables of a good file: run.events["start_times"], run.thread_table["name"], …"""

    def __init__(self, path):
        assert_good(path)
        with h5py.File(path, "r") as file:
            self.metadata = dict(file["metadata"].attrs)
            self.tables = {name: _columns(group) for name, group in file.items() if name != "metadata"}

    def __getattr__(self, name):
        return self.tables[name]

    def calls(self, name, rank=0):
        """The rows of /events of one region and rank, in the order of the file, as dicts."""
        if name not in self.region_table["names"]:
            return []
        region = self.region_table["names"].index(name)
        events = self.events
        return [
            {column: values[i].item() for column, values in events.items()}
            for i in range(len(events["ranks"]))
            if events["ranks"][i] == rank and events["region_ids"][i] == region
        ]

    def count(self, name, rank=0):
        return len(self.calls(name, rank))


def _columns(group):
    return {
        name: data.asstr()[...].tolist() if h5py.check_string_dtype(data.dtype) else data[...]
        for name, data in group.items()
    }


class Stamped:
    """Enters a region and notes the time before and after each end of it: (before, inside, inside, after)."""

    def __init__(self, name):
        self.region = lanescope.region(name)
        self.stamps = []

    def __enter__(self):
        self._begin = [time.perf_counter_ns()]
        self.region.__enter__()
        self._begin.append(time.perf_counter_ns())

    def __exit__(self, *exception):
        end = [time.perf_counter_ns()]
        self.region.__exit__(*exception)
        self.stamps.append((*self._begin, *end, time.perf_counter_ns()))


def assert_within(calls, stamps, slack=2000):
    """Each call begins and ends between the stamps taken around it, in the same order. slack: ns, of two clocks."""
    assert len(calls) == len(stamps)
    for call, (before, begun, ending, after) in zip(calls, stamps):
        assert before - slack <= call["start_times"] <= begun + slack
        assert ending - slack <= call["end_times"] <= after + slack
