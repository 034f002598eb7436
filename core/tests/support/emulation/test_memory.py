from __future__ import annotations

import numpy as np
import pytest

from tg_core.support.emulation import AccessFault, AddressSpace, EmulationFault, Rights


def space() -> AddressSpace:
    made = AddressSpace("X")
    made.map(0x1000, np.zeros(64, np.uint8), Rights.BOTH, "ring")
    made.map(0x2000, np.arange(16, dtype=np.uint8), Rights.READ, "image")
    return made


def test_words_are_little_endian_and_kept() -> None:
    made = space()
    made.set_word(0x1008, 8, 0x0102030405060708)
    assert made.word(0x1008, 8) == 0x0102030405060708
    assert made.word(0x1008, 4) == 0x05060708
    assert made.access(0x1008, 2, Rights.READ).tolist() == [8, 7]


@pytest.mark.parametrize(
    ("address", "nbytes", "right", "message"),
    [
        (0x0FFF, 1, Rights.READ, "not mapped"),
        (0x1040, 1, Rights.READ, "not mapped; the nearest below is ring"),
        (0x103F, 2, Rights.READ, "leaves ring, which ends at 0x1040"),
        (0x2000, 1, Rights.WRITE, "write of 1 bytes at 0x2000: image is not mapped for it"),
    ],
)
def test_what_is_not_mapped_faults(address: int, nbytes: int, right: Rights, message: str) -> None:
    with pytest.raises(AccessFault, match=message):
        space().access(address, nbytes, right)


def test_words_must_be_aligned() -> None:
    with pytest.raises(AccessFault, match="0x1004: not aligned"):
        space().word(0x1004, 8)


@pytest.mark.parametrize("start", [0x0FF0, 0x1000, 0x103F, 0x1FFF, 0x2008])
def test_mappings_do_not_overlap(start: int) -> None:
    with pytest.raises(EmulationFault, match="overlaps"):
        space().map(start, np.zeros(32, np.uint8), Rights.BOTH, "more")


def test_what_was_unmapped_is_gone() -> None:
    made = space()
    made.unmap(0x1000)
    with pytest.raises(AccessFault):
        made.word(0x1000, 4)
    with pytest.raises(EmulationFault, match="nothing to unmap at 0x1000"):
        made.unmap(0x1000)


def test_aliases_are_at_one_place() -> None:
    cells = np.zeros(64, np.uint8)
    made = AddressSpace("X")
    made.map(0x1000, cells, Rights.BOTH, "memory")
    made.map(0x9000, cells[16:], Rights.READ, "part of it")
    assert made.place(0x1018, 8, Rights.WRITE) == cells.ctypes.data + 24
    assert made.place(0x9008, 8, Rights.READ) == cells.ctypes.data + 24
    made.set_word(0x1018, 4, 7)
    assert made.word(0x9008, 4) == 7
    with pytest.raises(AccessFault, match="part of it is not mapped for it"):
        made.place(0x9008, 8, Rights.BOTH)


def test_an_access_of_no_bytes_must_be_inside() -> None:
    assert space().access(0x1000, 0, Rights.READ).size == 0
    with pytest.raises(AccessFault, match="not mapped"):
        space().access(0x1040, 0, Rights.READ)
