# SPDX-License-Identifier: BSD-3-Clause
"""The decorator."""
import copy
import functools
import inspect
import pickle
import weakref

import lanescope
import pytest
from runs import Run


@lanescope.profile
def add(a, b: int = 2, *more, key=None, **rest):
    """Adds."""
    return a + b, more, key, rest


@lanescope.profile("named")
def named():
    return "named"


def undecorated(a, b: int = 2, *more, key=None, **rest):
    """Adds."""


class Shape:
    @lanescope.profile
    def area(self, scale):
        return self, scale

    @lanescope.profile("static")
    @staticmethod
    def over_static(x):
        return x

    @staticmethod
    @lanescope.profile("static")
    def under_static(x):
        return x

    @lanescope.profile("class")
    @classmethod
    def over_class(cls, x):
        return cls, x

    @classmethod
    @lanescope.profile("class")
    def under_class(cls, x):
        return cls, x

    @property
    @lanescope.profile("property")
    def size(self):
        return 7


def test_the_function_shines_through():
    assert add.__name__ == "add"
    assert add.__qualname__ == "add"
    assert add.__module__ == __name__
    assert add.__doc__ == "Adds."
    assert add.__wrapped__.__code__.co_name == "add"
    assert add.__annotations__ == {"b": int}
    assert inspect.signature(add) == inspect.signature(undecorated)
    assert str(inspect.signature(Shape().area)) == "(scale)"
    assert inspect.unwrap(add) is add.__wrapped__
    assert inspect.getsource(add).startswith("@lanescope.profile\ndef add")
    assert "add" in repr(add)


def test_arguments_and_results_pass():
    assert add(1) == (3, (), None, {})
    assert add(1, 2, 3, 4, key=5, other=6) == (3, (3, 4), 5, {"other": 6})
    assert add(*[1], **{"b": 5}) == (6, (), None, {})
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        add()


def test_methods_of_all_kinds():
    shape = Shape()
    assert shape.area(2) == (shape, 2)
    assert Shape.area(shape, scale=3) == (shape, 3)
    bound = shape.area
    assert bound(4) == (shape, 4) and bound.__self__ is shape
    assert Shape.over_static(1) == shape.over_static(1) == Shape.under_static(1) == shape.under_static(1) == 1
    assert Shape.over_class(1) == shape.over_class(1) == Shape.under_class(1) == shape.under_class(1) == (Shape, 1)
    assert shape.size == 7


def test_each_call_is_recorded_under_its_name(tmp_path):
    shape = Shape()
    with lanescope.session(tmp_path / "run.h5", verbose=False):
        for _ in range(3):
            add(1)
        named()
        shape.area(1), Shape.area(shape, 1)
        Shape.over_static(1), shape.under_static(1)
        Shape.over_class(1), shape.under_class(1)
        shape.size
    run = Run(tmp_path / "run.h5")
    counts = {name: run.count(name) for name in run.region_table["names"]}
    assert counts == {"add": 3, "named": 1, "Shape.area": 2, "static": 2, "class": 2, "property": 1}


def test_the_source_is_the_function(tmp_path):
    with lanescope.session(tmp_path / "run.h5", verbose=False):
        add(1)
    index = Run(tmp_path / "run.h5").rank_region_index
    assert index["source_lines"].tolist() == [add.__wrapped__.__code__.co_firstlineno]
    assert index["source_files"] == [__file__]


def test_exceptions_end_the_call(tmp_path):
    @lanescope.profile("fails")
    def fails():
        raise KeyError("kept")

    with lanescope.session(tmp_path / "run.h5", verbose=False):
        for _ in range(2):
            with pytest.raises(KeyError, match="kept"):
                fails()
    calls = Run(tmp_path / "run.h5").calls("fails")
    assert [call["parent_ids"] for call in calls] == [-1, -1]


def test_callables_without_python_code(tmp_path):
    length = lanescope.profile(len)
    part = lanescope.profile("part")(functools.partial(pow, 2))
    with lanescope.session(tmp_path / "run.h5", verbose=False):
        assert length("abc") == 3
        assert part(5) == 32
    run = Run(tmp_path / "run.h5")
    assert run.count("len") == run.count("part") == 1


def test_a_decorated_function_can_be_decorated_again():
    assert lanescope.profile("twice")(named)() == "named"
    assert functools.lru_cache(named)() == "named"


def test_attributes_weak_references_and_copies():
    add.note = 1
    assert add.note == 1
    assert weakref.ref(add)() is add
    assert pickle.loads(pickle.dumps(add)) is add
    assert copy.copy(add) is add and copy.deepcopy(add) is add


@pytest.mark.parametrize("thing", [Shape, 42, None, functools.partial(len)])
def test_what_cannot_be_profiled_is_refused(thing):
    with pytest.raises(TypeError):
        lanescope.profile(thing)


def test_names_are_checked_where_they_are_given():
    with pytest.raises(ValueError):
        lanescope.profile("a\0b")(lambda: 0)
