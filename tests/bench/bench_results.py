# SPDX-License-Identifier: BSD-3-Clause
"""What reading a run costs: medians, each beside what reading or sorting the same bytes costs.

Nesting: 100,000 calls on 10,000 lanes, in the order of a file (region by region) and shuffled; its bar is 20 ms. Its
floor is NumPy's sort of the same calls by lane and start.
Reading: a file of 1,000,000 calls, three regions deep; the floor is h5py reading one column of it.
"""
import os
import statistics
import sys
import tempfile
import time

import h5py
import lanescope
import numpy as np
from lanescope import _core

REPETITIONS = 11
CALLS, LANES = 100_000, 10_000
FILE_CALLS = 1_000_000


def milliseconds(action):
    samples = []
    for _ in range(REPETITIONS):
        start = time.perf_counter_ns()
        action()
        samples.append((time.perf_counter_ns() - start) / 1e6)
    return statistics.median(samples)


def show(what, cost, floor, bar=None):
    held = "" if bar is None else f"   bar {bar:.0f} ms"
    print(f"{what:<49} {cost:8.2f} ms   floor {floor:7.2f} ms   ratio {cost / floor:5.2f}{held}")


def nested_calls(generator):
    """Starts, ends, lanes and regions of as many calls on each lane, of which each third one holds the two after it."""
    per_lane = CALLS // LANES
    starts = np.cumsum(generator.integers(10, 1000, (LANES, per_lane)), axis=1)
    lengths = np.full((LANES, per_lane), 5)
    for place in range(0, per_lane - 2, 3):
        lengths[:, place] = starts[:, place + 2] + 8 - starts[:, place]
    lanes = np.repeat(-2 - np.arange(LANES), per_lane)
    return starts.ravel(), (starts + lengths).ravel(), lanes, generator.integers(0, 20, CALLS)


def bench_nesting():
    generator = np.random.default_rng(1)
    starts, ends, lanes, regions = nested_calls(generator)
    for what, order in (
        ("as in a file", np.lexsort((starts, regions))),
        ("shuffled", generator.permutation(CALLS)),
    ):
        columns = starts[order], ends[order], lanes[order]
        floor = milliseconds(lambda: np.lexsort((columns[0], columns[2])))
        show(f"nest {CALLS:,} calls on {LANES:,} lanes, {what}", milliseconds(lambda: _core.nest(*columns)), floor, 20)


def write(path):
    outer, middle, inner = map(lanescope.region, ("outer", "middle", "inner"))
    _core.recorder.open(None, False)
    for _ in range(FILE_CALLS // 10):
        with outer:
            for _ in range(3):
                with middle:
                    with inner:
                        pass
                    with inner:
                        pass
    _core.recorder.save(path, close=True)


def bench_reading(path):
    with h5py.File(path, "r") as file:
        floor = milliseconds(lambda: file["events/start_times"][:])
    results = lanescope.read_h5(path)

    def stack():
        results._stack = None
        results.call_stack(0)

    def rebuilt():
        results._calls._ids.clear()
        results._calls._number(0)

    show("open a file of 1,000,000 calls", milliseconds(lambda: lanescope.read_h5(path)), floor)
    show("and its statistics", milliseconds(lambda: list(lanescope.read_h5(path).regions.values())), floor)
    show("durations of a region (600,000 calls)", milliseconds(results["inner"].durations), floor)
    show("call_stack, recorded parents", milliseconds(stack), floor)
    show("parents by the times", milliseconds(rebuilt), floor)


def main():
    bench_nesting()
    folder = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=folder) as name:
        write(os.path.join(name, "run.h5"))
        bench_reading(os.path.join(name, "run.h5"))


if __name__ == "__main__":
    sys.exit(main())
