"""Twice the operations take twice the work: counted in calls of functions, not in time."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType

import pytest
from trap_utils import buf

from tg_core import Tensor
from tg_core.callify import callify
from tg_core.config import Context
from tg_core.schedule import schedule_body
from tg_core.tensor.realize import Pending

STEPS: dict[str, Callable[[Tensor, int], Tensor]] = {
    "elementwise": lambda x, i: x + float(i),
    "stored": lambda x, i: (x + 1).contiguous(),
    "views": lambda x, i: x.flip(0) + 1,
    "shared": lambda x, i: x + x.flip(0) * 0.5,
    "reductions": lambda x, i: x - x.max(),
    "writes": lambda x, i: x.assign(x + 1),
}


def counted(work: Callable[[], object]) -> int:
    """Return how many Python functions are called."""
    calls = 0

    def count(frame: FrameType, event: str, arg: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


def work_for(step: Callable[[Tensor, int], Tensor], length: int) -> int:
    x = buf([1.0] * 16)

    def work() -> None:
        y = x.clone()
        for i in range(length):
            y = step(y, i)
        pending = Pending([y.uop])
        assert pending.sink is not None
        linear = schedule_body(callify(pending.sink).src[0], "CPU")
        assert linear.src

    with Context(SCACHE=0, SPEC=0):
        return counted(work)


@pytest.mark.parametrize("name", STEPS)
def test_work_per_operation_does_not_grow(name: str) -> None:
    work_for(STEPS[name], 10)
    short, long = work_for(STEPS[name], 80), work_for(STEPS[name], 320)
    assert long / short < 4 * 1.3, (short, long)
