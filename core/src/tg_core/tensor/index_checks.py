"""Positions out of range, found before anything that they select is computed (`CHECK_INDEX=1`).

A tensor of positions is marked where it is used: with a CONTIGUOUS_BACKWARD, which changes no value
and no gradient, whose tag says what it indexes. Realizing looks for such marks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tg_core.tensor.inline_calls import inline_calls
from tg_core.tensor.shard_states import parts_of
from tg_core.tensor.states import is_virtual, storage_base
from tg_core.uop.graph import toposort
from tg_core.uop.ops import Ops, UOp

if TYPE_CHECKING:
    from tg_core.tensor.tensor import Tensor

_MARK = "check index"


def mark_positions(index: UOp, name: str, axis: int, size: int) -> UOp:
    """Return positions to be checked when what reads them is realized.

    Args:
        index: integers.
        name: the operation that uses them.
        axis: the axis they are positions of.
        size: its size.
    """
    return UOp(Ops.CONTIGUOUS_BACKWARD, (index,), None, (_MARK, name, axis, size))


def check_positions(nodes: Sequence[UOp], compute: Callable[[Sequence[Tensor]], None]) -> None:
    """Compute the marked positions under nodes, those that others depend on first.

    In a captured call, replays compute and check them too.

    Args:
        nodes: what is about to be computed.
        compute: realizes tensors.

    Raises:
        IndexingError: a position is not in [-size, size).
    """
    from tg_core.tensor.tensor import Tensor

    order = toposort((inline_calls(UOp.sink(*nodes)),), enter_calls=False)
    marks = [n for n in order if n.op is Ops.CONTIGUOUS_BACKWARD and _is_mark(n.tag)]
    if not marks:
        return
    from tg_core.engine import capture
    from tg_core.engine.position_check import PositionCheck

    positions = [Tensor._from_uop(mark.src[0]) for mark in marks]
    if capture.capturing():
        # storage of their own is what replays find them in
        positions = [index.clone() if _has_storage(index) else index for index in positions]
    compute(positions)
    for mark, index in zip(marks, positions, strict=True):
        _, name, axis, size = mark.tag
        if 0 in index._int_shape():
            continue
        if capture.capturing():
            for part in parts_of([index.uop]):
                if not is_virtual(part):
                    shape = Tensor._from_uop(part)._int_shape()
                    check = PositionCheck(storage_base(part), shape, name, axis, size)
                    capture.record_check(check)
        PositionCheck(None, index._int_shape(), name, axis, size).check(index.numpy())


def _has_storage(index: Tensor) -> bool:
    return index.uop.device is not None and 0 not in index.shape


def _is_mark(tag: object) -> bool:
    return isinstance(tag, tuple) and len(tag) == 4 and tag[0] == _MARK
