# SPDX-License-Identifier: BSD-3-Clause
"""What recording costs in Python: ratios of medians over interleaved repetitions, each beside its bar.

The floor of `with region:` is a `with` over a C object whose methods do nothing (the module `noop`), that of a
decorated call is the bare call of an empty function. The cost of an empty loop is subtracted from both. Fresh memory:
the first session of the process, whose calls pay for their page faults. Warm: the second.
"""
import asyncio
import cProfile
import mmap
import statistics
import time

import lanescope
import noop
from lanescope import _core, concurrency

REPETITIONS = 501
CALLS = 4_096  # a turn shorter than a slice of the scheduler: others on the machine spoil some turns, not the median
ROWS = 5 * REPETITIONS * CALLS  # more than the recorded loops of one session make

region = lanescope.region("bench")
nothing = noop.Noop()


def empty():
    pass


decorated = lanescope.profile("decorated")(empty)


def loop_empty(count):
    for _ in range(count):
        pass


def loop_noop(count):
    manager = nothing
    for _ in range(count):
        with manager:
            pass


def loop_region(count):
    manager = region
    for _ in range(count):
        with manager:
            pass


def loop_lookup(count):
    lookup = lanescope.region
    for _ in range(count):
        with lookup("bench"):
            pass


def loop_bare(count):
    function = empty
    for _ in range(count):
        function()


def loop_decorated(count):
    function = decorated
    for _ in range(count):
        function()


def loop_cprofile(count):
    with cProfile.Profile():
        function = empty
        for _ in range(count):
            function()


def nanoseconds(loop):
    start = time.perf_counter_ns()
    loop(CALLS)
    return (time.perf_counter_ns() - start) / CALLS


def medians(loops):
    """Median cost of one turn of each loop in ns, less the empty loop's. The loops take turns."""
    samples = {loop: [] for loop in (loop_empty, *loops)}
    for _ in range(REPETITIONS):
        for loop, values in samples.items():
            values.append(nanoseconds(loop))
    floor = statistics.median(samples[loop_empty])
    return {loop: statistics.median(values) - floor for loop, values in samples.items()}


def show(what, cost, floor, bar=None):
    held = "" if bar is None else f"   bar {bar:.2f}"
    print(f"{what:<46} {cost:8.1f} ns   floor {floor:7.1f} ns   ratio {cost / floor:5.2f}{held}")


def back_memory():
    """Touch as much memory as is going to be recorded into and free it, so that a virtual machine's host has it."""
    with mmap.mmap(-1, 32 * ROWS, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        memory.madvise(mmap.MADV_HUGEPAGE)
        for page in range(0, len(memory), mmap.PAGESIZE):
            memory[page] = 1


def recorded(memory):
    back_memory()
    _core.recorder.open(None, False)
    cost = medians((loop_noop, loop_region, loop_lookup, loop_bare, loop_decorated))
    _core.recorder.close()  # drops the calls: no file is written
    show(f"with region:, {memory}", cost[loop_region], cost[loop_noop], 1.5)
    show(f'with lanescope.region("…"):, {memory}', cost[loop_lookup], cost[loop_noop], 2.0)
    show(f"decorated call, {memory}", cost[loop_decorated], cost[loop_bare], 2.6)


def recorded_in_task():
    async def measure():
        return medians((loop_noop, loop_region, loop_bare, loop_decorated))

    back_memory()
    _core.recorder.open(None, False)
    tracker = concurrency._for_session(_core.recorder.handle, track_async=True)
    tracker.install()
    cost = asyncio.run(measure())
    tracker.uninstall()
    _core.recorder.close()
    show("with region:, in an asyncio task", cost[loop_region], cost[loop_noop], 1.5)
    show("decorated call, in an asyncio task", cost[loop_decorated], cost[loop_bare])


def main():
    off = medians((loop_noop, loop_region, loop_bare, loop_decorated))
    show("with region:, no session", off[loop_region], off[loop_noop])
    show("decorated call, no session", off[loop_decorated], off[loop_bare])
    recorded("fresh memory")
    recorded("warm")
    recorded_in_task()
    others = medians((loop_bare, loop_cprofile))
    show("a call under cProfile, for comparison", others[loop_cprofile], others[loop_bare])


if __name__ == "__main__":
    main()
