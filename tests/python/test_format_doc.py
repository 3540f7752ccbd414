# SPDX-License-Identifier: BSD-3-Clause
"""docs/format.md, lib/columns.h and a file that was written name the same tables, columns and types."""
import re
from pathlib import Path

import h5py
import numpy as np
import pytest
from lanescope import _format

from heat_run import run_python
from runs import assert_all_good

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = (ROOT / "docs" / "format.md").read_text(encoding="utf-8")

WRITER = """
import sys, threading
import lanescope
with lanescope.session(sys.argv[1], label="format", verbose=False):
    with lanescope.region("done"):
        pass
    worker = threading.Thread(target=lanescope.profile("worker")(lambda: None))
    worker.start()
    worker.join()
    with lanescope.region("open"):
        lanescope.collect(sys.argv[2])
"""

NUMPY_TYPES = {"i8": "<i1", "u8": "|u1", "u32": "<u4", "i64": "<i8", "u64": "<u8", "f64": "<f8"}


def document_tables():
    """{heading: its first Markdown tables as lists of {column title: text}}, of docs/format.md."""
    sections = {}
    for part in re.split(r"^## ", DOCUMENT, flags=re.M)[1:]:
        heading, _, body = part.partition("\n")
        tables = re.findall(r"(?:^\|.*\n)+", body, flags=re.M)
        sections[heading.strip().strip("`")] = [parse_table(text) for text in tables]
    return sections


def parse_table(text):
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in text.splitlines()]
    titles, _, *values = rows
    assert all(len(row) == len(titles) for row in values), text
    return [dict(zip(titles, row)) for row in values]


def document_columns():
    """{group: [(column, type)]}, in the order of the document."""
    return {heading[1:]: [(row["column"].strip("`"), row["type"]) for row in tables[0]]
            for heading, tables in document_tables().items() if tables and "column" in tables[0][0]}


def optional_columns():
    return {(heading[1:], row["column"].strip("`")) for heading, tables in document_tables().items() if tables
            for row in tables[0] if row.get("there", "always") != "always"}


def source_columns():
    """The same out of the X-macros."""
    source = (ROOT / "lib" / "columns.h").read_text(encoding="utf-8").replace("\\\n", " ")
    groups = dict(re.findall(r"X\((\w+), (\w+)\)", re.search(r"#define LSC_TABLES\(X\)(.*)", source)[1]))
    groups["EVENTS"] = "events"
    return {groups[table]: [(name, kind.lower()) for name, kind in re.findall(r"X\(\w+, (\w+), LSC_(\w+)\)", columns)]
            for table, columns in re.findall(r"#define LSC_COLUMNS_(\w+)\(X\)(.*)", source)}


def statistics_fields():
    return [(row["field"].strip("`"), row["type"]) for row in document_tables()["/rank_region_index"][1]]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A file written at the end of a session, and one collected inside an open call."""
    folder = tmp_path_factory.mktemp("format")
    script = folder / "writer.py"
    script.write_text(WRITER)
    done = run_python(0, script, folder / "end.h5", folder / "open.h5")
    assert done.returncode == 0, done.stdout + done.stderr
    assert_all_good(folder)
    return [folder / "end.h5", folder / "open.h5"]


def test_the_document_lists_the_columns_of_the_source():
    assert document_columns() == source_columns()


def test_the_check_knows_the_columns_of_the_document():
    types = {**NUMPY_TYPES, "i8": _format.I8, "str": _format.STR, "stats": _format.STATS}
    expected = {group: {name: types[kind] for name, kind in columns} for group, columns in document_columns().items()}
    assert _format.TABLES == expected
    assert {(table, column) for table in _format.CALL_TABLES for column in _format.OPTIONAL} == optional_columns()
    assert _format.STATISTICS == {name: types[kind] for name, kind in statistics_fields()}
    attributes = document_tables()["/metadata"][0]
    rows = [(name, row["type"]) for row in attributes for name in re.findall(r"`([\w*]+)`", row["attribute"])]
    assert _format.METADATA == {name: {"i64": int, "str": str}[kind] for name, kind in rows if "*" not in name}
    more = document_tables()["/metadata"][1]
    assert _format.MORE_METADATA == {
        row["attribute"].strip("`"): {"i64": int, "str": str}[row["type"]] for row in more}


def test_the_document_lists_the_fields_of_the_statistics():
    source = (ROOT / "lib" / "lanescope_types.h").read_text(encoding="utf-8")
    body = re.sub(r"/\*.*?\*/", "", re.search(r"typedef struct lsc_stats \{(.*?)\}", source, flags=re.S)[1], flags=re.S)
    short = {"int64_t": "i64", "uint64_t": "u64", "double": "f64"}
    declared = re.findall(r"(\w+) ([\w, ]+);", body)
    fields = [(name.strip(), short[kind]) for kind, names in declared for name in names.split(",")]
    assert statistics_fields() == fields


def test_a_written_file_has_the_columns_of_the_document(files):
    for path in files:
        with h5py.File(path, "r") as run:
            left_out = optional_columns() - {("events", "thread_ids"), ("open_calls", "thread_ids")}
            expected = {group: {name for name, _ in columns if (group, name) not in left_out}
                        for group, columns in document_columns().items()}
            if path.name == "end.h5":
                del expected["open_calls"]
            groups = {name: set(group) for name, group in run.items() if name != "metadata"}
            assert groups == expected


def test_a_written_file_has_the_types_of_the_document(files):
    for path in files:
        with h5py.File(path, "r") as run:
            for group, columns in document_columns().items():
                for name, kind in columns:
                    if f"{group}/{name}" in run:
                        check_type(run[f"{group}/{name}"], kind)


def check_type(dataset, kind):
    assert dataset.ndim == 1, dataset.name
    if kind == "str":
        text = h5py.check_string_dtype(dataset.dtype)
        assert text is not None and text.length is None and text.encoding == "utf-8", dataset.name
    elif kind == "stats":
        fields = [(name, NUMPY_TYPES[of]) for name, of in statistics_fields()]
        assert [(name, dataset.dtype[name].str) for name in dataset.dtype.names] == fields
    else:
        assert dataset.dtype == np.dtype(NUMPY_TYPES[kind]), dataset.name


def test_a_written_file_has_the_attributes_of_the_document(files):
    tables = document_tables()
    metadata = tables["/metadata"][0]
    rows = [(name, row["type"]) for row in metadata for name in re.findall(r"`([\w*]+)`", row["attribute"])]
    types = {name: kind for name, kind in rows if "*" not in name}
    with h5py.File(files[0], "r") as run:
        assert set(run.attrs) == {row["attribute"].strip("`") for row in tables["Root attributes"][0]}
        assert run.attrs["lanescope_format"] == 1 and run.attrs["scope_profiler_schema"] == 2
        assert run.attrs["storage_layout"] == "columnar"
        attributes = {name: value for name, value in run["metadata"].attrs.items() if not name.startswith("SLURM_")}
        assert set(attributes) == set(types)
        for name, value in attributes.items():
            assert isinstance(value, {"i64": np.int64, "str": str}[types[name]]), name
        assert attributes["label"] == "format"
