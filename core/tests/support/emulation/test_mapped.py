"""Mappings that are added and undone in any order."""

from __future__ import annotations

import random

from tg_core.support.emulation.mapped import Mapped, MappedRanges


def starts(ranges: MappedRanges) -> list[tuple[int, int]]:
    return [(m.start, m.nbytes) for m in ranges.all()]


def test_a_mapping_covers_its_own_bytes_alone() -> None:
    ranges = MappedRanges()
    ranges.add(Mapped(0x1000, 0x100, 3))
    ranges.add(Mapped(0x3000, 0x1000, 3))
    for address, nbytes, covered in [
        (0x1000, 0x100, True),
        (0x10FF, 1, True),
        (0x10FF, 2, False),
        (0xFFF, 1, False),
        (0x1100, 1, False),
        (0x3FFF, 1, True),
    ]:
        assert (ranges.covering(address, nbytes) is not None) == covered, hex(address)


def test_one_address_may_be_mapped_several_times() -> None:
    ranges = MappedRanges()
    for nbytes in (64, 64, 4096):
        ranges.add(Mapped(0x1000, nbytes, 3))
    assert [m.nbytes for m in ranges.take(0x1000, 64)] == [64]
    assert starts(ranges) == [(0x1000, 64), (0x1000, 4096)]
    covering = ranges.covering(0x1000 + 100, 4)
    assert covering is not None
    assert covering.nbytes == 4096
    assert ranges.take(0x1000, 128) == []
    assert len(ranges.take(0x1000, 4096)) == 1
    assert starts(ranges) == [(0x1000, 64)]


def test_a_range_takes_what_is_inside_and_cuts_nothing() -> None:
    ranges = MappedRanges()
    for start in (0x1000, 0x2000, 0x5000):
        ranges.add(Mapped(start, 0x800, 3))
    assert ranges.take(0x1400, 0x2000) == []
    assert ranges.take(0x1000, 0x1400) == []
    assert len(ranges.take(0x1000, 0x2000)) == 2
    assert starts(ranges) == [(0x5000, 0x800)]


def test_any_order_agrees_with_a_list() -> None:
    draw = random.Random(4)
    ranges, plain = MappedRanges(), []
    for _ in range(400):
        if plain and draw.random() < 0.45:
            start, nbytes = plain.pop(draw.randrange(len(plain)))
            assert [(m.start, m.nbytes) for m in ranges.take(start, nbytes)] == [(start, nbytes)]
        else:
            start, nbytes = 16 * draw.randrange(200), 16 * draw.randint(1, 5)
            plain.append((start, nbytes))
            ranges.add(Mapped(start, nbytes, 3))
        assert sorted(starts(ranges)) == sorted(plain)
        address = draw.randrange(3200)
        wanted = any(start <= address and address + 4 <= start + n for start, n in plain)
        assert (ranges.covering(address, 4) is not None) == wanted
