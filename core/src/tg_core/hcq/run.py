"""Running a linked batch: fill the table of inputs, then one native call."""

from __future__ import annotations

import struct
import threading
from typing import TYPE_CHECKING, NamedTuple

from tg_core.device import Buffer, Device, GlobalCounters
from tg_core.device.shown_memory import SHOWN
from tg_core.dtype import dtypes
from tg_core.hcq.native import NativeCall

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg_core.device import Program
    from tg_core.hcq.launch_size import LaunchSize
    from tg_core.hcq.native import Marks
    from tg_core.uop.ops import UOp


_AT_ONCE = (False,)
"""Argument of `acquire` that does not wait."""


class StorageInput(NamedTuple):
    """The address of storage that comes with each run."""

    slot: int

    def read(self, arguments: Sequence[Buffer | int]) -> int:
        """Return the address, of memory allocated now if there is none yet."""
        return arguments[self.slot].address()  # type: ignore[union-attr]  # a storage slot


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
        work: how many kernels a run is, and their estimated operations and bytes.
        kept: what else the table points to.
    """

    def __init__(
        self,
        program: Program,
        table: Buffer,
        patches: Buffer,
        counts: tuple[int, int],
        inputs: Sequence[Input],
        work: tuple[int, int, int],
        kept: object,
    ) -> None:
        self.table, self.inputs, self.counts = table, tuple(inputs), counts
        self._kernels, self._flops, self._bytes = work
        values = Buffer(table.device, max(len(inputs), 1), dtypes.int64).allocate()
        self._values = values.as_memoryview()
        self._fill = struct.Struct(f"={len(inputs)}q").pack_into
        # storage is read faster where nothing else has to be
        only_storage = all(isinstance(item, StorageInput) for item in inputs)
        self._storage = [item.slot for item in self.inputs if isinstance(item, StorageInput)]
        self._read = None if only_storage else [item.read for item in inputs]
        self._program, self._kept = program, (patches, kept)
        memory = (table.address(), values.address(), patches.address())
        address = Device[table.device].program_address(program)
        self._call = NativeCall(address, (*memory, *counts))
        self._lock = threading.Lock()

    def run(self, arguments: Sequence[Buffer | int], marks: Marks) -> bool:
        """Make all calls.

        Args:
            arguments: storage and values of variables by slot of the LINEAR around the batch.
            marks: get one more in the moment all calls are made.

        Returns:
            False when another thread, or a function that interrupted this one, is using the table,
            or when devices must be told what each call touches; nothing was done then.

        Raises:
            OutOfMemory: no room for storage that is allocated at its first use; nothing was run.
        """
        if SHOWN:
            return False
        taken: list[bool] = []
        try:
            # in one instruction: an interrupt between two would leave the lock taken for good
            taken.extend(map(self._lock.acquire, _AT_ONCE))
            if True not in taken:
                return False
            if self._read is None:
                buffers: list[Buffer] = [arguments[slot] for slot in self._storage]  # type: ignore[misc]  # storage slots
                self._fill(self._values, 0, *[b.address_known or b.address() for b in buffers])
            else:
                self._fill(self._values, 0, *[read(arguments) for read in self._read])
            self._call(marks)
        finally:
            if True in taken:
                self._lock.release()
        GlobalCounters.kernel_count += self._kernels
        GlobalCounters.flops += self._flops
        GlobalCounters.memory_bytes += self._bytes
        return True
