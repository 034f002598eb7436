"""Calls of native functions that leave a mark in the moment they are made.

An interrupt reaches Python between two instructions of the interpreter, so also between a call and
whatever would be noted of it. Here both are one instruction: the list of marks grows by what the
function returns, and is extended by code that runs no instruction in between. Whoever catches the
interrupt finds as many marks as calls were made.
"""

from __future__ import annotations

import ctypes
from array import array
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Marks", "NativeCall", "NativeKernel"]

Marks: TypeAlias = list[None]
"""Grows by one for each call that was made."""

_KERNEL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)
"""`void name(void *args, int64_t chunk)`"""

_RUNNER = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
"""`void run(void *kernel, void *args, int64_t chunks)`"""

_FIRST_CHUNK = (0,)


class NativeCall:
    """A kernel of one chunk that is given the same slots every time.

    Args:
        address: of `void name(void *args, int64_t chunk)`.
        slots: what its arguments are.
    """

    def __init__(self, address: int, slots: Sequence[int]) -> None:
        self._slots = array("q", slots)
        self._function: Any = _KERNEL(address)
        # made ready here, which halves the time of a call
        self._place = (ctypes.c_void_p(self._slots.buffer_info()[0]),)
        self._chunk = (ctypes.c_int64(0),)

    def __call__(self, marks: Marks) -> None:
        """Call it once."""
        marks.extend(map(self._function, self._place, self._chunk))


class NativeKernel:
    """A kernel that is given other slots every time, and may have several chunks.

    Args:
        address: of `void name(void *args, int64_t chunk)`.
        runner: address of `void run(void *kernel, void *args, int64_t chunks)`, None for kernels
            that never have several chunks.
    """

    def __init__(self, address: int, runner: int | None) -> None:
        self._address = (address,)
        self._function: Any = _KERNEL(address)
        self._runner: Any = None if runner is None else _RUNNER(runner)

    def __call__(self, slots: bytes, chunks: int, marks: Marks) -> None:
        """Call every chunk once.

        Args:
            slots: the arguments, 8 bytes each.
            chunks: how many; not 1 only where there is a runner.
            marks: where to leave the mark.
        """
        if chunks == 1:
            marks.extend(map(self._function, (slots,), _FIRST_CHUNK))
        else:
            marks.extend(map(self._runner, self._address, (slots,), (chunks,)))
