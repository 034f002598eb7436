"""Random batches of kernels and copies on several devices, and what they compute."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tg_conformance.suite.queues import copy_call, filled, has_copies, mix_call
from tg_core import dtypes
from tg_core.uop.ops import Ops, UOp

if TYPE_CHECKING:
    from tg_core.device import Buffer

__all__ = ["BUFFERS", "SIZE", "Graphs", "Operation", "check_contents", "expected"]

BUFFERS = 3
"""On each device."""
SIZE = 32
"""Elements of a buffer."""
PART = 8
"""Elements that are used as a whole."""

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Operation:
    """`target = target + source * 2` by a kernel, or a copy, on parts of buffers."""

    kernel: bool
    target: tuple[int, int]
    source: tuple[int, int]
    """Number of the buffer and of its first element."""
    elements: int

    def __str__(self) -> str:
        (t, i), (s, j), n = self.target, self.source, self.elements
        return f"{'mix' if self.kernel else 'copy'} {t}[{i}:{i + n}] <- {s}[{j}:{j + n}]"


@dataclass(frozen=True)
class Graphs:
    """Graphs on these devices; buffers are numbered device by device."""

    devices: tuple[str, ...]

    @property
    def count(self) -> int:
        """How many buffers there are."""
        return BUFFERS * len(self.devices)

    def device_of(self, buffer: int) -> str:
        """Return where a buffer is."""
        return self.devices[buffer // BUFFERS]

    def draw(self, seed: int, count: int) -> list[Operation]:
        """Return random operations."""
        rng, found = random.Random(seed), []
        kernels = 0.6 if has_copies(self.devices[0]) else 1.0
        for _ in range(count):
            elements = PART * rng.randint(1, SIZE // PART)
            starts = [PART * rng.randint(0, (SIZE - elements) // PART) for _ in range(2)]
            target, source = rng.sample(range(self.count), 2)
            kernel = rng.random() < kernels
            if kernel:
                first = target // BUFFERS * BUFFERS
                source = rng.choice([b for b in range(first, first + BUFFERS) if b != target])
            ends = (target, starts[0]), (source, starts[1])
            found.append(Operation(kernel, *ends, elements))
        return found

    def calls(self, graph: list[Operation]) -> list[UOp]:
        """Return the operations as calls, over a parameter for each buffer."""
        made = []
        for op in graph:
            target, source = (self.part(*end, op.elements) for end in (op.target, op.source))
            if op.kernel:
                made.append(mix_call(target, source, op.elements))
            else:
                made.append(copy_call(target, source))
        return made

    def part(self, number: int, start: int, elements: int) -> UOp:
        """Return some elements of a buffer's parameter."""
        whole = UOp.param(number, dtypes.int32, (SIZE,), self.device_of(number))
        return whole._movement(Ops.SHRINK, ((start, start + elements),))

    def start(self, seed: int) -> Array:
        """Return contents of all buffers, of whole numbers."""
        rng = np.random.default_rng(seed)
        return rng.integers(-4, 5, (self.count, SIZE)).astype(np.int32)

    def buffers(self, start: Array) -> list[Buffer]:
        """Return buffers with these contents."""
        return [filled(self.device_of(i), row) for i, row in enumerate(start)]


def expected(graph: list[Operation], start: Array) -> Array:
    """Return all buffers after the operations, one after the other."""
    cells = start.copy()
    for op in graph:
        (t, i), (s, j), n = op.target, op.source, op.elements
        source = cells[s, j : j + n]
        cells[t, i : i + n] = cells[t, i : i + n] + source * 2 if op.kernel else source
    return cells


def check_contents(what: str, buffers: list[Buffer], wanted: Array) -> None:
    """Check all buffers; the message has the first wrong element."""
    got = np.stack([buffer.numpy() for buffer in buffers])
    wrong = np.argwhere(got != wanted)
    assert not len(wrong), (
        f"{what}: {len(wrong)} of {got.size} elements are wrong, the first is element "
        f"{wrong[0][1]} of buffer {wrong[0][0]} on {buffers[wrong[0][0]].device}: "
        f"got {got[tuple(wrong[0])]}, expected {wanted[tuple(wrong[0])]}"
    )
