"""What a choice of optimisation is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from tg_core.uop.ops import AxisType


class OptKind(Enum):
    """What an `Opt` does to a range."""

    VECTOR = "vector"
    """The last `amount` values become SIMD lanes."""
    UPCAST = "upcast"
    """The last `amount` values become copies: a register tile for an output range, separate
    accumulators for a reduce range.
    """
    UNROLL = "unroll"
    """The last `amount` values of a reduce range become copies that are added to one accumulator in
    order.
    """
    LOCAL = "local"
    """The last `amount` values become work items of a group."""
    GROUP = "group"
    """The last `amount` values of a reduce range become work items of a group that share the
    reduction.
    """
    PAD = "pad"
    """An output range grows to a multiple of `amount`; what lies beyond its size is masked off."""
    STAGE = "stage"
    """What copies of the reduction over the range share is put into a private array first; no
    amount.
    """
    CHUNK = "chunk"
    """The range becomes grid indices, each of which runs `amount` consecutive values."""

    def __repr__(self) -> str:
        return f"OptKind.{self.name}"


@dataclass(frozen=True)
class Opt:
    """One step: divide a range of a kernel.

    Where the amount does not divide the size, copies and lanes leave the rest to a second loop,
    chunks get a shorter last one.
    """

    kind: OptKind
    axis: tuple[int, ...]
    """The ids of the RANGE, its argument without the axis type. What remains of the range keeps
    them.
    """
    amount: int = 0
    """How many values; 0 takes the whole range."""


AXIS_TYPES: Final = {
    OptKind.VECTOR: AxisType.VECTOR,
    OptKind.UPCAST: AxisType.UPCAST,
    OptKind.UNROLL: AxisType.UNROLL,
    OptKind.LOCAL: AxisType.LOCAL,
    OptKind.GROUP: AxisType.GROUP_REDUCE,
    OptKind.CHUNK: AxisType.GLOBAL,
}
