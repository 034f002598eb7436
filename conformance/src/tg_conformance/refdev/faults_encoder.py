"""What an encoder can get wrong. Each function makes a wrong method out of the right one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tg_core.backend import Ops, UOp, dtypes

if TYPE_CHECKING:
    from tg_conformance.refdev.encoder import RefQueue
    from tg_core.backend import Launch, Stream, Word

__all__ = [
    "constant_values",
    "doorbell_first",
    "endless_room",
    "one_early",
    "reversed_buffers",
    "without_effect",
]

Method = Callable[..., Any]


def without_effect(right: Method) -> Method:
    """Encode nothing."""

    def wrong(self: RefQueue, *operands: object) -> None:
        pass

    return wrong


def one_early(right: Method) -> Method:
    """Wait for the value before."""

    def wrong(self: RefQueue, address: UOp, value: Word) -> None:
        right(self, address, value - 1 if isinstance(value, int) else value)

    return wrong


def doorbell_first(right: Method) -> Method:
    """Ring without waiting for what was written."""

    def wrong(self: RefQueue, stream: Stream) -> UOp:
        last: UOp = right(self, stream)
        (after,) = [node for node in last.src[0].src if node.op is Ops.AFTER]
        return UOp(Ops.GROUP, (last.substitute({after: after.src[0]}), *after.src[1:]))

    return wrong


def endless_room(right: Method) -> Method:
    """Find room in a full ring."""

    def wrong(self: RefQueue) -> None:
        return None

    return wrong


def reversed_buffers(right: Method) -> Method:
    """Give the buffers in the other order."""

    def wrong(self: RefQueue, launch: Launch) -> None:
        right(self, replace(launch, buffers=launch.buffers[::-1]))

    return wrong


def constant_values(right: Method) -> Method:
    """Give 1 for each variable."""

    def wrong(self: RefQueue, launch: Launch) -> None:
        ones = tuple(UOp.const(1, dtypes.int64) for _ in launch.values)
        right(self, replace(launch, values=ones))

    return wrong
