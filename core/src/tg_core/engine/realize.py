"""Run a LINEAR of calls."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tg_core.config import DEBUG
from tg_core.device import Buffer, Device, GlobalCounters, copy_buffer
from tg_core.engine.arguments import Argument, parse_argument, resolve
from tg_core.engine.compile_calls import call_device, compile_calls
from tg_core.engine.report import report_copy, report_kernel
from tg_core.uop.ops import Ops, UOp
from tg_core.uop.symbolic import simplify

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg_core.device import Program
    from tg_core.uop.ops import ProgramInfo

_programs: dict[tuple[str, UOp], Program] = {}
_linked: dict[UOp, LinkedLinear] = {}
_LINKED_SIZE = 4096


def load_program(device: str, program: UOp) -> Program:
    """Return the runnable form of a PROGRAM on a device; loaded once."""
    found = _programs.get((device, program))
    if found is None:
        info: ProgramInfo = program.arg
        found = Device[device].load_program(info.name, program.src[3].arg, info)
        _programs[device, program] = found
    return found


@dataclass
class KernelStep:
    """A launch with everything resolved but storage and the values of variables."""

    device: str
    program: Program
    info: ProgramInfo
    buffers: tuple[Argument, ...]
    variables: tuple[UOp, ...]
    """Scalar parameters of the schedule, by variable of the program."""
    static: bool
    """Whether the launch sizes are ints."""

    def run(self, arguments: Sequence[Buffer | int], temporaries: dict[UOp, Buffer]) -> None:
        buffers = [resolve(a, arguments, temporaries) for a in self.buffers]
        opaques = [b.ensure_allocated().opaque for b in buffers]
        values = tuple([_value(v, arguments) for v in self.variables])
        global_size, local_size = self.info.global_size, self.info.local_size
        if not self.static:
            bound = dict(zip(self.info.variables, values, strict=True))
            global_size = tuple(_size(s, bound) for s in global_size)
            local_size = tuple(_size(s, bound) for s in local_size)
        wait = DEBUG.value >= 2
        started = time.perf_counter()
        elapsed = self.program(opaques, values, global_size, local_size, wait)  # type: ignore[arg-type]  # ints by now
        GlobalCounters.kernel_count += 1
        GlobalCounters.flops += self.info.estimates.flops
        GlobalCounters.memory_bytes += self.info.estimates.bytes
        if wait:
            seconds = elapsed if elapsed is not None else time.perf_counter() - started
            GlobalCounters.time_sum += seconds
            report_kernel(self.device, self.info, seconds)


@dataclass
class CopyStep:
    """A copy with everything resolved but storage."""

    destination: Argument
    source: Argument

    def run(self, arguments: Sequence[Buffer | int], temporaries: dict[UOp, Buffer]) -> None:
        destination = resolve(self.destination, arguments, temporaries)
        source = resolve(self.source, arguments, temporaries).ensure_allocated()
        started = time.perf_counter()
        copy_buffer(destination, source)
        if DEBUG.value >= 2:
            report_copy(destination, source, time.perf_counter() - started)


@dataclass
class LinkedLinear:
    """A compiled schedule, ready to run on any storage."""

    steps: list[KernelStep | CopyStep]
    temporaries: list[UOp]

    def run(self, arguments: Sequence[Buffer | int]) -> None:
        """Run the steps in order.

        Args:
            arguments: buffers and values of variables, by parameter slot.
        """
        temporaries = {t: Buffer(t.arg.device, t.arg.size, t.dtype) for t in self.temporaries}
        for step in self.steps:
            step.run(arguments, temporaries)


def _value(variable: UOp, arguments: Sequence[Buffer | int]) -> int:
    value = arguments[variable.arg.slot]
    assert isinstance(value, int)
    return value


def _size(size: Any, bound: dict[UOp, int]) -> int:
    if isinstance(size, int):
        return size
    found = simplify(size.substitute({v: UOp.const(x) for v, x in bound.items()})).const_value
    assert isinstance(found, int)
    return found


def link(linear: UOp) -> LinkedLinear:
    """Compile and load a schedule; the result is kept for the next time."""
    found = _linked.get(linear)
    if found is not None:
        return found
    steps: list[KernelStep | CopyStep] = []
    temporaries: dict[UOp, None] = {}
    for call in compile_calls(linear).src:
        arguments = [parse_argument(a) if a.shape else None for a in call.src[1:]]
        for argument in arguments:
            if argument is not None and argument.base.op is Ops.BUFFER:
                temporaries[argument.base] = None
        if call.src[0].op is Ops.COPY:
            destination, source = arguments
            assert destination is not None and source is not None
            steps.append(CopyStep(destination, source))
        else:
            steps.append(_link_kernel(call, arguments))
    if len(_linked) >= _LINKED_SIZE:
        _linked.pop(next(iter(_linked)))
    found = _linked[linear] = LinkedLinear(steps, list(temporaries))
    return found


def _link_kernel(call: UOp, arguments: list[Argument | None]) -> KernelStep:
    device, program = call_device(call), call.src[0]
    info: ProgramInfo = program.arg
    buffers = []
    for slot in info.params:
        argument = arguments[slot]
        assert argument is not None
        buffers.append(argument)
    variables = tuple(call.src[1 + v.arg.slot] for v in info.variables)
    static = all(isinstance(s, int) for s in (*info.global_size, *info.local_size))
    return KernelStep(
        device, load_program(device, program), info, tuple(buffers), variables, static
    )


def run_linear(linear: UOp, arguments: Sequence[Buffer | int]) -> None:
    """Compile, link and run a schedule.

    Args:
        linear: LINEAR of calls over the parameters of a call's body.
        arguments: buffers and values of variables, by parameter slot.

    Raises:
        CompileError: a kernel does not compile.
        DeviceError: a device fails.
    """
    link(linear).run(arguments)
