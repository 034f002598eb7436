"""The device under test as tests see it: cells in, tensors, cells out."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tg_conformance.oracles.values import NARROW, cell_type

if TYPE_CHECKING:
    from tg_core import Tensor

__all__ = ["REPEATS", "download", "repeated", "upload"]

Array = np.ndarray[Any, Any]

REPEATS = 3
"""How often each computation runs: the second run is where stale state of the first one shows."""


def upload(device: str, cells: Array, dtype: str) -> Tensor:
    """Return a tensor on the device whose memory holds the cells."""
    from tg_core import Tensor

    placed = Tensor(np.ascontiguousarray(cells), device=device).clone().realize()
    return placed.bitcast(dtype) if dtype in NARROW else placed


def download(tensor: Tensor) -> Array:
    """Return the cells of a tensor, after computing it into storage of its own dtype."""
    name = tensor.dtype.name
    stored = tensor.contiguous().realize()
    if name in NARROW:
        stored = stored.bitcast(cell_type(name).name)
    return stored.numpy()


def repeated(what: str, compute: Callable[[], Tensor]) -> tuple[Tensor, Array]:
    """Compute a tensor several times, each time on new storage.

    Args:
        what: name of the computation, for the message.
        compute: builds the tensor anew.

    Returns:
        The last tensor, and the cells that all runs agreed on.
    """
    tensor = compute()
    first = download(tensor)
    for run in range(1, REPEATS):
        again = download(compute())
        same = again.shape == first.shape and again.tobytes() == first.tobytes()
        assert same, (
            f"{what}: run {run + 1} gives other bytes than run 1, first at element "
            f"{_first_difference(first, again)}"
        )
    return tensor, first


def _first_difference(first: Array, again: Array) -> int:
    if first.shape != again.shape:
        return 0
    a, b = (np.ascontiguousarray(x).reshape(-1).view(np.uint8) for x in (first, again))
    position = int(np.flatnonzero(a != b)[0])
    return position // int(first.dtype.itemsize)
