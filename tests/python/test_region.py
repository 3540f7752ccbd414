# SPDX-License-Identifier: BSD-3-Clause
"""Regions: their names and what can be done with them."""
import contextlib
import copy
import pickle

import lanescope
import pytest
from runs import Run


def test_one_object_for_each_name():
    region = lanescope.region("one")
    assert lanescope.region("one") is region
    assert lanescope.Region("one") is region
    assert lanescope.region("other") is not region
    assert region.name == "one"
    assert repr(region) == "<lanescope.Region 'one'>"


def test_copies_are_the_same_object():
    region = lanescope.region("copied")
    assert copy.deepcopy(region) is region
    assert pickle.loads(pickle.dumps(region)) is region


def test_a_subclass_of_str_is_its_text():
    class Name(str):
        def __hash__(self):
            raise AssertionError("never asked")

    assert lanescope.region(Name("text")) is lanescope.region("text")
    assert type(lanescope.region(Name("text")).name) is str


@pytest.mark.parametrize("name", [None, 1, b"bytes", 1.5, ["a"], object()])
def test_a_name_that_is_no_text(name):
    with pytest.raises(TypeError):
        lanescope.region(name)


@pytest.mark.parametrize("name", ["a\0b", "\0", "\ud800", "x" * 4097, "é" * 2049])
def test_a_text_that_is_no_name(name):
    with pytest.raises(ValueError):
        lanescope.region(name)


def test_names_of_every_kind_reach_the_file(tmp_path):
    names = ["", "a b", "größe 漢字 🙂", "line\nbreak", "x" * 4096, "é" * 2048]
    with lanescope.session(tmp_path / "run.h5", verbose=False):
        for name in names:
            with lanescope.region(name):
                pass
    run = Run(tmp_path / "run.h5")
    assert sorted(run.region_table["names"]) == sorted(names)
    assert [run.count(name) for name in names] == [1] * len(names)


def test_the_with_statement_gives_the_region():
    region = lanescope.region("given")
    with region as given:
        assert given is region


def test_exceptions_pass():
    with pytest.raises(RuntimeError):
        with lanescope.region("raises"):
            raise RuntimeError


def test_methods_work_however_they_are_reached(tmp_path):
    region = lanescope.region("reached")
    with lanescope.session(tmp_path / "run.h5", verbose=False):
        region.__enter__()
        region.__exit__(None, None, None)
        lanescope.Region.__enter__(region)
        lanescope.Region.__exit__(region, None, None, None)
        with contextlib.ExitStack() as stack:
            assert stack.enter_context(region) is region
    assert Run(tmp_path / "run.h5").count("reached") == 3


def test_methods_want_a_region():
    with pytest.raises(TypeError, match="needs a Region"):
        lanescope.Region.__enter__(42)
    with pytest.raises(TypeError, match="needs a Region"):
        lanescope.Region.__enter__()
    with pytest.raises(TypeError, match="needs a Region"):
        lanescope.Region.__enter__.__get__(42)


def test_an_end_without_a_begin_does_no_harm(tmp_path):
    a, b = lanescope.region("a"), lanescope.region("b")
    with lanescope.session(tmp_path / "run.h5", verbose=False):
        a.__exit__(None, None, None)
        with a:
            b.__exit__(None, None, None)
    run = Run(tmp_path / "run.h5")
    assert (run.count("a"), run.count("b")) == (1, 0)


def test_nothing_is_recorded_without_a_session(tmp_path):
    region = lanescope.region("idle")
    with region:
        pass
    with lanescope.session(tmp_path / "run.h5", verbose=False):
        pass
    with region:
        pass
    run = Run(tmp_path / "run.h5")
    assert run.region_table["names"] == []
    assert len(run.events["ranks"]) == 0
