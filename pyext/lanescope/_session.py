# SPDX-License-Identifier: BSD-3-Clause
"""One session: from its opening to its file."""
import atexit
import contextlib
import functools
import math
import operator
import os
import platform
import re
import sys
import threading  # noqa: F401  the recorder looks up the names of threads in it

from . import _core, _results, _summary, concurrency

DEFAULT_PATH = "profiling_data.h5"

_open = []  # sessions of all managers, the last opened last


class Session:
    """One run: what the regions of a manager record on this rank from its opening to its end, and the file of it."""

    def __init__(
        self,
        manager,
        path=None,
        track_threads=True,
        track_async=False,
        label=None,
        return_results=False,
        verbose=True,
        *,
        comm=None,
        replace=False,
        timeout=None,
        compress=None,
        deactivate_profiling=False,
        file_path=None,
    ):
        if path is not None and file_path is not None:
            raise TypeError("give path or file_path, not both: they are one thing")
        self.path = checked_path(next(p for p in (path, file_path, DEFAULT_PATH) if p is not None))
        self.label = label
        self.written = None
        self.results = None
        self.tracker = None
        self._manager = manager
        self._joined = False
        self._told = None
        self._recorder = manager._recorder
        self._comm = _fortran_handle(comm)
        self._track_async = bool(track_async)
        self._track_threads = bool(track_threads) or self._track_async
        self._return_results = bool(return_results)
        self._verbose = bool(verbose)
        self._replace = bool(replace)
        self._timeout = _checked_timeout(timeout)
        self._compress = _checked_level(compress)
        self._deactivated = bool(deactivate_profiling)

    def __repr__(self):
        return f"<lanescope.Session {self.path!r}, {'open' if self.is_open else 'not open'}>"

    def __enter__(self):
        self.open()
        return self

    def __exit__(self, exception_type, exception, traceback):
        if not self.is_open:
            return
        if exception_type is None:
            self.finish()
        else:
            self._finish_after_failure()

    @property
    def is_open(self):
        """Whether regions record into it now."""
        return self._manager._current is self and self._recorder.is_open()

    @property
    def capsule(self):
        """For extension modules in C: PyCapsule_GetPointer(capsule, "lanescope.session") is a `const lsc_session *`.

        It points to the handle of the session that the manager records into, 0 while there is none, for as long as the
        capsule lives.
        """
        return self._recorder.capsule

    def collect(self, path, replace=None):
        """Write what is new since the last collect into another file and go on recording. Collective under MPI."""
        if not self.is_open:
            raise _core.StateError("the session is not open")
        if self._joined:
            raise _core.StateError(f"C or Fortran opened this session and writes it, so nothing goes into {path}")
        return self._save(checked_path(path), self._replace if replace is None else bool(replace), close=False)[0]

    def open(self):
        """Begin to record."""
        if self._recorder.is_open():
            raise _core.StateError(
                f"a session is open already, for {self._manager._current.path}: lanescope.finalize() collects and"
                ' closes it; lanescope.finalize("other.h5") does so where the first path cannot be written; a second'
                " session at the same time needs a ProfileManager of its own"
            )
        if self._deactivated:
            return
        self._joined = self._recorder.open(self.label, not self._track_threads)
        self._manager._current = self
        try:
            self._track()
            if not self._joined and (self._comm is not None or _core.mpi_is_active()):
                comm = _core.COMM_WORLD if self._comm is None else self._comm
                self._recorder.attach(comm, self.path, self._timeout)
                self._plan_exit()
        except BaseException:
            self._recorder.close()
            self._stop_tracking()
            raise
        _open.append(self)
        _register_exit()

    def finish(self, path=None, return_results=None):
        """Collect what is new, close, and print the summary. Returns the path of the file with this rank's calls.

        A session that was joined is left to whoever opened it, and the path is None.

        return_results: `results` is set; by default as the session was opened.
        """
        return self._finish(path, return_results, leaving=False)

    def _finish_after_failure(self):
        """Finish, while an exception is under way that matters more than whatever may go wrong with the file."""
        self._finish_or_tell(leaving=True)

    def _finish_at_exit(self, died):
        """Finish at the end of the program; died: an exception ends it. What fails once more was told before."""
        try:
            if died or self._told is not None:
                self._finish_or_tell(died)
            else:
                self.finish()
        finally:
            if self._recorder.is_open():  # it failed, and would again a moment later
                self._recorder.collect_at_exit(None)

    def _finish_or_tell(self, leaving):
        rank, size = self._recorder.rank()
        try:
            self._finish(None, None, leaving)
        except Exception as error:
            self._tell(error, rank, size)

    def _tell(self, error, rank, size):
        """In one line, once; an error that all ranks have is told by rank 0."""
        text, before, self._told = str(error), self._told, str(error)
        is_shared = size > 1 and re.match(r"rank \d+, step '", text)
        if text == before or (is_shared and rank):
            return
        if self._verbose and getattr(error, "written", None):  # one line of all ranks says why, and how to merge
            text = f"the calls of rank {rank} are in {error.written}"
        print(f"lanescope: {text}", file=sys.stderr)

    def _finish(self, path, return_results, leaving):
        # leaving: an exception brought this rank here, so the others may never come, and it does not wait long.
        if self._joined:
            self._recorder.close()
            self._leave()
            return None
        keep = self._return_results if return_results is None else bool(return_results)
        try:
            saved = self._saved_at_exit() if path is None else None
            saved = saved or self._save(
                path or self.path, self._replace, close=True, keep_events=keep, leaving=leaving
            )
            self.written, report, rank, size = saved
        finally:
            if not self._recorder.is_open():
                self._leave()
        if self._verbose and rank == 0:
            self._show(report, size, path or self.path)
        if keep:
            self.results = _results.after_save(report, self.written, rank, size)
        return self.written

    def _show(self, report, size, path):
        if report is not None:
            _summary.show(report, self.label, size, self.written)
        elif os.path.realpath(self.written) == os.path.realpath(path):  # its tables were too large to keep
            with contextlib.suppress(ImportError):
                _summary.show_file(self.written)

    def _leave(self):
        self._stop_tracking()
        _open[:] = [session for session in _open if session is not self]

    def _track(self):
        if self._track_threads:
            self.tracker = concurrency._for_session(self._recorder.handle, self._track_async)
            self.tracker.install()

    def _stop_tracking(self):
        if self.tracker is not None:
            self.tracker.uninstall()

    def _plan_exit(self):
        # Under mpi4py MPI may be finalized within the block, or after Python is gone.
        self._recorder.collect_at_exit(
            self.path,
            timeout=self._timeout,
            quiet=not self._verbose,
            python_version=platform.python_version(),
            compress=self._compress,
        )

    def _saved_at_exit(self):
        try:
            saved = self._recorder.collected_at_exit()
        except _core.CollectError:
            self._close_late()
            raise
        if saved is not None:
            self._close_late()
        return saved

    def _close_late(self):
        """Close, after MPI was finalized: what was recorded since goes into a file of its own."""
        if not self._recorder.uncollected():
            self._recorder.close()
            return
        stem, suffix = os.path.splitext(self.path)
        written, _, rank, _ = self._save(f"{stem}.late{suffix}", self._replace, close=True, quiet=True)
        if self._verbose and rank == 0:
            print(f"lanescope: calls that ended after MPI_Finalize are in {written}", file=sys.stderr)

    def _save(self, path, replace, close, quiet=False, keep_events=False, leaving=False):
        if self._track_async:
            _core.refresh_names()
        return self._recorder.save(
            path,
            timeout=self._timeout,
            replace=replace,
            quiet=quiet or not self._verbose,
            python_version=platform.python_version(),
            close=close,
            keep_events=keep_events,
            leaving=leaving,
            compress=self._compress,
        )


def checked_path(path):
    """The absolute path as str. ValueError if it is none, TypeError if it is no path at all."""
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


def _checked_level(compress):
    if compress is None:
        return 0
    level = operator.index(compress)
    if not 0 <= level <= 9:
        raise ValueError(f"compress must be a level from 1 to 9, True for 1, or False, not {compress}")
    return level


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
    atexit.register(_finish_all)


def _finish_all():
    """End every session that is open, the last opened first; the first error is raised when all had their turn."""
    errors = []
    died = getattr(sys, "last_type", None) is not None  # of an exception that nobody caught; sys.exit does not set it
    while _open:
        session = _open.pop()
        try:
            if session.is_open:
                session._finish_at_exit(died)
        except (Exception, KeyboardInterrupt) as error:
            errors.append(error)
    if errors:
        raise errors[0]
