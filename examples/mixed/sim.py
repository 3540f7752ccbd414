# SPDX-License-Identifier: BSD-3-Clause
"""Poisson's equation by Jacobi's method: Python drives, a kernel in Fortran relaxes, one in C measures the change.

One session, opened by Python, holds the calls of all three on one timeline and in one file:

    gfortran -shared -fPIC relax.f90 -o librelax.so $(pkg-config --cflags --libs lanescopef)
    gcc -shared -fPIC change.c -o libchange.so $(pkg-config --cflags --libs lanescope) -lm
    mpirun -n 4 python3 sim.py [--thread-lanes]

With --thread-lanes the kernel's calls in Fortran are children of the calls in Python around them. Without, they are on
the lane of calls whose thread is not known.
"""
import argparse
import collections
import ctypes
import math
import os

import h5py
import lanescope
import numpy as np
from mpi4py import MPI

PYTHON, C, FORTRAN = 0, 1, 2
comm = MPI.COMM_WORLD


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=24, help="points a side")
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--thread-lanes", action="store_true")
    parser.add_argument("--libraries", default=".", help="folder of librelax.so and libchange.so")
    parser.add_argument("--out", default="mixed.h5")
    return parser.parse_args()


class Kernels:
    """The two libraries, and their functions as Python calls them."""

    def __init__(self, folder):
        self._fortran = ctypes.CDLL(os.path.join(os.path.abspath(folder), "librelax.so"))
        self._c = ctypes.CDLL(os.path.join(os.path.abspath(folder), "libchange.so"))
        self._fortran.relax.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_double] + 3 * [ctypes.c_void_p]
        self._fortran.relax.restype = None
        self._c.largest_change.argtypes = [ctypes.c_long] + 2 * [ctypes.c_void_p]
        self._c.largest_change.restype = ctypes.c_double

    def join(self, thread_lanes):
        self._fortran.join(int(thread_lanes))

    def relax(self, h, f, old, u):
        """A row of a NumPy array is a column in Fortran."""
        rows, points = u.shape
        self._fortran.relax(points, rows, h, f.ctypes.data, old.ctypes.data, u.ctypes.data)

    def largest_change(self, a, b):
        return self._c.largest_change(a.size, a.ctypes.data, b.ctypes.data)


@lanescope.profile
def exchange(u):
    """The rows beside this rank's; there is nobody beyond the first and the last one."""
    above = comm.rank - 1 if comm.rank > 0 else MPI.PROC_NULL
    below = comm.rank + 1 if comm.rank < comm.size - 1 else MPI.PROC_NULL
    comm.Sendrecv(u[1], above, 0, u[-1], below, 0)
    comm.Sendrecv(u[-2], below, 1, u[0], above, 1)


def solve(kernels, n, steps):
    """Returns the largest error of this rank's rows after so many steps."""
    h = 1 / (n + 1)
    first, last = comm.rank * n // comm.size, (comm.rank + 1) * n // comm.size
    points = np.arange(n + 2) * h
    exact = np.outer(np.sin(math.pi * points[first : last + 2]), np.sin(math.pi * points))
    f = 2 * math.pi**2 * exact
    u, old = np.zeros_like(exact), np.zeros_like(exact)
    for _ in range(steps):
        with lanescope.region("step"):
            exchange(u)
            u, old = old, u
            kernels.relax(h, f, old, u)
            with lanescope.region("change"):
                kernels.largest_change(u, old)
    return np.abs(u - exact)[1:-1, 1:-1].max()


def check_solution(error, n, steps):
    """From zero each step brings the error down by the factor cos(pi h), to that of the grid."""
    h = 1 / (n + 1)
    discrete = (math.pi * h) ** 2 / (2 * (1 - math.cos(math.pi * h)))
    bound = discrete - 1 + discrete * math.cos(math.pi * h) ** steps + 1e-12
    error = comm.allreduce(error, op=MPI.MAX)
    assert error <= bound, (error, bound)
    return error


def check_file(path, n, steps, thread_lanes):
    """Every rank has its calls of all three languages, and each kernel's call stands where it was called."""
    with h5py.File(path) as run:
        names = run["region_table/names"].asstr()[:]
        events = {name: column[:] for name, column in run["events"].items()}
        lanes = list(zip(run["lane_table/ranks"][:], run["lane_table/lanes"][:], run["lane_table/name"].asstr()[:]))
    for rank in range(comm.size):
        mine = events["ranks"] == rank
        region = dict(zip(events["call_ids"][mine], names[events["region_ids"][mine]]))
        parent = dict(zip(events["call_ids"][mine], events["parent_ids"][mine]))
        api = dict(zip(events["call_ids"][mine], events["apis"][mine]))
        rows = (rank + 1) * n // comm.size - rank * n // comm.size
        assert collections.Counter(zip(region.values(), api.values())) == {
            ("step", PYTHON): steps,
            ("exchange", PYTHON): steps,
            ("change", PYTHON): steps,
            ("largest_change", C): steps,
            ("relax", FORTRAN): steps,
            ("column", FORTRAN): steps * rows,
        }
        around = {call: region.get(parent[call]) for call in region}
        caller = {"step": None, "exchange": "step", "change": "step", "largest_change": "change", "column": "relax"}
        caller["relax"] = "step" if thread_lanes else None
        assert all(around[call] == caller[name] for call, name in region.items())
        unknown = [name for where, lane, name in lanes if where == rank and lane == -1]
        assert unknown == ([] if thread_lanes else ["fortran"])


def main():
    given = arguments()
    kernels = Kernels(given.libraries)
    with lanescope.session(given.out, label="mixed"):
        kernels.join(given.thread_lanes)
        error = solve(kernels, given.n, given.steps)
    error = check_solution(error, given.n, given.steps)
    if comm.rank == 0:
        check_file(given.out, given.n, given.steps, given.thread_lanes)
        print(f"mixed on {comm.size} ranks: error {error:.1e}, calls of three languages in {given.out}")


if __name__ == "__main__":
    main()
