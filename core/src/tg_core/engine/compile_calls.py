"""LINEAR of calls of kernels -> LINEAR of calls of programs, each distinct kernel compiled once per
target.
"""

from __future__ import annotations

from tg_core.codegen import compile_programs
from tg_core.device import Device
from tg_core.hcq.arguments import call_device
from tg_core.uop.ops import Ops, UOp
from tg_core.uop.passes import verified


def compile_calls(linear: UOp) -> UOp:
    """Compile every kernel of a schedule for the device it runs on.

    Raises:
        CompileError: a kernel does not compile; the message holds its source.
    """
    wanted = {
        (call.src[0], call_device(call)): None for call in linear.src if call.src[0].op is Ops.SINK
    }
    kernels = [(kernel, Device[device].renderer) for kernel, device in wanted]
    programs = dict(zip(wanted, compile_programs(kernels), strict=True))
    calls = []
    for call in linear.src:
        if call.src[0].op is Ops.SINK:
            program = programs[call.src[0], call_device(call)]
            call = call.replace(src=(program, *call.src[1:]))
        calls.append(call)
    return verified("compile-calls", "calls", linear.replace(src=tuple(calls)))
