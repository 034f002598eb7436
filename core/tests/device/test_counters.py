"""Running totals."""

from __future__ import annotations

from tg_core.device.counters import Counters


def test_take_give_and_peak() -> None:
    counters = Counters()
    counters.take(10)
    counters.take(5)
    counters.give(10)
    assert (counters.mem_used, counters.mem_peak) == (5, 15)


def test_reset_keeps_what_is_held() -> None:
    counters = Counters()
    counters.take(10)
    counters.kernel_count = 3
    counters.time_sum = 1.0
    counters.reset()
    assert (counters.mem_used, counters.mem_peak) == (10, 10)
    assert (counters.kernel_count, counters.time_sum) == (0, 0.0)
