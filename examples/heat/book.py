# SPDX-License-Identifier: BSD-3-Clause
"""The program's own book of what it did, to hold against the file that lanescope wrote (sim.py --counts)."""
import contextlib
import json
import threading
import time

import lanescope


class Book:
    """Rows of (region, thread name, before entry, after entry, before exit, after exit): perf_counter_ns()'s times.

    lanescope's start lies between the first two times and its end between the last two.
    """

    def __init__(self):
        self.rows = []

    @contextlib.contextmanager
    def region(self, name):
        before_entry = time.perf_counter_ns()
        with lanescope.region(name):
            after_entry = time.perf_counter_ns()
            try:
                yield
            finally:
                before_exit = time.perf_counter_ns()
        row = (name, threading.current_thread().name, before_entry, after_entry, before_exit, time.perf_counter_ns())
        self.rows.append(row)

    def write(self, comm, path):
        """Collective: one list of rows a rank, written by rank 0."""
        ranks = comm.gather(self.rows)
        if comm.rank == 0:
            with open(path, "w", encoding="utf-8") as out:
                json.dump(ranks, out)
