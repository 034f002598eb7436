"""A batch of host calls -> its table in memory, ready to run.

Everything that does not change is written once: addresses of kernels, of fixed storage, and of the
argument slots themselves. What changes is an input: the address of storage given at each run, the
value of a variable, a launch size.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any

from tg_core.device import Buffer, Device
from tg_core.dtype import dtypes
from tg_core.hcq.compile import load_host_program, runtime_device
from tg_core.hcq.encode import PATCH, ROW, host_program, launch_of
from tg_core.hcq.launch_size import LaunchSize
from tg_core.hcq.programs import load_program
from tg_core.hcq.run import LinkedBatch, SizeInput, StorageInput, ValueInput
from tg_core.uop.ops import Ops

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tg_core.hcq.arguments import Argument
    from tg_core.hcq.encode import Launch
    from tg_core.hcq.run import Input
    from tg_core.uop.ops import UOp


def link_batch(call: UOp, fixed: Mapping[int, Buffer]) -> LinkedBatch:
    """Link a batch.

    Args:
        call: a batch, as `batch` makes them.
        fixed: storage that is the same at every run, by parameter slot of the LINEAR around the
            batch. It is allocated and kept.

    Raises:
        DeviceError: the runtime device cannot run host programs.
        CompileError: the runtime device's renderer does not take the host program.
        OutOfMemory: no room for the table or for fixed storage.
    """
    return _Linker(call, fixed).finish()


class _Linker:
    """The words of one batch while they are written."""

    def __init__(self, call: UOp, fixed: Mapping[int, Buffer]) -> None:
        self.slots: list[int] = [parameter.arg.slot for parameter in call.src[1:]]
        parsed: dict[UOp, Argument] = {}
        self.launches = [launch_of(inner, parsed) for inner in call.src[0].src]
        self.fixed = {slot: fixed[outer] for slot, outer in enumerate(self.slots) if outer in fixed}
        self.known: dict[int, int] = {}
        self.inputs: dict[int | UOp, int] = {}
        self.devices: dict[int, str] = {}
        self.patches = array("q")
        self.kept: list[Any] = []
        self.addresses: dict[tuple[str, UOp], int] = {}
        self.runners: dict[str, int] = {}
        rows = ROW * len(self.launches)
        cells = sum(len(item.buffers) + len(item.variables) for item in self.launches)
        self.words = array("q", bytes(8 * (rows + cells)))
        self.device = runtime_device()
        self.table = Buffer(self.device, len(self.words), dtypes.int64).allocate()
        self.start = self.table.compiled.allocator.address(self.table.opaque)

    def finish(self) -> LinkedBatch:
        """Write all words and return the result."""
        cell = ROW * len(self.launches)
        for number, item in enumerate(self.launches):
            self._row(number, item, self.start + 8 * cell)
            for argument in item.buffers:
                slot = argument.base.arg.slot
                known = self._address(slot)
                if known is None:
                    self.devices[slot] = item.device
                    self._patch(cell, slot, argument.offset)
                else:
                    self.words[cell] = known + argument.offset
                cell += 1
            for variable in item.variables:
                self._patch(cell, variable.arg.slot, 0)
                cell += 1
        self.table.copyin(memoryview(self.words))
        patches = Buffer(self.device, max(len(self.patches), 1), dtypes.int64).allocate()
        if self.patches:
            patches.copyin(memoryview(self.patches))
        estimates = [item.info.estimates for item in self.launches]
        return LinkedBatch(
            program=load_host_program(host_program()),
            table=self.table,
            patches=patches,
            counts=(len(self.patches) // PATCH, len(self.launches)),
            inputs=[self._source(key) for key in self.inputs],
            work=(sum(e.flops for e in estimates), sum(e.bytes for e in estimates)),
            kept=(list(self.fixed.values()), self.kept),
        )

    def _row(self, number: int, item: Launch, slots: int) -> None:
        """Write the function of a launch and its arguments."""
        first, chunks = number * ROW, item.chunks
        kernel = self._kernel(item)
        if chunks == 1:
            self.words[first], self.words[first + 1] = kernel, slots
            return
        self.words[first] = self._runner(item.device)
        self.words[first + 1], self.words[first + 2] = kernel, slots
        if isinstance(chunks, int):
            self.words[first + 3] = chunks
        else:
            self._patch(first + 3, chunks, 0)

    def _kernel(self, item: Launch) -> int:
        key = (item.device, item.program)
        found = self.addresses.get(key)
        if found is None:
            program = load_program(item.device, item.program)
            self.kept.append(program)
            found = self.addresses[key] = Device[item.device].program_address(program)
        return found

    def _runner(self, device: str) -> int:
        found = self.runners.get(device)
        if found is None:
            found = self.runners[device] = Device[device].runner_address()
        return found

    def _address(self, slot: int) -> int | None:
        """Return the address of fixed storage, None for what comes with each run."""
        found = self.known.get(slot)
        if found is None and slot in self.fixed:
            buffer = self.fixed[slot].ensure_allocated()
            found = self.known[slot] = buffer.compiled.allocator.address(buffer.opaque)
        return found

    def _patch(self, word: int, key: int | UOp, addend: int) -> None:
        number = self.inputs.setdefault(key, len(self.inputs))
        self.patches.extend((word, number, addend))

    def _source(self, key: int | UOp) -> Input:
        """Return where the value of an input comes from, over the LINEAR around the batch."""
        if isinstance(key, int):
            device = self.devices.get(key)
            if device is None:
                return ValueInput(self.slots[key])
            return StorageInput(self.slots[key], Device[device].allocator.address)
        parameters = [node for node in key.toposort() if node.op is Ops.PARAM]
        variables = tuple((node, self.slots[node.arg.slot]) for node in parameters)
        return SizeInput(LaunchSize(key), variables)
