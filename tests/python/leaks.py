# SPDX-License-Identifier: BSD-3-Clause
"""What is left behind by something that is done many times, in references and in memory."""
import gc
import resource
import sys
import tracemalloc

TURNS = 2000


def grown(action, *objects):
    """By how much the reference counts of the objects grow when the action is done TURNS times."""
    action()
    gc.collect()
    before = list(map(sys.getrefcount, objects))
    for _ in range(TURNS):
        action()
    gc.collect()
    after = list(map(sys.getrefcount, objects))
    return [count - old for count, old in zip(after, before)]


def kept(action):
    """Bytes of Python's memory that are held after TURNS more times than before."""
    for _ in range(10):
        action()
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(TURNS):
        action()
    gc.collect()
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return after - before


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def grown_resident(action, first, more):
    """By how many bytes the process grows when the action is done `more` times, after `first` times."""
    for _ in range(first):
        action()
    gc.collect()
    before = resident()
    for _ in range(more):
        action()
    gc.collect()
    return resident() - before
