# SPDX-License-Identifier: BSD-3-Clause
"""The command `lanescope`, also `python -m lanescope`."""
import argparse
import os
import sys

SUCCESS, VIOLATED, UNREADABLE = 0, 1, 2


def main(arguments=None):
    """The exit status: 0 all is well; 1 a file breaks its format; 2 a file cannot be read, or misuse."""
    parser = argparse.ArgumentParser(prog="lanescope", description="Looks at files of runs.", allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    about = {
        "check": (_check, "say whether files keep every promise of their format, and where not"),
        "summary": (_summary, "print the summary that stood at the end of a run"),
    }
    for name, (function, text) in about.items():
        command = commands.add_parser(name, help=text, description=text, allow_abbrev=False)
        command.add_argument("files", nargs="+", metavar="FILE")
        command.set_defaults(function=function)
    chosen = parser.parse_args(arguments)
    try:
        return max(_one(chosen.function, path) for path in chosen.files)
    except BrokenPipeError:
        # Whoever read the output has gone; the interpreter must not fail once more when it flushes at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return UNREADABLE


def _one(function, path):
    from ._source import FormatError

    try:
        return function(path)
    except BrokenPipeError:
        raise
    except (OSError, FormatError, ImportError) as error:
        words = f"{path}: {error.strerror}" if isinstance(error, OSError) and error.strerror else str(error)
        _say(f"lanescope: {' '.join(words.split())}", sys.stderr)
        return UNREADABLE


def _check(path):
    from ._check import LIMIT, check
    from ._summary import _plural as plural

    checked = check(path)
    for line in checked.violations:
        _say(f"{path}: {line}")
    if checked.violations:
        rest = (
            ""
            if checked.is_whole
            else "; the check ended here"
            if len(checked.violations) == LIMIT
            else "; what depends on it was not looked at"
        )
        _say(f"{path}: {plural(len(checked.violations), 'violation')}{rest}")
        return VIOLATED
    counts = (
        (checked.ranks, "rank"),
        (checked.calls, "call"),
        (checked.open_calls, "open call"),
        (checked.regions, "region"),
    )
    _say(f"{path}: good: " + ", ".join(plural(*count) for count in counts))
    return SUCCESS


def _summary(path):
    from ._summary import show_file

    show_file(path)
    return SUCCESS


def _say(line, stream=None):
    """In whatever characters the terminal has."""
    stream = sys.stdout if stream is None else stream
    encoding = getattr(stream, "encoding", None) or "utf-8"
    print(line.encode(encoding, "backslashreplace").decode(encoding), file=stream, flush=True)


if __name__ == "__main__":
    sys.exit(main())
