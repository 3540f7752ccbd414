# SPDX-License-Identifier: BSD-3-Clause
"""Sessions: from the opening to the file, with and without a `with` block."""
import atexit
import functools
import math
import os
import platform
import sys
import threading  # noqa: F401  the recorder looks up the names of threads in it

from . import _core, _summary

_current = None


class Session:
    """One run: what regions record on this rank between its opening and its end, and the file it goes into."""

    def __init__(self, path, comm=None, label=None, verbose=True, replace=False, timeout=None):
        self.path = _checked_path(path)
        self.label = label
        self.written = None
        self._comm = _fortran_handle(comm)
        self._verbose = bool(verbose)
        self._replace = bool(replace)
        self._timeout = _checked_timeout(timeout)

    def __repr__(self):
        return f"<lanescope.Session {self.path!r}, {'open' if self.is_open else 'not open'}>"

    def __enter__(self):
        self._open()
        return self

    def __exit__(self, exception_type, exception, traceback):
        if not self.is_open:
            return
        try:
            self._finish(self.path)
        except Exception as error:
            if exception_type is None:
                raise
            print(f"lanescope: {error}", file=sys.stderr)

    @property
    def is_open(self):
        """Whether regions record into it now."""
        return _current is self and _core.is_open()

    def collect(self, path, replace=None):
        """Write what is new since the last collect into another file and go on recording. Collective under MPI."""
        if not self.is_open:
            raise _core.StateError("the session is not open")
        return self._save(_checked_path(path), self._replace if replace is None else bool(replace), close=False)[0]

    def _open(self):
        global _current
        if _core.is_open():
            raise _core.StateError(
                f"a session is open already, for {_current.path}: lanescope.finalize() collects and closes it;"
                ' lanescope.finalize("other.h5") does so where the first path cannot be written'
            )
        _core.open(self.label)
        _current = self
        try:
            if self._comm is not None or _core.mpi_is_active():
                _core.attach(_core.COMM_WORLD if self._comm is None else self._comm, self._timeout)
                self._plan_exit()
        except BaseException:
            _core.close()
            raise
        _register_exit()

    def _plan_exit(self):
        # Under mpi4py MPI may be finalized within the block, or after Python is gone.
        _core.collect_at_exit(
            self.path, timeout=self._timeout, quiet=not self._verbose, python_version=platform.python_version()
        )

    def _finish(self, path):
        saved = self._saved_at_exit() if path == self.path else None
        self.written, report, rank, size = saved or self._save(path, self._replace, close=True)
        if self._verbose and rank == 0 and report is not None:
            _summary.show(report, self.label, size, self.written)
        return self.written

    def _saved_at_exit(self):
        try:
            saved = _core.collected_at_exit()
        except _core.CollectError:
            self._close_late()
            raise
        if saved is not None:
            self._close_late()
        return saved

    def _close_late(self):
        """Close, after MPI was finalized: what was recorded since goes into a file of its own."""
        if not _core.uncollected():
            _core.close()
            return
        stem, suffix = os.path.splitext(self.path)
        written, _, rank, _ = self._save(f"{stem}.late{suffix}", self._replace, close=True, quiet=True)
        if self._verbose and rank == 0:
            print(f"lanescope: calls that ended after MPI_Finalize are in {written}", file=sys.stderr)

    def _save(self, path, replace, close, quiet=False):
        return _core.save(
            path,
            timeout=self._timeout,
            replace=replace,
            quiet=quiet or not self._verbose,
            python_version=platform.python_version(),
            close=close,
        )


def session(path, comm=None, label=None, verbose=True, replace=False, timeout=None):
    """A session for a `with` block: opened at its begin, collected into the file `path` and closed at its end.

    comm: the mpi4py communicator of the ranks that share the file; default: MPI_COMM_WORLD, if MPI is initialized.
    label: kept in the file. verbose: rank 0 prints a summary at the end. replace: a path may be collected to again.
    timeout: seconds to wait for a rank; default: LANESCOPE_TIMEOUT or 600.
    An exception that leaves the block goes on unchanged, after what was recorded has been collected.
    """
    return Session(path, comm, label, verbose, replace, timeout)


def setup(path, comm=None, label=None, verbose=True, replace=False, timeout=None):
    """Open a session without a block. `finalize` ends it; the end of the program does if nothing else did."""
    new = Session(path, comm, label, verbose, replace, timeout)
    new._open()
    return new


def collect(path, replace=None):
    """Write what is new since the last collect into the file `path`, and go on recording. Collective under MPI.

    Returns the path of the file with this rank's calls.
    """
    if not _core.is_open():
        raise _core.StateError(f"no session is open, so nothing goes into {path}: call lanescope.setup first")
    return _current.collect(path, replace)


def finalize(path=None):
    """Collect what is new into the session's file, print the summary and close the session. Collective under MPI.

    path: another file than the one given at the opening. Without an open session it does nothing. If it fails, the
    session stays open, with all that it recorded. Returns the path of the file with this rank's calls.
    """
    if not _core.is_open():
        return None
    return _current._finish(_current.path if path is None else _checked_path(path))


def _checked_path(path):
    text = os.fsdecode(path)
    if not text or "\0" in text:
        raise ValueError(f"{text!r} is no path of a file")
    return os.path.abspath(text)


def _checked_timeout(timeout):
    if timeout is None:
        return 0.0
    timeout = float(timeout)
    if not timeout > 0 or math.isinf(timeout):
        raise ValueError(f"timeout must be a positive number of seconds, not {timeout}")
    return timeout


def _fortran_handle(comm):
    if comm is None:
        return None
    try:
        return comm.py2f()
    except AttributeError:
        raise TypeError(f"comm must be a communicator of mpi4py, not {type(comm).__name__}") from None


@functools.lru_cache(maxsize=None)
def _register_exit():
    # Now, and not at the import: the last registered runs first, before an earlier one that finalizes MPI.
    atexit.register(finalize)
