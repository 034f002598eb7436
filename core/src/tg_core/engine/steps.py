"""What a LINEAR runs as: launches, copies, and batches of launches.

A step's `run` takes storage and values by slot, and a list of marks that gets one more when the
step was made. A step that cannot be made as it is adds no mark and returns steps to make in its
place.
"""

from __future__ import annotations

import struct
import time
from typing import TYPE_CHECKING, Any, TypeAlias

from tg_core.config import DEBUG, JIT, PROFILE
from tg_core.device import Buffer, Device, GlobalCounters, copy_buffer
from tg_core.device.shown_memory import SHOWN, note_host_access
from tg_core.engine.interrupts import InterruptsDelayed
from tg_core.engine.report import kernel_rates, report_copy, report_kernel
from tg_core.hcq import (
    LaunchSize,
    NativeKernel,
    batch,
    call_device,
    is_batch,
    is_host_call,
    is_queue_batch,
    load_program,
    parse_argument,
    resolve,
)
from tg_core.support.trace import add_event
from tg_core.uop.ops import Ops, UOp

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tg_core.hcq import LinkedBatch, LinkedSubmits, Marks
    from tg_core.uop.ops import ProgramInfo, sint


class KernelStep:
    """A launch with everything resolved but storage and the values of variables."""

    def __init__(self, call: UOp) -> None:
        program = call.src[0]
        self.device = call_device(call)
        self.info: ProgramInfo = program.arg
        self.program = load_program(self.device, program)
        self.buffers = [parse_argument(call.src[1 + slot]) for slot in self.info.params]
        self.slots = [call.src[1 + v.arg.slot].arg.slot for v in self.info.variables]
        """Of the values of the program's variables."""
        self.static = all(isinstance(s, int) for s in self._sizes())
        self.sizes = [s if isinstance(s, int) else LaunchSize(s) for s in self._sizes()]
        self.native = self._native() if is_host_call(call) else None
        self._pack = struct.Struct(f"={len(self.buffers) + len(self.slots)}q").pack

    def _sizes(self) -> tuple[sint, ...]:
        return (*self.info.global_size, *self.info.local_size)

    def _native(self) -> NativeKernel:
        device = Device[self.device]
        chunks = self.info.global_size[0]
        # kernels of one chunk never need the threads, which take a while to be made ready
        single = isinstance(chunks, int) and chunks == 1
        runner = None if single else device.runner_address()
        return NativeKernel(device.program_address(self.program), runner)

    def run(self, arguments: Arguments, marks: Marks) -> None:
        """Launch, and report if asked to."""
        entered = time.perf_counter()
        buffers = [resolve(a, arguments).ensure_allocated() for a in self.buffers]
        if SHOWN:
            for slot, buffer in zip(self.info.params, buffers, strict=True):
                note_host_access(buffer, slot in self.info.outs, f"kernel {self.info.name}")
        values: tuple[Any, ...] = tuple([arguments[slot] for slot in self.slots])
        global_size: Any = self.info.global_size
        local_size: Any = self.info.local_size
        if not self.static:
            bound = dict(zip(self.info.variables, values, strict=True))
            sizes = [s if isinstance(s, int) else s.value(bound) for s in self.sizes]
            global_size, local_size = tuple(sizes[:3]), tuple(sizes[3:])
        wait = DEBUG.value >= 2 or PROFILE.value > 0
        started = time.perf_counter()
        elapsed = None
        if self.native is not None:
            slots = self._pack(*[b.address() for b in buffers], *values)
            self.native(slots, global_size[0], marks)
        else:
            opaques = [b.opaque for b in buffers]
            with InterruptsDelayed():
                elapsed = self.program(opaques, values, global_size, local_size, wait)
                marks.append(None)
        GlobalCounters.kernel_count += 1
        GlobalCounters.flops += self.info.estimates.flops
        GlobalCounters.memory_bytes += self.info.estimates.bytes
        if wait:
            seconds = elapsed if elapsed is not None else time.perf_counter() - started
            self._report(entered, started, seconds)

    def _report(self, entered: float, started: float, seconds: float) -> None:
        GlobalCounters.time_sum += seconds
        if PROFILE.value:
            rates = kernel_rates(self.device, self.info, seconds)
            add_event(self.info.name, "kernel", started, seconds, rates, self.device)
            add_event(f"launch {self.info.name}", "launch", entered, time.perf_counter() - entered)
        if DEBUG.value >= 2:
            report_kernel(self.device, self.info, seconds)


