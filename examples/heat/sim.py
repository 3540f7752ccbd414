#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The 2-D heat equation on the unit square, in strips of rows over the ranks, recorded with lanescope.

    mpirun -n 4 python3 sim.py --out run.h5

u_t = u_xx + u_yy, zero on the border. What starts as sin(2 pi x) sin(pi y) keeps its shape and decays by
exp(-5 pi^2 t), so the result can be checked. Every rank holds its rows and one row of each neighbour (the halo); a pool
of threads writes checkpoints while the next steps are computed.
"""
import argparse
import contextlib
import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy: one thread a rank is enough here

import numpy as np
from mpi4py import MPI

import lanescope

comm = MPI.COMM_WORLD
region = lanescope.region  # --counts puts the program's own book around it

DECAY = 5 * np.pi**2
COURANT = 0.2  # dt / h^2; the scheme is stable up to 0.25
SCHEME_ERROR = 105  # of this scheme and this start: the error is 105 h^2 t exp(-5 pi^2 t) and terms of higher order


class Strip:
    """The rows of this rank, with a row of halo above and below and the border left and right."""

    def __init__(self, n):
        self.h = 1 / (n + 1)
        self.dt = COURANT * self.h**2
        self.first, self.rows = share(n, comm.rank, comm.size)
        self.x = self.h * np.arange(self.first, self.first + self.rows + 2)[:, None]
        self.y = self.h * np.arange(n + 2)[None, :]
        self.u = self.exact(0)
        self.next = self.u.copy()
        self.above = comm.rank - 1 if comm.rank > 0 else MPI.PROC_NULL
        self.below = comm.rank + 1 if comm.rank < comm.size - 1 else MPI.PROC_NULL

    def exact(self, t):
        return np.exp(-DECAY * t) * np.sin(2 * np.pi * self.x) * np.sin(np.pi * self.y)

    def exchange_halo(self):
        with region("halo"):
            u = self.u
            comm.Sendrecv(u[1], self.above, recvbuf=u[-1], source=self.below)
            comm.Sendrecv(u[-2], self.below, recvbuf=u[0], source=self.above)

    def compute(self):
        with region("compute"):
            u = self.u
            around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
            self.next[1:-1, 1:-1] = u[1:-1, 1:-1] + COURANT * (around - 4 * u[1:-1, 1:-1])
            self.u, self.next = self.next, self.u

    def step(self):
        with region("step"):
            self.exchange_halo()
            self.compute()

    def energy(self):
        with region("reduce"):
            inside = self.u[1:-1, 1:-1]
            return comm.allreduce(float(np.vdot(inside, inside)) * self.h**2)

    def error(self, t):
        """The largest error against the analytic solution on any rank, and what it may be. The largest value was 1."""
        with region("reduce"):
            error = comm.allreduce(float(np.abs(self.u - self.exact(t))[1:-1].max()), MPI.MAX)
        return error, 1e-12 + 2 * SCHEME_ERROR * self.h**2 * t * np.exp(-DECAY * t)


def share(n, rank, size):
    """First row and number of rows of a rank; the first n % size ranks take one more."""
    rows, rest = divmod(n, size)
    return rank * rows + min(rank, rest), rows + (rank < rest)


def checkpoint(folder, step, rows):
    with region("checkpoint"):
        np.save(os.path.join(folder, f"heat.step{step:06d}.rank{comm.rank:03d}.npy"), rows)


@lanescope.profile("solve")
def solve(n, steps, every, folder):
    strip = Strip(n)
    start = strip.energy()
    writes = []
    with ThreadPoolExecutor(max_workers=2, thread_name_prefix="checkpoint") as pool:
        for step in range(1, steps + 1):
            strip.step()
            if step % every == 0:
                energy = strip.energy()
                if not energy <= start:
                    raise ArithmeticError(f"unstable: the energy grew from {start:g} to {energy:g} by step {step}")
                writes.append(pool.submit(checkpoint, folder, step, strip.u[1:-1, 1:-1].copy()))
    errors = [write.exception() for write in writes if write.exception()]
    if comm.allreduce(len(errors)):  # on one rank: all give up, nobody waits for it
        raise errors[0] if errors else RuntimeError("a checkpoint failed on another rank")
    return strip.error(steps * strip.dt)


def fail(message):
    """On every rank: ends the program; one rank says why."""
    sys.exit(f"heat: {message}" if comm.rank == 0 else 1)


def arguments():
    parser = argparse.ArgumentParser(description="2-D heat equation, recorded with lanescope")
    parser.add_argument("--n", type=int, default=256, help="points inside the border along each side (%(default)s)")
    parser.add_argument("--steps", type=int, default=1000, help="time steps (%(default)s)")
    parser.add_argument("--every", type=int, default=100, help="steps between checkpoints (%(default)s)")
    parser.add_argument("--out", default="run.h5", help="the file that lanescope writes (%(default)s)")
    parser.add_argument("--checkpoints", metavar="FOLDER", help="keep the checkpoints there")
    parser.add_argument("--counts", metavar="FILE", help="write the program's own counts and times there, as JSON")
    args = parser.parse_args()
    if args.n < comm.size or args.steps < 0 or args.every < 1:
        fail(f"needs --n of at least {comm.size} (a row for every rank), --steps from 0 and --every from 1")
    return args


def main():
    global region
    args = arguments()
    if args.counts:
        from book import Book
        book = Book()
        region = book.region
    if args.checkpoints:
        os.makedirs(args.checkpoints, exist_ok=True)
        folder = contextlib.nullcontext(args.checkpoints)
    else:
        folder = tempfile.TemporaryDirectory(prefix="heat-")

    with lanescope.session(args.out, label=f"heat {args.n} x {args.n}"), folder as checkpoints:
        error, bound = solve(args.n, args.steps, args.every, checkpoints)
        if comm.rank == 0:
            print(f"heat: {args.n} x {args.n} points, {args.steps} steps on {comm.size} rank(s): "
                  f"error {error:.1e} against the analytic solution (bound {bound:.1e})", flush=True)

    if args.counts:
        book.write(comm, args.counts)
    if not error <= bound:
        fail("wrong result: the error is above its bound")


if __name__ == "__main__":
    main()
