# SPDX-License-Identifier: BSD-3-Clause
"""The programs that come with HDF5 take a file as it is, and what they make of it is the same run."""
import pathlib
import re
import shutil
import subprocess
import threading

import h5py
import lanescope
import numpy as np
import pytest
from runs import assert_good

TIMEOUT = 60
EVENTS = "events/start_times,events/end_times,events/call_ids"  # a column without rows has no chunks


def tool(name, *arguments):
    program = shutil.which(name)
    if program is None:
        pytest.skip(f"no {name} (hdf5-tools)")
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, timeout=TIMEOUT)
    said = done.stdout + done.stderr
    assert done.returncode == 0 and not re.search(r"\berror\b|\bunable\b", said, re.I), said
    return done.stdout


@pytest.fixture
def path(tmp_path):
    path, middle = tmp_path / "run.h5", tmp_path / "middle.h5"

    def work():
        with lanescope.region("inner"):
            pass

    with lanescope.session(path, label="tools", verbose=False):
        with lanescope.region("outer"):
            for _ in range(100):
                work()
            thread = threading.Thread(target=work, name="worker")
            thread.start()
            thread.join()
            lanescope.collect(middle)
    return middle


def tables(path):
    found = {}
    with h5py.File(path, "r") as file:
        file.visititems(lambda name, item: found.update({name: item[()]}) if isinstance(item, h5py.Dataset) else None)
        attributes = {name: dict(file[name].attrs) for name in ("/", "metadata")}
    return found, attributes


def assert_same(one, other):
    (columns, attributes), (other_columns, other_attributes) = tables(one), tables(other)
    assert attributes == other_attributes
    assert columns.keys() == other_columns.keys()
    for name, values in columns.items():
        assert values.dtype == other_columns[name].dtype, name
        np.testing.assert_array_equal(values, other_columns[name], err_msg=name)


def test_h5ls_lists_every_column(path):
    shown = {line.split()[0] for line in tool("h5ls", "-r", path).splitlines() if " Dataset " in line}
    assert shown == {f"/{name}" for name in tables(path)[0]}


def test_h5dump_shows_the_values(path):
    starts = re.findall(r"^ *(\d+),?$", tool("h5dump", "-y", "-w", "1", "-d", "/events/start_times", path), re.M)
    assert [int(text) for text in starts] == tables(path)[0]["events/start_times"].tolist()
    whole = tool("h5dump", path)
    assert '"outer"' in whole and '"worker"' in whole and "open_calls" in whole


def test_h5stat_counts_what_there_is(path):
    shown = tool("h5stat", path)
    columns, _ = tables(path)
    assert re.search(rf"# of unique datasets: {len(columns)}\b", shown)
    assert re.search(r"# of unique groups: 10\b", shown)


@pytest.mark.parametrize(
    "options", [(), ("-f", f"{EVENTS}:SHUF", "-f", f"{EVENTS}:GZIP=6"), ("-l", f"{EVENTS}:CHUNK=64")]
)
def test_h5repack_makes_the_same_run(path, tmp_path, options):
    again = tmp_path / "again.h5"
    tool("h5repack", *options, path, again)
    assert_same(path, again)
    assert_good(again)


def test_h5repack_compresses_a_file_as_the_guide_says(tmp_path):
    guide = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "guide.md").read_text(encoding="utf-8")
    command = re.search(r"^    h5repack (.*) run.h5 smaller.h5$", guide, re.M).group(1)
    path, smaller = tmp_path / "run.h5", tmp_path / "smaller.h5"
    with lanescope.session(path, verbose=False):
        for _ in range(40000):
            with lanescope.region("step"):
                pass
    tool("h5repack", *command.split(), path, smaller)
    assert_same(path, smaller)
    assert_good(smaller)
    with h5py.File(smaller, "r") as file:
        assert {column.compression for column in file["events"].values()} == {"gzip"}