class CopyStep:
    """A copy with everything resolved but storage."""

    def __init__(self, call: UOp) -> None:
        self.destination, self.source = parse_argument(call.src[1]), parse_argument(call.src[2])

    def run(self, arguments: Arguments, marks: Marks) -> None:
        """Copy, and report if asked to."""
        destination = resolve(self.destination, arguments)
        source = resolve(self.source, arguments).ensure_allocated()
        started = time.perf_counter()
        copy_buffer(destination, source)
        marks.append(None)
        seconds = time.perf_counter() - started
        if PROFILE.value:
            ends = {"from": source.device, "to": destination.device, "bytes": destination.nbytes}
            add_event("copy", "copy", started, seconds, ends)
        if DEBUG.value >= 2:
            report_copy(destination, source, seconds)


LARGE_BATCH = 64
"""Calls for hardware queues whose memory is worth borrowing while they run for the first time."""


def is_seen() -> bool:
    """Tell whether every launch is to be made by itself, because someone looks at it."""
    return DEBUG.value >= 2 or PROFILE.value > 0 or JIT.value == 2


class BatchStep:
    """Launches that are one native call, unless each is to be seen by itself.

    Args:
        call: a batch.
        fixed: storage that is the same at every run, by slot.
    """

    def __init__(self, call: UOp, fixed: Mapping[int, Buffer]) -> None:
        self.call = call
        self.linked = _link_batch(call, fixed)
        self.slots = [parameter.arg.slot for parameter in call.src[1:]]
        self._singles: list[Step] | None = None

    def run(self, arguments: Arguments, marks: Marks) -> list[tuple[Step, Arguments]] | None:
        """Launch everything."""
        if not is_seen() and self.linked.run(arguments, marks):
            return None
        if self._singles is None:
            self._singles = [step_of(call, {}) for call in self.call.src[0].src]
        own = [arguments[slot] for slot in self.slots]
        return [(step, own) for step in self._singles]


