"""Sequences of tensors, and values that may be absent."""

from __future__ import annotations

import numpy as np

from tg_core.errors import ShapeError
from tg_core.onnx.context import Context
from tg_core.onnx.graph import Graph
from tg_core.onnx.kinds import Int, Items
from tg_core.onnx.registry import operator
from tg_core.onnx.values import Anything, Lane, Value
from tg_core.tensor import Tensor

__all__ = ["sequence_at", "sequence_construct"]


@operator("SequenceConstruct", since=11)
def sequence_construct(*items: Value) -> list[Value]:
    """Return a sequence of all inputs."""
    return list(items)


@operator("SequenceEmpty", since=11)
def sequence_empty(*, dtype: int = 1) -> list[Value]:
    """Return a sequence of nothing."""
    return []


@operator("SequenceAt", since=11)
def sequence_at(items: Items, position: Int) -> Value:
    """Return the item at a position; negative ones count from the end."""
    return items[_place(items, position, len(items) - 1)]


@operator("SequenceInsert", since=11)
def sequence_insert(items: Items, item: Value, position: Int | None = None) -> list[Value]:
    """Return a sequence with an item put in, at the end unless a position is given."""
    place = len(items) if position is None else _place(items, position, len(items))
    return [*items[:place], item, *items[place:]]


@operator("SequenceErase", since=11)
def sequence_erase(items: Items, position: Int | None = None) -> list[Value]:
    """Return a sequence without an item, the last unless a position is given."""
    place = _place(items, -1 if position is None else position, len(items) - 1)
    return [*items[:place], *items[place + 1 :]]


@operator("SequenceLength", since=11)
def sequence_length(items: Items) -> Value:
    """Return the number of items."""
    return Value(None, np.array(len(items), np.int64), Lane.SHAPE)


def _place(items: list[Value], position: int, last: int) -> int:
    place = position + len(items) if position < 0 else position
    if not 0 <= place <= last:
        raise ShapeError(f"position {position} in a sequence of {len(items)}")
    return place


@operator("ConcatFromSequence", since=11)
def concat_from_sequence(items: Items, *, axis: int, new_axis: bool = False) -> Tensor:
    """Return the items of a sequence along an axis, which may be new."""
    first, *others = (item.tensor for item in items)
    if new_axis:
        return first.stack(*others, dim=axis)
    return first.cat(*others, dim=axis) if others else first


@operator("SequenceMap", since=17)
def sequence_map(
    items: Items, *more: Anything, body: Graph, context: Context
) -> tuple[list[Value], ...]:
    """Return the outputs of a graph for every item, each as a sequence."""
    columns: list[list[Value]] = [[] for _ in body.outputs]
    for number, item in enumerate(items):
        extra = [each[number] if isinstance(each, list) else each for each in more]
        for column, result in zip(columns, context.run(body, (item, *extra)), strict=True):
            if isinstance(result, Value):
                column.append(result)
    return tuple(columns)


@operator("Optional", since=15)
def optional(x: Anything | None = None, *, type: object = None) -> Anything:  # noqa: A002
    """Return x, or an absent value."""
    return x


@operator("OptionalHasElement", since=15)
def optional_has_element(x: Anything | None = None) -> Value:
    """Tell whether the value is there."""
    return Value(None, np.array(x is not None), Lane.SHAPE)


@operator("OptionalGetElement", since=15)
def optional_get_element(x: Anything) -> Anything:
    """Return the value, which must be there."""
    if x is None:
        raise ShapeError("the optional value is absent")
    return x
