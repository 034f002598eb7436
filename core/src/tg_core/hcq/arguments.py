"""What the arguments of a call mean: storage, a part of it, or the value of a variable."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tg_core.errors import ScheduleError
from tg_core.uop.ops import Ops, UOp
from tg_core.uop.sizes import static_size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg_core.device import Buffer
    from tg_core.dtype import DType


_BASES = frozenset((Ops.PARAM, Ops.BUFFER))
_VIEWS = frozenset((Ops.SHRINK, Ops.BITCAST, Ops.AFTER))


class Argument(NamedTuple):
    """One storage argument of one call, resolved as far as is possible without storage."""

    base: UOp
    """The PARAM or BUFFER."""
    offset: int
    """Bytes into it."""
    size: int
    """Elements."""
    dtype: DType
    whole: bool
    """Whether it is all of the base in the base's dtype."""


def base_of(argument: UOp) -> UOp:
    """Return the PARAM or BUFFER of an argument.

    Raises:
        ScheduleError: the node is no run of storage.
    """
    base = argument
    while base.op not in _BASES:
        if base.op not in _VIEWS:
            raise ScheduleError(
                f"call: argument {argument.op.name} over {base.op.name} is no storage"
            )
        base = base.src[0]
    return base


def parse_argument(node: UOp) -> Argument:
    """Split a storage argument into its base and the part of it.

    Raises:
        ScheduleError: the node is no run of storage.
    """
    dtype, size = node.dtype, static_size(node.shape[0])
    base, offset, whole, current = base_of(node), 0, True, node
    while current is not base:
        if current.op is Ops.SHRINK:
            offset += current.marg[0][0] * current.dtype.itemsize
        whole = whole and current.op is Ops.AFTER
        current = current.src[0]
    return Argument(base, offset, size, dtype, whole)


def resolve(argument: Argument, arguments: Sequence[Buffer | int]) -> Buffer:
    """Return the buffer of an argument.

    Args:
        argument: a PARAM or a part of one.
        arguments: of the LINEAR, by parameter slot.
    """
    slot: int = argument.base.arg.slot
    buffer = arguments[slot]
    assert not isinstance(buffer, int)
    if argument.whole:
        return buffer
    return buffer.view(argument.size, argument.dtype, argument.offset)


def call_device(call: UOp) -> str:
    """Return the device that carries out a call: that of its first storage argument."""
    device = call.src[1].device
    assert isinstance(device, str)
    return device
