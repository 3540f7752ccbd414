# SPDX-License-Identifier: BSD-3-Clause
"""Nesting from times alone, against trees whose parents were drawn, and against a plain search."""
import random

import numpy as np
import pytest
from lanescope import Error, NestingError
from lanescope._core import depths, exclusive, nest


def search(calls):
    """(parents, depths) of [(start, end, lane)], by looking at every pair."""
    order = sorted(range(len(calls)), key=lambda i: (calls[i][0], -calls[i][1], i))
    parents = [-1] * len(calls)
    for place, i in enumerate(order):
        start, end, lane = calls[i]
        for j in order[:place]:
            around = calls[j][2] == lane != -1 and calls[j][0] <= start < calls[j][1] and end <= calls[j][1]
            if around:
                parents[i] = j
    return parents, [count_up(parents, i) for i in range(len(calls))]


def count_up(parents, row):
    depth = 0
    while parents[row] >= 0:
        row, depth = parents[row], depth + 1
    return depth


def grow(generator, lane, start, end, parent, calls, parents, budget):
    """Draws the children of a call from left to right; some touch, some fill their parent."""
    at = start
    while budget[0] > 0 and at < end and generator.random() < 0.8:
        begin = at if generator.random() < 0.3 else generator.randint(at, end - 1)
        stop = end if generator.random() < 0.1 else generator.randint(begin + 1, end)
        if (begin, stop) == (start, end):
            break
        budget[0] -= 1
        calls.append((begin, stop, lane))
        parents.append(parent)
        grow(generator, lane, begin, stop, len(calls) - 1, calls, parents, budget)
        at = stop


def forest(seed, lanes, most):
    generator = random.Random(seed)
    calls, parents = [], []
    for lane in lanes:
        grow(generator, lane, 0, 10_000, -1, calls, parents, [generator.randint(1, most)])
    return generator, calls, parents


def columns(calls):
    return [np.array([call[k] for call in calls], np.int64) for k in range(3)]


@pytest.mark.parametrize("seed", range(40))
def test_the_parents_of_drawn_trees(seed):
    generator, calls, parents = forest(seed, [-2, -3, -9, 0, 7, 12345], 60)
    order = list(range(len(calls)))
    generator.shuffle(order)
    place = {old: new for new, old in enumerate(order)}
    shuffled = [calls[old] for old in order]
    expected = [-1 if parents[old] < 0 else place[parents[old]] for old in order]
    found, levels = nest(*columns(shuffled))
    assert found.dtype == np.int64 and levels.dtype == np.uint32
    assert found.tolist() == expected
    assert levels.tolist() == [count_up(expected, i) for i in range(len(order))]
    assert depths(found).tolist() == levels.tolist()
    durations = [end - start for start, end, _ in shuffled]
    own = list(durations)
    for i, parent in enumerate(expected):
        if parent >= 0:
            own[parent] -= durations[i]
    assert exclusive(durations, found).tolist() == own


@pytest.mark.parametrize("seed", range(40))
def test_the_same_as_a_search_through_all_pairs(seed):
    """With equal calls, calls of no length, and lane -1 among them."""
    generator, calls, _ = forest(seed, [-2, 3], 25)
    calls += [generator.choice(calls) for _ in range(10)]
    calls += [(at, at, lane) for at, _, lane in generator.sample(calls, 10)]
    calls += [(generator.randint(0, 50), generator.randint(50, 99), -1) for _ in range(20)]
    generator.shuffle(calls)
    found, levels = nest(*columns(calls))
    parents, expected = search(calls)
    assert found.tolist() == parents and levels.tolist() == expected


