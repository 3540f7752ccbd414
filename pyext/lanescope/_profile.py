# SPDX-License-Identifier: BSD-3-Clause
"""The decorator that records each call of a function."""
import functools
import inspect

from . import _core

_RETURNS_EARLY = (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction)


def profile(function_or_name, /):
    """Record each call of a function: `@profile`, or `@profile("name")`.

    Without a name the region is called by the function's `__qualname__`. Works on functions and methods, under and over
    `@staticmethod` and `@classmethod`. What it returns stands for the function: its name, doc string and signature.
    """
    if isinstance(function_or_name, str):
        return functools.partial(_decorate, name=function_or_name)
    return _decorate(function_or_name)


def _decorate(function, name=None):
    if isinstance(function, (staticmethod, classmethod)):
        return type(function)(_decorate(function.__func__, name))
    _check(function)
    if name is None:
        name = _name_of(function)
    code = getattr(inspect.unwrap(function), "__code__", None)
    file, line = (code.co_filename, code.co_firstlineno) if code else (None, 0)
    return functools.update_wrapper(_core.Profiled(function, name, file, line), function)


def _check(function):
    if isinstance(function, type):
        raise TypeError(f"profile needs a function, not the class {function.__qualname__}; decorate its methods")
    if not callable(function):
        raise TypeError(f"profile needs a function or a name, not {type(function).__name__}")
    plain = inspect.unwrap(function)
    if any(test(plain) for test in _RETURNS_EARLY):
        raise TypeError(
            f"profile cannot record {_name_of(function)}: a call of a coroutine or generator function returns"
            " before its body runs; decorate the functions that it calls"
        )


def _name_of(function):
    name = getattr(function, "__qualname__", None)
    if not isinstance(name, str):
        raise TypeError(f'{function!r} has no __qualname__; give the region a name: profile("name")')
    return name
