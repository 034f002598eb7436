"""Memory of the interpreter: every access is checked against the bounds of its storage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tg_core.device.interpreter_values import Array, from_memory, memory_type, to_memory
from tg_core.errors import DeviceError

if TYPE_CHECKING:
    from tg_core.dtype import DType


@dataclass
class Storage:
    """An array that nodes index.

    `cells` is one row of `size` for all work items (an argument), or one row per owner: a group
    (local memory) or a work item (registers), where `owner` says which row is whose.
    """

    label: str
    dtype: DType
    size: int
    cells: Array
    owner: Array | None = None


def argument_storage(label: str, dtype: DType, size: int, buffer: Any) -> Storage:
    """Wrap the memory of an argument.

    Args:
        label: what to call it in errors.
        dtype: dtype of the elements.
        size: number of elements the kernel may reach.
        buffer: bytes, as anything with the buffer protocol.

    Raises:
        DeviceError: the memory is smaller than that.
    """
    raw = np.frombuffer(buffer, np.uint8)
    if raw.nbytes < size * dtype.itemsize:
        raise DeviceError(
            f"{label}: {raw.nbytes} bytes, expected at least {size} elements of {dtype.name}"
        )
    cells = raw[: size * dtype.itemsize].view(memory_type(dtype))
    return Storage(label, dtype, size, cells[None])


def private_storage(
    label: str, dtype: DType, size: int, owners: int, owner: Array | None
) -> Storage:
    """Make local or register memory, filled with values that show when they are read too early."""
    kind = memory_type(dtype)
    poison = np.nan if kind.kind == "f" else np.iinfo(kind).max
    return Storage(label, dtype, size, np.full((owners, size), poison, kind, order="F"), owner)


def _checked(op: str, storage: Storage, index: Array, lanes: int, active: Array | None) -> Array:
    """Return indices that are all in bounds; those of inactive lanes become 0.

    Raises:
        DeviceError: an active index is out of bounds.
    """
    if active is not None:
        index = np.where(active, index, index.dtype.type(0))
    # seen as unsigned, a negative index is a huge one, so one pass finds both kinds
    if int(index.view(f"u{index.dtype.itemsize}").max()) + max(lanes, 1) <= storage.size:
        return index
    low, high = int(index.min()), int(index.max())
    last = high + max(lanes, 1)
    if low < 0 or (last > storage.size and (active is None or active.any())):
        wrong = low if low < 0 else last - 1
        raise DeviceError(
            f"{op} of {storage.label} ({storage.dtype.name}[{storage.size}]): index {wrong} is out"
            " of bounds"
        )
    return index


def _positions(index: Array, lanes: int) -> Array:
    """Return the index of every element: with lanes, consecutive ones on a second axis."""
    return index if not lanes else index[:, None] + np.arange(lanes, dtype=np.int64)


def load(
    storage: Storage, index: Array, lanes: int, alt: Array | None, active: Array | None
) -> Array:
    """Read elements.

    Args:
        storage: where.
        index: of the first element, per work item; with a second axis, of each lane.
        lanes: number of consecutive elements, 0 for what `index` says alone.
        alt: the result where a lane is not active.
        active: which work items, or which of their lanes, read at all; None: all.
    """
    per_lane = active is not None and active.ndim == 2 and bool(lanes)
    if per_lane:
        index, lanes = _positions(index, lanes), 0
    if active is not None and not active.any():
        shape = np.broadcast_shapes(index.shape, active.shape)
        missing = np.zeros((*shape, lanes) if lanes else shape, memory_type(storage.dtype))
        values = from_memory(missing, storage.dtype)
    else:
        index = _checked("LOAD", storage, index, lanes, active)
        values = _read(storage, _positions(index, lanes))
    if active is None or alt is None:
        return values
    if values.ndim == 2 and active.ndim == 1:
        active = active[:, None]
    if values.ndim == 2 and alt.ndim == 1:
        alt = alt[:, None]
    return np.where(active, values, alt)


def _read(storage: Storage, positions: Array) -> Array:
    if storage.owner is None:
        cells = storage.cells[0][positions]
    elif len(positions) == 1 and storage.cells.shape[0] == len(storage.owner):
        cells = storage.cells[:, positions[0]].copy()
    else:
        owner = storage.owner if positions.ndim == 1 else storage.owner[:, None]
        cells = storage.cells[owner, positions]
    return from_memory(cells, storage.dtype)


def store(storage: Storage, index: Array, lanes: int, values: Array, active: Array | None) -> None:
    """Write elements; of several work items that write one element, the last wins."""
    per_lane = active is not None and active.ndim == 2 and bool(lanes)
    if per_lane:
        index, lanes = _positions(index, lanes), 0
    if active is not None and not active.any():
        return
    positions = _positions(_checked("STORE", storage, index, lanes, active), lanes)
    cells = to_memory(values, storage.dtype)
    if cells.ndim == 1 and positions.ndim == 2:
        cells = cells[:, None]
    owner = storage.owner
    if owner is None and active is None and positions.shape == cells.shape:
        storage.cells[0][positions] = cells
        return
    uniform = len(positions) == 1 and owner is not None
    if uniform and active is None and storage.cells.shape[0] == len(owner):  # type: ignore[arg-type]
        storage.cells[:, positions[0]] = cells
        return
    if active is not None and active.ndim == 1 and positions.ndim == 2:
        active = active[:, None]
    rows = np.zeros(1, np.intp) if owner is None else owner
    if positions.ndim == 2:
        rows = rows[:, None]
    parts = [rows, positions, cells, *([] if active is None else [active])]
    rows, positions, cells, *mask = np.broadcast_arrays(*parts)
    if mask:
        rows, positions, cells = rows[mask[0]], positions[mask[0]], cells[mask[0]]
    storage.cells[rows, positions] = cells
