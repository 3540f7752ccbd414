# SPDX-License-Identifier: BSD-3-Clause
"""The small tables of a file: what each says of itself and of the others. Texts are read rank by rank."""
import datetime
import json
import re

import numpy as np

from ._format import METADATA, MORE_METADATA, OPTIONAL_METADATA

PIECE = 1 << 12
CLOCK_ROUNDING_NS = 1_000_000_000


def check_metadata(run, found):
    attributes = run.metadata.attrs
    before = len(found.lines)
    for name, kind in {**METADATA, **MORE_METADATA}.items():
        if name not in attributes:
            found.need(name in OPTIONAL_METADATA or name in MORE_METADATA, f"metadata has no attribute {name}")
            continue
        value = attributes[name]
        good = isinstance(value, str) if kind is str else np.asarray(value).dtype == np.int64 and np.ndim(value) == 0
        found.need(good, f"metadata {name} is {value!r}, expected one {'text' if kind is str else 'i64'}")
    if len(found.lines) > before:
        return
    size, start, end = (int(attributes[name]) for name in ("mpi_size", "start_time_ns", "finalize_time_ns"))
    found.need(size == run.ranks, f"metadata mpi_size is {size}, expected {run.ranks}, the rows of rank_table")
    found.need(end >= start, f"metadata finalize_time_ns is {end}, before start_time_ns {start}")
    _check_part(run, found, attributes)
    _check_timestamp(found, attributes["timestamp"], int(attributes["start_time_unix_ns"]))


def _check_part(run, found, attributes):
    """What the file of a single rank says of the run."""
    rank, size = (attributes.get(name) for name in ("run_rank", "run_size"))
    found.need((rank is None) == (size is None), "metadata has one of run_rank and run_size, and not the other")
    if rank is not None and size is not None:
        found.need(0 <= rank < size, f"metadata run_rank is {rank}, and run_size {size}")
        found.need(run.ranks == 1, f"metadata has run_rank, and rank_table {run.ranks} rows, expected 1")
    offset, error = (attributes.get(name) for name in ("run_clock_offset_ns", "run_clock_error_ns"))
    both = "metadata has one of run_clock_offset_ns and run_clock_error_ns, and not the other"
    found.need((offset is None) == (error is None), both)
    found.need(error is None or error >= 0, f"metadata run_clock_error_ns is {error}, expected 0 or more")


def _check_timestamp(found, text, unix_ns):
    try:
        moment = datetime.datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.utcoffset() != datetime.timedelta(0):
        found.add(f"metadata timestamp is {text!r}, expected ISO 8601 in UTC with its offset")
    elif abs(moment.timestamp() * 1e9 - unix_ns) > CLOCK_ROUNDING_NS:
        found.add(f"metadata timestamp is {text!r}, expected the moment of start_time_unix_ns {unix_ns}")


def check_ranks(run, found):
    """True: the ranks are 0, 1, 2, …, so that the other tables can be looked at."""
    table, before = "rank_table", len(found.lines)
    ranks = run.rank_column("ranks")
    found.rows(ranks != np.arange(len(ranks)), table, 0, lambda i: f"ranks is {ranks[i]}, expected {i}")
    found.need(len(ranks) > 0, "rank_table has no rows")
    if len(found.lines) > before:
        return False
    offsets, errors, overheads, status, dropped = (
        run.rank_column(name)
        for name in ("clock_offset_ns", "clock_error_ns", "overhead_ns", "status", "dropped_calls")
    )
    reasons = run.read(table, "drop_reason")
    # Where no clock was compared, as of merged files; but the first rank that is there is on its own.
    present = np.flatnonzero(status != 2)
    unknown = (errors == -1) & (np.arange(len(ranks)) > (present[0] if len(present) else 0))
    has_reason = np.array([reason != "" for reason in reasons])
    unexplained = ((dropped > 0) | (status == 1)) != has_reason
    found.need(offsets[0] == 0, f"rank_table row 0: clock_offset_ns is {offsets[0]}, expected 0: it is its own clock")
    found.rows(
        (errors < 0) & ~unknown,
        table,
        0,
        lambda i: f"clock_error_ns is {errors[i]}, expected 0 or more"
        + (", or -1 for unknown" if i > present[0] else ": it is its own clock"),
    )
    found.rows(overheads < 0, table, 0, lambda i: f"overhead_ns is {overheads[i]}, expected 0 or more")
    found.rows(status > 2, table, 0, lambda i: f"status is {status[i]}, expected 0, 1 or 2")
    words = lambda i: f"dropped_calls is {dropped[i]} and drop_reason {reasons[i]!r}, with status {status[i]}"
    found.rows(unexplained, table, 0, words)
    if run.has(table, "collects"):
        _check_collects(run, found, status)
    _check_texts(found, table, 0, {"drop_reason": reasons, "hostname": run.read(table, "hostname")})
    for column, of in (("calls", "events"), ("open_calls", "open_calls")):
        total, rows = int(run.rank_column(column).sum()), run.rows(of)
        found.need(total == rows, f"rank_table {column} add up to {total}, expected {rows}, the rows of {of}")
    return True


