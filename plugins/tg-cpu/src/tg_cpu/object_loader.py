"""Object files into callable memory, without LLVM.

Kernels that come from the disk cache are machine code already; loading one takes placing its
sections and applying a few relocations, and starting a process need not import a compiler for that.
What this loader does not know it refuses, and LLVM's linker takes over.

Sources: System V ABI, "ELF-64 Object File Format" (sections, symbols); x86-64 psABI, table 4.9
    (relocations).
"""

from __future__ import annotations

import ctypes
import mmap
import struct
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")
_MAGIC = b"\x7fELF\x02\x01\x01"
_RELOCATABLE, _X86_64 = 1, 62
_SYMTAB, _RELA, _NOBITS = 2, 4, 8
_ALLOCATED, _WRITABLE = 2, 1
_UNDEFINED, _ABSOLUTE, _COMMON = 0, 0xFFF1, 0xFFF2
_R_64, _R_PC32, _R_PLT32 = 1, 2, 4
_JUMP = b"\xff\x25\0\0\0\0"
"""`jmp *0(%rip)`: goes to the 64-bit address that follows."""
_STUB_BYTES = 16


class UnsupportedObject(Exception):
    """The file needs more than this loader does."""


class _Section(NamedTuple):
    kind: int
    flags: int
    offset: int
    size: int
    link: int
    info: int
    align: int


class LoadedObject:
    """Code in memory; gone when the last reference is.

    Args:
        binary: an ELF-64 object file for x86-64.
        symbols: functions whose addresses are wanted.

    Raises:
        UnsupportedObject: it is none, is damaged, or needs a relocation that is not known here.
    """

    def __init__(self, binary: bytes, symbols: Sequence[str]) -> None:
        try:
            self.addresses = self._load(binary, symbols)
        except (struct.error, IndexError, ValueError) as error:
            raise UnsupportedObject(f"object file: damaged: {error}") from error

    def _load(self, binary: bytes, symbols: Sequence[str]) -> dict[str, int]:
        sections = _sections(binary)
        table = next((s for s in sections if s.kind == _SYMTAB), None)
        if table is None:
            raise UnsupportedObject("object file: no symbols")
        names = sections[table.link]
        entries = list(_SYMBOL.iter_unpack(_bytes(binary, table)))
        undefined = [n for n, entry in enumerate(entries) if n and entry[3] == _UNDEFINED]
        placed: dict[int, int] = {}
        stubs_at = _round_up(_place(sections, placed, 0, writable=False), _STUB_BYTES)
        code_bytes = _round_up(stubs_at + len(undefined) * _STUB_BYTES + 1, mmap.PAGESIZE)
        total = _place(sections, placed, code_bytes, writable=True)
        memory = mmap.mmap(-1, total)
        for number, start in placed.items():
            if sections[number].kind != _NOBITS:
                memory[start : start + sections[number].size] = _bytes(binary, sections[number])
        base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        addresses: dict[int, int] = {}
        for n, (name, _, _, index, value, _) in enumerate(entries):
            if index in placed:
                addresses[n] = base + placed[index] + value
            elif n in undefined:
                stub = stubs_at + undefined.index(n) * _STUB_BYTES
                target = _process_symbol(_text(binary, names, name))
                code = _JUMP + struct.pack("<Q", target)
                memory[stub : stub + len(code)] = code
                addresses[n] = base + stub
            elif index in (_ABSOLUTE, _COMMON) and n and entries[n][1] & 0xF != 4:
                raise UnsupportedObject(f"object file: symbol {n} in special section {index:#x}")
        for section in sections:
            if section.kind == _RELA and section.info in placed:
                start = placed[section.info]
                for offset, info, addend in _RELOCATION.iter_unpack(_bytes(binary, section)):
                    _relocate(
                        memory,
                        base,
                        start + offset,
                        info & 0xFFFFFFFF,
                        addresses[info >> 32] + addend,
                    )
        _make_executable(base, code_bytes)
        self._memory = memory
        found = {
            _text(binary, names, e[0]): addresses[n]
            for n, e in enumerate(entries)
            if n in addresses and e[0]
        }
        missing = [s for s in symbols if s not in found]
        if missing:
            raise UnsupportedObject(f"object file: no function {', '.join(missing)}")
        return {s: found[s] for s in symbols}


def _sections(binary: bytes) -> list[_Section]:
    header = _HEADER.unpack_from(binary)
    if not header[0].startswith(_MAGIC) or header[1] != _RELOCATABLE or header[2] != _X86_64:
        raise UnsupportedObject("object file: no ELF-64 object for x86-64")
    offset, size, count = header[6], header[11], header[12]
    if size != _SECTION.size:
        raise UnsupportedObject(f"object file: section headers of {size} bytes")
    found = []
    for number in range(count):
        _, kind, flags, _, start, length, link, info, align, _ = _SECTION.unpack_from(
            binary, offset + number * size
        )
        if kind != _NOBITS and start + length > len(binary):
            raise UnsupportedObject(f"object file: section {number} ends after the file")
        found.append(_Section(kind, flags, start, length, link, info, align))
    return found


def _place(sections: list[_Section], placed: dict[int, int], position: int, writable: bool) -> int:
    """Give sections their place from `position` on; return the end."""
    for number, section in enumerate(sections):
        if (
            section.flags & _ALLOCATED
            and section.size
            and bool(section.flags & _WRITABLE) is writable
        ):
            placed[number] = _round_up(position, max(section.align, 1))
            position = placed[number] + section.size
    return position


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


def _bytes(binary: bytes, section: _Section) -> bytes:
    return binary[section.offset : section.offset + section.size]


def _text(binary: bytes, names: _Section, position: int) -> str:
    start = names.offset + position
    return binary[start : binary.index(b"\0", start)].decode()


def _relocate(memory: mmap.mmap, base: int, place: int, kind: int, value: int) -> None:
    if kind == _R_64:
        memory[place : place + 8] = struct.pack("<Q", value)
    elif kind in (_R_PC32, _R_PLT32):
        memory[place : place + 4] = struct.pack("<i", value - (base + place))
    else:
        raise UnsupportedObject(f"object file: relocation type {kind}")


@cache
def _libraries() -> tuple[Any, ...]:
    return ctypes.CDLL(None), ctypes.CDLL("libm.so.6")


def _process_symbol(name: str) -> int:
    for library in _libraries():
        function = getattr(library, name, None)
        if function is not None:
            return ctypes.cast(function, ctypes.c_void_p).value or 0
    raise UnsupportedObject(f"object file: {name} is no function of this process")


def _make_executable(address: int, size: int) -> None:
    library = _libraries()[0]
    library.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    if library.mprotect(address, size, mmap.PROT_READ | mmap.PROT_EXEC):
        raise UnsupportedObject("object file: memory cannot be made executable")
