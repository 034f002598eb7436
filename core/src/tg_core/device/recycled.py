"""Storage of one kind that is lent out again and again, for results of replays."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from tg_core.device.buffer import Buffer
from tg_core.device.storage import bind_buffer, new_buffer_uop
from tg_core.uop.ops import Ops, UOp

if TYPE_CHECKING:
    from tg_core.device.memory_pool import MemoryPool
    from tg_core.uop.ops import BufferArg

__all__ = ["RecycledStorage"]

_IDLE = 2
"""Blocks kept while nobody has them: enough for a result that is the next call's input."""


class _Block:
    """One allocation. It is what a lent Buffer gives its memory back to, in place of the pool."""

    __slots__ = ("arg", "nbytes", "node", "opaque", "options", "owner", "pool")

    def __init__(self, owner: RecycledStorage, buffer: Buffer, pool: MemoryPool, node: UOp) -> None:
        self.owner = weakref.ref(owner)
        self.opaque: Any = buffer.opaque
        self.nbytes, self.options = buffer.nbytes, buffer.options
        self.pool = pool
        self.arg: BufferArg = node.arg
        self.node = weakref.ref(node)

    def free(self, opaque: Any, nbytes: int, options: Any) -> None:
        """Take the memory back from a Buffer that nothing refers to any more."""
        owner = self.owner()
        if owner is not None and len(owner.idle) < _IDLE and self.node() is None:
            owner.idle.append(self)
        else:
            self.pool.free(opaque, nbytes, options)

    def release(self) -> None:
        """Give the memory to the pool."""
        self.pool.free(self.opaque, self.nbytes, self.options)


class RecycledStorage:
    """Lends BUFFER nodes with storage of their own, each until nothing refers to it.

    A block that came back is lent again under the same slot: nodes are equal only to nodes that
    are alive.

    Args:
        like: size, dtype and device; the slot does not matter.
    """

    def __init__(self, like: BufferArg) -> None:
        assert like.device is not None
        self.device, self.size, self.dtype = like.device, like.size, like.dtype
        self.idle: list[_Block] = []

    def lend(self) -> tuple[UOp, Buffer]:
        """Return a node and its allocated storage.

        Raises:
            OutOfMemory: there is no room.
        """
        buffer = Buffer(self.device, self.size, self.dtype)
        try:
            block = self.idle.pop()
        except IndexError:
            node = new_buffer_uop(self.device, self.size, self.dtype, buffer.allocate())
            block = _Block(self, buffer, buffer.compiled.memory, node)
            buffer.lend(block.opaque, block)
            return node, buffer
        buffer.lend(block.opaque, block)
        node = UOp(Ops.BUFFER, (), block.arg)
        block.node = weakref.ref(node)
        bind_buffer(node, buffer)
        return node, buffer

    def __del__(self) -> None:
        for block in self.idle:
            block.release()
