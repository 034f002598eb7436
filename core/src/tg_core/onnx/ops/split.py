"""Splitting along an axis, into tensors or a sequence."""

from __future__ import annotations

from tg_core.onnx.context import Context
from tg_core.onnx.kinds import Ints
from tg_core.onnx.ops.shape import split_parts, split_sizes
from tg_core.onnx.registry import operator
from tg_core.onnx.sizes import check_count, size_of
from tg_core.onnx.values import Value
from tg_core.tensor import Tensor

__all__ = ["split", "split_to_sequence"]


@operator("Split")
def split_by_attribute(
    x: Tensor,
    sizes: Ints | None = None,
    *,
    axis: int = 0,
    split: tuple[int, ...] | None = None,
    context: Context,
) -> tuple[Tensor, ...]:
    """Return parts of given sizes, an attribute or (in version 1) an input."""
    given = sizes or split
    parts = len(context.node.outputs)
    return split_parts(
        x, axis, list(given) if given else split_sizes(size_of(x, axis), parts, False)
    )


@operator("Split", since=13)
def split_equally(
    x: Tensor, split: Ints | None = None, *, axis: int = 0, context: Context
) -> tuple[Tensor, ...]:
    """Return parts of given sizes, or equal ones."""
    parts = len(context.node.outputs)
    sizes = list(split) if split is not None else split_sizes(size_of(x, axis), parts, False)
    return split_parts(x, axis, sizes)


@operator("Split", since=18)
def split(
    x: Tensor,
    split: Ints | None = None,
    *,
    axis: int = 0,
    num_outputs: int | None = None,
    context: Context,
) -> tuple[Tensor, ...]:
    """Return parts of given sizes, or so many of which only the last may be smaller."""
    parts = num_outputs or len(context.node.outputs)
    sizes = list(split) if split is not None else split_sizes(size_of(x, axis), parts, True)
    return split_parts(x, axis, sizes)


@operator("SplitToSequence", since=11)
def split_to_sequence(
    x: Tensor, split: Value | None = None, *, axis: int = 0, keepdims: bool = True
) -> list[Value]:
    """Return parts as a sequence: of one size, of several, or of 1 without the axis."""
    length = size_of(x, axis)
    check_count(length, "splitting")
    if split is None:
        sizes = [1] * length
    elif split.shape == ():
        each = int(split.array())
        sizes = [min(each, length - start) for start in range(0, length, each)]
    else:
        sizes = [int(size) for size in split.array().reshape(-1)]
    parts = split_parts(x, axis, sizes)
    if split is None and not keepdims:
        parts = tuple(part.squeeze(axis) for part in parts)
    return [Value(part) for part in parts]
