"""What REF's kernel driver and its users agree on: requests, structures, and places of files.

Both sides are written from this page: `interface` asks, `driver` answers. A driver of the Linux
kernel has such a header under `include/uapi`.

| request | effect |
|---|---|
| `GET_VERSION` | of this page |
| `ALLOCATE` | memory of the device, or of the host for it, and an offset to map it |
| `SHARE` | memory of another device's file, at the address it has there |
| `PIN` | memory of the process, at an address of the device's choice |
| `FREE` | gives up what a handle stands for; not while it is mapped or shared |
| `CREATE_QUEUE` | a queue that reads a ring, and an offset to map its doorbell |
| `LISTEN` | adds to an event at every store to a signal and at every fault |
| `GET_FAULT` | what stopped the queues of this file |
| `RESET` | drops all work of the queues of this file |

Offset `REGISTERS` of a file maps the registers.

| register | bits | |
|---|---|---|
| `STATUS` | 32 | bit 0: a queue of this file has stopped with a fault |
| `PROGRESS` | 64 | packets that all devices of the machine have begun |
"""

from __future__ import annotations

import ctypes
import enum
from typing import Final

from tg_core.backend import Direction, ioctl_request

__all__ = [
    "ALLOCATE",
    "CREATE_QUEUE",
    "FREE",
    "GET_FAULT",
    "GET_VERSION",
    "LISTEN",
    "PIN",
    "RESET",
    "SHARE",
    "Allocate",
    "CreateQueue",
    "Fault",
    "Free",
    "Listen",
    "MemoryFlags",
    "Pin",
    "QueueKind",
    "Rights",
    "Share",
    "Version",
]

MAJOR, MINOR = 1, 0

CLASS: Final = "/sys/class/ref"
"""Has a folder `ref<number>` for each device, with `memory_bytes` and the number of queues of each
kind, `compute_queues` and `copy_queues`."""
NODE: Final = "/dev/ref{}"
STATE: Final = "/sys/kernel/debug/ref/queues"
"""What every queue of the machine is at, a line each."""

REGISTERS: Final = 1 << 40
REGISTER_BYTES: Final = 4096
STATUS, PROGRESS = 0x00, 0x08
FAULTED: Final = 1
"""Bit of `STATUS`."""
DOORBELL_BYTES: Final = 4096


class MemoryFlags(enum.IntFlag):
    """How memory is wanted."""

    HOST = 1
    """Memory of the host that the device reaches, for words that both poll."""
    READ_ONLY = 2
    """The device may not write it."""


class Rights(enum.IntFlag):
    """What the device may do to memory that it is shown."""

    READ = 1
    WRITE = 2


class QueueKind(enum.IntEnum):
    """What a queue executes."""

    COMPUTE = 1
    COPY = 2


class Version(ctypes.Structure):
    """Of this page; another major version is another language."""

    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32)]


class Allocate(ctypes.Structure):
    """In: `nbytes`, `flags`. Out: the rest."""

    _fields_ = [
        ("nbytes", ctypes.c_uint64),
        ("address", ctypes.c_uint64),
        ("offset", ctypes.c_uint64),
        ("flags", ctypes.c_uint32),
        ("handle", ctypes.c_uint32),
    ]


class Share(ctypes.Structure):
    """In: `fd` and `handle` of the owner, `rights`. Out: `shared`, a handle, and `address`."""

    _fields_ = [
        ("fd", ctypes.c_int32),
        ("handle", ctypes.c_uint32),
        ("rights", ctypes.c_uint32),
        ("shared", ctypes.c_uint32),
        ("address", ctypes.c_uint64),
    ]


class Pin(ctypes.Structure):
    """In: `start` and `nbytes` of memory of the process, `rights`. Out: `handle`, `address`."""

    _fields_ = [
        ("start", ctypes.c_uint64),
        ("nbytes", ctypes.c_uint64),
        ("rights", ctypes.c_uint32),
        ("handle", ctypes.c_uint32),
        ("address", ctypes.c_uint64),
    ]


class Free(ctypes.Structure):
    """In: what is given up."""

    _fields_ = [("handle", ctypes.c_uint32), ("reserved", ctypes.c_uint32)]


class CreateQueue(ctypes.Structure):
    """In: all but `doorbell`. `ring` and `read_ptr` are addresses of the device; it compares `bits`
    bits of signals.
    """

    _fields_ = [
        ("kind", ctypes.c_uint32),
        ("index", ctypes.c_uint32),
        ("ring", ctypes.c_uint64),
        ("ring_words", ctypes.c_uint32),
        ("bits", ctypes.c_uint32),
        ("read_ptr", ctypes.c_uint64),
        ("doorbell", ctypes.c_uint64),
    ]


class Listen(ctypes.Structure):
    """In: the descriptor of an event."""

    _fields_ = [("event", ctypes.c_int32), ("reserved", ctypes.c_uint32)]


class Fault(ctypes.Structure):
    """Out: where and why. Where no memory was at fault the address is 0."""

    _fields_ = [
        ("address", ctypes.c_uint64),
        ("nbytes", ctypes.c_uint64),
        ("write", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
        ("message", ctypes.c_char * 1024),
    ]


_BOTH = Direction.READ | Direction.WRITE


def _request(direction: Direction, number: int, layout: type[ctypes.Structure] | None) -> int:
    nbytes = 0 if layout is None else ctypes.sizeof(layout)
    return ioctl_request(direction, ord("R"), number, nbytes)


GET_VERSION: Final = _request(Direction.READ, 1, Version)
ALLOCATE: Final = _request(_BOTH, 2, Allocate)
SHARE: Final = _request(_BOTH, 3, Share)
PIN: Final = _request(_BOTH, 4, Pin)
FREE: Final = _request(Direction.WRITE, 5, Free)
CREATE_QUEUE: Final = _request(_BOTH, 6, CreateQueue)
LISTEN: Final = _request(Direction.WRITE, 7, Listen)
GET_FAULT: Final = _request(Direction.READ, 8, Fault)
RESET: Final = _request(Direction.NONE, 9, None)
