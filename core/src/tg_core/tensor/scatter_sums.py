"""The gradient of a lookup in work proportional to what was looked up.

A lookup is a sum over all positions of the values where `position == index`; differentiated as
such, each position would go through all indices. Here it is one pass over the indices instead,

    for i: result[index[i]] += grad[i]

in their order, so that the sum has the same bits everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tg_core.dtype import Invalid, dtypes
from tg_core.tensor.custom import set_gradient
from tg_core.uop.mixin.reduce import accumulation_dtype
from tg_core.uop.ops import AxisType, CallInfo, KernelInfo, Ops, UOp

LEAST_WORK = 1 << 16
"""Pairs of a position and an index from which on the pass is worth two kernels of its own."""
LEAST_POSITIONS = 16
MOST_LANES = 16
"""Elements beside each other that one work item adds."""


@dataclass(frozen=True)
class _Lookup:
    """Where `position == index` selects values to add."""

    shape: tuple[int, ...]
    """All axes."""
    positions: int
    """The axis of positions."""
    summed: tuple[int, ...]
    """The axes of indices."""
    index: UOp
    """With one position; size 1 where it does not depend on an axis."""
    values: UOp
    """With one position."""


def scatter_sum(expanded: UOp, grad: UOp, axes: tuple[int, ...]) -> UOp | None:
    """Return the gradient of the source of an EXPAND, where that is a sum of looked-up values.

    Args:
        expanded: the EXPAND.
        grad: its gradient.
        axes: the axes that it expands.

    Returns:
        The sum over the axes, in the dtype that sums have; None where a sum it is.
    """
    if not all(isinstance(size, int) for size in grad.shape) or math.prod(grad.shape) < LEAST_WORK:
        return None
    lookup = _lookup_of(grad, axes)
    if lookup is None or lookup.positions in axes or not isinstance(expanded.device, str):
        return None
    if lookup.shape[lookup.positions] < LEAST_POSITIONS:
        return None
    return _summed(lookup, expanded.device, accumulation_dtype(grad.dtype))


def _lookup_of(grad: UOp, axes: tuple[int, ...]) -> _Lookup | None:
    """Match WHERE(position == index, EXPAND(values), 0)."""
    if grad.op is not Ops.WHERE:
        return None
    condition, values, other = grad.src
    if other.const_value != 0 or values.op is not Ops.EXPAND:
        return None
    views = []
    while condition.op in (Ops.EXPAND, Ops.RESHAPE):
        views.append(condition)
        condition = condition.src[0]
    if condition.op is not Ops.CMPEQ or not _counts_last_axis(condition.src[1]):
        return None
    index, axis = condition.src[0], len(condition.shape) - 1
    if index.op is Ops.EXPAND and index.src[0].shape[-1] == 1:
        index = index.src[0]
    else:
        return None
    for view in reversed(views):
        if view.op is Ops.RESHAPE:
            moved = _axis_after_reshape(view, axis)
            if moved is None:
                return None
            axis = moved
            index = index.reshape(_with_one(view.shape, axis))
        elif view is not views[0]:
            index = index.expand(_with_one(view.shape, axis))
    if len(index.shape) != len(grad.shape) or values.src[0].shape[axis] != 1:
        return None
    shape = tuple(int(size) for size in grad.shape)  # type: ignore[arg-type]  # static
    one = tuple((0, 1 if a == axis else size) for a, size in enumerate(shape))
    return _Lookup(shape, axis, axes, index, values.shrink(one))


def _counts_last_axis(node: UOp) -> bool:
    """Tell whether a node is the position along its last axis."""
    counting = UOp._counting(node.shape[-1], node.dtype)
    while node is not counting:
        keeps = node.op is Ops.EXPAND or (
            node.op is Ops.RESHAPE and node.shape[-1:] == node.src[0].shape[-1:]
        )
        if not keeps:
            return False
        node = node.src[0]
    return True


def _axis_after_reshape(view: UOp, axis: int) -> int | None:
    """Return where an axis goes when axes of size 1 come and go; None if that is not all."""
    before, after = view.src[0].shape, view.shape
    if before[axis] == 1:
        return None
    kept_before = [a for a, size in enumerate(before) if size != 1]
    kept_after = [a for a, size in enumerate(after) if size != 1]
    if [before[a] for a in kept_before] != [after[a] for a in kept_after]:
        return None
    return kept_after[kept_before.index(axis)]


def _with_one(shape: Sequence[object], axis: int) -> tuple[int, ...]:
    return tuple(1 if a == axis else size for a, size in enumerate(shape))  # type: ignore[misc]  # static


def _summed(lookup: _Lookup, device: str, wide: object) -> UOp:
    from tg_core.tensor.assign import clone_node

    result_shape = tuple(
        1 if axis in lookup.summed else size for axis, size in enumerate(lookup.shape)
    )
    zeros = UOp.const(0, wide)._broadcast_to((math.prod(result_shape),))  # type: ignore[arg-type]  # a dtype
    index = lookup.index.cast(dtypes.int32)
    states = [
        clone_node(zeros, device),
        clone_node(index.reshape(math.prod(lookup.index.shape)), device),
        clone_node(lookup.values.reshape(-1).cast(wide), device),  # type: ignore[arg-type]  # a dtype
    ]
    params = [
        UOp.param(slot, state.dtype, state.shape, device)  # type: ignore[arg-type]  # flat
        for slot, state in enumerate(states)
    ]
    info = KernelInfo("scatter_sum", ())
    body = _kernel(lookup, result_shape, *params).replace(arg=info)
    call = UOp.call(body, *states, info=CallInfo(info.name))

    def gradient(total: UOp | None, *rest: UOp | None, call: UOp) -> tuple[UOp | None, ...]:
        assert total is not None
        positions = UOp._counting(lookup.shape[lookup.positions], dtypes.int32)
        place = (1,) * lookup.positions + (-1,) + (1,) * (len(lookup.shape) - lookup.positions - 1)
        chosen = index._binary(Ops.CMPEQ, positions.reshape(place))._broadcast_to(lookup.shape)
        source = total.reshape(result_shape)._broadcast_to(lookup.shape)
        picked = chosen.where(source, UOp.const(0, source.dtype))
        return None, None, picked._reduce(Ops.ADD, (lookup.positions,), True).reshape(-1)

    set_gradient(call, gradient)
    return states[0].after(call).reshape(result_shape)


def _kernel(
    lookup: _Lookup, result_shape: tuple[int, ...], result: UOp, index: UOp, values: UOp
) -> UOp:
    """Return the pass over the indices; work items differ in the axes that are not theirs."""
    shape, first = lookup.shape, min(lookup.summed)
    rest = [a for a in range(len(shape)) if a not in (lookup.positions, *lookup.summed)]
    outer, inner = [a for a in rest if a < first], [a for a in rest if a > first]
    count = math.prod(shape[a] for a in inner)
    lanes = max(n for n in range(1, MOST_LANES + 1) if count % n == 0)
    group = UOp.range(math.prod(shape[a] for a in outer), 0, AxisType.GLOBAL)
    column = UOp.range(count // lanes, 1, AxisType.GLOBAL)
    turn = UOp.range(math.prod(shape[a] for a in lookup.summed), 2, AxisType.LOOP)
    lane = UOp.range(lanes, 3, AxisType.LOOP)
    at = dict(zip(outer, _coordinates(group, [shape[a] for a in outer])))
    at |= zip(inner, _coordinates(column * lanes + lane, [shape[a] for a in inner]))
    at |= zip(lookup.summed, _coordinates(turn, [shape[a] for a in lookup.summed]))
    position = index.index(_offset(at, lookup.index.shape)).load()
    size = shape[lookup.positions]
    inside = (position >= 0) & (position < size)
    place = _offset({**at, lookup.positions: position}, result_shape)
    cell = result.index(inside.where(place, UOp.const(Invalid)))
    value = values.index(_offset(at, _with_one(shape, lookup.positions))).load()
    return UOp.sink(cell.store(cell.load() + value).end(group, column, turn, lane))


def _coordinates(number: UOp, sizes: Sequence[int]) -> list[UOp]:
    """Return the coordinates of the n-th element of some axes."""
    found = []
    for size in reversed(sizes):
        found.append(number % size)
        number = number // size
    return found[::-1]


def _offset(at: dict[int, UOp], shape: Sequence[object]) -> UOp:
    """Return the flat place of coordinates; axes of size 1 and those without have none."""
    total, stride = UOp.const(0), 1
    for axis in reversed(range(len(shape))):
        size = shape[axis]
        assert isinstance(size, int)
        if size != 1 and axis in at:
            total = total + at[axis] * stride
        stride *= size
    return total
