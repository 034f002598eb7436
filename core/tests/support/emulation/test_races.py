from __future__ import annotations

import pytest

from tg_core.support.emulation import RaceDetector, RaceFault

SIGNAL = 0x100


def test_a_signal_orders() -> None:
    races = RaceDetector()
    races.access("a", "kernel one", [(0, 8, True)])
    races.release("a", SIGNAL)
    races.acquire("b", SIGNAL)
    races.access("b", "kernel two", [(0, 8, False)])


def test_without_one_both_are_named_with_the_bytes() -> None:
    races = RaceDetector()
    races.access("a", "kernel one", [(0, 8, True)])
    with pytest.raises(
        RaceFault, match=r"4 bytes at 0x4: read by kernel two \(b\).*write by kernel one \(a\)"
    ):
        races.access("b", "kernel two", [(4, 100, False)])


def test_reads_may_overlap_and_writes_must_wait_for_both() -> None:
    races = RaceDetector()
    races.access("a", "one", [(0, 8, False)])
    races.access("b", "two", [(0, 8, False)])
    races.release("b", SIGNAL)
    races.acquire("c", SIGNAL)
    with pytest.raises(RaceFault, match=r"read by one \(a\)"):
        races.access("c", "three", [(0, 8, True)])


def test_order_is_transitive() -> None:
    races = RaceDetector()
    races.access("a", "one", [(0, 8, True)])
    races.release("a", SIGNAL)
    races.acquire("b", SIGNAL)
    races.release("b", SIGNAL + 8)
    races.acquire("c", SIGNAL + 8)
    races.access("c", "three", [(0, 8, True)])


def test_a_release_gives_away_only_what_came_before_it() -> None:
    races = RaceDetector()
    races.release("a", SIGNAL)
    races.access("a", "one", [(0, 8, True)])
    races.acquire("b", SIGNAL)
    with pytest.raises(RaceFault):
        races.access("b", "two", [(0, 8, True)])


def test_one_actor_is_in_order_and_other_bytes_are_free() -> None:
    races = RaceDetector()
    races.access("a", "one", [(0, 8, True)])
    races.access("a", "two", [(0, 8, True)])
    races.access("b", "three", [(8, 8, True)])


def test_memory_that_was_given_up_is_forgotten() -> None:
    races = RaceDetector()
    races.access("a", "one", [(70_000, 200_000, True)])
    races.forget(70_000, 200_000)
    races.access("b", "two", [(70_000, 200_000, True)])


def test_large_ranges_are_found_anywhere() -> None:
    races = RaceDetector()
    races.access("a", "one", [(0, 1 << 20, True)])
    with pytest.raises(RaceFault):
        races.access("b", "two", [((1 << 20) - 1, 4, False)])


def test_a_wait_takes_on_the_first_store_that_suffices() -> None:
    races = RaceDetector()
    races.release("a", SIGNAL, 1)
    races.access("a", "one", [(0, 8, True)])
    races.release("a", SIGNAL, 2)
    races.acquire("b", SIGNAL, 1)
    with pytest.raises(RaceFault):
        races.access("b", "two", [(0, 8, False)])
    races.acquire("c", SIGNAL, 2)
    races.access("c", "three", [(0, 8, False)])


def test_values_that_fall_begin_anew() -> None:
    races = RaceDetector()
    races.access("a", "one", [(0, 8, True)])
    races.release("a", SIGNAL, 5)
    races.release("b", SIGNAL, 1)
    races.acquire("c", SIGNAL, 1)
    with pytest.raises(RaceFault):
        races.access("c", "two", [(0, 8, False)])


def test_what_overlaps_is_ordered_when_it_is_over() -> None:
    races = RaceDetector()
    races.access("q", "before", [(0, 8, True)])
    races.fork("q", "one")
    races.fork("q", "two")
    races.access("one", "first", [(0, 8, False)])
    races.access("two", "second", [(0, 8, False)])
    with pytest.raises(
        RaceFault, match=r"write by third \(two\) is not ordered after read by first"
    ):
        races.access("two", "third", [(0, 8, True)])
    races.merge("q", "one")
    races.merge("q", "two")
    races.access("q", "after", [(0, 8, True)])
    races.fork("q", "one")
    races.access("one", "again", [(0, 8, True)])


def test_signals_in_memory_that_was_given_up_are_forgotten() -> None:
    """Whoever has the memory next counts from where it likes: the old stores suffice for nothing."""
    races = RaceDetector()
    for value in (1, 2, 3):
        races.release("old", SIGNAL, value)
        races.release("old", SIGNAL + 64, value)
    races.forget(SIGNAL, 16)
    races.access("new", "one", [(0, 8, True)])
    races.release("new", SIGNAL, 9)
    races.acquire("b", SIGNAL, 2)
    races.access("b", "two", [(0, 8, True)])
    races.access("old", "before", [(32, 8, True)])
    races.release("old", SIGNAL + 64, 4)
    races.acquire("c", SIGNAL + 64, 4)
    races.access("c", "after", [(32, 8, True)])


def test_a_wait_that_no_store_satisfied_orders_nothing() -> None:
    races = RaceDetector()
    races.access("a", "one", [(0, 8, True)])
    races.release("a", SIGNAL, 1)
    races.acquire("b", SIGNAL, 2)
    with pytest.raises(RaceFault, match="two"):
        races.access("b", "two", [(0, 8, True)])


def test_only_the_last_stores_are_remembered() -> None:
    races = RaceDetector()
    for value in range(1, 400):
        races.access("a", f"kernel {value}", [(8 * value, 8, True)])
        races.release("a", SIGNAL, value)
    races.acquire("b", SIGNAL, 399 - 100)
    races.access("b", "allowed", [(8 * 299, 8, False)])
    with pytest.raises(RaceFault, match="kernel 300"):
        races.access("b", "early", [(8 * 300, 8, False)])


def test_values_of_64_bits_that_a_device_compares_with_a_sign() -> None:
    races = RaceDetector()
    races.access("a", "one", [(0, 8, True)])
    races.release("a", SIGNAL, -(1 << 63))
    races.acquire("b", SIGNAL, -(1 << 63))
    races.access("b", "two", [(0, 8, False)])
    races.release("a", SIGNAL, (1 << 63) - 1)
    races.acquire("c", SIGNAL, (1 << 63) - 1)
    races.access("c", "three", [(0, 8, False)])
