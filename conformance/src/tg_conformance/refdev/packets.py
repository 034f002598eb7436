"""The format of REF's packets, and of its kernel images.

A packet is a header and operands, all words of 32 bits, little-endian. The header is
`opcode << 16 | words`, with the header counted. Addresses and values of 64 bits take two words, the
low one first.

| opcode | operands | effect |
|---|---|---|
| `INDIRECT` | address, words | executes the packets at an address; not inside of another one |
| `EXEC` | image, bytes, arguments, 3 global sizes, 3 local sizes | launches a kernel |
| `COPY` | destination, source, bytes (64 bits) | copies |
| `BARRIER` | | forgets what is cached of arguments: the host may have changed them |
| `WAIT` | address, value (64 bits) | waits until the word there is at least the value |
| `TIME` | address | writes the clock, 64 bits in ns |
| `STORE` | address, value (64 bits) | writes a word |

Arguments of a kernel are 64-bit words: the addresses of its buffers, then its variables.

An image is a header `magic, buffers, variables, bytes of text` (32 bits each); for each buffer its
length in bytes (64 bits) and its rights (64 bits: 1 read, 2 written); then the text, which is that
of the interpreter, or native (see `kernels`).
"""

from __future__ import annotations

import enum
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tg_conformance.refdev.kernels import read_kernel
from tg_core.backend import PacketFault, to_dtype

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg_core.backend import ProgramInfo

__all__ = ["LENGTHS", "Image", "Opcode", "header", "join", "pack_image", "split", "unpack_image"]


class Opcode(enum.IntEnum):
    """What a packet does."""

    INDIRECT = 1
    EXEC = 2
    COPY = 3
    BARRIER = 4
    WAIT = 5
    TIME = 6
    STORE = 7


LENGTHS = {
    Opcode.INDIRECT: 4,
    Opcode.EXEC: 12,
    Opcode.COPY: 7,
    Opcode.BARRIER: 1,
    Opcode.WAIT: 5,
    Opcode.TIME: 3,
    Opcode.STORE: 5,
}
"""Words of each packet."""

MAGIC = 0x4B464552
READ, WRITE = 1, 2
_HEAD = struct.Struct("<4I")
_ARGUMENT = struct.Struct("<2Q")


def header(opcode: Opcode) -> int:
    """Return the first word of a packet."""
    return int(opcode) << 16 | LENGTHS[opcode]


def split(value: int) -> tuple[int, int]:
    """Return the two words of a value of 64 bits."""
    return value & 0xFFFFFFFF, value >> 32


def join(packet: list[int], at: int) -> int:
    """Return the value of 64 bits whose first word is at a place of a packet."""
    return packet[at] | packet[at + 1] << 32


@dataclass(frozen=True)
class Image:
    """A kernel as the device sees it."""

    name: str
    buffers: tuple[tuple[int, int], ...]
    """Length in bytes and rights of each."""
    dtypes: tuple[str, ...]
    """Of the elements of each buffer."""
    variables: int
    program: Callable[..., Any]


def pack_image(text: bytes, info: ProgramInfo) -> bytes:
    """Return the image of a kernel."""
    arguments = read_kernel(text).arguments
    buffers = arguments[: len(info.params)]
    parts = [_HEAD.pack(MAGIC, len(buffers), len(arguments) - len(buffers), len(text))]
    for slot, (dtype, size) in zip(info.params, buffers, strict=True):
        assert size is not None
        rights = READ * (slot in info.ins) | WRITE * (slot in info.outs)
        parts.append(_ARGUMENT.pack(size * to_dtype(dtype).itemsize, rights or READ | WRITE))
    return b"".join([*parts, text])


def unpack_image(data: bytes) -> Image:
    """Read an image.

    Raises:
        PacketFault: it is none.
    """
    if len(data) < _HEAD.size:
        raise PacketFault(f"image of {len(data)} bytes, expected at least {_HEAD.size}")
    magic, count, variables, length = _HEAD.unpack_from(data)
    start = _HEAD.size + count * _ARGUMENT.size
    if magic != MAGIC or start + length != len(data):
        raise PacketFault(f"no image: magic {magic:#x}, {len(data)} bytes for {start + length}")
    offsets = range(_HEAD.size, start, _ARGUMENT.size)
    buffers = tuple(_ARGUMENT.unpack_from(data, offset) for offset in offsets)
    kernel = read_kernel(data[start:])
    dtypes = tuple([dtype for dtype, _ in kernel.arguments[:count]])
    return Image(kernel.name, buffers, dtypes, variables, kernel.load())
