"""Running a linked batch: fill the table of inputs, then one native call."""

from __future__ import annotations

import struct
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

from tg_core.device import Buffer, GlobalCounters
from tg_core.dtype import dtypes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg_core.device import Program
    from tg_core.hcq.launch_size import LaunchSize
    from tg_core.uop.ops import UOp

_GRID = (1, 1, 1)


class StorageInput(NamedTuple):
    """The address of storage that comes with each run."""

    slot: int
    address: Callable[[Any], int]
    """Of the allocator: opaque memory to address."""

    def read(self, arguments: Sequence[Buffer | int]) -> int:
        """Return the address, of memory allocated now if there is none yet."""
        return self.address(arguments[self.slot].ensure_allocated().opaque)  # type: ignore[union-attr]  # a storage slot


class ValueInput(NamedTuple):
    """The value of a variable."""

    slot: int

    def read(self, arguments: Sequence[Buffer | int]) -> int:
        """Return the value."""
        return arguments[self.slot]  # type: ignore[return-value]  # a variable's slot


class SizeInput(NamedTuple):
    """A launch size that depends on variables."""

    size: LaunchSize
    variables: tuple[tuple[UOp, int], ...]
    """Each with its slot."""

    def read(self, arguments: Sequence[Buffer | int]) -> int:
        """Return the size for the values of this run."""
        values: dict[UOp, int] = {}
        for variable, slot in self.variables:
            values[variable] = arguments[slot]  # type: ignore[assignment]  # a variable's slot
        return self.size.value(values)


Input = StorageInput | ValueInput | SizeInput


class LinkedBatch:
    """A batch of calls that is one native call.

    It keeps all memory and code that its table points to. The native call runs to its end whatever
    signals arrive; its table serves one thread at a time.

    Args:
        program: the host program.
        table: rows and argument slots.
        patches: which words of the table depend on inputs.
        counts: how many patches and calls there are.
        inputs: in the order patches number them.
        work: estimated operations and bytes of a run.
        kept: what else the table points to.
    """

    def __init__(
        self,
        program: Program,
        table: Buffer,
        patches: Buffer,
        counts: tuple[int, int],
        inputs: Sequence[Input],
        work: tuple[int, int],
        kept: object,
    ) -> None:
        self.table, self.inputs, self.counts = table, tuple(inputs), counts
        self._program, self._kept = program, (patches, kept)
        self._flops, self._bytes = work
        values = Buffer(table.device, max(len(inputs), 1), dtypes.int64).allocate()
        self._values = values.as_memoryview()
        self._fill = struct.Struct(f"={len(inputs)}q").pack_into
        self._read = [item.read for item in inputs]
        self._opaques = (table.opaque, values.opaque, patches.opaque)
        self._lock = threading.Lock()

    def run(self, arguments: Sequence[Buffer | int]) -> bool:
        """Make all calls.

        Args:
            arguments: storage and values of variables by slot of the LINEAR around the batch.

        Returns:
            False when another thread, or a function that interrupted this one, is using the table;
            nothing was done then.

        Raises:
            OutOfMemory: no room for storage that is allocated at its first use; nothing was run.
        """
        if not self._lock.acquire(blocking=False):
            return False
        try:
            self._fill(self._values, 0, *[read(arguments) for read in self._read])
            self._program(self._opaques, self.counts, _GRID, _GRID)
        finally:
            self._lock.release()
        GlobalCounters.kernel_count += self.counts[1]
        GlobalCounters.flops += self._flops
        GlobalCounters.memory_bytes += self._bytes
        return True
