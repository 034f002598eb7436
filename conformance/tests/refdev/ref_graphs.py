"""Random batches of kernels and copies on three devices, and what they compute."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np

from tg_conformance.refdev.device import RefDevice
from tg_core import Device, dtypes
from tg_core.codegen import compile_program
from tg_core.device import Buffer
from tg_core.hcq import batch
from tg_core.uop.ops import KernelInfo, Ops, UOp

DEVICES = ("REF", "REF:1", "REF:2")
BUFFERS = 3
"""On each device."""
SIZE = 32
PART = 8


@dataclass(frozen=True)
class Operation:
    """`target = target + source * factor` by a kernel, or a copy, on parts of buffers."""

    kernel: bool
    target: tuple[int, int]
    source: tuple[int, int]
    """Number of the buffer and of its first element."""
    elements: int


def mix_kernel(elements: int) -> UOp:
    """Return a kernel `a[i] = a[i] + b[i] * 2`."""
    a, b = (UOp.param(slot, dtypes.float32, (elements,), "REF") for slot in (0, 1))
    i = UOp.range(elements, 0)
    value = a.index(i).load() + b.index(i).load() * UOp.const(2.0, dtypes.float32)
    return UOp.sink(a.index(i).store(value).end(i), arg=KernelInfo("mix", ()))


def random_graph(seed: int, count: int) -> list[Operation]:
    rng = random.Random(seed)
    found = []
    for _ in range(count):
        elements = PART * rng.randint(1, SIZE // PART)
        starts = [PART * rng.randint(0, (SIZE - elements) // PART) for _ in range(2)]
        target, source = rng.sample(range(BUFFERS * len(DEVICES)), 2)
        kernel = rng.random() < 0.6
        if kernel:
            device = target // BUFFERS
            source = rng.choice([b for b in range(device * 3, device * 3 + 3) if b != target])
        found.append(Operation(kernel, (target, starts[0]), (source, starts[1]), elements))
    return found


def expected(graph: list[Operation], start: np.ndarray) -> np.ndarray:
    """Return all buffers after the operations, one after the other."""
    cells = start.copy()
    for op in graph:
        (t, i), (s, j), n = op.target, op.source, op.elements
        source = cells[s, j : j + n]
        cells[t, i : i + n] = cells[t, i : i + n] + source * 2 if op.kernel else source
    return cells


def device_of(buffer: int) -> str:
    return DEVICES[buffer // BUFFERS]


def call_of(op: Operation) -> UOp:
    parts = []
    for number, start in (op.target, op.source):
        whole = UOp.param(number, dtypes.float32, (SIZE,), device_of(number))
        parts.append(whole._movement(Ops.SHRINK, ((start, start + op.elements),)))
    if op.kernel:
        body = compile_program(mix_kernel(op.elements), Device["REF"].renderer)
    else:
        body = UOp(Ops.COPY, (parts[1],), device_of(op.target[0]))
    return UOp.call(body, *parts)


def batch_of(graph: list[Operation]) -> UOp:
    (joined,) = batch(UOp(Ops.LINEAR, tuple(call_of(op) for op in graph))).src
    return joined


def new_buffers(start: np.ndarray) -> list[Buffer]:
    return [
        Buffer(device_of(i), SIZE, dtypes.float32).copyin(row.tobytes())
        for i, row in enumerate(start)
    ]


def start_values(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.integers(-4, 5, (BUFFERS * len(DEVICES), SIZE)).astype(np.float32)


def results(buffers: list[Buffer]) -> np.ndarray:
    return np.stack([buffer.numpy() for buffer in buffers])


def recover_all() -> None:
    """Make devices usable again that a planted mistake has stopped, or that wait for such."""
    opened = [device for device in Device.opened() if isinstance(device, RefDevice)]
    faulty = [e for device in opened for e in device.executors if e.fault is not None]
    if faulty or any(device.lost is not None for device in opened):
        for device in opened:
            device.fail("given up by a test")
            device.check()
