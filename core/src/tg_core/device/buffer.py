"""A piece of memory on a device."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from tg_core.device.api import BufferOptions, Compiled
from tg_core.device.registry import Device
from tg_core.device.shown_memory import SHOWN, note_host_access
from tg_core.dtype import DType, to_numpy
from tg_core.errors import DeviceError, DTypeError, ShapeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg_core.device.memory_pool import MemoryPool

__all__ = ["Buffer"]

_PLAIN = BufferOptions()


class _HeldBytes(np.ndarray[Any, np.dtype[np.uint8]]):
    """Bytes of a buffer that hold on to it; a memory view of them does too."""

    buffer: Buffer


class Buffer:
    """Memory for `size` elements of a dtype, allocated on demand; or a view into another buffer.

    The memory is given back when the last reference to the buffer and to its views is dropped.

    Args:
        device: the device name.
        size: how many elements.
        dtype: of which dtype.
        base: the buffer this one is a view of.
        offset: where the view starts in the memory of its base, in bytes.
        opaque: memory that exists already, as the allocator of the device understands it.
        options: how the memory is wanted.

    Raises:
        ShapeError: a negative size, or a view that leaves its base.
        DTypeError: a weak dtype, which has no width.
    """

    __slots__ = (
        "__weakref__",
        "_compiled",
        "_opaque",
        "_pool",
        "address_known",
        "base",
        "device",
        "dtype",
        "nbytes",
        "offset",
        "options",
        "size",
    )

    def __init__(
        self,
        device: str,
        size: int,
        dtype: DType,
        *,
        base: Buffer | None = None,
        offset: int = 0,
        opaque: Any = None,
        options: BufferOptions | None = None,
    ) -> None:
        self._opaque: Any = None
        self._pool: MemoryPool | None = None
        self._compiled: Compiled | None = None
        self.address_known = 0
        """What `address` found, 0 before it is asked; read first where every call counts."""
        if size < 0:
            raise ShapeError(f"buffer on {device}: size {size} is negative")
        if dtype.itemsize == 0:
            raise DTypeError(f"buffer on {device}: {dtype.name} has no width; cast it first")
        self.device = device
        self.size = size
        self.dtype = dtype
        self.nbytes = size * dtype.itemsize
        self.options = options or _PLAIN
        # A view of a view is a view of the memory itself, so that chains of views stay flat.
        self.offset: int = offset if base is None else base.offset + offset
        self.base: Buffer | None = base if base is None or base.base is None else base.base
        if base is not None and (offset < 0 or offset + self.nbytes > base.nbytes):
            raise ShapeError(
                f"buffer on {device}: view of bytes {offset} to {offset + self.nbytes} "
                f"of a buffer of {base.nbytes} bytes"
            )
        if opaque is not None:
            self._opaque = opaque

    @property
    def root(self) -> Buffer:
        """The buffer that owns the memory: the base of a view, else the buffer itself."""
        return self if self.base is None else self.base

    @property
    def compiled(self) -> Compiled:
        """The opened device."""
        if self._compiled is None:
            self._compiled = Device[self.device] if self.base is None else self.base.compiled
        return self._compiled

    @property
    def opaque(self) -> Any:
        """The memory, as the allocator of the device understands it.

        Raises:
            DeviceError: the buffer is not allocated.
        """
        if self._opaque is None:
            if self.base is None or self.base._opaque is None:
                raise DeviceError(f"{self.device}: {self!r} is not allocated")
            allocator = self.compiled.allocator
            self._opaque = allocator.offset(self.base._opaque, self.nbytes, self.offset)
        return self._opaque

    def is_allocated(self) -> bool:
        """Tell whether the buffer, or the base of a view, has memory."""
        return self.root._opaque is not None

    def allocate(self) -> Buffer:
        """Get memory; returns the buffer.

        Raises:
            DeviceError: it has some already.
            OutOfMemory: the device has no room.
        """
        root = self.root
        if root._opaque is not None:
            raise DeviceError(f"{self.device}: {self!r} is already allocated")
        pool = root.compiled.memory
        root._opaque = pool.alloc(root.nbytes, root.options, root.dtype.name)
        root._pool = pool
        return self

    def address(self) -> int:
        """Return the address the device uses for the memory, allocated now if there is none yet.

        Raises:
            DeviceError: memory of the device has no address.
            OutOfMemory: the device has no room.
        """
        if self.address_known == 0:
            self.ensure_allocated()
            self.address_known = self.compiled.allocator.address(self.opaque)
        return self.address_known

    def ensure_allocated(self) -> Buffer:
        """Get memory unless there is some; returns the buffer."""
        return self if self.is_allocated() else self.allocate()

    def view(self, size: int, dtype: DType, byte_offset: int) -> Buffer:
        """Return `size` elements of `dtype` from `byte_offset` on, sharing the memory.

        Raises:
            ShapeError: the view leaves the buffer.
        """
        return Buffer(self.device, size, dtype, base=self, offset=byte_offset)

    def overlaps(self, other: Buffer) -> bool:
        """Tell whether both have a byte in common."""
        if self.root is not other.root:
            return False
        return (
            self.offset < other.offset + other.nbytes and other.offset < self.offset + self.nbytes
        )

    def copyin(self, data: memoryview | bytes | bytearray) -> Buffer:
        """Write host bytes into the buffer, allocating it if needed; returns the buffer.

        Raises:
            ShapeError: the number of bytes differs.
        """
        view = memoryview(data).cast("B")
        self._check_length(view.nbytes, "copyin")
        self.ensure_allocated()
        if SHOWN:
            note_host_access(self, True, "copyin")
        if view.nbytes:
            self.compiled.allocator.copyin(self.opaque, view)
        return self

    def copyout(self, data: memoryview | bytearray) -> memoryview:
        """Read the buffer into host bytes; returns them.

        Raises:
            ShapeError: the number of bytes differs.
            DeviceError: the buffer is not allocated, or the target is read-only.
        """
        view = memoryview(data).cast("B")
        self._check_length(view.nbytes, "copyout")
        if view.readonly:
            raise DeviceError(f"copyout on {self.device}: the target is read-only")
        if SHOWN:
            note_host_access(self, False, "copyout")
        if view.nbytes:
            self.compiled.allocator.copyout(view, self.opaque)
        return view

    def host_view(self) -> memoryview | None:
        """Return the bytes of the buffer without copying, or None where the host cannot see them.

        Waits for the device, so that what was launched before is in them.
        """
        compiled = self.compiled
        view = compiled.allocator.as_memoryview(self.opaque)
        if view is None:
            return None
        compiled.synchronize()
        return view.cast("B")[: self.nbytes]

    def as_memoryview(self) -> memoryview:
        """Return the bytes of the buffer: the memory itself where the host sees it, else a copy.

        The view keeps the buffer alive: its memory is not given to another buffer meanwhile.
        """
        if self.nbytes == 0:
            return memoryview(b"")
        view = self.host_view()
        if view is None:
            return self.copyout(bytearray(self.nbytes))
        held = np.frombuffer(view, np.uint8).view(_HeldBytes)
        held.buffer = self
        return held.data

    def numpy(self) -> np.ndarray[Any, np.dtype[Any]]:
        """Return a copy of the elements as a numpy array.

        Raises:
            DTypeError: numpy has no such dtype.
        """
        dtype = to_numpy(self.dtype)
        if dtype is None:
            raise DTypeError(f"numpy has no {self.dtype.name}; cast to float32 first")
        out = np.empty(self.size, dtype)
        self.copyout(out.view(np.uint8).data)
        return out

    def _check_length(self, nbytes: int, what: str) -> None:
        if nbytes != self.nbytes:
            raise ShapeError(
                f"{what} on {self.device}: {nbytes} bytes given, {self!r} has {self.nbytes}"
            )

    def __del__(self, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        # at the end of the process the names of modules are gone, and the memory goes by itself
        if self._pool is not None and not is_finalizing():
            self._pool.free(self._opaque, self.nbytes, self.options)

    def __repr__(self) -> str:
        view = f", {self.offset} bytes into its base" if self.base is not None else ""
        return f"<buffer {self.device} {self.size} {self.dtype.name}{view}>"
