# SPDX-License-Identifier: BSD-3-Clause
"""The summary of a run, as text."""
import sys

import numpy as np

MAX_ROWS = 20
MAX_NAME = 48


def show(report, label, size, path):
    """Print the summary in one piece, in whatever characters the terminal has."""
    stream = sys.stdout
    if stream is None or getattr(stream, "closed", False):
        return
    text = "\n".join(lines_of(report, label, size, path)) + "\n"
    encoding = getattr(stream, "encoding", None) or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
    stream.flush()


def show_file(path):
    """The same of a file that stands."""
    from ._results import read_h5

    results = read_h5(path)
    show(_Tables(results), results.metadata.get("label"), len(results.ranks), results.path)


class _Tables:
    """The tables of Results as those of the report of a collect."""

    def __init__(self, results):
        self._results = results

    def table(self, name, columns):
        table = self._results.table(name)
        return {column: table[column] for column in columns}


def lines_of(report, label, size, path):
    """label: the session's, or None. size: ranks that were started. path: the file."""
    ranks = report.table("rank_table", ("ranks", "calls", "open_calls", "dropped_calls"))
    regions = _regions(report, len(ranks["ranks"]))
    lanes = report.table("lane_table", ("ranks", "kind", "name", "calls", "first_ns", "last_ns", "busy_ns"))
    lines = ["", _title(ranks, regions, lanes, label)]
    lines += _remarks(ranks, size)
    if regions:
        lines += ["", *_region_lines(regions)]
    if len(lanes["ranks"]):
        lines += ["", *_lane_lines(lanes)]
    return [*lines, "", f"file: {path}", ""]


def _title(ranks, regions, lanes, label):
    parts = [
        _plural(len(ranks["ranks"]), "rank"),
        _plural(int(ranks["calls"].sum()), "call"),
        _plural(len(regions), "region"),
        _plural(len(lanes["ranks"]), "lane"),
    ]
    return "lanescope" + (f" [{_clean(label)}]" if label else "") + ": " + ", ".join(parts)


def _remarks(ranks, size):
    open_calls = int(ranks["open_calls"].sum())
    dropped = int(ranks["dropped_calls"].sum())
    if size > len(ranks["ranks"]):
        yield f"rank 0 of {size} alone: every rank wrote a file of its own"
    if open_calls:
        yield f"{_plural(open_calls, 'call')} had not ended when the rank was collected: see /open_calls"
    if dropped:
        yield f"{_plural(dropped, 'call')} could not be kept: see dropped_calls and drop_reason in /rank_table"


def _regions(report, ranks):
    """One dict a region with completed calls, the longest in total first."""
    names = report.table("region_table", ("names",))["names"]
    index = report.table("rank_region_index", ("region_ids", "event_counts", "summary_statistics"))
    order = np.argsort(index["region_ids"], kind="stable")
    ids, starts = np.unique(index["region_ids"][order], return_index=True)
    regions = [
        _region(names[region], index["event_counts"][rows], index["summary_statistics"][rows], ranks)
        for region, rows in zip(ids, np.split(order, starts[1:]))
    ]
    return sorted(regions, key=lambda region: (-region["total"], region["name"]))


def _region(name, counts, statistics, ranks):
    """ranks: of the run; those without a call of the region take part in its imbalance with 0."""
    calls, total = int(counts.sum()), int(statistics["total"].sum())
    return {
        "name": name,
        "ranks": len(counts),
        "calls": calls,
        "total": total,
        "mean": total / calls,
        "min": int(statistics["minimum"].min()),
        "max": int(statistics["maximum"].max()),
        "imbalance": int(statistics["total"].max()) * ranks / total if total else 1.0,
    }


def _region_lines(regions):
    head = ("region", "ranks", "calls", "total", "mean", "min", "max", "imbalance")
    rows = [
        (
            _clean(region["name"]),
            str(region["ranks"]),
            f"{region['calls']:,}",
            *(duration(region[column]) for column in ("total", "mean", "min", "max")),
            f"{region['imbalance']:.2f}",
        )
        for region in regions[:MAX_ROWS]
    ]
    return [*_aligned(head, rows, left={0}), *_more(len(regions), "/rank_region_index")]


def _lane_lines(lanes):
    """The busiest lanes, in the order of the file: by rank, then threads before tasks."""
    chosen = np.sort(np.argsort(-lanes["busy_ns"], kind="stable")[:MAX_ROWS])
    head = ("rank", "lane", "name", "calls", "busy", "first", "last")
    rows = [
        (
            str(lanes["ranks"][i]),
            _clean(lanes["kind"][i]),
            _clean(lanes["name"][i]),
            f"{lanes['calls'][i]:,}",
            *(duration(lanes[column][i]) for column in ("busy_ns", "first_ns", "last_ns")),
        )
        for i in chosen
    ]
    return [*_aligned(head, rows, left={1, 2}), *_more(len(lanes["ranks"]), "/lane_table")]


def _more(count, table):
    return [f"... and {count - MAX_ROWS:,} more in {table}"] if count > MAX_ROWS else []


def _aligned(head, rows, left):
    widths = [max(map(len, column)) for column in zip(head, *rows)]
    return [
        "  ".join(
            cell.ljust(width) if i in left else cell.rjust(width) for i, (cell, width) in enumerate(zip(row, widths))
        ).rstrip()
        for row in (head, *rows)
    ]


def duration(ns):
    """Three digits and a unit."""
    ns = float(ns)
    for unit, scale in (("ns", 1.0), ("us", 1e3), ("ms", 1e6)):
        if abs(ns) < 999.5 * scale:
            return f"{_three_digits(ns / scale)} {unit}"
    return f"{_three_digits(ns / 1e9)} s "


def _three_digits(value):
    if abs(value) < 9.995 and value != int(value):
        return f"{value:.2f}"
    return f"{value:.1f}" if abs(value) < 99.95 and value != int(value) else f"{value:,.0f}"


def _plural(count, noun):
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _clean(text):
    """One line of at most MAX_NAME characters."""
    text = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
    return text if len(text) <= MAX_NAME else text[: MAX_NAME - 3] + "..."