def _check_collects(run, found, status):
    """Ascending numbers and ranges, one number in what was not merged; where some are missing the status says so."""
    is_merged = "merged_files" in run.metadata.attrs
    texts = run.read("rank_table", "collects")
    spans = [_spans(text) for text in texts]
    form = "ascending numbers and ranges such as '0-2,4'" if is_merged else "one number"
    several = [not is_merged and ("," in text or "-" in text) for text in texts]
    bad = np.array([one is None for one in spans]) | np.array(several)
    found.rows(bad, "rank_table", 0, lambda i: f"collects is {texts[i]!r}, expected {form}")
    beyond = (status == 2) & np.array([text != "" for text in texts])
    found.rows(beyond, "rank_table", 0, lambda i: f"collects is {texts[i]!r}, and the rank is missing")
    gaps = is_merged & ~bad & (status == 0) & np.array([bool(one) and one != [(0, one[-1][1])] for one in spans])
    found.rows(gaps, "rank_table", 0, lambda i: f"collects is {texts[i]!r}, and status 0: some are missing before it")


def _spans(text):
    """[(first, last)] of a list of numbers and ranges, None if it is none."""
    spans = []
    for part in text.split(",") if text else []:
        match = re.fullmatch(r"(\d{1,15})(?:-(\d{1,15}))?", part, re.ASCII)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, -1)
        if last < first or (match[2] and first == last) or (spans and first <= spans[-1][1] + 1):
            return None
        spans.append((first, last))
    return spans


def check_regions(run, found):
    first = {}
    for i, name in enumerate(run.names):
        if first.setdefault(name, i) != i:
            found.add(f"region_table row {i}: names is {name!r}, which stands in row {first[name]} already")
    _check_texts(found, "region_table", 0, {"names": run.names})
    for first_row in range(0, run.rows("rank_region_index"), PIECE):
        _check_sources(run, found, first_row, min(first_row + PIECE, run.rows("rank_region_index")))


def _check_sources(run, found, first, end):
    table = "rank_region_index"
    lines = run.read(table, "source_lines", first, end)
    texts = {name: run.read(table, name, first, end) for name in ("source_files", "source_texts", "tags")}
    found.rows(lines < -1, table, first, lambda i: f"source_lines is {lines[i]}, expected -1 or more")
    _check_texts(found, table, first, texts)
    bad = np.array([not _is_list_of_strings(text) for text in texts["tags"]], bool)
    found.rows(bad, table, first, lambda i: f"tags is {texts['tags'][i]!r}, expected a JSON list of strings")


def _is_list_of_strings(text):
    try:
        value = json.loads(text)
    except ValueError:
        return False
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _check_texts(found, table, first, columns):
    for column, texts in columns.items():
        bad = np.array(
            [any("\ud800" <= c <= "\udfff" for c in text) if not text.isascii() else False for text in texts], bool
        )
        found.rows(bad, table, first, lambda i: f"{column} is {texts[i]!r}, which is no UTF-8")


def check_lane_tables(run, found):
    """True: threads, tasks and lanes are numbered and ordered as they must be."""
    before = len(found.lines)
    found.need(
        run.has("thread_table") == run.has("events", "thread_ids"),
        "thread_table and events/thread_ids must be there both, or neither",
    )
    tasks = int(np.count_nonzero(run.read("lane_table", "lanes") >= 0))
    for column in ("task_ids", "await_ns"):
        has = run.has("events", column)
        found.need(
            has == (tasks > 0),
            f"events/{column} is {'' if has else 'not '}there, and {tasks} rows of lane_table are tasks",
        )
    for table, count in (("thread_table", "threads"), ("task_table", "tasks"), ("lane_table", None)):
        if _check_order(run, found, table) and count:
            _check_numbers(run, found, table, count)
    if len(found.lines) > before:
        return False
    spans = {table: run.spans(table) for table in ("thread_table", "task_table", "lane_table")}
    for rank in range(run.ranks):
        part = {table: (int(spans[table][rank]), int(spans[table][rank + 1])) for table in spans}
        names = _check_threads(run, found, *part["thread_table"]), _check_tasks(run, found, rank, *part["task_table"])
        _check_lanes(run, found, rank, names, *part["lane_table"])
    return True


