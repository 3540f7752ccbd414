#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The 3-D Taylor-Green vortex on mpi4py-fft, in pencils of points over the ranks, recorded with lanescope.

    mpirun -n 4 python3 sim.py --out run.h5

u_t = u x curl(u) - grad(p) + nu laplace(u), div(u) = 0 in the periodic box [0, 2 pi)^3, solved for the Fourier modes
of the velocity u: products are taken in space, derivatives are factors of the wavenumber, and the pressure p is what
keeps u free of divergence. At t = 0.1 the kinetic energy is known, so that the result can be checked.
"""
import argparse
import json
import os
import sys
from collections import Counter

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy: one thread a rank is enough here

import numpy as np
from mpi4py import MPI
from mpi4py_fft import PFFT, newDistArray

import lanescope

comm = MPI.COMM_WORLD
entered = Counter()  # the program's own count of each region, for --counts

VISCOSITY = 1 / 1600
DT = 0.01
SMALLEST_N = 16  # fewer points do not resolve the flow up to t = 0.1
START_ENERGY, KNOWN_ENERGY, KNOWN_STEPS = 1 / 8, 0.124953117517, 10
TOLERANCE = 1e-10  # relative; the known energy has twelve digits
STAGES = (1 / 6, 1 / 2), (1 / 3, 1 / 2), (1 / 3, 1), (1 / 6, 0)  # of RK4: weight, part of a step to the next stage


def region(name):
    entered[name] += 1
    return lanescope.region(name)


class Vortex:
    """The velocity, as those of its modes that this rank has: modes[component, kx, ky, kz]."""

    def __init__(self, n):
        with region("plan"):
            self.fft = PFFT(comm, (n, n, n), dtype=float)
        axes = np.fft.fftfreq(n, 1 / n), np.fft.fftfreq(n, 1 / n), np.fft.rfftfreq(n, 1 / n)
        local = (axis[part] for axis, part in zip(axes, self.fft.local_slice(True)))
        self.k = np.array(np.meshgrid(*local, indexing="ij"))
        self.k2 = np.sum(self.k**2, axis=0)
        self.kept = np.all(np.abs(self.k) < n / 3, axis=0)  # what products of these modes do not alias into

        x, y, z = (2 * np.pi / n * index for index in np.ogrid[self.fft.local_slice(False)])
        velocity = self.field(False)
        velocity[0] = np.sin(x) * np.cos(y) * np.cos(z)
        velocity[1] = -np.cos(x) * np.sin(y) * np.cos(z)
        self.modes = self.to_modes(velocity)

    def field(self, of_modes):
        """A vector of zeros for every mode or point of this rank."""
        return newDistArray(self.fft, of_modes, rank=1, view=True)

    def to_modes(self, points):
        with region("fft"):
            modes = self.field(True)
            for source, target in zip(points, modes):
                self.fft.forward(source, target)
            return modes

    def to_space(self, modes):
        with region("inverse fft"):
            points = self.field(False)
            for source, target in zip(modes, points):
                self.fft.backward(source, target)
            return points

    def slope(self):
        with region("nonlinear"):
            velocity = self.to_space(self.modes)
            vorticity = self.to_space(1j * np.cross(self.k, self.modes, axis=0))
            force = self.to_modes(np.cross(velocity, vorticity, axis=0)) * self.kept
        with region("projection"):
            pressure = np.sum(self.k * force, axis=0) / np.where(self.k2 == 0, 1, self.k2)
            return force - self.k * pressure - VISCOSITY * self.k2 * self.modes

    def step(self):
        with region("rk4 step"):
            start, end = self.modes, self.modes.copy()
            for weight, ahead in STAGES:
                slope = self.slope()
                end += weight * DT * slope
                self.modes = start + ahead * DT * slope
            self.modes = end

    def energy(self):
        """Kinetic energy per volume, on every rank."""
        with region("energy"):
            velocity = self.to_space(self.modes)
            return comm.allreduce(float(np.vdot(velocity, velocity))) / 2 / np.prod(self.fft.global_shape())


def fail(message):
    """On every rank: ends the program; one rank says why."""
    sys.exit(f"taylor_green: {message}" if comm.rank == 0 else 1)


def check(energy, steps):
    if not energy <= START_ENERGY * (1 + TOLERANCE):
        fail(f"wrong result: nothing drives the flow, and its energy grew from {START_ENERGY} to {energy}")
    error = abs(energy / KNOWN_ENERGY - 1)
    if steps == KNOWN_STEPS and not error <= TOLERANCE:
        fail(f"wrong result: the energy at t = 0.1 is {energy:.12f}, not {KNOWN_ENERGY}: "
             f"its relative error {error:.1e} is above {TOLERANCE:.0e}")


def arguments():
    parser = argparse.ArgumentParser(description="3-D Taylor-Green vortex, recorded with lanescope")
    parser.add_argument("--n", type=int, default=32, help="points along each side (%(default)s)")
    parser.add_argument("--steps", type=int, default=KNOWN_STEPS,
                        help=f"time steps of {DT} (%(default)s, after which the energy is known)")
    parser.add_argument("--out", default="run.h5", help="the file that lanescope writes (%(default)s)")
    parser.add_argument("--counts", metavar="FILE", help="write the program's own counts of its regions there, as JSON")
    args = parser.parse_args()
    if args.n < SMALLEST_N or args.steps < 0:
        fail(f"needs --n of at least {SMALLEST_N} and --steps from 0")
    return args


def main():
    args = arguments()
    with lanescope.session(args.out, label=f"Taylor-Green {args.n}^3"):
        vortex = Vortex(args.n)
        for _ in range(args.steps):
            vortex.step()
        energy = vortex.energy()
    counts = comm.gather(entered)
    if comm.rank == 0:
        print(f"taylor_green: {args.n}^3 points, {args.steps} steps on {comm.size} rank(s): "
              f"kinetic energy {energy:.12f} at t = {args.steps * DT:g}", flush=True)
        if args.counts:
            with open(args.counts, "w", encoding="utf-8") as file:
                json.dump(counts, file)
    check(energy, args.steps)


if __name__ == "__main__":
    main()
