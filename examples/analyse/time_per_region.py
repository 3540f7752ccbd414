#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Seconds that each rank spent in each region.   usage: python3 time_per_region.py run.h5"""
import sys

import h5py
import numpy as np

if len(sys.argv) != 2:
    sys.exit(__doc__)

with h5py.File(sys.argv[1], "r") as run:
    names = run["region_table/names"].asstr()[:]
    ranks = run["rank_table/ranks"][:]
    index = run["rank_region_index"]
    seconds = np.zeros((len(names), len(ranks)))
    seconds[index["region_ids"][:], index["ranks"][:]] = index["summary_statistics"]["total"] / 1e9

width = max([6, *map(len, names)])
print(f"{'region':{width}}", *(f"{f'rank {rank}':>11}" for rank in ranks))
for region in np.argsort(-seconds.sum(axis=1), kind="stable"):
    print(f"{names[region]:{width}}", *(f"{value:11.6f}" for value in seconds[region]))
