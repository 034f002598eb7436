"""NULL: takes everything and does nothing; for scheduling and compiling without running."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tg_core.device.api import Allocator, BufferOptions, Compiled, Program

if TYPE_CHECKING:
    from tg_core.uop.ops import ProgramInfo

__all__ = ["NullAllocator", "NullDevice"]


class NullBlock:
    """Stands for memory that is not there."""

    __slots__ = ()


class NullAllocator(Allocator):
    """Gives out blocks without memory; reads zeros."""

    def alloc(self, nbytes: int, options: BufferOptions) -> NullBlock:
        return NullBlock()

    def copyin(self, opaque: NullBlock, data: memoryview) -> None:
        pass

    def copyout(self, data: memoryview, opaque: NullBlock) -> None:
        data[:] = bytes(data.nbytes)

    def offset(self, opaque: NullBlock, nbytes: int, offset: int) -> NullBlock:
        return NullBlock()

    def transfer(
        self, target: NullBlock, source: NullBlock, nbytes: int, source_device: Compiled
    ) -> bool:
        return True


class NullDevice(Compiled):
    """Compiles with its renderer and runs nothing."""

    def load_program(self, name: str, binary: bytes, info: ProgramInfo) -> Program:
        return _run_nothing


def _run_nothing(
    buffers: Sequence[Any],
    values: tuple[int, ...],
    global_size: tuple[int, ...],
    local_size: tuple[int, ...],
    wait: bool = False,
) -> float | None:
    """Do nothing, in no time."""
    return 0.0 if wait else None
