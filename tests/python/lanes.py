# SPDX-License-Identifier: BSD-3-Clause
"""Sessions whose threads and tasks are followed, for the tests of lanescope.concurrency."""
import contextlib

from lanescope import _core, concurrency

from runs import Run


@contextlib.contextmanager
def installed(track_async=True):
    """A tracker on its own, with its hooks in."""
    tracker = concurrency.ConcurrencyTracker(track_async=track_async)
    tracker.install()
    try:
        yield tracker
    finally:
        tracker.uninstall()


class Recording:
    """A session with the tracker of it: after the block `run` is its file."""

    def __init__(self, path, track_async=True):
        self.path = path
        self.track_async = track_async

    def __enter__(self):
        _core.recorder.open(None, False)
        self.tracker = concurrency._for_session(_core.recorder.handle, self.track_async)
        self.tracker.install()
        return self

    def __exit__(self, *exception):
        self.tracker.uninstall()
        _core.refresh_names()
        self.tables = self.tracker.snapshot()
        try:
            _core.recorder.save(self.path, quiet=True)
        finally:
            _core.recorder.close()
        self.run = Run(self.path)

    def parents(self, name):
        """The names of the regions in which the calls of a region lie, None for none."""
        events = self.run.events
        by_call = dict(zip(events["call_ids"].tolist(), events["region_ids"].tolist()))
        names = self.run.region_table["names"]
        return [
            names[by_call[call["parent_ids"]]] if call["parent_ids"] >= 0 else None for call in self.run.calls(name)
        ]
