"""Level 2, a second check: the interpreter runs the linear program that the device's renderer was
given. Where the two disagree, the fault is in the renderer or below, not in what is above it.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tg_conformance.bench import upload
from tg_conformance.checking import check_exact
from tg_conformance.oracles.values import cell_type, encode_cells
from tg_core import Device
from tg_core.backend import InterpreterProgram, InterpreterRenderer, Ops, ProgramInfo, UOp
from tg_core.codegen import compile_program
from tg_core.device import Buffer

if TYPE_CHECKING:
    from tg_core import Tensor

pytestmark = [pytest.mark.tg_level(2), pytest.mark.tg_needs("PROGRAMS")]

Array = np.ndarray[Any, Any]
KERNELS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "arithmetic": lambda a, b: (a * b - a) + b * 3,
    "choice": lambda a, b: (a < b).where(a, b * 2),
    "row sums": lambda a, b: (a * b).sum(1),
    "column maxima": lambda a, b: (a - b).max(0),
    "matrix product": lambda a, b: a @ b.T,
    "padding": lambda a, b: a.pad(((1, 2), (3, 0))) + 1,
    "reversal": lambda a, b: a.flip(1) + b.flip(0),
    "triangle": lambda a, b: a.tril() + b.triu(1),
}
DTYPES = ("int32", "uint8", "int64", "float16", "bfloat16", "float32", "float64")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("operation", list(KERNELS))
def test_agreement_with_the_interpreter(tg_device: str, operation: str, dtype: str) -> None:
    """Each kernel gives the bits that the interpreter gives for the same linear program."""
    random = np.random.default_rng(5)
    data = [
        encode_cells(random.integers(0, 30, (19, 23)) / (4 if "float" in dtype else 1), dtype)
        for _ in range(2)
    ]
    a, b = (upload(tg_device, cells, dtype) for cells in data)
    result = KERNELS[operation](a, b)
    kernels = 0
    for call in result.schedule_linear().src:
        if call.src[0].op is not Ops.SINK:
            continue
        kernels += 1
        program = compile_program(call.src[0], Device[tg_device].renderer)
        compare(f"{operation} of {dtype}, kernel {kernels} on {tg_device}", tg_device, program)
    assert kernels, f"{operation} of {dtype} on {tg_device}: no kernel was scheduled"


def compare(what: str, device: str, program: UOp) -> None:
    """Run a compiled program on the device and by the interpreter, on the same bytes."""
    info: ProgramInfo = program.arg
    linear, binary = program.src[1], program.src[3].arg
    shapes = {u.arg.slot: (u.dtype, u.arg.shape) for u in linear.src if u.op is Ops.PARAM}
    random = np.random.default_rng(6)
    initial = [
        encode_cells(random.integers(0, 30, prod(shapes[slot][1])), shapes[slot][0].name)
        for slot in info.params
    ]
    buffers = []
    for slot, cells in zip(info.params, initial):
        dtype = shapes[slot][0]
        buffer = Buffer(device, cells.size, dtype).allocate()
        buffers.append(buffer.copyin(np.ascontiguousarray(cells).view(np.uint8).data))
    sizes: tuple[Any, Any] = (info.global_size, info.local_size)
    opened = Device[device]
    loaded = opened.load_program(info.name, binary, info)
    loaded([buffer.opaque for buffer in buffers], (), *sizes, wait=True)
    opened.synchronize()
    text = InterpreterRenderer("").render("kernel", linear).encode()
    expected = [cells.copy() for cells in initial]
    InterpreterProgram("kernel", text, info)([c.view(np.uint8) for c in expected], (), *sizes)
    for slot, buffer, wanted in zip(info.params, buffers, expected):
        name = shapes[slot][0].name
        got = np.frombuffer(buffer.copyout(bytearray(buffer.nbytes)), cell_type(name))
        check_exact(f"{what}, argument {slot}", got, wanted, name)
