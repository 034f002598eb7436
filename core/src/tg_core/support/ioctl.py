"""Numbers of ioctl requests, as the kernel makes them up.

Source: Linux, include/uapi/asm-generic/ioctl.h: two bits of direction, fourteen of size, eight of
type and eight of number, from the top.
"""

from __future__ import annotations

import enum
from typing import NamedTuple

__all__ = ["Direction", "IoctlNumber", "ioctl_request", "split_request"]

_SIZE_BITS, _TYPE_BITS, _NUMBER_BITS = 14, 8, 8


class Direction(enum.IntFlag):
    """Which way the argument goes, as the caller sees it."""

    NONE = 0
    WRITE = 1
    """The caller writes, the driver reads."""
    READ = 2
    """The driver writes, the caller reads."""


class IoctlNumber(NamedTuple):
    """The parts of a request."""

    direction: Direction
    kind: int
    number: int
    nbytes: int


def ioctl_request(direction: Direction, kind: int, number: int, nbytes: int) -> int:
    """Return the number of a request.

    Args:
        direction: which way the argument goes.
        kind: the driver's letter.
        number: of the request.
        nbytes: length of the argument.
    """
    high = int(direction) << _SIZE_BITS | nbytes
    return (high << _TYPE_BITS | kind) << _NUMBER_BITS | number


def split_request(request: int) -> IoctlNumber:
    """Return the parts of the number of a request."""
    number = request & 0xFF
    kind = request >> _NUMBER_BITS & 0xFF
    rest = request >> (_NUMBER_BITS + _TYPE_BITS)
    return IoctlNumber(Direction(rest >> _SIZE_BITS & 3), kind, number, rest & 0x3FFF)
