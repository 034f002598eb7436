"""One operand of a packed product: its blocks and panels, and where its neighbours are."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from tg_core.codegen.optimize.find_product import Operand, is_contiguous
from tg_core.codegen.utils import known_size, mask_accesses
from tg_core.uop.ops import Ops, UOp

if TYPE_CHECKING:
    from tg_core.codegen.optimize.plan_packing import Steps

_COPIED_GROUPS: Final = 4
"""Groups of neighbours that packing moves in one step; more are a loop, which is less code."""
_COPIED_WINDOWS: Final = 2
"""The same where finding a neighbour takes divisions."""


def group_of(operand: Operand, most: int) -> int:
    """Return how many neighbours along the operand's loops lie next to each other in memory, up to
    `most`.
    """
    if not operand.contiguous:
        return 1
    return math.gcd(operand.last, most)


def is_in_pieces(operand: Operand) -> bool:
    """Tell whether all neighbours lie next to each other, so that a chunk reads a piece of each
    row.
    """
    return operand.contiguous and len(operand.ranges) == 1


def least(left: UOp, right: UOp) -> UOp:
    """Return the lesser of two indices, written so that its bounds are seen."""
    return UOp(Ops.MAX, (left * -1, right * -1)) * -1


class Side:
    """One operand's blocks: its grid index, its panels, and how packing walks its loops."""

    def __init__(self, operand: Operand, block: int, tile: int, lanes: int) -> None:
        self.operand, self.block, self.tile, self.lanes = operand, block, tile, lanes
        self.group = group_of(operand, tile)
        self.in_pieces = is_in_pieces(operand)
        self.is_masked = self.group < lanes and tile % lanes == 0 and self.in_pieces
        """Whether neighbours fill vectors, of which the last ones are partly outside."""
        if self.is_masked:
            self.group = lanes
        self.chunks = math.ceil(operand.size / block)
        self.grid: UOp = UOp.const(0)

    def of(self, operand: Operand) -> Side:
        """Return the same blocks of another term's operand."""
        other = Side(operand, self.block, self.tile, self.lanes)
        other.grid = self.grid
        return other

    def panels(self) -> UOp:
        """Return how many panels the chunk has."""
        total = math.ceil(self.operand.size / self.tile)
        most = self.block // self.tile
        if total % most == 0:
            return UOp.const(most)
        return least(UOp.const(most), UOp.const(total) - self.grid * most)

    def extent(self) -> UOp:
        """Return how many rows or columns the chunk has."""
        size = self.operand.size
        if size % self.block == 0:
            return UOp.const(self.block)
        if self.chunks == 1:
            return UOp.const(size)
        return least(UOp.const(self.block), UOp.const(size) - self.grid * self.block)

    def places(self, group: UOp, lane: UOp) -> dict[UOp, UOp]:
        """Return the values of the operand's loops at a group of neighbours of the chunk.

        Args:
            group: number of the group in the chunk.
            lane: position in the group.
        """
        width = self.group
        position = self.grid * (self.block // width) + group
        if self.is_masked:
            return {self.operand.ranges[0]: position * width + lane}
        if self.operand.size % self.tile:
            position = least(position, UOp.const(self.operand.size // width - 1))
        return self._split(position, lane, width)

    def value(self) -> UOp:
        """Return what is packed; what lies past the last neighbour is not read."""
        rng = self.operand.ranges[-1]
        if not self.is_masked:
            return self.operand.value
        return mask_accesses(self.operand.value, rng, UOp(Ops.CMPLT, (rng, rng.src[0])))

    def lies_along(self, steps: Steps) -> bool:
        """Tell whether neighbours along the reduction lie next to each other in memory, while those
        along the operand's own loops, of which a panel has an even number, do not.
        """
        inner = steps.term.reduced[steps.divided :]
        return (
            self.group == 1
            and self.tile % 2 == 0
            and len(inner) == 1
            and (is_contiguous(self.operand.value, inner[0]))
        )

    def groups_at_once(self, steps: Steps) -> int:
        """Return how many groups at most are copies: where a loop finds each once for all steps of
        the reduction, that is less code, but not where the steps are far apart.
        """
        inner = steps.term.reduced[steps.divided :]
        if len(inner) == 1 and not is_contiguous(self.operand.value, inner[0]):
            return self.tile
        return _COPIED_GROUPS if len(self.operand.ranges) == 1 else _COPIED_WINDOWS

    def row(self, position: UOp) -> dict[UOp, UOp]:
        """Return the values of the operand's loops at one position of the chunk or past its end."""
        position = self.grid * self.block + position
        if self.operand.size % self.tile:
            position = least(position, UOp.const(self.operand.size - 1))
        return self._split(position, UOp.const(0), 1)

    def place(self, position: UOp) -> dict[UOp, UOp]:
        """Return the values of the operand's loops at one position of the chunk."""
        return self._split(self.grid * self.block + position, UOp.const(0), 1)

    def _split(self, position: UOp, lane: UOp, width: int) -> dict[UOp, UOp]:
        found: dict[UOp, UOp] = {}
        for rng in reversed(self.operand.ranges):
            size = known_size(rng) // width
            inner = position
            if rng is not self.operand.ranges[0]:
                inner, position = position % size, position // size
            found[rng] = inner * width + lane if width > 1 else inner
            width = 1
        return found
