"""The kernel that combines values into the places that an index names, without trying all pairs.

    for i: result[index[i]] = op(result[index[i]], value[i])

in the order of the index, so that what is combined has the same bits everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tg_core.dtype import Invalid
from tg_core.uop.ops import AxisType, KernelInfo, Ops, UOp

MOST_LANES: Final = 16
"""Elements beside each other that one work item combines."""


@dataclass(frozen=True)
class Scatter:
    """Values with a place each, and how they combine."""

    shape: tuple[int, ...]
    """All axes: those of the values, and that of the places."""
    places: int
    """The axis of places, which an index names."""
    reduced: tuple[int, ...]
    """The axes that are combined."""
    index_shape: tuple[int, ...]
    """Sizes of the index: 1 on the axis of places, and where it does not depend on an axis."""
    op: Ops
    """How values combine."""

    @property
    def value_shape(self) -> tuple[int, ...]:
        """Sizes of the values."""
        return tuple(1 if axis == self.places else size for axis, size in enumerate(self.shape))

    @property
    def result_shape(self) -> tuple[int, ...]:
        """Sizes of the result."""
        return tuple(1 if axis in self.reduced else size for axis, size in enumerate(self.shape))


def scatter_kernel(
    scatter: Scatter, result: UOp, index: UOp, values: UOp, loops: Sequence[UOp] = ()
) -> UOp:
    """Return the pass over the index. Work items differ in the axes that are not combined.

    Args:
        scatter: what is combined.
        result: flat storage that holds what combining starts from.
        index: flat storage of integers; out of range writes nothing.
        values: flat storage, or a scalar over `loops`.
        loops: what stands for the position along each axis in such a scalar.

    Returns:
        SINK of the kernel.
    """
    shape, first = scatter.shape, min(scatter.reduced)
    rest = [a for a in range(len(shape)) if a not in (scatter.places, *scatter.reduced)]
    outer, inner = [a for a in rest if a < first], [a for a in rest if a > first]
    count = math.prod(shape[a] for a in inner)
    lanes = max(n for n in range(1, MOST_LANES + 1) if count % n == 0)
    group = UOp.range(math.prod(shape[a] for a in outer), 0, AxisType.GLOBAL)
    column = UOp.range(count // lanes, 1, AxisType.GLOBAL)
    turn = UOp.range(math.prod(shape[a] for a in scatter.reduced), 2, AxisType.LOOP)
    lane = UOp.range(lanes, 3, AxisType.LOOP)
    at = dict(zip(outer, _coordinates(group, [shape[a] for a in outer])))
    at |= zip(inner, _coordinates(column * lanes + lane, [shape[a] for a in inner]))
    at |= zip(scatter.reduced, _coordinates(turn, [shape[a] for a in scatter.reduced]))
    position = index.index(_offset(at, scatter.index_shape)).load()
    inside = (position >= 0) & (position < shape[scatter.places])
    place = _offset({**at, scatter.places: position}, scatter.result_shape)
    cell = result.index(inside.where(place, UOp.const(Invalid)))
    if values.op is Ops.PARAM:
        value = values.index(_offset(at, scatter.value_shape)).load()
    else:
        value = values.substitute({loops[axis]: where for axis, where in at.items()})
    combined = UOp(scatter.op, (cell.load(), value))
    effect = cell.store(combined).end(group, column, turn, lane)
    return UOp.sink(effect, arg=KernelInfo("scatter", ()))


def _coordinates(number: UOp, sizes: Sequence[int]) -> list[UOp]:
    """Return the coordinates of the n-th element of some axes."""
    found = []
    for size in reversed(sizes):
        found.append(number % size)
        number = number // size
    return found[::-1]


def _offset(at: dict[int, UOp], shape: Sequence[int]) -> UOp:
    """Return the flat place of coordinates; axes of size 1 and those without have none."""
    total, stride = UOp.const(0), 1
    for axis in reversed(range(len(shape))):
        size = shape[axis]
        if size != 1 and axis in at:
            total = total + at[axis] * stride
        stride *= size
    return total