def _check_order(run, found, table):
    """By rank, of ranks that there are."""
    if not run.has(table):
        return True
    ranks = run.read(table, "ranks").astype(np.int64)
    beyond = ranks >= run.ranks
    early = np.diff(ranks, prepend=ranks[:1]) < 0
    found.rows(beyond, table, 0, lambda i: f"ranks is {ranks[i]}, and there are {run.ranks} ranks")
    found.rows(early, table, 0, lambda i: f"ranks is {ranks[i]}, after {ranks[i - 1]}: rows must be ordered by rank")
    return not (beyond.any() or early.any())


def _check_numbers(run, found, table, count):
    """index is 0, 1, 2, … in each rank, and their number that of rank_table."""
    spans, counts = run.spans(table), run.rank_column(count)
    rows = np.diff(spans)
    words = lambda i: f"{count} is {counts[i]}, expected {rows[i]}, the rank's rows of {table}"
    found.rows(rows != counts, "rank_table", 0, words)
    if run.has(table):
        index = run.read(table, "index")
        expected = np.arange(len(index)) - np.repeat(spans[:-1], rows)
        found.rows(index != expected, table, 0, lambda i: f"index is {index[i]}, expected {expected[i]}")


def _check_threads(run, found, first, end):
    """The names of a rank's threads."""
    table = "thread_table"
    if not run.has(table):
        return []
    starts, ends, cpu, daemon, names = (
        run.read(table, name, first, end) for name in ("start_ns", "end_ns", "cpu_ns", "daemon", "name")
    )
    found.rows(
        (ends != -1) & (ends < starts), table, first, lambda i: f"end_ns is {ends[i]}, before start_ns {starts[i]}"
    )
    found.rows(cpu < -1, table, first, lambda i: f"cpu_ns is {cpu[i]}, expected -1 or more")
    found.rows((daemon != 0) & (daemon != 1), table, first, lambda i: f"daemon is {daemon[i]}, expected 0 or 1")
    _check_texts(found, table, first, {"name": names})
    return names


def _check_tasks(run, found, rank, first, end):
    """The kinds and names of a rank's tasks."""
    table, threads = "task_table", int(run.rank_column("threads")[rank])
    created, done, thread = (run.read(table, name, first, end) for name in ("created_ns", "done_ns", "thread_index"))
    bad = (thread < -1) | (thread >= threads)
    found.rows(bad, table, first, lambda i: f"thread_index is {thread[i]}, and rank {rank} has {threads} threads")
    bad = (done != -1) & (done < created)
    found.rows(bad, table, first, lambda i: f"done_ns is {done[i]}, before created_ns {created[i]}")
    for column in ("steps", "running_ns", "suspended_ns"):
        values = run.read(table, column, first, end)
        found.rows(values < 0, table, first, lambda i: f"{column} is {values[i]}, expected 0 or more")
    texts = {name: run.read(table, name, first, end) for name in ("kind", "name", "coro_name")}
    _check_texts(found, table, first, texts)
    return list(zip(texts["kind"], texts["name"]))


def _check_lanes(run, found, rank, names, first, end):
    """names: of the rank's threads, and kinds and names of its tasks."""
    table, (threads, tasks) = "lane_table", names
    lanes = run.read(table, "lanes", first, end).astype(np.int64)
    bad = (lanes >= len(tasks)) | (lanes < -1 - len(threads))
    words = lambda i: f"lanes is {lanes[i]}, and rank {rank} has {len(threads)} threads and {len(tasks)} tasks"
    found.rows(bad, table, first, words)
    place = np.where(lanes >= 0, len(threads) + lanes, -2 - lanes)
    early = np.diff(place, prepend=place[:1] - 1) <= 0
    order = "the unknown lane, threads, tasks, each by index and once"
    found.rows(early, table, first, lambda i: f"lanes is {lanes[i]}, after {lanes[i - 1]}; expected {order}")
    if not bad.any():
        labels = list(zip(run.read(table, "kind", first, end), run.read(table, "name", first, end)))
        expected = [_label(lane, label, threads, tasks) for lane, label in zip(lanes.tolist(), labels)]
        bad = np.array([label != other for label, other in zip(labels, expected)], bool)
        found.rows(bad, table, first, lambda i: f"kind and name are {labels[i]}, expected {expected[i]}")


def _label(lane, label, threads, tasks):
    """What the kind and name of a lane must be; who made the calls of the unknown one, its calls tell."""
    if lane == -1:
        return ("unknown", label[1])
    return tasks[lane] if lane >= 0 else ("thread", threads[-2 - lane])
