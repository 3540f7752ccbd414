#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""With pandas: one frame of /events as it is, and from it how long the calls of each region take.

usage: python3 frame.py run.h5
"""
import sys

import h5py
import pandas

if len(sys.argv) != 2:
    sys.exit(__doc__)

with h5py.File(sys.argv[1], "r") as run:
    frame = pandas.DataFrame({name: column[:] for name, column in run["events"].items()})
    frame["region"] = run["region_table/names"].asstr()[:][frame["region_ids"]]

frame["us"] = (frame["end_times"] - frame["start_times"]) / 1e3
table = frame.groupby("region")["us"].describe(percentiles=[0.5, 0.99])
table["count"] = table["count"].astype(int)
print(table.sort_values("count").to_string(float_format="{:.3f}".format))
