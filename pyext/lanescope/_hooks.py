# SPDX-License-Identifier: BSD-3-Clause
"""The hooks that all installed trackers share: in threading, in asyncio and in greenlet.

Each is put in when the first tracker needs it, in front of what is there, which is restored when the last one goes.
Where the application has put something on top of a hook meanwhile, that stays, and the hook below it only passes on.
"""
import functools
import importlib.util
import os
import sys
import threading

from . import _core

_lock = threading.RLock()
_installed = []
_thread_hook = None
_loop_hooks = {}  # name of a method of BaseEventLoop -> (the hook, what stood there)


def add(tracker):
    """Serve a ConcurrencyTracker from now on. Error: no session is left for it; then nothing is changed."""
    with _lock:
        if tracker in _installed:
            return
        _watch_forks()
        if tracker.track_async:
            _prepare_tasks()
        _core.track(tracker._core, tracker.track_async)
        _installed.append(tracker)
        _hook_threads()
        if tracker.track_async:
            _hook_loops()
            _core.watch_greenlets()


def remove(tracker):
    """Serve it no longer."""
    with _lock:
        if tracker not in _installed:
            return
        _installed.remove(tracker)
        threads, tasks = _core.untrack(tracker._core)
        if not tasks:
            _unhook_loops()
            _core.unwatch_greenlets()
        if not threads:
            _unhook_threads()


def _hook_threads():
    global _thread_hook
    now = threading.getprofile() if hasattr(threading, "getprofile") else threading._profile_hook
    if now is None or now is not _thread_hook:
        _thread_hook = _core.ThreadHook(now)
        threading.setprofile(_thread_hook)


def _unhook_threads():
    global _thread_hook
    now = threading.getprofile() if hasattr(threading, "getprofile") else threading._profile_hook
    if _thread_hook is not None and now is _thread_hook:
        threading.setprofile(_thread_hook.previous)
    _thread_hook = None


@functools.lru_cache(maxsize=None)
def _prepare_tasks():
    import asyncio

    _core.use_asyncio(asyncio.iscoroutine)
    # Of a program that follows tasks, greenlets are tasks if they are installed at all, whoever imports them when.
    if "greenlet" in sys.modules or importlib.util.find_spec("greenlet") is not None:
        try:
            import greenlet

            _core.use_greenlet(greenlet)
        except (ImportError, AttributeError):
            pass


def _hook_loops():
    from asyncio.base_events import BaseEventLoop

    for name, before in (("create_task", ()), ("run_forever", (_look_at_loop,))):
        now = vars(BaseEventLoop)[name]
        if name not in _loop_hooks or now is not _loop_hooks[name][0]:
            _loop_hooks[name] = (_core.LoopMethod(now, *before), now)
            setattr(BaseEventLoop, name, _loop_hooks[name][0])


def _unhook_loops():
    for name, (hook, original) in _loop_hooks.items():
        from asyncio.base_events import BaseEventLoop

        if vars(BaseEventLoop)[name] is hook:
            setattr(BaseEventLoop, name, original)
    _loop_hooks.clear()


def _look_at_loop(loop):
    """A loop that runs may make its tasks in a way of its own."""
    for tracker in tuple(_installed):
        if tracker.track_async:
            tracker.instrument_loop(loop)


def makes_wrapped_tasks(loop):
    """Whether the loop creates its tasks by the hooked method, so that it needs no factory."""
    # Not by its __dict__: CPython keeps an object's attributes in a faster way until somebody asks for that.
    return isinstance(getattr(loop.create_task, "__func__", None), _core.LoopMethod)


class TaskFactory:
    """A task factory of a loop for one tracker, in front of the factory that was there, or of none."""

    __slots__ = ("tracker", "previous", "__weakref__")

    def __init__(self, tracker, previous):
        self.tracker = tracker
        self.previous = previous

    def __call__(self, loop, coro, **options):
        wrapped = coro if self.tracker is None else _core.wrap(coro, self.tracker)
        if self.previous is None:
            from asyncio import Task

            task = Task(wrapped, loop=loop, **options)
        else:
            task = self.previous(loop, wrapped, **options)
        if wrapped is not coro:
            _core.bind(wrapped, task)
        return task

    def remove(self, loop):
        """Take it from the loop; below another factory it stays and only passes on."""
        self.tracker = None
        if loop.get_task_factory() is self:
            loop.set_task_factory(self.previous)


@functools.lru_cache(maxsize=None)
def _watch_forks():
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_stand_down)


def _stand_down():
    global _lock
    _lock = threading.RLock()
    for tracker in tuple(_installed):
        tracker.uninstall()
