"""Index arithmetic of movement ops: which element of the source an element of the result is.

An *access* is a tuple of positions, one per axis, and the condition under which they lie inside
(None: always). Positions outside of the condition may be anything; whatever reads memory gates on
it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tg_core.errors import ScheduleError
from tg_core.uop.ops import GroupOp, Ops, UOp
from tg_core.uop.sizes import static_size
from tg_core.uop.symbolic import simplify

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg_core.uop.ops import sint


class Access(NamedTuple):
    """Positions per axis, and the condition under which they are inside."""

    positions: tuple[UOp, ...]
    valid: UOp | None

    @property
    def ranges(self) -> tuple[UOp, ...]:
        """The loop variables that the positions depend on, each once."""
        found: dict[UOp, None] = {}
        for position in self.positions:
            found.update(dict.fromkeys(position.ranges))
        return tuple(found)


ZERO = UOp.const(0)
_MOST_VALUES_TRIED = 1 << 20
_REMEMBERED: Final = 4096
"""Reshapes whose positions are kept."""


def _conjunction(a: UOp | None, b: UOp) -> UOp:
    return b if a is None else a & b


def _shrink(node: UOp, access: Access) -> Access:
    positions = tuple(
        p if isinstance(begin, int) and begin == 0 else simplify(p + begin)
        for p, (begin, _) in zip(access.positions, node.marg, strict=True)
    )
    return Access(positions, access.valid)


def _pad(node: UOp, access: Access) -> Access:
    positions, valid = [], access.valid
    for position, size, (before, after) in zip(
        access.positions, node.src[0].shape, node.marg, strict=True
    ):
        if not (isinstance(before, int) and before == 0):
            valid = _conjunction(valid, position >= before)
        if not (isinstance(after, int) and after == 0):
            valid = _conjunction(valid, position < before + size)
        positions.append(
            position if isinstance(before, int) and before == 0 else simplify(position - before)
        )
    return Access(tuple(positions), None if valid is None else simplify(valid))


def _flip(node: UOp, access: Access) -> Access:
    shape = node.src[0].shape
    positions = tuple(
        simplify((shape[i] - 1) - p) if i in node.arg else p for i, p in enumerate(access.positions)
    )
    return Access(positions, access.valid)


def _permute(node: UOp, access: Access) -> Access:
    inverse = sorted(range(len(node.arg)), key=node.arg.__getitem__)
    return Access(tuple(access.positions[i] for i in inverse), access.valid)


def _expand(node: UOp, access: Access) -> Access:
    positions = tuple(
        ZERO if isinstance(size, int) and size == 1 else p
        for size, p in zip(node.src[0].shape, access.positions, strict=True)
    )
    return Access(positions, access.valid)


def _unflatten(flat: UOp, sizes: Sequence[sint]) -> list[UOp]:
    """Split a flat position into one per axis, the last axis fastest."""
    positions: list[UOp] = []
    rest = flat
    for size in reversed(sizes[1:]):
        positions.append(simplify(rest % size))
        rest = simplify(rest // size)
    positions.append(rest)
    return positions[::-1]


def flatten(positions: Sequence[UOp], sizes: Sequence[sint]) -> UOp:
    """Join positions into a flat one, the last axis fastest."""
    if not positions:
        return ZERO
    flat = positions[0]
    for position, size in zip(positions[1:], sizes[1:], strict=True):
        flat = flat * size + position
    return simplify(flat) if len(positions) > 1 else flat


def _groups(old: Sequence[int], new: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """Cut two factorisations of one size into the shortest runs of axes with equal products."""
    if 0 in old or 0 in new:
        # products stop telling runs apart at the first 0
        return [(list(range(len(old))), list(range(len(new))))]
    groups = []
    i = j = 0
    while i < len(old) or j < len(new):
        left: list[int] = []
        right: list[int] = []
        a = b = 1
        while (not left and not right) or a != b:
            if a <= b and i < len(old) and not (a == b and left):
                left.append(i)
                a *= old[i]
                i += 1
            elif j < len(new):
                right.append(j)
                b *= new[j]
                j += 1
            else:
                left.append(i)
                a *= old[i]
                i += 1
        groups.append((left, right))
    return groups


def _reshape(node: UOp, access: Access) -> Access:
    positions = _reshaped(node.src[0].shape, node.shape, access.positions)
    return Access(positions, access.valid)


@lru_cache(maxsize=_REMEMBERED)
def _reshaped(
    old: tuple[sint, ...], new: tuple[sint, ...], given: tuple[UOp, ...]
) -> tuple[UOp, ...]:
    """Return the positions in a shape that are at given positions in another; the layers of a model
    ask for the same ones again and again.
    """
    old_axes = [i for i, s in enumerate(old) if s != 1]
    new_axes = [j for j, s in enumerate(new) if s != 1]
    positions = [ZERO] * len(old)
    if not all(isinstance(s, int) for s in (*old, *new)):
        prefix = 0
        while (
            prefix < min(len(old_axes), len(new_axes))
            and old[old_axes[prefix]] == new[new_axes[prefix]]
        ):
            positions[old_axes[prefix]] = given[new_axes[prefix]]
            prefix += 1
        old_rest, new_rest = old_axes[prefix:], new_axes[prefix:]
        if old_rest:
            flat = flatten([given[j] for j in new_rest], [new[j] for j in new_rest])
            for axis, position in zip(
                old_rest, _unflatten(flat, [old[i] for i in old_rest]), strict=True
            ):
                positions[axis] = position
        return tuple(positions)
    old_sizes = [static_size(old[i]) for i in old_axes]
    new_sizes = [static_size(new[j]) for j in new_axes]
    for left, right in _groups(old_sizes, new_sizes):
        flat = flatten([given[new_axes[j]] for j in right], [new_sizes[j] for j in right])
        parts = [flat] if len(left) == 1 else _unflatten(flat, [old_sizes[i] for i in left])
        for i, position in zip(left, parts, strict=True):
            positions[old_axes[i]] = position
    return tuple(positions)


_RULES = {
    Ops.RESHAPE: _reshape,
    Ops.EXPAND: _expand,
    Ops.PERMUTE: _permute,
    Ops.PAD: _pad,
    Ops.SHRINK: _shrink,
    Ops.FLIP: _flip,
}


def through_movement(node: UOp, access: Access) -> Access:
    """Return the access of a movement op's source that gives element `access` of its result."""
    return _RULES[node.op](node, access)


