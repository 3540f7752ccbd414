#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""With xarray: one dataset of /events as it is, and from it the seconds of each region on each rank.

usage: python3 dataset.py run.h5
"""
import sys

import h5py
import xarray

if len(sys.argv) != 2:
    sys.exit(__doc__)

with h5py.File(sys.argv[1], "r") as run:
    calls = xarray.Dataset({name: ("call", column[:]) for name, column in run["events"].items()})
    names = run["region_table/names"].asstr()[:]

calls["seconds"] = (calls["end_times"] - calls["start_times"]) / 1e9
for region, of_region in calls.groupby("region_ids"):
    of_rank = of_region["seconds"].groupby(of_region["ranks"]).sum()
    seconds = "  ".join(f"rank {rank}: {value:.6f}" for rank, value in zip(of_rank["ranks"].values, of_rank.values))
    print(f"{names[region]}  {seconds}")
