from __future__ import annotations

import ctypes
from array import array
from typing import Any

from hcq_utils import add_kernel, call, scale_kernel, storage

from tg_core.device import Buffer
from tg_core.dtype import dtypes
from tg_core.hcq.compile import load_host_program
from tg_core.hcq.encode import PATCH, ROW, host_call_of, host_program
from tg_core.uop.ops import Ops, UOp


def buffer(*values: int) -> Buffer:
    return Buffer("CPU", len(values), dtypes.int64).copyin(array("q", values).tobytes())


def address_of(function: Any) -> int:
    found = ctypes.cast(function, ctypes.c_void_p).value
    assert found is not None
    return found


def test_the_program_patches_the_table_and_makes_its_calls_in_order() -> None:
    seen: list[tuple[int, ...]] = []
    three = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
    two = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64)

    def first(*values: int) -> None:
        seen.append(("first", *values))  # type: ignore[arg-type]

    def second(*values: int) -> None:
        seen.append(("second", *values))  # type: ignore[arg-type]

    functions = three(first), two(second)
    table = buffer(
        *(address_of(functions[0]), 1, 2, 3),
        *(address_of(functions[1]), 4, 5, 6),
        *(address_of(functions[0]), 7, 8, 9),
    )
    inputs = buffer(100, -200)
    patches = buffer(2, 0, 5, 5, 1, 0, 11, 0, -100)
    program = load_host_program(host_program())
    opaque = [b.opaque for b in (table, inputs, patches)]
    for _ in range(2):
        program(opaque, (3, 3), (1, 1, 1), (1, 1, 1))
        assert seen == [("first", 1, 105, 3), ("second", -200, 5), ("first", 7, 8, 0)]
        seen.clear()
    program(opaque, (0, 1), (1, 1, 1), (1, 1, 1))
    assert seen == [("first", 1, 105, 3)]
    program(opaque, (0, 0), (1, 1, 1), (1, 1, 1))
    assert len(seen) == 1
    assert (ROW, PATCH) == (4, 3)


def test_a_launch_names_its_arguments_in_the_kernels_order() -> None:
    variable = UOp.variable("n", 0, 1000, slot=5)
    view = storage(3, 128)._movement(Ops.SHRINK, ((64, 128),))
    found = host_call_of(call(scale_kernel(), storage(8), view, variable), {})
    assert [(a.base.arg.slot, a.offset) for a in found.buffers] == [(8, 0), (3, 256)]
    assert found.variables == (variable,)
    assert (found.device, found.chunks) == ("CPU", 1)


def test_symbolic_chunks_are_over_the_parameters_of_the_batch() -> None:
    inner, outer = UOp.variable("n", 1, 64, slot=2), UOp.variable("n", 1, 64, slot=9)
    found = host_call_of(call(add_kernel(1.0, inner, True), storage(0), storage(1), outer), {})
    assert not isinstance(found.chunks, int)
    assert outer in found.chunks.toposort()
