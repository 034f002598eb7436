"""Small compiled LINEARs for the tests of batches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tg_core.codegen import compile_program
from tg_core.device import Buffer, Device
from tg_core.dtype import dtypes
from tg_core.uop.ops import AxisType, KernelInfo, Ops, UOp

if TYPE_CHECKING:
    from tg_core.uop.ops import sint

SIZE = 64


def storage(slot: int, size: int = SIZE, device: str = "CPU") -> UOp:
    return UOp.param(slot, dtypes.float32, (size,), device)


def add_kernel(amount: float, size: sint = SIZE, chunked: bool = False) -> UOp:
    """Return a kernel `out[i] = in[i] + amount` for `i < size`, in one chunk per element if
    chunked.
    """
    i = UOp.range(size, 0, AxisType.GLOBAL if chunked else AxisType.LOOP)
    value = storage(1).index(i).load() + UOp.const(amount, dtypes.float32)
    return UOp.sink(storage(0).index(i).store(value).end(i), arg=KernelInfo("add", ()))


def scale_kernel() -> UOp:
    """Return a kernel `out[i] = in[i] * n` of a variable."""
    i = UOp.range(SIZE, 0)
    n = UOp.variable("n", 0, 1000, slot=2)
    value = storage(1).index(i).load() * n.cast(dtypes.float32)
    return UOp.sink(storage(0).index(i).store(value).end(i), arg=KernelInfo("scale", ()))


def call(kernel: UOp, *args: UOp) -> UOp:
    """Return the call of a compiled kernel."""
    return UOp.call(compile_program(kernel, Device["CPU"].renderer), *args)


def copy(destination: UOp, source: UOp) -> UOp:
    return UOp.call(UOp(Ops.COPY, (storage(1),), "CPU"), destination, source)


def linear(*calls: UOp) -> UOp:
    return UOp(Ops.LINEAR, calls)


def filled(value: float, size: int = SIZE) -> Buffer:
    """Return storage with a ramp from `value` on."""
    return Buffer("CPU", size, dtypes.float32).copyin(ramp(value, size).tobytes())


def empty(size: int = SIZE) -> Buffer:
    return Buffer("CPU", size, dtypes.float32)


def ramp(value: float, size: int = SIZE) -> np.ndarray:
    return (np.arange(size) + value).astype(np.float32)
