from __future__ import annotations

import random

from tg_core.support.interval_map import IntervalMap


def contents(found: IntervalMap[str], size: int) -> list[str | None]:
    """Return the value of each number, asked one by one."""
    cells = [found.overlapping(i, i + 1) for i in range(size)]
    assert all(len(cell) <= 1 for cell in cells)
    return [cell[0] if cell else None for cell in cells]


def test_random_changes_against_single_cells() -> None:
    size = 40
    for seed in range(60):
        rng = random.Random(seed)
        found: IntervalMap[str] = IntervalMap()
        cells: list[str | None] = [None] * size
        for step in range(50):
            start = rng.randrange(size - 1)
            end = rng.randint(start + 1, size)
            kind = rng.random()
            if kind < 0.4:
                found.assign(start, end, str(step))
                cells[start:end] = [str(step)] * (end - start)
            elif kind < 0.8:
                mark = f",{step}"
                found.update(start, end, lambda old, mark=mark: (old or "") + mark)
                cells[start:end] = [(cell or "") + mark for cell in cells[start:end]]
            else:
                found.remove(start, end)
                cells[start:end] = [None] * (end - start)
            assert contents(found, size) == cells


def test_a_change_of_a_whole_range_makes_no_new_one() -> None:
    found: IntervalMap[int] = IntervalMap()
    found.assign(0, 10, 1)
    for _ in range(5):
        found.update(0, 10, lambda old: (old or 0) + 1)
    assert (len(found), found.overlapping(3, 4)) == (1, [6])
    found.update(4, 6, lambda old: 0)
    assert found.overlapping(0, 10) == [6, 0, 6]
    found.assign(0, 10, 9)
    assert (len(found), found.overlapping(-5, 0), found.overlapping(10, 20)) == (1, [], [])
