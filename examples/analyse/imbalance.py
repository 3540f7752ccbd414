#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Load imbalance: how much longer the slowest rank is in a region than the ranks on average, and which rank that is.

usage: python3 imbalance.py run.h5
"""
import sys

import h5py
import numpy as np

if len(sys.argv) != 2:
    sys.exit(__doc__)

with h5py.File(sys.argv[1], "r") as run:
    names = run["region_table/names"].asstr()[:]
    size = len(run["rank_table/ranks"])
    events = run["events"]
    duration = (events["end_times"][:] - events["start_times"][:]) / 1e9
    seconds = np.zeros((len(names), size))
    np.add.at(seconds, (events["region_ids"][:], events["ranks"][:]), duration)

mean = seconds.mean(axis=1)
excess = seconds.max(axis=1) - mean
width = max([6, *map(len, names)])
print(f"{'region':{width}} {'mean s':>11} {'max s':>11} {'excess s':>11} {'max/mean':>9}  slowest")
for region in np.argsort(-excess, kind="stable"):
    slowest = seconds[region].argmax()
    ratio = seconds[region, slowest] / mean[region] if mean[region] else 1.0
    print(f"{names[region]:{width}} {mean[region]:11.6f} {seconds[region, slowest]:11.6f} {excess[region]:11.6f} "
          f"{ratio:9.3f}  rank {slowest}")
