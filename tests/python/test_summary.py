# SPDX-License-Identifier: BSD-3-Clause
"""The summary that rank 0 prints."""
import io
import sys
import threading

import lanescope
import numpy as np
import pytest
from lanescope import _summary
from runs import Run


def recorded(tmp_path, capsys, work, **options):
    with lanescope.session(tmp_path / "run.h5", **options):
        work()
    return capsys.readouterr().out.splitlines()


def call(name, times=1):
    for _ in range(times):
        with lanescope.region(name):
            pass


def row_of(lines, name):
    line, = [line for line in lines if line.split()[:1] == [name]]
    return line


def test_it_says_what_the_file_says(tmp_path, capsys):
    def work():
        with lanescope.region("whole"):
            call("part", 1234)

    lines = recorded(tmp_path, capsys, work, label="test run")
    run = Run(tmp_path / "run.h5")
    statistics = dict(zip(run.rank_region_index["region_ids"], run.rank_region_index["summary_statistics"]))
    part = statistics[run.region_table["names"].index("part")]
    assert "lanescope [test run]: 1 rank, 1,235 calls, 2 regions, 1 lane" in lines
    assert f"file: {tmp_path / 'run.h5'}" in lines
    duration = _summary.duration
    cells = [duration(part[name]).strip() for name in ("total", "mean", "minimum", "maximum")]
    assert row_of(lines, "part").split() == " ".join(["part", "1", "1,234", *cells, "1.00"]).split()
    heads = [line for line in lines if line.startswith("region")]
    assert heads and heads[0].split() == ["region", "ranks", "calls", "total", "mean", "min", "max", "imbalance"]
    assert lines.index(row_of(lines, "whole")) < lines.index(row_of(lines, "part"))
    assert any(line.split()[:4] == ["0", "thread", "MainThread", "1,235"] for line in lines)


def test_without_a_report_it_comes_from_the_file(tmp_path, capsys, monkeypatch):
    """As where the tables of many ranks are too large to keep."""
    saved = []

    class Recorder:
        def __init__(self, recorder):
            self._recorder = recorder

        def __getattr__(self, name):
            return getattr(self._recorder, name)

        def save(self, *arguments, **options):
            written, report, rank, size = self._recorder.save(*arguments, **options)
            saved.append(report)
            return written, None, rank, size

    with lanescope.session(tmp_path / "run.h5", label="long") as session:
        session._recorder = Recorder(session._recorder)
        call("part", 12)
    lines = capsys.readouterr().out.splitlines()
    _summary.show(saved[0], "long", 1, str(tmp_path / "run.h5"))
    assert "lanescope [long]: 1 rank, 12 calls, 1 region, 1 lane" in lines
    assert lines == capsys.readouterr().out.splitlines()


def test_columns_stand_under_their_heads(tmp_path, capsys):
    lines = recorded(tmp_path, capsys, lambda: (call("a", 3), call("longer name", 40_000)))
    head = next(i for i, line in enumerate(lines) if line.startswith("region"))
    assert len({len(line) for line in lines[head : head + 3]}) == 1


def test_silence(tmp_path, capsys):
    assert recorded(tmp_path, capsys, lambda: call("a"), verbose=False) == []


def test_nothing_was_recorded(tmp_path, capsys):
    lines = recorded(tmp_path, capsys, lambda: None)
    assert "lanescope: 1 rank, 0 calls, 0 regions, 0 lanes" in lines


def test_open_calls_are_mentioned(tmp_path, capsys):
    lanescope.setup(tmp_path / "run.h5")
    with lanescope.region("open"):
        lanescope.finalize()
    assert "1 call had not ended when the rank was collected: see /open_calls" in capsys.readouterr().out


def test_long_tables_are_cut(tmp_path, capsys):
    def work():
        for number in range(30):
            thread = threading.Thread(target=call, args=(f"region{number}",), name=f"thread{number}")
            thread.start()
            thread.join()

    lines = recorded(tmp_path, capsys, work)
    assert sum(line.startswith("region") for line in lines) == 1 + _summary.MAX_ROWS
    assert sum(" thread" in line for line in lines) == _summary.MAX_ROWS
    assert "... and 10 more in /rank_region_index" in lines
    assert "... and 10 more in /lane_table" in lines


