# SPDX-License-Identifier: BSD-3-Clause
"""The decorator that records each call of a function."""
import functools
import inspect

from . import _core


def decorator(recorder, function_or_name):
    """What `profile` of a manager returns: the profiled function, or for a name the decorator that makes it."""
    if isinstance(function_or_name, str):
        return functools.partial(_decorate, recorder, name=function_or_name)
    return _decorate(recorder, function_or_name)


def _decorate(recorder, function, name=None):
    if isinstance(function, (staticmethod, classmethod)):
        return type(function)(_decorate(recorder, function.__func__, name))
    _check(function)
    if name is None:
        name = _name_of(function)
    plain = inspect.unwrap(function)
    code = getattr(plain, "__code__", None)
    file, line = (code.co_filename, code.co_firstlineno) if code else (None, 0)
    profiled = _core.Profiled(recorder, function, name, file, line)
    for is_kind, wrap in _WRAPPERS:
        if is_kind(plain):
            return functools.update_wrapper(wrap(function, profiled.region), function)
    return functools.update_wrapper(profiled, function)


def _check(function):
    if isinstance(function, type):
        raise TypeError(f"profile needs a function, not the class {function.__qualname__}; decorate its methods")
    if not callable(function):
        raise TypeError(f"profile needs a function or a name, not {type(function).__name__}")


def _name_of(function):
    name = getattr(function, "__qualname__", None)
    if not isinstance(name, str):
        raise TypeError(f'{function!r} has no __qualname__; give the region a name: profile("name")')
    return name


# A call of these functions returns before the body runs. Each wrapper is a function of the same kind, so that
# frameworks that ask for the kind see it, and its call lasts from the first step of the body to its end, however that
# comes.


def _wrap_coroutine(function, region):
    async def profiled(*args, **kwargs):
        with region.call():
            return await function(*args, **kwargs)

    return profiled


def _wrap_generator(function, region):
    def profiled(*args, **kwargs):
        with region.call():
            return (yield from function(*args, **kwargs))

    return profiled


def _wrap_async_generator(function, region):
    async def profiled(*args, **kwargs):
        with region.call():
            inner = function(*args, **kwargs)
            step = inner.__anext__()
            while True:
                try:
                    value = await step
                except StopAsyncIteration:
                    return
                try:
                    sent = yield value
                except GeneratorExit:
                    await inner.aclose()
                    raise
                except BaseException as error:
                    step = inner.athrow(error)
                else:
                    step = inner.asend(sent)

    return profiled


_WRAPPERS = (
    (inspect.iscoroutinefunction, _wrap_coroutine),
    (inspect.isgeneratorfunction, _wrap_generator),
    (inspect.isasyncgenfunction, _wrap_async_generator),
)
