"""Schedules that run again and again: from the second run on, in batches."""

from __future__ import annotations

from typing import Any

import numpy as np

from tg_core import Tensor
from tg_core.engine import realize
from tg_core.engine.run import Run
from tg_core.engine.steps import BatchStep


def test_the_second_run_joins_kernels() -> None:
    seen: list[list[str]] = []
    original = realize.LinkedLinear.start

    def start(self: realize.LinkedLinear, arguments: Any) -> Run:
        run = original(self, arguments)
        seen.append([type(step).__name__ for step in self.steps])
        return run

    realize.LinkedLinear.start = start  # type: ignore[method-assign]
    try:
        for start in range(4):
            x = Tensor(np.arange(start, start + 11, dtype=np.float32)).realize()
            seen.clear()
            y = ((x + 1).contiguous() * 3).contiguous() - x.sum()
            data = np.arange(start, start + 11, dtype=np.float32)
            assert y.tolist() == ((data + 1) * 3 - data.sum()).tolist()
            (kinds,) = seen
            joined = [BatchStep.__name__]
            assert (kinds == joined) == (start > 0)
    finally:
        realize.LinkedLinear.start = original  # type: ignore[method-assign]
