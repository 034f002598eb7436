"""LINEAR of calls of kernels -> LINEAR of calls of programs, each distinct kernel compiled once per
target.
"""

from __future__ import annotations

from tg_core.codegen import compile_program
from tg_core.device import Device
from tg_core.hcq.arguments import call_device
from tg_core.uop.ops import Ops, UOp
from tg_core.uop.passes import verified


def compile_calls(linear: UOp) -> UOp:
    """Compile every kernel of a schedule for the device it runs on.

    Raises:
        CompileError: a kernel does not compile; the message holds its source.
    """
    calls = []
    programs: dict[tuple[UOp, str], UOp] = {}
    for call in linear.src:
        kernel = call.src[0]
        if kernel.op is Ops.SINK:
            device = call_device(call)
            program = programs.get((kernel, device))
            if program is None:
                program = compile_program(kernel, Device[device].renderer)
                programs[kernel, device] = program
            call = call.replace(src=(program, *call.src[1:]))
        calls.append(call)
    return verified("compile-calls", "calls", linear.replace(src=tuple(calls)))