def storage_access(target: UOp, access: Access) -> tuple[UOp, UOp, UOp | None]:
    """Walk from a view down to the storage state it is a view of.

    Returns:
        The state, the flat position, and the condition under which it is inside.
    """
    node = target
    while node.op in GroupOp.Movement:
        access = through_movement(node, access)
        node = node.src[0]
    if len(access.positions) > 1:
        raise ScheduleError(f"store: {node.op.name} of shape {node.shape} is no storage")
    return node, access.positions[0] if access.positions else ZERO, access.valid


def run_offset(view: UOp, shape: Sequence[int]) -> int | None:
    """Return where in its storage state a view of a shape begins, None where it is not one run."""
    loops = [UOp.range(s, i) for i, s in enumerate(shape) if s != 1]
    _, flat, _ = storage_access(view, full_access(shape, loops))
    canonical = flatten(loops, [s for s in shape if s != 1]) if loops else ZERO
    offset = simplify(flat - canonical).const_value
    return int(offset) if isinstance(offset, int) else None


def is_injective(access: Access) -> bool:
    """Tell whether different values of the loop variables give different positions.

    Recognises sums of multiples of distinct variables whose strides do not overlap, and a variable
    taken apart by floor division and modulo.
    """
    used: set[UOp] = set()
    for position in access.positions:
        terms = _linear_terms(position)
        if terms is None:
            return False
        reach = 1
        for stride, variable in sorted(terms, key=_stride):
            if variable in used or stride < reach:
                return False
            used.add(variable)
            reach = stride * (int(variable.vmax) + 1)
    return _parts_are_whole(used)


def _stride(term: tuple[int, UOp]) -> int:
    return term[0]


def _linear_terms(position: UOp) -> list[tuple[int, UOp]] | None:
    """Return (stride, variable or part of one) for a sum of such products; None for anything
    else.
    """
    terms: list[tuple[int, UOp]] = []
    stack = [position]
    while stack:
        node = stack.pop()
        if node.op is Ops.ADD:
            stack.extend(node.src)
        elif node.op is Ops.CONST:
            continue
        elif node.op is Ops.MUL and node.src[1].op is Ops.CONST:
            if not _is_variable(node.src[0]):
                return None
            terms.append((abs(int(node.src[1].arg)), node.src[0]))
        elif _is_variable(node):
            terms.append((1, node))
        elif not node.ranges:
            continue
        else:
            return None
    return terms


def _is_variable(node: UOp) -> bool:
    if node.op is Ops.RANGE:
        return True
    return (
        node.op in (Ops.FLOORDIV, Ops.FLOORMOD)
        and node.src[1].op is Ops.CONST
        and _is_variable(node.src[0])
    )


def _parts_are_whole(used: set[UOp]) -> bool:
    """Tell whether the parts of every variable that is only seen in parts determine it."""
    parts: dict[UOp, list[UOp]] = {}
    for part in used:
        variable = part
        while variable.op is not Ops.RANGE:
            variable = variable.src[0]
        if variable not in used:
            parts.setdefault(variable, []).append(part)
    return all(_determine(variable, seen) for variable, seen in parts.items())


def _determine(variable: UOp, parts: list[UOp]) -> bool:
    """Tell by trying every value whether the parts of a variable tell its values apart."""
    size = int(variable.vmax) + 1
    if size > _MOST_VALUES_TRIED:
        return False
    keys = np.zeros(size, dtype=np.int64)
    for part in parts:
        values = _values(part, size)
        keys = keys * (int(values.max(initial=0)) + 1) + values
    return len(np.unique(keys)) == size


def _values(part: UOp, size: int) -> np.ndarray:
    if part.op is Ops.RANGE:
        return np.arange(size, dtype=np.int64)
    inner, divisor = _values(part.src[0], size), int(part.src[1].arg)
    return inner // divisor if part.op is Ops.FLOORDIV else inner % divisor


def full_access(shape: Sequence[sint], ranges: Sequence[UOp]) -> Access:
    """Return the access of a whole value by one loop per axis; `ranges` are those of the axes that
    are not of size 1.
    """
    remaining = iter(ranges)
    return Access(tuple(ZERO if size == 1 else next(remaining) for size in shape), None)


def as_index(position: UOp, valid: UOp | None) -> UOp:
    """Return a position that is Invalid where the condition fails."""
    if valid is None or (valid.op is Ops.CONST and valid.arg is True):
        return position
    from tg_core.dtype import Invalid

    return UOp(Ops.WHERE, (valid, position, UOp.const(Invalid)))


__all__ = [
    "ZERO",
    "Access",
    "as_index",
    "flatten",
    "full_access",
    "is_injective",
    "run_offset",
    "storage_access",
    "through_movement",
]