@pytest.mark.parametrize(
    "calls, parents",
    [
        ([(0, 5, 1), (5, 9, 1)], [-1, -1]),
        ([(0, 5, 1), (5, 5, 1)], [-1, -1]),
        ([(5, 5, 1), (5, 9, 1)], [1, -1]),
        ([(5, 5, 1), (5, 5, 1)], [-1, -1]),
        ([(3, 9, 1), (3, 9, 1), (3, 9, 1)], [-1, 0, 1]),
        ([(3, 4, 1), (3, 9, 1)], [1, -1]),
        ([(4, 9, 1), (3, 9, 1)], [1, -1]),
        ([(3, 9, 1), (3, 9, 2)], [-1, -1]),
        ([(0, 6, 1), (3, 9, 2)], [-1, -1]),
        ([(0, 6, -1), (3, 9, -1), (4, 5, -1)], [-1, -1, -1]),
        ([(-9, 9, 1), (-8, -7, 1)], [-1, 0]),
        ([(-(2**63), 2**63 - 1, 1), (0, 1, 1)], [-1, 0]),
        ([], []),
    ],
)
def test_ties_and_edges(calls, parents):
    assert nest(*columns(calls))[0].tolist() == parents


@pytest.mark.parametrize("seed", range(20))
def test_one_call_that_overlaps_is_found_among_many(seed):
    generator, calls, _ = forest(seed, [-2, -3, 5], 40)
    calls += [(20_000, 20_010, 5), (20_005, 20_015, 5)]
    pair = {calls[-2], calls[-1]}
    generator.shuffle(calls)
    words = "lane 5 are not properly nested: .*20005 to 20015 ns.*20000 to 20010 ns"
    with pytest.raises(NestingError, match=words) as told:
        nest(*columns(calls))
    assert {calls[row] for row in told.value.calls} == pair and told.value.lane == 5
    assert isinstance(told.value, Error) and isinstance(told.value, ValueError) and told.value.status is None


def test_an_overlap_deep_inside():
    with pytest.raises(NestingError) as told:
        nest([0, 1, 2, 6], [100, 50, 8, 9], [-2] * 4)
    assert told.value.calls == (2, 3)


def test_a_deep_stack():
    count = 200_000
    starts = np.arange(count)
    found, levels = nest(starts, 2 * count - starts, np.zeros(count, int))
    assert (found == starts - 1).all() and (levels == starts).all()
    assert (depths(found) == starts).all()
    turned = np.where(found[::-1] < 0, -1, count - 1 - found[::-1])
    assert (depths(turned) == starts[::-1]).all()


def test_an_end_before_its_start():
    with pytest.raises(ValueError, match="call 1 ends before it starts: 7 to 6 ns"):
        nest([1, 7], [2, 6], [-2, -2])


def test_lengths_must_agree():
    with pytest.raises(ValueError, match="starts and lanes differ in length: 2 and 1"):
        nest([1, 2], [3, 4], [1])
    with pytest.raises(ValueError, match="durations and parents differ in length: 1 and 0"):
        exclusive([1], [])


@pytest.mark.parametrize("function", [depths, lambda parents: exclusive([1] * len(parents), parents)])
@pytest.mark.parametrize("parents", [[-1, 2], [-2, 0], [0, 2**62]])
def test_a_parent_that_is_no_row(function, parents):
    with pytest.raises(ValueError, match="and there are 2 calls|inside itself"):
        function(parents)


@pytest.mark.parametrize("parents", [[0], [1, 0], [-1, 2, 3, 1], [3, 0, 1, 2]])
def test_a_call_inside_itself(parents):
    with pytest.raises(ValueError, match="inside itself"):
        depths(parents)


def test_only_integers_of_one_dimension():
    with pytest.raises(TypeError, match="starts must hold integers"):
        nest([1.5], [2], [0])
    with pytest.raises(ValueError, match="lanes must have one dimension"):
        nest([1], [2], [[0]])


def test_lane_ids_that_lie_far_apart():
    lanes = [-(2**63), 2**63 - 1, 0, -1, 10**12]
    _, calls, parents = forest(7, [lane for lane in lanes if lane != -1], 50)
    found, _ = nest(*columns(calls + [(0, 9, -1), (1, 8, -1)]))
    assert found.tolist() == parents + [-1, -1]
