# SPDX-License-Identifier: BSD-3-Clause
"""The commands `lanescope check` and `lanescope summary`: what they print, and their exit statuses."""
import os
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
from lanescope.__main__ import main

from broken import Edit, rename

pytestmark = pytest.mark.bad_files
TIMEOUT_S = 120


def command(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "lanescope", *map(str, arguments)],
        env={**os.environ, **environment},
        capture_output=True,
        timeout=TIMEOUT_S,
        check=False,
    )


def test_the_command_says_which_file_is_good_and_which_is_not(good, tmp_path, capsys):
    edit = Edit(good, tmp_path / "bad.h5")
    edit.add("lane_table/busy_ns", 1, 1)
    bad = edit.done()
    assert main(["check", str(good)]) == 0
    assert capsys.readouterr().out.startswith(f"{good}: good: 1 rank, ")
    assert main(["check", str(bad), str(good)]) == 1
    out, err = capsys.readouterr()
    assert f"{bad}: lane_table row 1: busy_ns is" in out and f"{bad}: 1 violation\n" in out
    assert f"{good}: good" in out and not err
    assert main(["check", str(good), str(tmp_path / "none.h5"), str(bad)]) == 2
    out, err = capsys.readouterr()
    assert f"{bad}: 1 violation\n" in out and err == f"lanescope: {tmp_path / 'none.h5'}: No such file or directory\n"


def make_unreadable(good, path, kind):
    if kind == "text":
        path.write_text("no run")
    elif kind == "folder":
        path.mkdir()
    elif kind == "cut":
        path.write_bytes(good.read_bytes()[: good.stat().st_size // 2])
    elif kind == "other":
        with h5py.File(path, "w") as file:
            file["data"] = [1]
    else:
        edit = Edit(good, path)
        if kind == "newer":
            edit.file.attrs["lanescope_format"] = 2
        elif kind == "foreign":
            del edit.file.attrs["lanescope_format"]
        elif kind == "lengths":
            edit.retype("events/apis", "u1")
            del edit.file["events/apis"]
            edit.file["events/apis"] = np.zeros(3, "u1")
        edit.done()


UNREADABLE = {
    "text": "is no HDF5 file",
    "folder": "Is a directory",
    "cut": "is damaged",
    "other": "no run of lanescope",
    "newer": "has lanescope_format 2",
    "foreign": "was written by another program",
    "lengths": "the columns of events differ in length",
}


@pytest.mark.parametrize("kind", UNREADABLE)
def test_what_is_no_file_of_lanescope_gives_one_line_and_status_2(good, tmp_path, capsys, kind):
    path = tmp_path / "other.h5"
    make_unreadable(good, path, kind)
    assert main(["check", str(path)]) == 2
    out, err = capsys.readouterr()
    assert (
        out == ""
        and err.count("\n") == 1
        and err.startswith("lanescope: ")
        and UNREADABLE[kind] in err
        and str(path) in err
    )


def test_a_file_that_was_cut_anywhere_gives_one_line(good, tmp_path, capsys):
    whole = good.read_bytes()
    for length in range(1, len(whole), len(whole) // 20):
        path = tmp_path / f"{length}.h5"
        path.write_bytes(whole[:length])
        assert main(["check", str(path)]) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_text_that_the_terminal_cannot_show_is_escaped(good, tmp_path):
    edit = Edit(good, tmp_path / "größe.h5")
    row = edit.names.index("größer")
    rename(edit, "region_table/names", (row + 1) % len(edit.names), "größer")
    done = command("check", edit.done(), PYTHONIOENCODING="ascii")
    assert done.returncode == 1 and rb"gr\xf6\xdfer" in done.stdout and done.stderr == b""


def test_the_command_stands_beside_the_package(good):
    tool = Path(os.environ["LANESCOPE_BUILD"]) / "bin" / "lanescope"
    done = subprocess.run([tool, "check", good], capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith(f"{good}: good: ")


def test_misuse_is_explained():
    for arguments in ((), ("check",), ("bake", "run.h5")):
        done = command(*arguments)
        assert done.returncode == 2 and b"usage: lanescope" in done.stderr, arguments


def test_the_summary_is_that_of_the_end_of_the_run(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import lanescope\nwith lanescope.session('run.h5', label='l'), lanescope.region('r'):\n    pass\n"
    )
    said = subprocess.run(
        [sys.executable, program], cwd=tmp_path, capture_output=True, timeout=TIMEOUT_S, check=True
    ).stdout
    done = command("summary", tmp_path / "run.h5")
    assert done.returncode == 0 and b"lanescope [l]: 1 rank, 1 call" in said and said == done.stdout
