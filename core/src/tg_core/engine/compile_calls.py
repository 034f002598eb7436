"""LINEAR of calls of kernels -> LINEAR of calls of programs, each distinct kernel compiled once per
target.
"""

from __future__ import annotations

from tg_core.codegen import compile_program
from tg_core.device import Device
from tg_core.hcq.arguments import call_device
from tg_core.uop.ops import Ops, UOp


def compile_calls(linear: UOp) -> UOp:
    """Compile every kernel of a schedule for the device it runs on.

    Raises:
        CompileError: a kernel does not compile; the message holds its source.
    """
    calls = []
    for call in linear.src:
        if call.src[0].op is Ops.SINK:
            program = compile_program(call.src[0], Device[call_device(call)].renderer)
            call = call.replace(src=(program, *call.src[1:]))
        calls.append(call)
    return linear.replace(src=tuple(calls))
