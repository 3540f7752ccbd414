# SPDX-License-Identifier: BSD-3-Clause
"""Managers: each has regions and sessions of its own. The functions of the package are those of the default one."""
import functools
import inspect

from . import _core
from ._profile import decorator
from ._session import Session, checked_path


class _Method:
    """A method that acts on the default manager when it is called on the class."""

    def __init__(self, function):
        self._function = function
        functools.update_wrapper(self, function)

    def __get__(self, manager, owner):
        return self._function.__get__(default if manager is None else manager)


def _takes_what_a_session_takes(function):
    function.__signature__ = inspect.signature(Session)
    return function


class ProfileManager:
    """Regions and sessions apart from those of others: several managers can record at the same time.

        compute, io = lanescope.ProfileManager(), lanescope.ProfileManager()
        with compute.session("compute.h5"), io.session("io.h5"):
            with compute.region("solve"):
                ...

    On the class itself (`ProfileManager.session(…)`) every method acts on the default manager, as do the functions
    `lanescope.session`, `region`, `profile`, `setup`, `collect`, `finalize`, `pause` and `resume`.
    """

    def __init__(self, recorder=None):
        self._recorder = _core.Recorder() if recorder is None else recorder
        self._current = None
        self.region = self._recorder.region

    def __repr__(self):
        return f"<lanescope.ProfileManager, {self._current!r}>"

    @_Method
    @_takes_what_a_session_takes
    def session(self, *args, **kwargs):
        """A session for a `with` block: opened at its begin, collected into the file `path` and closed at its end.

        path (or file_path): default "profiling_data.h5". track_threads: each call carries its thread, and the file has
        a table of threads; without it there is one lane. track_async: asyncio tasks and greenlets are lanes, too, and
        each call carries its task and how long that was suspended in it. label: kept in the file. return_results:
        the session's `results` are set at its end, on rank 0. verbose: rank 0 prints a summary at the
        end. comm: the mpi4py communicator of the ranks that share the file; default: MPI_COMM_WORLD, if MPI is
        initialized. replace: a path may be collected to again. timeout: seconds to wait for a rank; default:
        LANESCOPE_TIMEOUT or 600. compress: zlib's level for the calls in the file, 1 (or True) to 9; default:
        LANESCOPE_COMPRESS or none. deactivate_profiling: open nothing, so that regions record nothing.
        An exception that leaves the block goes on unchanged, after what was recorded has been collected; it waits for
        the other ranks no longer than LANESCOPE_GRACE seconds, 10 if not set.
        """
        return Session(self, *args, **kwargs)

    @_Method
    @_takes_what_a_session_takes
    def setup(self, *args, **kwargs):
        """Open a session without a block; the arguments are those of `session`.

        `finalize` ends it; the end of the program does if nothing else did.
        """
        new = Session(self, *args, **kwargs)
        new.open()
        return new

    @_Method
    def region(self, name, /):
        """The region of that name: `with manager.region("solve"):` records one call of it."""
        return self._recorder.region(name)

    @_Method
    def profile_region(self, region_name):
        """The same as `region`."""
        return self._recorder.region(region_name)

    @_Method
    def profile(self, function_or_name, /):
        """Record each call of a function: `@profile`, or `@profile("name")`.

        Without a name the region is called by the function's `__qualname__`. Works on functions and methods, under and
        over `@staticmethod` and `@classmethod`, and on coroutine functions, generator functions and async generator
        functions: their call lasts from the first step of the body to its end. What it returns stands for the function:
        its name, doc string and signature.
        """
        return decorator(self._recorder, function_or_name)

    @_Method
    def collect(self, path, replace=None):
        """Write what is new since the last collect into the file `path`, and go on recording. Collective under MPI.

        Returns the path of the file with this rank's calls.
        """
        return self._opened(f"nothing goes into {path}").collect(path, replace)

    @_Method
    def finalize(self, path=None, return_results=False):
        """Collect what is new into the session's file, print the summary and close the session. Collective under MPI.

        path: another file than the one given at the opening. Without an open session it does nothing. If it fails, the
        session stays open, with all that it recorded. Returns the path of the file with this rank's calls; with
        return_results the `Results` of the run on rank 0, and None on the others.
        """
        session = self._current
        if not self._recorder.is_open():
            return None
        written = session.finish(None if path is None else checked_path(path), return_results or None)
        return session.results if return_results else written

    @_Method
    def pause(self):
        """Record no call that begins before the `resume`, on any thread; calls that began earlier end as usual."""
        self._opened("nothing can be paused")
        self._recorder.pause()

    @_Method
    def resume(self):
        """Record again after a `pause`. Calls that began in the pause stay unrecorded."""
        self._opened("nothing can be resumed")
        self._recorder.resume()

    def _opened(self, consequence):
        if self._recorder.is_open():
            return self._current
        raise _core.StateError(f"no session is open, so {consequence}: call lanescope.setup first")


default = ProfileManager(_core.recorder)
