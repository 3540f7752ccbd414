# SPDX-License-Identifier: BSD-3-Clause
"""Where the tables of a run come from: a file, or the report of the collect that has just written it.

Both have: path; is_foreign: written by another program than lanescope; metadata(): a dict; columns(table): names, empty
where there is no such table; rows(table): an int; read(table, names, spans): {name: array, or list of str}, where spans
is a list of (first row, number of rows), or None for all.
"""
import contextlib
import os

import numpy as np

from . import _core

FORMAT = 1
FOREIGN_SCHEMA = 2
REQUIRED = {
    "region_table": ("names",),
    "rank_region_index": ("region_ids", "ranks", "event_offsets", "event_counts"),
    "events": ("start_times", "end_times"),
}


class FormatError(_core.Error, ValueError):
    """A file that is no run, is damaged, or is of a format that this version cannot read."""

    __module__ = "lanescope"


class FileSource:
    """A file, opened for each read and closed again, so that nobody waits for it."""

    def __init__(self, path):
        self.path = os.path.abspath(os.fsdecode(path))
        self._identity = None
        _check_signature(self.path)
        with self._opened() as file:
            self.is_foreign = _is_foreign(self.path, dict(file.attrs))
            self._lengths = {
                name: {column: _length(self.path, f"{name}/{column}", data) for column, data in group.items()}
                for name, group in file.items()
                if name != "metadata" and hasattr(group, "items")
            }
        self._check_tables()

    def metadata(self):
        with self._opened() as file:
            attributes = dict(file["metadata"].attrs) if "metadata" in file else {}
        return {name: _plain(value) for name, value in attributes.items()}

    def columns(self, table):
        return tuple(self._lengths.get(table, ()))

    def rows(self, table):
        return next(iter(self._lengths.get(table, {}).values()), 0)

    def read(self, table, names, spans=None):
        with self._opened() as file:
            return {name: _read(file[table][name], spans) for name in names}

    @contextlib.contextmanager
    def _opened(self):
        identity = _identity_of(self.path)
        if self._identity not in (None, identity):
            raise _core.Error(f"{self.path} is another file than the one that was opened: read it again")
        self._identity = identity
        try:
            with _open(self.path) as file:
                yield file
        except (OSError, KeyError, RuntimeError) as error:
            raise FormatError(f"{self.path} is damaged: {error}") from error

    def _check_tables(self):
        for table, columns in REQUIRED.items():
            for column in columns:
                if column not in self._lengths.get(table, ()):
                    raise FormatError(f"{self.path} is damaged, or no run: it has no {table}/{column}")
        for table, lengths in self._lengths.items():
            if len(set(lengths.values())) > 1:
                several = ", ".join(f"{name} {length}" for name, length in lengths.items())
                raise FormatError(f"{self.path} is damaged: the columns of {table} differ in length: {several}")


class ReportSource:
    """The tables of a collect, in memory. path: the file that it wrote."""

    is_foreign = False

    def __init__(self, report, path):
        self.path = path
        self._report = report

    def metadata(self):
        tables = [self._report.table(name, ("names", "values")) for name in ("metadata_texts", "metadata_numbers")]
        return {name: _plain(value) for table in tables for name, value in zip(table["names"], table["values"])}

    def columns(self, table):
        return self._report.columns(table)

    def rows(self, table):
        names = self.columns(table)
        return len(self._report.table(table, names[:1])[names[0]]) if names else 0

    def read(self, table, names, spans=None):
        columns = self._report.table(table, tuple(names))
        return columns if spans is None else {name: _cut(values, spans) for name, values in columns.items()}


def _h5py():
    try:
        import h5py
    except ImportError as error:
        raise ImportError(
            "reading a run needs h5py: install the package python3-h5py of Debian or Ubuntu, or h5py of PyPI"
        ) from error
    return h5py


def _check_signature(path):
    h5py = _h5py()
    with open(path, "rb"):
        pass
    if not h5py.is_hdf5(path):
        raise FormatError(f"{path} is no HDF5 file")


def _open(path):
    """Without a lock where HDF5 can do without: a run is renamed into place whole, and never changed."""
    h5py = _h5py()
    try:
        return h5py.File(path, "r", locking=False)
    except (TypeError, ValueError):
        return h5py.File(path, "r")


def _identity_of(path):
    status = os.stat(path)
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _is_foreign(path, attributes):
    number = attributes.get("lanescope_format")
    if number is not None:
        if _number(number) is None or not 1 <= _number(number) <= FORMAT:
            raise FormatError(
                f"{path} has lanescope_format {number}, and lanescope {_core.__version__} reads 1 to {FORMAT}: use a"
                " newer lanescope"
            )
        return False
    schema = attributes.get("scope_profiler_schema")
    if schema is None:
        raise FormatError(f"{path} is an HDF5 file, but no run of lanescope: it has no attribute lanescope_format")
    if _number(schema) != FOREIGN_SCHEMA or _plain(attributes.get("storage_layout")) != "columnar":
        raise FormatError(
            f"{path} has scope_profiler_schema {schema}, and lanescope {_core.__version__} reads {FOREIGN_SCHEMA}"
            " alone, in columns"
        )
    return True


def _number(value):
    try:
        return int(value)
    except (TypeError, ValueError):
        return None


def _length(path, name, data):
    if getattr(data, "shape", None) is None or len(data.shape) != 1:
        raise FormatError(f"{path} is damaged: {name} is no column")
    return data.shape[0]


def _read(data, spans):
    if _h5py().check_string_dtype(data.dtype) is not None:
        values = data.asstr(errors="replace")[...].tolist()
        return values if spans is None else _cut(values, spans)
    if spans is None:
        return data[...]
    pieces = [data[first : first + count] for first, count in spans]
    return _joined(pieces, data.dtype)


def _cut(values, spans):
    pieces = [values[first : first + count] for first, count in spans]
    if isinstance(values, list):
        return [value for piece in pieces for value in piece]
    return _joined(pieces, values.dtype)


def _joined(pieces, dtype):
    if len(pieces) == 1:
        return pieces[0]
    return np.concatenate(pieces) if pieces else np.empty(0, dtype)


def _plain(value):
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return value.item() if isinstance(value, np.generic) else value
