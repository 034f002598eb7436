"""A batch of queue calls -> memory with its commands, ready to run.

Command words that do not change are written once. What changes from run to run becomes patches that
the host program makes: addresses of storage given at each run, values of variables, launch sizes,
and numbers on timelines.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tg_core.device import Buffer, BufferOptions
from tg_core.device.queues.compiled import HCQCompiled
from tg_core.device.queues.encoder import width
from tg_core.device.queues.timeline import SHARED
from tg_core.dtype import dtypes
from tg_core.errors import CompileError
from tg_core.hcq.compile import load_host_program, runtime_device
from tg_core.hcq.encode import (
    PATCH_WORDS,
    Commands,
    Layout,
    Placed,
    encode_streams,
    queue_device,
    submission_program,
)
from tg_core.hcq.enqueue import STAGING
from tg_core.hcq.external import HostMemory
from tg_core.hcq.launch_size import LaunchSize
from tg_core.hcq.programs import load_program
from tg_core.hcq.run import SizeInput, ValueInput
from tg_core.hcq.run_queues import DeviceStorageInput, LinkedSubmits
from tg_core.hcq.submits import SLOT, Submits, schedule_submits
from tg_core.plugins.dispatch import device_matcher
from tg_core.uop.ops import Ops, UOp

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tg_core.dtype import DType
    from tg_core.hcq.external import Field
    from tg_core.hcq.run_queues import QueueInput

__all__ = ["link_submits"]

_COMMANDS = BufferOptions(host_access=True)
_KEPT = 4096


@dataclass(frozen=True)
class _Template:
    """All of a batch that does not depend on memory."""

    submits: Submits
    commands: dict[str, Commands]
    placed: list[Placed]
    body: UOp
    placeholders: list[UOp]
    fields: dict[UOp, list[Field]]
    programs: dict[tuple[str, bytes], UOp]


_templates: dict[tuple[UOp, Any, bool], _Template] = {}


def link_submits(
    call: UOp, fixed: Mapping[int, Buffer], timed: bool = False, once: bool = False
) -> LinkedSubmits:
    """Link a batch of queue calls.

    Args:
        call: a batch, as `batch` makes them.
        fixed: storage that is the same at every run, by parameter slot of the LINEAR around the
            batch. It is allocated and kept.
        timed: take the time of every call.
        once: the batch is likely to run once, and takes its memory out of the devices' pools.

    Raises:
        DeviceError: a device lacks a queue.
        CompileError: a queue lacks an operation, or the host program does not compile.
        OutOfMemory: no room for commands or fixed storage.
    """
    slots = [parameter.arg.slot for parameter in call.src[1:]]
    own = {slot: fixed[outer] for slot, outer in enumerate(slots) if outer in fixed}
    return _Linker(_template(call, own, timed), slots, own, once).finish()


def _template(call: UOp, fixed: Mapping[int, Buffer], timed: bool) -> _Template:
    roots: dict[int, int] = {}
    aliases = tuple(
        (slot, roots.setdefault(id(buffer.root), len(roots)), buffer.offset)
        for slot, buffer in fixed.items()
    )
    key = (call.src[0], aliases, timed)
    found = _templates.get(key)
    if found is None:
        submits = schedule_submits(call, aliases, timed)
        commands, placed = encode_streams(submits)
        body, placeholders, fields = submission_program(submits, placed)
        programs = {}
        for linear in submits.linears:
            for op in linear.src:
                if op.op is Ops.CALL and op.src[0].op is Ops.PROGRAM:
                    programs[linear.arg.device, op.src[0].key] = op.src[0]
        found = _Template(submits, commands, placed, body, placeholders, fields, programs)
        if len(_templates) >= _KEPT:
            _templates.pop(next(iter(_templates)))
        _templates[key] = found
    return found


class _Linker:
    """Memory of one batch while it is filled."""

    def __init__(
        self, template: _Template, slots: list[int], fixed: Mapping[int, Buffer], once: bool
    ) -> None:
        self.template, self.slots, self.fixed = template, slots, fixed
        submits = template.submits
        self.layout = Layout(len(submits.devices), len(submits.queues))
        self.devices = [queue_device(name) for name in submits.devices]
        self.kept: list[Any] = list(fixed.values())
        self.inputs: list[QueueInput] = []
        self.numbers: dict[Any, int] = {}
        self.patches = array("q")
        self.buffers: dict[tuple[str, tuple[object, ...]], Buffer] = {}
        for name, commands in template.commands.items():
            words = max(len(commands.data) // 4 + 1, 1)
            self.buffers[name, ("commands",)] = self._memory(
                name, words, dtypes.uint32, _COMMANDS, once
            )
            cells = self._memory(name, submits.slots[name] * SLOT // 8, dtypes.uint64, SHARED, once)
            self.buffers[name, ("slots",)] = cells.copyin(bytes(cells.nbytes))

    def _memory(
        self, name: str, size: int, dtype: DType, options: BufferOptions, once: bool
    ) -> Buffer:
        if once:
            return queue_device(name).ring_pool(options).take(size, dtype)
        return Buffer(name, size, dtype, options=options).allocate()

    def finish(self) -> LinkedSubmits:
        """Write the words, and return the result."""
        head = array("q", bytes(8 * self.layout.values))
        for i, own in enumerate(self.template.commands.values()):
            first = len(self.patches) // PATCH_WORDS
            self._write(own)
            at = self.layout.patches + 2 * i
            head[at], head[at + 1] = first, len(self.patches) // PATCH_WORDS - first
        for number, placed in enumerate(self.template.placed):
            at, name = self.layout.submits + 3 * number, placed.queue.device.name
            commands = self.buffers[name, ("commands",)]
            start = queue_device(name).hcq_allocator.address_of(commands.opaque)
            head[at : at + 3] = array(
                "q", (placed.start // 4, placed.nbytes // 4, start + placed.start)
            )
        runtime = runtime_device()
        table = Buffer(runtime, len(head) + len(self.inputs), dtypes.int64).allocate()
        table.as_memoryview()[: len(head) * 8] = memoryview(head).cast("B")
        patches = Buffer(runtime, max(len(self.patches), 1), dtypes.int64).allocate()
        if self.patches:
            patches.copyin(memoryview(self.patches))
        placeholders = self.template.placeholders
        given = dict(zip(placeholders, (table, patches), strict=False))
        memory = HostMemory(self.template.fields, given, self._host_memory, self._field_address)
        arguments = memory.prepare(placeholders)
        self.kept.extend(memory.found.values())
        return LinkedSubmits(
            program=load_host_program(self.template.body),
            body=self.template.body,
            arguments=arguments,
            first_input=self.layout.values,
            inputs=self.inputs,
            devices=self.devices,
            submits=self.template.submits,
            commands=[self.buffers[name, ("commands",)] for name in self.template.submits.devices],
            slots=[self.buffers[name, ("slots",)] for name in self.template.submits.devices],
            fixed=list(self.fixed.values()),
            kept=(self.kept, self.buffers),
        )

    def _write(self, commands: Commands) -> None:
        data = bytearray(commands.data) + bytes(-len(commands.data) % 4 + 4)
        for at, word in commands.patches:
            nbytes = width(word)
            key, addend = self._meaning(word)
            if key is None:
                data[at : at + nbytes] = (addend & ((1 << 8 * nbytes) - 1)).to_bytes(
                    nbytes, "little"
                )
                continue
            for part in range(nbytes // 4):
                self.patches.extend((at // 4 + part, key, addend, 32 * part))
        buffer = self.buffers[commands.device, ("commands",)]
        buffer.copyin(bytes(data[: buffer.nbytes]))

    def _meaning(self, word: UOp) -> tuple[int | None, int]:
        """Return the word of the table that a command word takes, None if it is known, and what is
        added.
        """
        addend = 0
        while word.op in (Ops.CAST, Ops.ADD):
            if word.op is Ops.ADD:
                constant = word.src[1].const_value
                if not isinstance(constant, int):
                    break
                addend += constant
            word = word.src[0]
        if word.op is Ops.GETADDR:
            return self._address(word, addend)
        if word.op is Ops.PARAM and word.tag == ("timeline_value",):
            return 1 + self.template.submits.devices.index(word.arg.device), addend
        if word.op is Ops.PARAM:
            return self._number(word, ValueInput(self.slots[word.arg.slot])), addend
        parameters = [node for node in word.toposort() if node.op is Ops.PARAM]
        variables = tuple((node, self.slots[node.arg.slot]) for node in parameters)
        return self._number(word, SizeInput(LaunchSize(word), variables)), addend

    def _number(self, key: Any, source: QueueInput) -> int:
        found = self.numbers.get(key)
        if found is None:
            found = self.numbers[key] = self.layout.values + len(self.inputs)
            self.inputs.append(source)
        return found

    def _address(self, word: UOp, addend: int) -> tuple[int | None, int]:
        (base,), (name, offset) = word.src, word.arg
        device = queue_device(name)
        if base.tag is not None:
            buffer = self._buffer(base)
            return None, device.hcq_allocator.address_of(buffer.opaque) + offset + addend
        slot = base.arg.slot
        if slot in self.fixed:
            buffer = self.fixed[slot].ensure_allocated()
            if isinstance(buffer.compiled, HCQCompiled):
                return None, device.hcq_allocator.address_of(buffer.opaque) + offset + addend
        source = DeviceStorageInput(self.slots[slot], device, self.fixed.get(slot))
        return self._number((slot, name), source), offset + addend

    def _buffer(self, node: UOp) -> Buffer:
        """Return the memory behind a placeholder: as the plugins say, else as core made it."""
        name, tag = node.arg.device, node.tag
        assert isinstance(tag, tuple)
        found = self.buffers.get((name, tag))
        if found is None:
            found = self.buffers[name, tag] = self._bufferize(node)
        return found

    def _bufferize(self, node: UOp) -> Buffer:
        name, tag = node.arg.device, node.tag
        device = queue_device(name)
        rules = device_matcher(device, "pm_bufferize")
        answer: Any = rules.rewrite(node, device) if rules is not None else None
        if isinstance(answer, Buffer):
            return answer
        if tag[0] == "timeline":
            return device.timeline.buffer
        if tag[0] == STAGING:
            return device.staging
        if tag[0] == "program":
            program: Any = load_program(name, self.template.programs[name, tag[1]])
            self.kept.append(program)
            image: Buffer = program.image
            return image
        if tag[0] == "queue":
            _, kind, index, part = tag
            queue = device.queue(kind, index)
            found = getattr(queue, part, None) or queue.extra.get(part)
            if isinstance(found, Buffer):
                return found
        raise CompileError(f"{name}: no memory is known for placeholder {node.arg.name}")

    def _host_memory(self, node: UOp) -> Buffer | None:
        """Return the memory behind a placeholder that is not core's own, None if it is."""
        if node.arg.device is not None:
            return self._host_view(node)
        for device in self.devices:
            rules = device_matcher(device, "pm_bufferize")
            answer: Any = rules.rewrite(node, device) if rules is not None else None
            if isinstance(answer, Buffer):
                return answer
        return None

    def _field_address(self, node: UOp) -> int:
        key, number = self._address(node, 0)
        if key is not None:
            raise CompileError("a field cannot hold the address of memory that comes with each run")
        return number

    def _host_view(self, node: UOp) -> Buffer:
        """Return the memory behind a placeholder as the runtime device sees it."""
        buffer = self._buffer(node)
        view = buffer.opaque.host_bytes()
        self.kept.append(view)
        options = BufferOptions(external=_place(view))
        return Buffer(runtime_device(), buffer.size, buffer.dtype, options=options).allocate()


def _place(view: memoryview) -> int:
    return int(np.frombuffer(view, np.uint8).ctypes.data)