class QueueStep:
    """Calls that go to hardware queues, all with one native call, unless each is to be seen by
    itself.

    Args:
        call: a batch of queue calls.
        fixed: storage that is the same at every run, by slot.
        once: it is likely to run once. A large batch borrows its memory then, until it runs again.
    """

    def __init__(self, call: UOp, fixed: Mapping[int, Buffer], once: bool = False) -> None:
        self.call, self.fixed = call, fixed
        self._borrowed = once and len(call.src[0].src) >= LARGE_BATCH
        self.linked = _link_submits(call, fixed, once=self._borrowed)
        self.runs = 0
        self.slots = [parameter.arg.slot for parameter in call.src[1:]]
        self._singles: list[QueueStep] | None = None
        self._timed: LinkedSubmits | None = None

    def run(self, arguments: Arguments, marks: Marks) -> list[tuple[Step, Arguments]] | None:
        """Give everything to the queues."""
        several = len(self.call.src[0].src) > 1
        if self._borrowed and self.runs:
            self.linked, self._borrowed = _link_submits(self.call, self.fixed), False
        self.runs += 1
        with InterruptsDelayed():
            if several and (DEBUG.value >= 2 or JIT.value == 2):
                return self._singly(arguments)
            timed = DEBUG.value >= 2 or PROFILE.value > 0
            if not (self._run_timed(arguments) if timed else self.linked.run(arguments)):
                if several:
                    # where storage overlaps, the order of calls follows from that
                    return self._singly(arguments)
                self._run_aliased(arguments)
            marks.append(None)
        return None

    def _singly(self, arguments: Arguments) -> list[tuple[Step, Arguments]]:
        if self._singles is None:
            linear = UOp(Ops.LINEAR, self.call.src[0].src)
            self._singles = [
                QueueStep(single, {})
                for call in linear.src
                for single in batch(linear.replace(src=(call,))).src
            ]
        own = [arguments[slot] for slot in self.slots]
        return [(step, own) for step in self._singles]

    def _run_aliased(self, arguments: Arguments) -> None:
        """Make one call on storage of which parts overlap, or which the queue cannot reach."""
        fixed = {slot: a for slot in self.slots if isinstance(a := arguments[slot], Buffer)}
        (call,) = self.call.src[0].src
        if not _link_submits(self.call, fixed).run(arguments) and call.src[0].op is Ops.COPY:
            # The queue cannot reach one end: the copy goes by the host.
            CopyStep(call).run([arguments[slot] for slot in self.slots], [])

    def _run_timed(self, arguments: Arguments) -> bool:
        """Run and report every call; returns False if nothing could be done."""
        if self._timed is None:
            self._timed = _link_submits(self.call, self.fixed, timed=True)
        entered = time.perf_counter()
        if not self._timed.run(arguments, wait=True):
            return False
        if PROFILE.value:
            spent = time.perf_counter() - entered
            add_event(f"launch of {len(self.call.src[0].src)}", "launch", entered, spent)
        own = [arguments[slot] for slot in self.slots]
        calls = self.call.src[0].src
        for call, (begin, end) in zip(calls, self._timed.host_times(), strict=True):
            _report(call, end - begin, begin, own)
        return True


def _link_batch(call: UOp, fixed: Mapping[int, Buffer]) -> LinkedBatch:
    # a process that runs everything once has no batches
    from tg_core.hcq import link_batch

    return link_batch(call, fixed)


def _link_submits(call: UOp, fixed: Mapping[int, Buffer], **how: bool) -> LinkedSubmits:
    # most processes have no queues
    from tg_core.hcq import link_submits

    return link_submits(call, fixed, **how)


def _report(call: UOp, seconds: float, started: float, arguments: Arguments) -> None:
    """Report a call that was timed by its device."""
    if call.src[0].op is Ops.COPY:
        destination, source = (resolve(parse_argument(call.src[i]), arguments) for i in (1, 2))
        if PROFILE.value:
            ends = {"from": source.device, "to": destination.device, "bytes": destination.nbytes}
            add_event("copy", "copy", started, seconds, ends, f"{destination.device} copies")
        if DEBUG.value >= 2:
            report_copy(destination, source, seconds)
        return
    info: ProgramInfo = call.src[0].arg
    GlobalCounters.time_sum += seconds
    device = call_device(call)
    if PROFILE.value:
        rates = kernel_rates(device, info, seconds)
        add_event(info.name, "kernel", started, seconds, rates, device)
    if DEBUG.value >= 2:
        report_kernel(device, info, seconds)


Arguments: TypeAlias = "Sequence[Buffer | int]"
"""Storage and values of variables, by slot."""

Step: TypeAlias = KernelStep | CopyStep | BatchStep | QueueStep


def step_of(call: UOp, fixed: Mapping[int, Buffer], once: bool = False) -> Step:
    """Link one call of a compiled LINEAR.

    Args:
        call: a batch, or the call of a program or copy.
        fixed: storage that is the same at every run, by slot.
        once: it is likely to run once.
    """
    if is_queue_batch(call):
        return QueueStep(call, fixed, once)
    if is_batch(call):
        return BatchStep(call, fixed)
    return CopyStep(call) if call.src[0].op is Ops.COPY else KernelStep(call)
