"""The tracker, against the table of the specification and against single bytes."""

from __future__ import annotations

import random

import pytest

from tg_core.hcq.dependencies import DependencyTracker, Range


def access(
    tracker: DependencyTracker[int], start: int, end: int, write: bool, number: int
) -> list[int]:
    return tracker.access([Range("buffer", start, end)], [write], number)


@pytest.mark.parametrize("first_writes", [False, True])
def test_a_write_beside_is_free_and_a_write_over_is_not(first_writes: bool) -> None:
    tracker: DependencyTracker[int] = DependencyTracker()
    access(tracker, 0, 4, first_writes, 0)
    assert access(tracker, 4, 8, True, 1) == []
    assert access(tracker, 0, 4, True, 2) == [0]


@pytest.mark.parametrize("first_writes", [False, True])
def test_what_a_write_leaves_over_keeps_its_access(first_writes: bool) -> None:
    tracker: DependencyTracker[int] = DependencyTracker()
    access(tracker, 0, 16, first_writes, 0)
    assert access(tracker, 4, 12, True, 1) == [0]
    assert access(tracker, 0, 4, True, 2) == [0]
    assert access(tracker, 12, 16, True, 3) == [0]
    assert access(tracker, 4, 12, False, 4) == [1]


def test_reads_do_not_wait_for_reads() -> None:
    tracker: DependencyTracker[int] = DependencyTracker()
    access(tracker, 0, 8, False, 0)
    assert access(tracker, 0, 8, False, 1) == []
    assert access(tracker, 4, 6, True, 2) == [0, 1]


def test_other_storage_is_free() -> None:
    tracker: DependencyTracker[int] = DependencyTracker()
    access(tracker, 0, 8, True, 0)
    assert tracker.access([Range("other", 0, 8)], [True], 1) == []


def test_ranges_of_one_access_do_not_meet_each_other() -> None:
    tracker: DependencyTracker[int] = DependencyTracker()
    ranges = [Range("buffer", 0, 8), Range("buffer", 4, 12)]
    assert tracker.access(ranges, [True, False], 0) == []
    assert access(tracker, 0, 12, True, 1) == [0]


@pytest.mark.parametrize("seed", range(20))
def test_random_accesses_agree_with_a_table_of_bytes(seed: int) -> None:
    rng, size = random.Random(seed), 24
    tracker: DependencyTracker[int] = DependencyTracker()
    writers: list[int | None] = [None] * size
    readers: list[set[int]] = [set() for _ in range(size)]
    for number in range(80):
        start = rng.randrange(size)
        end = rng.randint(start + 1, size)
        write = rng.random() < 0.5
        found = set(access(tracker, start, end, write, number))
        expected = {w for w in writers[start:end] if w is not None}
        if write:
            expected |= set().union(*readers[start:end])
        assert found == expected
        for byte in range(start, end):
            if write:
                writers[byte], readers[byte] = number, set()
            else:
                readers[byte].add(number)
