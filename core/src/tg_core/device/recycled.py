"""Storage of one kind that is lent out again and again, for results of replays."""

from __future__ import annotations

from sys import getrefcount
from typing import TYPE_CHECKING, Any

from tg_core.device.buffer import Buffer
from tg_core.device.storage import buffer_of, new_buffer_uop
from tg_core.uop.ops import Ops, UOp

if TYPE_CHECKING:
    from tg_core.uop.ops import BufferArg

__all__ = ["Block", "RecycledStorage"]

_KEPT = 2
"""Blocks that are kept: enough for a result that is the next call's input."""


class _Holder:
    """An object with one attribute, to see what the interpreter counts."""

    __slots__ = ("held",)

    def __init__(self) -> None:
        self.held = object()

    def count(self) -> int:
        """Return how many references the interpreter sees."""
        return getrefcount(self.held)


_ALONE = _Holder().count()
"""References to what only one attribute holds, as `getrefcount` counts."""


class Block:
    """A BUFFER node with its storage, and the nodes of its reshapes that results are made of."""

    __slots__ = ("_node_count", "_views", "buffer", "node")

    def __init__(self, node: UOp, buffer: Buffer) -> None:
        self.node, self.buffer = node, buffer
        self._views: dict[Any, UOp] = {}
        self._node_count = _ALONE

    def view(self, shape: Any) -> UOp:
        """Return the node reshaped, always the same for the same shape.

        Args:
            shape: argument of the RESHAPE.
        """
        found = self._views.get(shape)
        if found is None:
            found = self._views[shape] = UOp(Ops.RESHAPE, (self.node,), shape)
            # a view holds the node, and only once
            self._node_count += 1
        return found

    def is_idle(self) -> bool:
        """Tell whether nothing else refers to the storage: no tensor, no graph, no bytes shown."""
        if getrefcount(self.node) != self._node_count:
            return False
        # the node holds the buffer too
        if getrefcount(self.buffer) != _ALONE + 1 or buffer_of(self.node) is not self.buffer:
            return False
        views = self._views
        return all(getrefcount(views[shape]) == _ALONE for shape in views)


class RecycledStorage:
    """Lends BUFFER nodes with storage of their own, each until nothing refers to it.

    Args:
        like: size, dtype and device; the slot does not matter.
    """

    def __init__(self, like: BufferArg) -> None:
        assert like.device is not None
        self.device, self.size, self.dtype = like.device, like.size, like.dtype
        self._blocks: tuple[Block, ...] = ()

    def lend(self) -> Block:
        """Return storage that nobody has; it is lent for as long as anybody has it.

        Calls must not overlap: what was lent is only seen to be in use once the caller holds its
        node or its buffer.

        Raises:
            OutOfMemory: there is no room.
        """
        for block in self._blocks:
            if block.is_idle():
                return block
        buffer = Buffer(self.device, self.size, self.dtype).allocate()
        block = Block(new_buffer_uop(self.device, self.size, self.dtype, buffer), buffer)
        # the oldest is left to who has it
        self._blocks = (*self._blocks[1 - _KEPT :], block)
        return block
