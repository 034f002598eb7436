"""What a call's argument node means at run time: storage, a part of it, or the value of a
variable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tg_core.errors import ScheduleError
from tg_core.uop.ops import Ops, UOp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg_core.device import Buffer
    from tg_core.dtype import DType


class Argument(NamedTuple):
    """One argument of one call, resolved as far as is possible without storage."""

    base: UOp
    """The PARAM or BUFFER."""
    offset: int
    """Bytes into it."""
    size: int
    """Elements."""
    dtype: DType
    whole: bool
    """Whether it is all of the base in the base's dtype."""


def parse_argument(node: UOp) -> Argument:
    """Split a storage argument into its base and the part of it.

    Raises:
        ScheduleError: the node is no run of storage.
    """
    dtype, size = node.dtype, int(node.shape[0])  # type: ignore[arg-type]  # storage has a static size
    offset, whole, current = 0, True, node
    while current.op in (Ops.SHRINK, Ops.BITCAST, Ops.AFTER):
        if current.op is Ops.SHRINK:
            offset += current.marg[0][0] * current.dtype.itemsize
        whole = whole and current.op is Ops.AFTER
        current = current.src[0]
    if current.op not in (Ops.PARAM, Ops.BUFFER):
        raise ScheduleError(f"call: argument {node.op.name} over {current.op.name} is no storage")
    return Argument(current, offset, size, dtype, whole)


def resolve(
    argument: Argument, arguments: Sequence[Buffer | int], temporaries: dict[UOp, Buffer]
) -> Buffer:
    """Return the buffer of an argument.

    Args:
        argument: what to resolve.
        arguments: of the schedule, by parameter slot.
        temporaries: storage of the schedule's own buffers.
    """
    base = argument.base
    buffer = arguments[base.arg.slot] if base.op is Ops.PARAM else temporaries[base]
    assert not isinstance(buffer, int)
    if argument.whole:
        return buffer
    return buffer.view(argument.size, argument.dtype, argument.offset)
