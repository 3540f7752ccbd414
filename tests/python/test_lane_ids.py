# SPDX-License-Identifier: BSD-3-Clause
import array

import lanescope
import numpy as np
import pytest


def reference(threads, tasks):
    return [task if task >= 0 else -2 - thread if thread >= 0 else -1 for thread, task in zip(threads, tasks)]


def test_lanes_of_threads_and_tasks():
    generator = np.random.default_rng(1)
    threads = generator.integers(-1, 50, 10_000)
    tasks = generator.integers(-1, 3, 10_000)
    lanes = lanescope.lane_ids(threads, tasks)
    assert lanes.dtype == np.int64
    assert lanes.tolist() == reference(threads.tolist(), tasks.tolist())
    assert lanescope.lane_ids(threads).tolist() == reference(threads.tolist(), [-1] * len(threads))


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i4", ">i8"])
def test_any_integer_type(dtype):
    threads = np.array([0, 1, 5], dtype)
    assert lanescope.lane_ids(threads).tolist() == [-2, -3, -7]
    assert lanescope.lane_ids([0, 0, 0], threads).tolist() == [0, 1, 5]


@pytest.mark.parametrize("threads", [[3, -1], (3, -1), array.array("q", [3, -1]), np.array([3, 9, -1, 9])[::2]])
def test_any_sequence(threads):
    assert lanescope.lane_ids(threads, None).tolist() == [-5, -1]
    assert lanescope.lane_ids(thread_ids=threads, task_ids=[-1, 4]).tolist() == [-5, 4]


@pytest.mark.parametrize("empty", [[], (), np.empty(0), np.empty(0, np.int32)])
def test_nothing_is_nothing(empty):
    lanes = lanescope.lane_ids(empty, empty)
    assert lanes.dtype == np.int64 and lanes.shape == (0,)


def test_lengths_must_agree():
    with pytest.raises(ValueError, match="2 and 1"):
        lanescope.lane_ids([1, 2], [1])
    with pytest.raises(ValueError):
        lanescope.lane_ids([1, 2], [])


@pytest.mark.parametrize("threads", [[1.5], ["1"], [None], [True], [2**70]])
def test_only_integers(threads):
    with pytest.raises(TypeError):
        lanescope.lane_ids(threads)
    with pytest.raises(TypeError):
        lanescope.lane_ids([1], threads)


@pytest.mark.parametrize("threads", [3, [[1, 2]], np.zeros((2, 2), int)])
def test_only_one_dimension(threads):
    with pytest.raises(ValueError):
        lanescope.lane_ids(threads)
