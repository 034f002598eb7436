"""Random batches over devices that do not reach each other, in many orders, against numpy.

Every run is also looked at by the race detector.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from toy_queues import MACHINE, toys

from tg_core.codegen import compile_program
from tg_core.device import Buffer, Device
from tg_core.dtype import dtypes
from tg_core.hcq import batch, link_submits
from tg_core.uop.ops import KernelInfo, Ops, UOp

DEVICES = ("TOYA", "TOYA:1", "TOYB", "TOYB:1")
PER_DEVICE = 3
SIZE, PART = 1536, 128
"""Elements: a copy of a whole buffer takes several slots of staging memory."""

GRAPHS = int(os.environ.get("TG_GRAPHS", "4"))
ORDERS = int(os.environ.get("TG_ORDERS", "3"))


@pytest.fixture(autouse=True, scope="module")
def devices() -> Iterator[None]:
    with toys():
        yield


@dataclass(frozen=True)
class Operation:
    """`target = target * 2 + source` by a kernel, or a copy, on parts of buffers."""

    kernel: bool
    target: tuple[int, int]
    source: tuple[int, int]
    """Number of the buffer and of its first element."""
    elements: int


def random_graph(seed: int) -> list[Operation]:
    rng, found = random.Random(seed), []
    for _ in range(rng.randint(4, 14)):
        kernel = rng.random() < 0.5
        elements = PART if kernel else PART * rng.randint(1, SIZE // PART)
        starts = [PART * rng.randint(0, (SIZE - elements) // PART) for _ in range(2)]
        target, source = rng.sample(range(PER_DEVICE * len(DEVICES)), 2)
        if kernel:
            first = target // PER_DEVICE * PER_DEVICE
            own = [b for b in range(first, first + PER_DEVICE) if b != target]
            source = rng.choice(own)
        found.append(Operation(kernel, (target, starts[0]), (source, starts[1]), elements))
    return found


def expected(graph: list[Operation], start: np.ndarray) -> np.ndarray:
    cells = start.copy()
    for op in graph:
        (t, i), (s, j), n = op.target, op.source, op.elements
        source = cells[s, j : j + n]
        cells[t, i : i + n] = cells[t, i : i + n] * 2 + source if op.kernel else source
    return cells


def device_of(buffer: int) -> str:
    return DEVICES[buffer // PER_DEVICE]


def kernel_on(device: str) -> UOp:
    a, b = (UOp.param(slot, dtypes.int32, (PART,), device) for slot in (0, 1))
    i = UOp.range(PART, 0)
    value = a.index(i).load() * 2 + b.index(i).load()
    sink = UOp.sink(a.index(i).store(value).end(i), arg=KernelInfo("mix", ()))
    return compile_program(sink, Device[device].renderer)


def call_of(op: Operation) -> UOp:
    parts = []
    for number, start in (op.target, op.source):
        whole = UOp.param(number, dtypes.int32, (SIZE,), device_of(number))
        parts.append(whole.shrink(((start, start + op.elements),)))
    device = device_of(op.target[0])
    body = kernel_on(device) if op.kernel else UOp(Ops.COPY, (parts[1],), device)
    return UOp.call(body, *parts)


def start_values(seed: int) -> np.ndarray:
    shape = (PER_DEVICE * len(DEVICES), SIZE)
    return np.random.default_rng(seed).integers(-9, 9, shape).astype(np.int32)


@pytest.mark.parametrize("graph_seed", range(GRAPHS))
def test_random_graphs_compute_the_same_in_every_order(graph_seed: int) -> None:
    graphs = [random_graph(100 * graph_seed + i) for i in range(2)]
    start = start_values(graph_seed)
    calls = [batch(UOp(Ops.LINEAR, tuple(map(call_of, graph)))).src for graph in graphs]
    linked = [(link_submits(call, {}), call) for (call,) in calls]
    wanted = expected(graphs[0], expected(graphs[1], expected(graphs[0], start)))
    buffers = [Buffer(device_of(i), SIZE, dtypes.int32).allocate() for i in range(len(start))]
    for seed in range(ORDERS):
        MACHINE.reseed(seed)
        for buffer, row in zip(buffers, start):
            buffer.copyin(row.tobytes())
        # the batches are in flight at the same time
        for number in (0, 1, 0):
            submits, call = linked[number]
            arguments = {parameter.arg.slot: None for parameter in call.src[1:]}
            assert submits.run([b if i in arguments else 0 for i, b in enumerate(buffers)])
            MACHINE.advance()
        found = np.stack([buffer.numpy() for buffer in buffers])
        np.testing.assert_array_equal(found, wanted)
