#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The lanes (threads, tasks) of one rank: what ran on each, and for how long.

usage: python3 lanes.py run.h5 [rank]
"""
import sys

import h5py
import numpy as np

try:
    import pandas
except ImportError:
    pandas = None

if len(sys.argv) not in (2, 3):
    sys.exit(__doc__)
rank = int(sys.argv[2]) if len(sys.argv) == 3 else 0


def regions_of_lanes(run):
    """The names of the regions that have a completed call on each lane of this rank."""
    names = run["region_table/names"].asstr()[:]
    events = run["events"]
    mine = events["ranks"][:] == rank
    threads = events["thread_ids"][:][mine]
    lanes = np.where(threads < 0, -1, -2 - threads)
    if "task_ids" in events:
        tasks = events["task_ids"][:][mine]
        lanes = np.where(tasks >= 0, tasks, lanes)
    found = {}
    for lane, region in np.unique(np.column_stack([lanes, events["region_ids"][:][mine]]), axis=0):
        found.setdefault(lane, []).append(names[region])
    return {lane: ", ".join(sorted(regions)) for lane, regions in found.items()}


with h5py.File(sys.argv[1], "r") as run:
    if rank not in run["rank_table/ranks"][:]:
        sys.exit(f"lanes.py: {sys.argv[1]} has no rank {rank}: it has {len(run['rank_table/ranks'])}, from 0")
    table = run["lane_table"]
    rows = np.flatnonzero(table["ranks"][:] == rank)
    lanes = table["lanes"][:][rows]
    regions = regions_of_lanes(run)
    columns = {
        "lane": lanes,
        "kind": table["kind"].asstr()[:][rows],
        "name": table["name"].asstr()[:][rows],
        "calls": table["calls"][:][rows],
        "from s": np.round(table["first_ns"][:][rows] / 1e9, 6),
        "to s": np.round(table["last_ns"][:][rows] / 1e9, 6),
        "busy s": np.round(table["busy_ns"][:][rows] / 1e9, 6),
        "regions": [regions.get(lane, "") for lane in lanes],
    }

if pandas is not None:
    print(pandas.DataFrame(columns).to_string(index=False))
else:
    print(*columns, sep="\t")
    for row in zip(*columns.values()):
        print(*row, sep="\t")
