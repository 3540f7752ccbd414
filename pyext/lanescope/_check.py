# SPDX-License-Identifier: BSD-3-Clause
"""Whether a file keeps what docs/format.md promises, read in pieces: memory does not grow with the number of calls."""
import dataclasses
import functools

import numpy as np

from . import _check_calls, _check_nesting, _check_tables
from ._format import CALL_TABLES, LATER, OPTIONAL, OPTIONAL_TABLES, STATISTICS, STATS, STR, TABLES
from ._source import FileSource, FormatError, _h5py

LIMIT = 20
EACH = 3


@dataclasses.dataclass(frozen=True)
class Checked:
    """What was found in a file. violations: one line each, at most LIMIT. is_whole: all was looked at."""

    path: str
    violations: list
    is_whole: bool
    ranks: int
    calls: int
    open_calls: int
    regions: int


class Findings:
    """The violations so far. The one beyond LIMIT ends the check by Enough."""

    class Enough(Exception):
        pass

    def __init__(self):
        self.lines = []

    def add(self, line):
        if len(self.lines) == LIMIT:
            raise self.Enough
        self.lines.append(line)

    def need(self, holds, line):
        if not holds:
            self.add(line)

    def rows(self, bad, table, numbers, words):
        """Names the rows where `bad`, an array of bool. numbers: row of each, or of the first. words(i): the fault."""
        hits = np.flatnonzero(bad)
        for i in hits[:EACH].tolist():
            self.add(f"{table} row {self._number(numbers, i)}: {words(i)}")
        if len(hits) > EACH:
            self.add(
                f"{table}: the same in {len(hits) - EACH:,} more rows up to {self._number(numbers, int(hits[-1]))}"
            )

    @staticmethod
    def _number(numbers, i):
        return int(numbers[i]) if isinstance(numbers, np.ndarray) else numbers + i


class Run:
    """The open file: its tables by pieces, and the small columns that several checks need."""

    def __init__(self, file):
        self.file = file
        self.metadata = file.get("metadata")
        self._datasets = {}
        self._rank_columns = {}

    def has(self, table, column=None):
        return table in self.file and (column is None or column in self.file[table])

    def _dataset(self, table, column):
        if (table, column) not in self._datasets:
            data = self.file[table][column]
            is_text = _h5py().check_string_dtype(data.dtype) is not None
            self._datasets[table, column] = data.asstr(errors="surrogateescape") if is_text else data
        return self._datasets[table, column]

    def rows(self, table):
        return len(next(iter(self.file[table].values()))) if table in self.file else 0

    def read(self, table, column, first=0, end=None):
        """Rows first .. end - 1 of a column: an array, or a list of str."""
        values = self._dataset(table, column)[first : self.rows(table) if end is None else end]
        return values.tolist() if values.dtype == object else values

    def rank_column(self, column):
        """Of /rank_table, as int64."""
        if column not in self._rank_columns:
            self._rank_columns[column] = self.read("rank_table", column).astype(np.int64)
        return self._rank_columns[column]

    @functools.cached_property
    def ranks(self):
        return self.rows("rank_table")

    @functools.cached_property
    def names(self):
        return self.read("region_table", "names")

    @functools.cached_property
    def index(self):
        """The numbers of /rank_region_index as int64, by event_offsets; rows: where each stands there."""
        columns = ("region_ids", "ranks", "event_offsets", "event_counts", "exclusive_totals")
        read = {name: self.read("rank_region_index", name).astype(np.int64) for name in columns}
        order = np.argsort(read["event_offsets"], kind="stable")
        return {"rows": order, **{name: values[order] for name, values in read.items()}}

    def spans(self, table):
        """Where each rank's rows of a table that is ordered by rank stand: [first of rank 0, of rank 1, …, rows]."""
        ranks = self.read(table, "ranks") if self.has(table) else np.empty(0, np.uint32)
        return np.searchsorted(ranks, np.arange(self.ranks + 1))


def check(path):
    """The Checked of a file: every relation of format 1. OSError, FormatError: it is no file of lanescope to read."""
    source = FileSource(path)
    if source.is_foreign:
        raise FormatError(f"{path} was written by another program: it has no attribute lanescope_format to check by")
    found = Findings()
    with source._opened() as file:
        run = Run(file)
        is_whole = False
        try:
            is_whole = _check_form(run, found) and _check_contents(run, found)
        except Findings.Enough:
            pass
        counts = [int(np.sum(_or_none(run, column))) for column in ("calls", "open_calls")]
        return Checked(source.path, found.lines, is_whole, run.rows("rank_table"), *counts, run.rows("region_table"))


def _or_none(run, column):
    return run.read("rank_table", column) if run.has("rank_table", column) else 0


def _check_contents(run, found):
    """Each look trusts what those before it have found whole. False: the later ones were left out."""
    _check_tables.check_metadata(run, found)
    if not _check_tables.check_ranks(run, found):
        return False
    _check_tables.check_regions(run, found)
    are_tables_whole = _check_tables.check_lane_tables(run, found)
    if not (_check_calls.check_index(run, found) and _check_calls.check_open_calls(run, found)):
        return False
    runs, is_ordered = _check_calls.check_events(run, found)
    if not (are_tables_whole and is_ordered):
        return False
    return _check_nesting.check_nesting(run, found, runs)


def _check_form(run, found):
    """The tables and columns that must be there, and their types. True: all are."""
    before = len(found.lines)
    found.need(run.metadata is not None, "there is no group /metadata")
    for table, columns in TABLES.items():
        if not run.has(table):
            found.need(table in OPTIONAL_TABLES, f"there is no table {table}")
            continue
        for column, kind in columns.items():
            if run.has(table, column):
                there = _type_of(run.file[table][column])
                found.need(there == _expected(kind), f"{table}/{column} has type {there}, expected {_expected(kind)}")
            else:
                left_out = (table in CALL_TABLES and column in OPTIONAL) or (table, column) in LATER
                found.need(left_out, f"{table} has no column {column}")
    return len(found.lines) == before


def _type_of(data):
    text = _h5py().check_string_dtype(data.dtype)
    if text is not None:
        length = "variable" if text.length is None else "fixed"
        return f"string of {length} length in {text.encoding}"
    if data.dtype.names is None:
        return data.dtype.str
    return ", ".join(f"{name} {data.dtype[name].str}" for name in data.dtype.names)


def _expected(kind):
    if kind == STR:
        return "string of variable length in utf-8"
    return ", ".join(f"{name} {of}" for name, of in STATISTICS.items()) if kind == STATS else kind
