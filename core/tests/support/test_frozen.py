"""Frozen records do what frozen dataclasses do."""

from __future__ import annotations

import copy
import inspect
import pickle
import typing
from dataclasses import FrozenInstanceError, asdict, dataclass, fields, is_dataclass, replace
from typing import Any

import pytest

from tg_core.support.frozen import frozen, frozen_identity


@frozen
class Point:
    """A record."""

    x: int
    y: float = 0.5
    name: str | None = None

    def moved(self) -> Point:
        return replace(self, x=self.x + 1)


@frozen
class Other:
    x: int
    y: float = 0.5
    name: str | None = None


@frozen
class Single:
    value: object


@frozen
class Empty:
    pass


@frozen
class Checked:
    value: int

    def __post_init__(self) -> None:
        if self.value < 0:
            raise ValueError("negative")


@frozen
class OwnHash:
    slot: int
    rest: str

    def __hash__(self) -> int:
        return self.slot


@frozen_identity
class Identity:
    value: int


@dataclass(frozen=True)
class Standard:
    x: int
    y: float = 0.5
    name: str | None = None


def test_construction() -> None:
    assert Point(1) == Point(x=1, y=0.5, name=None)
    assert (Point(1, name="a").x, Point(1, name="a").y, Point(1, name="a").name) == (1, 0.5, "a")
    made: Any = Point
    with pytest.raises(
        TypeError, match=r"__init__\(\) missing 1 required positional argument: 'x'"
    ):
        made()
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        made(1, z=2)
    assert Point.__init__.__qualname__ == "Point.__init__"


def test_equality_and_hash_are_by_class_and_value() -> None:
    assert Point(1) != Point(2)
    assert Point(1) != Other(1)
    assert Point(1) != (1, 0.5, None)
    assert len({Point(1), Point(1), Point(2)}) == 2
    assert hash(Point(1)) == hash(Standard(1))
    assert Single([]) == Single([])
    assert Empty() == Empty()
    nan = float("nan")
    assert Single(nan) == Single(nan)  # as in a tuple
    with pytest.raises(TypeError, match="unhashable"):
        hash(Single([]))


def test_what_a_class_defines_is_kept() -> None:
    assert hash(OwnHash(7, "a")) == 7
    assert OwnHash(7, "a") != OwnHash(7, "b")
    assert Checked(1).value == 1
    with pytest.raises(ValueError, match="negative"):
        Checked(-1)


def test_identity() -> None:
    one = Identity(1)
    assert one == one
    assert one != Identity(1)
    assert len({one, Identity(1)}) == 2


def test_nothing_can_be_changed() -> None:
    point: Any = Point(1)
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        point.x = 2
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'new'"):
        point.new = 2
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'x'"):
        del point.x
    assert point == Point(1)


def test_shown_as_a_dataclass() -> None:
    assert repr(Point(1, name="a")) == "Point(x=1, y=0.5, name='a')"
    assert repr(Standard(1, name="a")) == "Standard(x=1, y=0.5, name='a')"
    assert repr(Empty()) == "Empty()"


def test_functions_for_dataclasses() -> None:
    assert is_dataclass(Point)
    assert Point(1).moved() == Point(2)
    described = [(f.name, f.type, f.default) for f in fields(Point)]  # type: ignore[arg-type]  # mypy 1.x asks for a dataclass
    assert described == [(f.name, f.type, f.default) for f in fields(Standard)]
    record: Any = Point(1, name="a")
    assert asdict(record) == {"x": 1, "y": 0.5, "name": "a"}
    match record:
        case Point(1, y, name):
            assert (y, name) == (0.5, "a")
        case _:
            pytest.fail("no match")


def test_copies() -> None:
    point = Point(1, name="a")
    assert pickle.loads(pickle.dumps(point)) == point
    assert copy.deepcopy(point) == point


def test_the_constructor_is_described() -> None:
    described = inspect.signature(Point)
    assert str(described) == str(inspect.signature(Standard))
    assert typing.get_type_hints(Point.__init__)["y"] is float
    assert Point.__init__.__module__ == __name__
