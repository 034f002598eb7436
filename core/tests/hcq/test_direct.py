"""Kernels that are launched by themselves."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from toy_queues import toys

from tg_core.codegen import compile_program
from tg_core.device import Buffer, Device
from tg_core.device.queues import HCQProgram
from tg_core.dtype import dtypes
from tg_core.uop.ops import KernelInfo, UOp

SIZE = 16
A = "TOYA"


@pytest.fixture(autouse=True, scope="module")
def devices() -> Iterator[None]:
    with toys():
        yield


def loaded() -> HCQProgram:
    """Return the kernel `out = in * n + out`."""
    out, given = (UOp.param(slot, dtypes.float32, (SIZE,), A) for slot in (0, 1))
    n = UOp.variable("n", 0, 1000, slot=2)
    i = UOp.range(SIZE, 0)
    value = given.index(i).load() * n.cast(dtypes.float32) + out.index(i).load()
    sink = UOp.sink(out.index(i).store(value).end(i), arg=KernelInfo("scale", ()))
    program = compile_program(sink, Device[A].renderer)
    made = Device[A].load_program(program.arg.name, program.src[3].arg, program.arg)
    assert isinstance(made, HCQProgram)
    return made


def filled(value: float) -> Buffer:
    return Buffer(A, SIZE, dtypes.float32).copyin(np.full(SIZE, value, np.float32).tobytes())


def test_a_launch_is_over_when_it_returns() -> None:
    program, target, source = loaded(), filled(1), filled(2)
    for value in (3, 0, 10):
        assert program([target.opaque, source.opaque], (value,)) is None
    assert target.numpy().tolist() == [1 + 2 * 13.0] * SIZE


def test_a_launch_is_timed_by_the_device() -> None:
    program, target, source = loaded(), filled(1), filled(2)
    seconds = program([target.opaque, source.opaque], (1,), wait=True)
    # the clock of these devices counts ten for each time stamp
    assert seconds == pytest.approx(10e-9)
    assert target.numpy()[0] == 3


def test_one_memory_may_be_given_twice() -> None:
    program, target = loaded(), filled(2)
    program([target.opaque, target.opaque], (4,))
    assert target.numpy().tolist() == [10.0] * SIZE
