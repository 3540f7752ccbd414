# SPDX-License-Identifier: BSD-3-Clause
"""What it costs to follow threads, asyncio tasks and greenlets: ratios of medians over interleaved repetitions, each
beside its bar.

The floor of a step, a task or a switch is the same without a tracker. A tracker is new at each repetition, and one that
is used fills fresh memory. The first region on a new thread is compared with creating and joining the thread.
"""
import asyncio
import gc
import statistics
import threading
import time

import lanescope
from lanescope import _core, concurrency

try:
    import greenlet
except ImportError:
    greenlet = None

REPETITIONS = 21


now = time.thread_time_ns  # what else runs on the machine does not count


def per_turn(turns, start):
    return (now() - start) / turns


async def step_alone():
    turns, sleep = 5_000, asyncio.sleep
    start = now()
    for _ in range(turns):
        await sleep(0)
    return per_turn(turns, start)


async def step_gathered():
    tasks, turns, sleep = 100, 60, asyncio.sleep

    async def job():
        for _ in range(turns):
            await sleep(0)

    start = now()
    await asyncio.gather(*(job() for _ in range(tasks)))
    return per_turn(tasks * turns, start)


async def trivial_tasks():
    turns, create = 2_000, asyncio.create_task

    async def nothing():
        pass

    start = now()
    for _ in range(turns):
        await create(nothing())
    return per_turn(turns, start)


def switches():
    turns = 20_000
    main = greenlet.getcurrent()

    def answer():
        switch = main.switch
        while True:
            switch()

    other = greenlet.greenlet(answer)
    switch = other.switch
    start = now()
    for _ in range(turns):
        switch()
    return per_turn(2 * turns, start)


def tracked(run):
    """Runs it with a new tracker."""
    tracker = concurrency.ConcurrencyTracker(track_async=True)
    tracker.install()
    try:
        return run()
    finally:
        tracker.uninstall()


def nothing():
    pass


first = lanescope.region("first")


def first_region():
    with first:
        pass


def threads(body):
    """CPU time of the process for each thread, its end included."""
    turns = 300
    start = time.process_time_ns()
    for _ in range(turns):
        thread = threading.Thread(target=body)
        thread.start()
        thread.join()
    return (time.process_time_ns() - start) / turns


def in_session(run, hooked):
    """Runs it while a session is open, and with a tracker of it if `hooked`."""
    _core.recorder.open(None, False)
    tracker = concurrency._for_session(_core.recorder.handle)
    if hooked:
        tracker.install()
    try:
        return run()
    finally:
        tracker.uninstall()
        _core.recorder.close()


def medians(*runs):
    """Median of each run's result. The runs take turns, and each has no garbage of the others to collect."""
    samples = [[] for _ in runs]
    for _ in range(REPETITIONS):
        for run, values in zip(runs, samples):
            gc.collect()
            gc.freeze()
            values.append(run())
    return [statistics.median(values) for values in samples]


def show(what, cost, floor, bar):
    print(f"{what:<46} {cost:8.1f} ns   floor {floor:7.1f} ns   ratio {cost / floor:5.2f}   bar {bar:.2f}")


def compare(what, run, bar):
    plain, followed = medians(run, lambda: tracked(run))
    show(what, followed, plain, bar)


def main():
    compare("asyncio step, one task", lambda: asyncio.run(step_alone()), 1.05)
    compare("asyncio step, 100 gathered", lambda: asyncio.run(step_gathered()), 1.10)
    compare("create and run a trivial task", lambda: asyncio.run(trivial_tasks()), 1.15)
    if greenlet:
        compare("greenlet switch", switches, 1.60)
    bare, used, hooked = medians(
        lambda: threads(nothing),
        lambda: in_session(lambda: threads(first_region), False),
        lambda: in_session(lambda: threads(first_region), True),
    )
    show("first region on a new thread, beside making it", used - bare, bare, 0.20)
    show("the same, registered at its start", hooked - bare, bare, 0.20)


if __name__ == "__main__":
    main()
