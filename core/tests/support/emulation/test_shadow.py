"""Ranges of memory against single bytes."""

from __future__ import annotations

import random
from functools import partial

import pytest

from tg_core.support.emulation.shadow import Access, ShadowMemory


def note(met: list[tuple[int, int]], old: Access, new: Access) -> None:
    met.append((old.time, new.time))


def test_random_accesses_meet_what_single_bytes_would_say() -> None:
    for seed in range(40):
        rng = random.Random(seed)
        met: list[tuple[int, int]] = []
        memory = ShadowMemory(partial(note, met))
        writes: dict[int, int] = {}
        reads: dict[int, dict[str, int]] = {}
        for time in range(60):
            start = rng.randrange(40)
            end = start + rng.randint(1, 12)
            actor, write = rng.choice("abc"), rng.random() < 0.4
            if rng.random() < 0.1:
                memory.forget(start, end)
                for byte in range(start, end):
                    writes.pop(byte, None)
                    reads.pop(byte, None)
                continue
            met.clear()
            memory.enter(Access(start, end, write, actor, time + 1, "x"), {})
            expected: set[tuple[int, int]] = set()
            for byte in range(start, end):
                if byte in writes:
                    expected.add((writes[byte], time + 1))
                if write:
                    expected.update((old, time + 1) for old in reads.get(byte, {}).values())
                    writes[byte], reads[byte] = time + 1, {}
                else:
                    reads.setdefault(byte, {})[actor] = time + 1
            assert set(met) == expected


def test_a_write_takes_the_place_of_all_it_covers() -> None:
    memory = ShadowMemory(lambda old, new: None)
    for i in range(100):
        memory.enter(Access(16 * i, 16 * i + 8, False, "a", i + 1, "x"), {})
    assert len(memory) == 100
    memory.enter(Access(0, 1600, True, "b", 100, "x"), {})
    assert len(memory) == 1
    memory.forget(100, 200)
    assert len(memory) == 2


def test_what_a_conflict_raises_leaves_the_memory_as_it_was() -> None:
    def refuse(old: Access, new: Access) -> None:
        raise ValueError(str(new))

    memory = ShadowMemory(refuse)
    memory.enter(Access(0, 8, False, "a", 5, "x"), {})
    with pytest.raises(ValueError, match=r"write by y \(b\)"):
        memory.enter(Access(4, 12, True, "b", 1, "y"), {})
    assert len(memory) == 1
    memory.enter(Access(8, 12, True, "b", 2, "y"), {})
    # what is known to be over is no conflict
    memory.enter(Access(0, 8, True, "b", 3, "y"), {"a": 5})
