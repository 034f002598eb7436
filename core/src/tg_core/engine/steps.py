"""What a LINEAR runs as: launches, copies, and batches of launches."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from tg_core.config import DEBUG, JIT, PROFILE
from tg_core.device import Buffer, GlobalCounters, copy_buffer
from tg_core.engine.report import kernel_rates, report_copy, report_kernel
from tg_core.hcq import (
    LaunchSize,
    LinkedSubmits,
    batch,
    call_device,
    is_batch,
    is_queue_batch,
    link_batch,
    link_submits,
    load_program,
    parse_argument,
    resolve,
)
from tg_core.support.trace import add_event
from tg_core.uop.ops import Ops, UOp

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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

    def _sizes(self) -> tuple[sint, ...]:
        return (*self.info.global_size, *self.info.local_size)

    def run(self, arguments: Sequence[Buffer | int]) -> None:
        """Launch, and report if asked to."""
        buffers = [resolve(a, arguments) for a in self.buffers]
        opaques = [b.ensure_allocated().opaque for b in buffers]
        values: tuple[Any, ...] = tuple([arguments[slot] for slot in self.slots])
        global_size: Any = self.info.global_size
        local_size: Any = self.info.local_size
        if not self.static:
            bound = dict(zip(self.info.variables, values, strict=True))
            sizes = [s if isinstance(s, int) else s.value(bound) for s in self.sizes]
            global_size, local_size = tuple(sizes[:3]), tuple(sizes[3:])
        wait = DEBUG.value >= 2 or PROFILE.value > 0
        started = time.perf_counter()
        elapsed = self.program(opaques, values, global_size, local_size, wait)
        GlobalCounters.kernel_count += 1
        GlobalCounters.flops += self.info.estimates.flops
        GlobalCounters.memory_bytes += self.info.estimates.bytes
        if wait:
            seconds = elapsed if elapsed is not None else time.perf_counter() - started
            GlobalCounters.time_sum += seconds
            if PROFILE.value:
                add_event(
                    self.info.name,
                    "kernel",
                    started,
                    seconds,
                    kernel_rates(self.device, self.info, seconds),
                )
            if DEBUG.value >= 2:
                report_kernel(self.device, self.info, seconds)


class CopyStep:
    """A copy with everything resolved but storage."""

    def __init__(self, call: UOp) -> None:
        self.destination, self.source = parse_argument(call.src[1]), parse_argument(call.src[2])

    def run(self, arguments: Sequence[Buffer | int]) -> None:
        """Copy, and report if asked to."""
        destination = resolve(self.destination, arguments)
        source = resolve(self.source, arguments).ensure_allocated()
        started = time.perf_counter()
        copy_buffer(destination, source)
        seconds = time.perf_counter() - started
        if PROFILE.value:
            ends = {"from": source.device, "to": destination.device, "bytes": destination.nbytes}
            add_event("copy", "copy", started, seconds, ends)
        if DEBUG.value >= 2:
            report_copy(destination, source, seconds)


class BatchStep:
    """Launches that are one native call, unless each is to be seen by itself.

    Args:
        call: a batch.
        fixed: storage that is the same at every run, by slot.
    """

    def __init__(self, call: UOp, fixed: Mapping[int, Buffer]) -> None:
        self.call = call
        self.linked = link_batch(call, fixed)
        self.slots = [parameter.arg.slot for parameter in call.src[1:]]
        self._singles: list[Step] | None = None

    def run(self, arguments: Sequence[Buffer | int]) -> None:
        """Launch everything."""
        alone = DEBUG.value >= 2 or PROFILE.value or JIT.value == 2
        if alone or not self.linked.run(arguments):
            if self._singles is None:
                self._singles = [step_of(call, {}) for call in self.call.src[0].src]
            own = [arguments[slot] for slot in self.slots]
            for step in self._singles:
                step.run(own)


class QueueStep:
    """Calls that go to hardware queues, all with one native call, unless each is to be seen by
    itself.

    Args:
        call: a batch of queue calls.
        fixed: storage that is the same at every run, by slot.
    """

    def __init__(self, call: UOp, fixed: Mapping[int, Buffer]) -> None:
        self.call, self.fixed = call, fixed
        self.linked = link_submits(call, fixed)
        self.slots = [parameter.arg.slot for parameter in call.src[1:]]
        self._singles: list[QueueStep] | None = None
        self._timed: LinkedSubmits | None = None

    def run(self, arguments: Sequence[Buffer | int]) -> None:
        """Give everything to the queues."""
        calls = self.call.src[0].src
        timed = DEBUG.value >= 2 or PROFILE.value > 0
        if len(calls) == 1 and timed:
            self._run_timed(arguments)
            return
        if (timed or JIT.value == 2) and len(calls) > 1:
            self._run_singly(arguments)
        elif not self.linked.run(arguments):
            self._run_aliased(arguments)

    def _run_singly(self, arguments: Sequence[Buffer | int]) -> None:
        if self._singles is None:
            linear = UOp(Ops.LINEAR, self.call.src[0].src)
            self._singles = [
                QueueStep(single, {})
                for call in linear.src
                for single in batch(linear.replace(src=(call,))).src
            ]
        own = [arguments[slot] for slot in self.slots]
        for step in self._singles:
            step.run(own)

    def _run_aliased(self, arguments: Sequence[Buffer | int]) -> None:
        """Run on storage of which parts overlap, so that the order of calls must follow from that;
        or of which the queues cannot reach all.
        """
        if len(self.call.src[0].src) > 1:
            self._run_singly(arguments)
            return
        fixed = {slot: a for slot in self.slots if isinstance(a := arguments[slot], Buffer)}
        (call,) = self.call.src[0].src
        if not link_submits(self.call, fixed).run(arguments) and call.src[0].op is Ops.COPY:
            # The queue cannot reach one end: the copy goes by the host.
            CopyStep(call).run([arguments[slot] for slot in self.slots])

    def _run_timed(self, arguments: Sequence[Buffer | int]) -> None:
        if self._timed is None:
            self._timed = link_submits(self.call, self.fixed, timed=True)
        started = time.perf_counter()
        if not self._timed.run(arguments, wait=True):
            self._run_aliased(arguments)
            return
        ((begin, end),) = self._timed.times()
        (call,) = self.call.src[0].src
        _report(call, end - begin, started, [arguments[slot] for slot in self.slots])


def _report(call: UOp, seconds: float, started: float, arguments: Sequence[Buffer | int]) -> None:
    """Report a call that was timed by its device."""
    if call.src[0].op is Ops.COPY:
        destination, source = (resolve(parse_argument(call.src[i]), arguments) for i in (1, 2))
        if PROFILE.value:
            ends = {"from": source.device, "to": destination.device, "bytes": destination.nbytes}
            add_event("copy", "copy", started, seconds, ends)
        if DEBUG.value >= 2:
            report_copy(destination, source, seconds)
        return
    info: ProgramInfo = call.src[0].arg
    GlobalCounters.time_sum += seconds
    device = call_device(call)
    if PROFILE.value:
        add_event(info.name, "kernel", started, seconds, kernel_rates(device, info, seconds))
    if DEBUG.value >= 2:
        report_kernel(device, info, seconds)


Step = KernelStep | CopyStep | BatchStep | QueueStep


def step_of(call: UOp, fixed: Mapping[int, Buffer]) -> Step:
    """Link one call of a compiled LINEAR.

    Args:
        call: a batch, or the call of a program or copy.
        fixed: storage that is the same at every run, by slot.
    """
    if is_queue_batch(call):
        return QueueStep(call, fixed)
    if is_batch(call):
        return BatchStep(call, fixed)
    return CopyStep(call) if call.src[0].op is Ops.COPY else KernelStep(call)
