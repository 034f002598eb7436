"""A batch of host calls -> its table in memory, ready to run.

Everything that does not change is written once: addresses of functions, of fixed storage, and of
the argument slots themselves. What changes is an input: the address of storage given at each run,
the value of a variable, a launch size.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any

from tg_core.device import Buffer, Device
from tg_core.dtype import dtypes
from tg_core.hcq.compile import load_host_program, runtime_device
from tg_core.hcq.encode import PATCH, ROW, Launch, host_call_of, host_program, move_address
from tg_core.hcq.launch_size import LaunchSize
from tg_core.hcq.programs import load_program
from tg_core.hcq.run import LinkedBatch, SizeInput, StorageInput, ValueInput
from tg_core.uop.ops import Ops

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tg_core.hcq.arguments import Argument
    from tg_core.hcq.encode import Move
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
        self.calls = [host_call_of(inner, parsed) for inner in call.src[0].src]
        self.launches = [item for item in self.calls if isinstance(item, Launch)]
        self.fixed = {slot: fixed[outer] for slot, outer in enumerate(self.slots) if outer in fixed}
        self.known: dict[int, int] = {}
        self.inputs: dict[int | UOp, int] = {}
        self.storage: set[int] = set()
        self.patches = array("q")
        self.kept: list[Any] = []
        self.addresses: dict[tuple[str, UOp], int] = {}
        self.runners: dict[str, int] = {}
        cells = sum(len(item.buffers) + len(item.variables) for item in self.launches)
        self.words = array("q", bytes(8 * (ROW * len(self.calls) + cells)))
        self.device = runtime_device()
        self.table = Buffer(self.device, len(self.words), dtypes.int64)
        self.start = self.table.address()

    def finish(self) -> LinkedBatch:
        """Write all words and return the result."""
        cell = ROW * len(self.calls)
        for number, item in enumerate(self.calls):
            first = ROW * number
            if isinstance(item, Launch):
                self._launch(first, item, self.start + 8 * cell)
                cell = self._slots(cell, item)
            else:
                self._move(first, item)
        self.table.copyin(memoryview(self.words))
        patches = Buffer(self.device, max(len(self.patches), 1), dtypes.int64).allocate()
        if self.patches:
            patches.copyin(memoryview(self.patches))
        estimates = [item.info.estimates for item in self.launches]
        work = (len(estimates), sum(e.flops for e in estimates), sum(e.bytes for e in estimates))
        return LinkedBatch(
            program=load_host_program(host_program()),
            table=self.table,
            patches=patches,
            counts=(len(self.patches) // PATCH, len(self.calls)),
            inputs=[self._source(key) for key in self.inputs],
            work=work,
            kept=(list(self.fixed.values()), self.kept),
        )

    def _slots(self, cell: int, item: Launch) -> int:
        """Write the slots of a launch from a cell on, and return the cell after them."""
        for argument in item.buffers:
            self._place(cell, argument)
            cell += 1
        for variable in item.variables:
            self._patch(cell, variable.arg.slot, 0)
            cell += 1
        return cell

    def _place(self, word: int, argument: Argument) -> None:
        """Write the address of storage, or have it written at each run."""
        slot = argument.base.arg.slot
        known = self._address(slot)
        if known is None:
            self.storage.add(slot)
            self._patch(word, slot, argument.offset)
        else:
            self.words[word] = known + argument.offset

    def _move(self, first: int, item: Move) -> None:
        """Write a copy."""
        self.words[first] = move_address()
        self._place(first + 1, item.destination)
        self._place(first + 2, item.source)
        self.words[first + 3] = item.nbytes

    def _launch(self, first: int, item: Launch, slots: int) -> None:
        """Write the function of a launch and its arguments."""
        chunks = item.chunks
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
            found = self.known[slot] = self.fixed[slot].address()
        return found

    def _patch(self, word: int, key: int | UOp, addend: int) -> None:
        number = self.inputs.setdefault(key, len(self.inputs))
        self.patches.extend((word, number, addend))

    def _source(self, key: int | UOp) -> Input:
        """Return where the value of an input comes from, over the LINEAR around the batch."""
        if isinstance(key, int):
            slot = self.slots[key]
            return StorageInput(slot) if key in self.storage else ValueInput(slot)
        parameters = [node for node in key.toposort() if node.op is Ops.PARAM]
        variables = tuple((node, self.slots[node.arg.slot]) for node in parameters)
        return SizeInput(LaunchSize(key), variables)
