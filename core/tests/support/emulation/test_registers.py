from __future__ import annotations

import pytest

from tg_core.support.emulation import AccessFault, Register, RegisterFile, RegisterView


def block(log: list[int]) -> RegisterFile:
    return RegisterFile(
        "BLOCK",
        64,
        [
            Register("CONTROL", 0, reserved=0xFFFF0000, reset=3),
            Register("STATUS", 4, writable=False, on_read=lambda value: value + len(log)),
            Register("DOORBELL", 8, width=8, readable=False, on_write=log.append),
            Register("LEVEL", 18, width=2, on_write=lambda value: min(value, 10)),
        ],
    )


def test_registers_are_read_and_written_as_words() -> None:
    log: list[int] = []
    registers = block(log)
    words = RegisterView(registers, 0, 64, "I")
    assert (words[0], words[1], len(words)) == (3, 0, 16)
    words[0] = 0x12
    assert words.read(0, 2) == [0x12, 0]
    doorbell = words.view(8, 8, "Q")
    doorbell[0] = 1 << 40
    assert (log, words[1]) == ([1 << 40], 1)
    words.view(16, 4, "H")[1] = 99
    assert registers.values["LEVEL"] == 10


@pytest.mark.parametrize(
    ("offset", "width", "value", "message"),
    [
        (2, 4, 0, "write of 4 bytes at 0x2: not aligned"),
        (0, 8, 0, "write of 8 bytes at 0x0: CONTROL has 4 bytes"),
        (12, 4, 0, "write of 4 bytes at 0xc: no register begins there"),
        (64, 4, 0, "write of 4 bytes at 0x40: the block ends at 0x40"),
        (0, 4, 0x50001, "write of 0x50001 to CONTROL sets reserved bits 0x50000"),
        (4, 4, 1, "STATUS cannot be written"),
        (18, 2, 0x10000, "0x10000 does not fit LEVEL"),
    ],
)
def test_wrong_writes_are_faults(offset: int, width: int, value: int, message: str) -> None:
    with pytest.raises(AccessFault, match=f"BLOCK: {message}"):
        block([]).write(offset, width, value)


def test_wrong_reads_are_faults() -> None:
    registers = block([])
    with pytest.raises(AccessFault, match="DOORBELL cannot be read"):
        registers.read(8, 8)
    with pytest.raises(AccessFault, match="STATUS has 4 bytes"):
        registers.read(4, 2)
    words = RegisterView(registers, 0, 16, "I")
    with pytest.raises(IndexError, match="word 4 of 4"):
        words[4]
    with pytest.raises(IndexError, match="8 bytes at 0xc"):
        words.view(12, 8, "I")


def test_blocks_are_checked_when_they_are_made() -> None:
    with pytest.raises(ValueError, match="B: A and C overlap"):
        RegisterFile("B", 16, [Register("A", 0, width=8), Register("C", 4)])
    with pytest.raises(ValueError, match="B: A does not fit at 0x2"):
        RegisterFile("B", 16, [Register("A", 2)])
    with pytest.raises(ValueError, match="B: A does not fit at 0xc"):
        RegisterFile("B", 14, [Register("A", 12)])