def test_names_keep_to_their_line(tmp_path, capsys):
    lines = recorded(tmp_path, capsys, lambda: (call("two\nlines\x1b[31m"), call("x" * 200)))
    assert any(line.startswith("two\\nlines\\x1b[31m ") for line in lines)
    assert any(line.startswith("x" * 45 + "... ") for line in lines)


def test_a_terminal_without_the_characters(tmp_path, monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr("sys.stdout", stream)
    with lanescope.session(tmp_path / "größe.h5"):
        call("漢")
    stream.seek(0)
    text = stream.read()
    assert "\\u6f22" in text and "gr\\xf6\\xdfe.h5" in text


@pytest.mark.parametrize("stream", [None, io.StringIO()])
def test_no_terminal(tmp_path, monkeypatch, stream):
    if stream is not None:
        stream.close()
    monkeypatch.setattr("sys.stdout", stream)
    with lanescope.session(tmp_path / "run.h5"):
        pass
    assert Run(tmp_path / "run.h5").count("a") == 0


def test_a_stream_that_can_only_write(tmp_path, monkeypatch):
    class Stream:
        text = ""

        def write(self, text):
            self.text += text

        def flush(self):
            pass

    monkeypatch.setattr("sys.stdout", Stream())
    with lanescope.session(tmp_path / "run.h5"):
        call("a")
    assert row_of(sys.stdout.text.splitlines(), "a")


@pytest.mark.parametrize(
    "ns, text",
    [
        (0, "0 ns"),
        (1, "1 ns"),
        (17.25, "17.2 ns"),
        (999, "999 ns"),
        (999.6, "1.00 us"),
        (1234, "1.23 us"),
        (12_345, "12.3 us"),
        (999_499, "999 us"),
        (1_500_000, "1.50 ms"),
        (123_456_789, "123 ms"),
        (1_000_000_000, "1 s"),
        (61_500_000_000, "61.5 s"),
        (12_345_678_900_000, "12,346 s"),
        (-1500, "-1.50 us"),
    ],
)
def test_durations(ns, text):
    assert _summary.duration(ns).strip() == text


class FakeReport:
    """Two regions on three ranks, one of which never entered the second."""

    tables = {
        "rank_table": {
            "ranks": np.array([0, 1, 2]),
            "calls": np.array([3, 3, 1]),
            "open_calls": np.zeros(3, int),
            "dropped_calls": np.array([0, 2, 0]),
        },
        "region_table": {"names": ["a", "b"]},
        "rank_region_index": {
            "region_ids": np.array([0, 1, 0, 1, 0]),
            "event_counts": np.array([2, 1, 1, 2, 1]),
            "summary_statistics": np.array(
                [(100, 40, 60), (1000, 1000, 1000), (200, 200, 200), (3000, 1, 2999), (600, 600, 600)],
                [("total", "i8"), ("minimum", "i8"), ("maximum", "i8")],
            ),
        },
        "lane_table": {
            name: [] if name in ("kind", "name") else np.empty(0, int)
            for name in ("ranks", "kind", "name", "calls", "first_ns", "last_ns", "busy_ns")
        },
    }

    def table(self, name, columns):
        return {column: self.tables[name][column] for column in columns}


def test_imbalance_is_the_largest_total_over_the_mean_of_all_ranks():
    lines = list(_summary.lines_of(FakeReport(), None, 3, "run.h5"))
    assert row_of(lines, "a").split() == "a 3 4 900 ns 225 ns 40 ns 600 ns 2.00".split()
    assert row_of(lines, "b").split() == "b 2 3 4 us 1.33 us 1 ns 3.00 us 2.25".split()
    assert lines.index(row_of(lines, "b")) < lines.index(row_of(lines, "a"))
    assert "2 calls could not be kept: see dropped_calls and drop_reason in /rank_table" in lines
