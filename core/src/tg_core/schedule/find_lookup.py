"""Find the lookup in a reduction: the condition `position == index` that selects values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from tg_core.dtype import DType, dtypes
from tg_core.schedule.indexing import Access, full_access, through_movement
from tg_core.schedule.known_mask import MASKED_OPS, constant_of, where_known
from tg_core.schedule.prepare_graph import identity_element, prepare_graph
from tg_core.uop.graph import toposort
from tg_core.uop.ops import GroupOp, Ops, UOp

LEAST_PAIRS: Final = 1 << 16
"""Pairs of a position and an index from which on a pass over the index is worth its kernels.

In replays on one core the pass takes 20 to 30 us there, all pairs 25 us for sums and 70 to 130 us
for the last of several writes.
"""
LEAST_POSITIONS: Final = 32
"""Positions that a vector unit compares with an index about as soon as one is read and written."""
MOST_VALUES: Final = 256
"""Values looked at to find a lookup."""


@dataclass(frozen=True)
class Lookup:
    """A reduction of values that are nothing unless their index is the position."""

    loops: tuple[UOp, ...]
    """What stands for the position along each axis of what is reduced."""
    positions: int
    """The axis of positions."""
    mask: UOp
    """The condition, in the shape of what is reduced."""
    index: UOp
    """The index, in that shape."""
    index_axes: tuple[int, ...]
    """The axes that the index depends on."""
    value: UOp
    """What is reduced where the condition holds: of that shape, or a scalar constant."""


def find_lookup(reduce: UOp) -> Lookup | None:
    """Return the lookup in a REDUCE_AXIS that is worth a pass over its index; None without one."""
    value, axes = reduce.src[0], reduce.arg[1]
    shape = [size for size in value.shape if isinstance(size, int)]
    if len(shape) != len(value.shape) or not isinstance(value.device, str):
        return None
    widest = max((shape[axis] for axis in range(len(shape)) if axis not in axes), default=0)
    if math.prod(shape) < LEAST_PAIRS or widest < LEAST_POSITIONS:
        return None
    if not _may_hold_lookup(value):
        return None
    order = toposort((value,), _is_elementwise, enter_calls=False)
    loops = tuple(UOp.range(size, axis) for axis, size in enumerate(shape))
    identity = identity_element(reduce.arg[0], reduce).const_value
    for mask, (access, chain) in _conditions(value, loops).items():
        found = _positions_of(mask, access, loops)
        assert found is not None
        if found[0] in axes or shape[found[0]] < LEAST_POSITIONS:
            continue
        missed = constant_of(where_known(order, mask, False))
        if missed is None or missed.const_value != identity:
            continue
        positions, index = found
        index_axes = tuple(a for a in range(len(shape)) if loops[a] in _ranges(index, access))
        if positions in index_axes:
            continue
        hit = where_known(order, mask, True)
        constant = constant_of(hit)
        return Lookup(
            loops,
            positions,
            _seen(mask, chain),
            _seen(index, chain),
            index_axes,
            hit if constant is None else constant,
        )
    return None


def depends_on(value: UOp, loops: Sequence[UOp], axis: int) -> bool:
    """Tell whether an elementwise value may change along an axis.

    Args:
        value: the value.
        loops: what stands for the position along each of its axes.
        axis: the axis.
    """
    loop = loops[axis]
    stack = [(value, _whole(value, loops))]
    seen = set(stack)
    while stack:
        node, access = stack.pop()
        if loop not in access.ranges and (access.valid is None or loop not in access.valid.ranges):
            continue
        if node.op not in MASKED_OPS or len(seen) > MOST_VALUES:
            return True
        for item in _sources(node, access):
            if item not in seen:
                seen.add(item)
                stack.append(item)
    return False


def counted(value: UOp, loops: Sequence[UOp]) -> UOp | None:
    """Return the position that a value is, as a scalar over the loops; None if it is not one."""
    access = _whole(value, loops)
    dtype = value.dtype
    while value.op in GroupOp.Movement or value.op is Ops.CAST:
        access = through_movement(value, access) if value.op is not Ops.CAST else access
        value = value.src[0]
    if not _is_counting(value) or access.valid is not None:
        return None
    return access.positions[0].cast(dtype)


def _whole(value: UOp, loops: Sequence[UOp]) -> Access:
    return full_access(value.shape, [r for r, s in zip(loops, value.shape, strict=True) if s != 1])


def _may_hold_lookup(value: UOp) -> bool:
    """Tell whether what a value is computed from elementwise is not too much to search, and has a
    comparison in it.
    """
    seen, stack, candidate = {value}, [value], False
    while stack and len(seen) <= MOST_VALUES:
        node = stack.pop()
        candidate = candidate or _is_candidate(node)
        for source in node.src if node.op in MASKED_OPS else ():
            if source not in seen:
                seen.add(source)
                stack.append(source)
    return candidate and not stack


def _is_elementwise(node: UOp) -> bool:
    return node.op in MASKED_OPS


def _is_candidate(node: UOp) -> bool:
    return node.op is Ops.CMPEQ and node.dtype is dtypes.bool and isinstance(node.device, str)


def _conditions(value: UOp, loops: Sequence[UOp]) -> dict[UOp, tuple[Access, tuple[UOp, ...]]]:
    """Return the comparisons of a position in a value that are read in one way, with how, and
    through which views, the first one applied last.
    """
    found: dict[UOp, tuple[Access, tuple[UOp, ...]]] = {}
    ambiguous: set[UOp] = set()
    start = (value, _whole(value, loops))
    stack: list[tuple[UOp, Access, tuple[UOp, ...]]] = [(*start, ())]
    seen = {start}
    while stack and len(seen) <= MOST_VALUES:
        node, access, chain = stack.pop()
        if _is_candidate(node) and _positions_of(node, access, loops) is not None:
            if node in found or access.valid is not None:
                ambiguous.add(node)
            found.setdefault(node, (access, chain))
            continue
        if node.op not in MASKED_OPS:
            continue
        below = (*chain, node) if node.op in GroupOp.Movement else chain
        for item in _sources(node, access):
            if item not in seen:
                seen.add(item)
                stack.append((*item, below))
    if stack:
        return {}
    return {node: how for node, how in found.items() if node not in ambiguous}


def _sources(node: UOp, access: Access) -> list[tuple[UOp, Access]]:
    if node.op in GroupOp.Movement:
        return [(node.src[0], through_movement(node, access))]
    return [(s, access if s.shape else Access((), access.valid)) for s in node.src]


def _positions_of(mask: UOp, access: Access, loops: Sequence[UOp]) -> tuple[int, UOp] | None:
    """Return the axis whose position a condition compares, and with what."""
    for place, side in enumerate(mask.src):
        at = access
        while side.op in GroupOp.Movement or _widens(side):
            at = at if side.op is Ops.CAST else through_movement(side, at)
            side = side.src[0]
        if not _is_counting(side) or at.positions[0] not in loops:
            continue
        axis, other = loops.index(at.positions[0]), mask.src[1 - place]
        if side.shape[0] != int(loops[axis].vmax) + 1 or not dtypes.is_int(other.dtype):
            return None
        return (axis, other) if isinstance(other.device, str) else None
    return None


def _widens(node: UOp) -> bool:
    """Tell whether a node is a CAST of integers to some that hold them all."""
    if node.op is not Ops.CAST or not dtypes.is_int(node.dtype):
        return False
    source = node.src[0].dtype
    return dtypes.is_int(source) and dtypes.max(node.dtype) >= dtypes.max(source)


def _is_counting(node: UOp) -> bool:
    """Tell whether a node, under its views, is the position along its first axis."""
    if node.op is not Ops.REDUCE_AXIS or node.device is not None:
        return False
    size = node.shape[0]
    return isinstance(size, int) and node is _counting(size, node.dtype)


@lru_cache(maxsize=256)
def _counting(size: int, dtype: DType) -> UOp:
    return prepare_graph(UOp._counting(size, dtype)).base


def _ranges(index: UOp, access: Access) -> set[UOp]:
    """Return the loops that an index depends on."""
    while index.op in GroupOp.Movement and index.op is not Ops.PAD:
        access = through_movement(index, access)
        index = index.src[0]
    return set(access.ranges)


def _seen(node: UOp, chain: Sequence[UOp]) -> UOp:
    """Return a node through views, the first one applied last."""
    for view in reversed(chain):
        node = UOp(view.op, (node, *view.src[1:]), view.arg)
    return node
