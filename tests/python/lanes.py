# SPDX-License-Identifier: BSD-3-Clause
"""Sessions whose threads and tasks are followed, and what runs in them, for the tests of lanescope.concurrency."""
import asyncio
import contextlib
import threading

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


def rows_of(tracker, coro_name):
    """The task rows of one coroutine, as dicts."""
    columns = tracker.snapshot()["tasks"]
    return [
        {name: values[i] for name, values in columns.items()}
        for i, name in enumerate(columns["coro_name"])
        if name.rpartition(".")[2] == coro_name
    ]


async def sleeper(seconds):
    await asyncio.sleep(seconds)
    return seconds


def in_thread(function, **options):
    """Runs it on a new thread and hands back its result or its exception."""
    outcome = []

    def run():
        try:
            outcome.append((function(), None))
        except BaseException as error:
            outcome.append((None, error))

    thread = threading.Thread(target=run, **options)
    thread.start()
    thread.join(60)
    assert not thread.is_alive()
    result, error = outcome[0]
    if error is not None:
        raise error
    return result
