"""Copying between any two buffers."""

from __future__ import annotations

from tg_core.device.buffer import Buffer
from tg_core.dtype import dtypes
from tg_core.errors import ShapeError
from tg_core.plugins.capability import Capability

__all__ = ["copy_buffer"]

STAGING_BYTES = 64 << 20
"""How much host memory a copy between two memories that the host cannot see may take, in bytes."""


def copy_buffer(target: Buffer, source: Buffer) -> None:
    """Copy all bytes of `source` into `target`, allocating it if needed.

    The cheapest path that both ends know is taken: the device itself between two of its kind, one
    copy where the host sees either memory, else pieces through host memory.

    Raises:
        ShapeError: the sizes differ, in bytes.
        DeviceError: the source is not allocated.
    """
    if target.nbytes != source.nbytes:
        raise ShapeError(
            f"copy from {source.device} to {target.device}: "
            f"{source!r} has {source.nbytes} bytes, {target!r} has {target.nbytes}"
        )
    target.ensure_allocated()
    if target.nbytes == 0:
        return
    if target.compiled.type == source.compiled.type and target.compiled.allocator.transfer(
        target.opaque, source.opaque, target.nbytes, source.compiled
    ):
        return
    # What is persistent is written, not mapped: it may not exist before the first write.
    persistent = Capability.PERSISTENT in target.compiled.capabilities
    view = None if persistent else target.host_view()
    if view is not None and not view.readonly:
        source.copyout(view)
        return
    view = source.host_view()
    if view is not None:
        target.copyin(view)
        return
    for start in range(0, target.nbytes, STAGING_BYTES):
        size = min(STAGING_BYTES, target.nbytes - start)
        piece = source.view(size, dtypes.uint8, start).copyout(bytearray(size))
        target.view(size, dtypes.uint8, start).copyin(piece)
