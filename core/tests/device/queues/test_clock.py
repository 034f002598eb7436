from __future__ import annotations

import random

import pytest

from tg_core.device.queues.clock import DeviceClock


def test_nothing_is_known_at_first() -> None:
    assert DeviceClock().offset == 0.0


def test_bounds_close_in_on_the_difference() -> None:
    rng, clock, offset, now = random.Random(1), DeviceClock(), 1234.5, 0.0
    uncertain = []
    for _ in range(200):
        given = now + rng.random()
        first = given + rng.random() - offset
        last = first + rng.random()
        now = last + offset + rng.random()
        clock.observe(given, first, last, now)
        assert clock.low <= offset <= clock.high
        uncertain.append(clock.uncertainty)
    assert uncertain == sorted(uncertain, reverse=True)
    assert clock.offset == pytest.approx(offset, abs=uncertain[-1])
    assert uncertain[-1] < 0.1


def test_a_clock_that_jumps_begins_anew() -> None:
    clock = DeviceClock()
    clock.observe(0, 10, 11, 2)
    assert (clock.low, clock.high) == (-10, -9)
    clock.observe(100, 10, 11, 102)
    assert (clock.low, clock.high) == (90, 91)
    # what contradicts itself says nothing
    clock.observe(100, 10, 200, 102)
    assert clock.offset == 90.5
