"""Constants among very many values that are joined: they become data.

A constant is part of the code of a kernel. Hundreds of them would be hundreds of choices, and
kernels that differ in nothing but their constants would each be compiled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tg_core.dtype import ConstType, InvalidType, dtypes
from tg_core.uop.mixin.shaping import GROUP
from tg_core.uop.ops import GroupOp, Ops

if TYPE_CHECKING:
    from tg_core.tensor.tensor import Tensor


class JoinMethods:
    """How `stack` and `cat` treat constants."""

    __slots__ = ()

    def _with_data(self: Tensor, parts: Sequence[Tensor], axis: int) -> Sequence[Tensor]:
        """Return parts to join with single constants as data: in one piece where there is nothing
        else, in pieces of their group otherwise.
        """
        values = [_single_constant(part) for part in parts]
        devices = [part.uop.device for part in parts if part.uop.device is not None]
        device = devices[0] if devices else None
        if all(value is None for value in values) or not (device is None or type(device) is str):
            return parts
        size = GROUP if devices else len(parts)
        joined: list[Tensor] = []
        for begin in range(0, len(parts), size):
            group = list(parts[begin : begin + size])
            places = [p for p in range(len(group)) if values[begin + p] is not None]
            data = [values[begin + place] for place in places]
            if len(data) == len(group):
                joined.append(_as_data(self, data, device).reshape(_along(parts[0], axis, size=-1)))
                continue
            held = _as_data(self, data, device) if data else None
            for number, place in enumerate(places):
                assert held is not None
                one = held.shrink(((number, number + 1),))
                group[place] = one.reshape(_along(parts[0], axis, size=1))
            joined.extend(group)
        return joined


def _single_constant(part: Tensor) -> ConstType | None:
    """Return the value of a part of one element that is a constant of a width."""
    if part.uop.device is not None or dtypes.is_weak(part.dtype) or part.numel() != 1:
        return None
    node = part.uop
    while node.op in GroupOp.Movement and node.op is not Ops.PAD:
        node = node.src[0]
    value = node.const_value
    return None if isinstance(value, InvalidType) else value


def _as_data(like: Tensor, values: Sequence[object], device: str | None) -> Tensor:
    return type(like)(list(values), dtype=like.dtype, device=device)


def _along(like: Tensor, axis: int, size: int) -> tuple[int, ...]:
    """Return the shape of a run of single elements along an axis."""
    return tuple(size if other == axis else 1 for other in range(like.ndim))
