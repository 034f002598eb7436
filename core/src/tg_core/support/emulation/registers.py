"""Registers of emulated hardware. Every access is checked: width, alignment, reserved bits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tg_core.support.emulation.faults import AccessFault
from tg_core.support.mmio import width_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tg_core.support.mmio import Form

__all__ = ["Register", "RegisterFile", "RegisterView"]


@dataclass(frozen=True)
class Register:
    """One register."""

    name: str
    offset: int
    """In bytes, from the beginning of the block."""
    width: int = 4
    """In bytes; accesses of any other width are faults."""
    reset: int = 0
    """The value before anything was written."""
    reserved: int = 0
    """Bits that must be written as zero."""
    readable: bool = True
    writable: bool = True
    on_read: Callable[[int], int] | None = None
    """Gets the value, returns what is read."""
    on_write: Callable[[int], int | None] | None = None
    """Gets what is written, returns what is kept; None keeps what was written."""


class RegisterFile:
    """A block of registers.

    Args:
        name: of the block, for messages.
        nbytes: length of the block.
        registers: that exist; all other accesses are faults.

    Raises:
        ValueError: registers overlap, or leave the block.
    """

    def __init__(self, name: str, nbytes: int, registers: Iterable[Register]) -> None:
        self.name, self.nbytes = name, nbytes
        self._at: dict[int, Register] = {}
        self.values: dict[str, int] = {}
        """By the name of the register."""
        for register in sorted(registers, key=_offset):
            end = register.offset + register.width
            if register.offset % register.width or end > nbytes:
                raise ValueError(f"{name}: {register.name} does not fit at {register.offset:#x}")
            self._at[register.offset] = register
            self.values[register.name] = register.reset
        last = None
        for register in self._at.values():
            if last is not None and last.offset + last.width > register.offset:
                raise ValueError(f"{name}: {last.name} and {register.name} overlap")
            last = register

    def read(self, offset: int, width: int) -> int:
        """Read a register.

        Raises:
            AccessFault: there is none, or not of this width, or it cannot be read.
        """
        register = self._register("read", offset, width)
        if not register.readable:
            raise AccessFault(f"{self.name}: {register.name} cannot be read")
        value = self.values[register.name]
        return value if register.on_read is None else register.on_read(value)

    def write(self, offset: int, width: int, value: int) -> None:
        """Write a register.

        Raises:
            AccessFault: there is none, or not of this width, or it cannot be written, or reserved
                bits are set.
        """
        register = self._register("write", offset, width)
        if not register.writable:
            raise AccessFault(f"{self.name}: {register.name} cannot be written")
        if not 0 <= value < 1 << 8 * width:
            raise AccessFault(f"{self.name}: {value:#x} does not fit {register.name}")
        if value & register.reserved:
            raise AccessFault(
                f"{self.name}: write of {value:#x} to {register.name} sets reserved bits "
                f"{value & register.reserved:#x}"
            )
        kept = value if register.on_write is None else register.on_write(value)
        self.values[register.name] = value if kept is None else kept

    def _register(self, verb: str, offset: int, width: int) -> Register:
        what = f"{self.name}: {verb} of {width} bytes at {offset:#x}"
        if offset % width:
            raise AccessFault(f"{what}: not aligned")
        if not 0 <= offset <= self.nbytes - width:
            raise AccessFault(f"{what}: the block ends at {self.nbytes:#x}")
        found = self._at.get(offset)
        if found is None:
            raise AccessFault(f"{what}: no register begins there")
        if found.width != width:
            raise AccessFault(f"{what}: {found.name} has {found.width} bytes")
        return found


def _offset(register: Register) -> int:
    return register.offset


class RegisterView:
    """Registers as words of one format, like `MMIOView`.

    Args:
        registers: the block.
        offset: of the first word, in bytes.
        nbytes: length in bytes.
        form: a `struct` format character.
    """

    __slots__ = ("_offset", "_registers", "_width", "form", "nbytes")

    def __init__(self, registers: RegisterFile, offset: int, nbytes: int, form: Form) -> None:
        self._registers, self._offset = registers, offset
        self._width = width_of(form)
        self.nbytes, self.form = nbytes, form

    def __len__(self) -> int:
        return self.nbytes // self._width

    def __getitem__(self, index: int) -> int:
        return self._registers.read(self._place(index), self._width)

    def __setitem__(self, index: int, value: int) -> None:
        self._registers.write(self._place(index), self._width, value)

    def read(self, start: int, stop: int) -> list[int]:
        """Return the words of a range."""
        return [self[index] for index in range(start, stop)]

    def view(self, offset: int, nbytes: int, form: Form) -> RegisterView:
        """Return a part, from byte `offset` on, as words of another format."""
        if not 0 <= offset <= offset + nbytes <= self.nbytes:
            raise IndexError(f"{self._registers.name}: {nbytes} bytes at {offset:#x}")
        return RegisterView(self._registers, self._offset + offset, nbytes, form)

    def _place(self, index: int) -> int:
        if not 0 <= index < len(self):
            raise IndexError(f"{self._registers.name}: word {index} of {len(self)}")
        return self._offset + index * self._width
