"""Arrays of other libraries, through DLPack."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from tg_core.array_api.operands import fresh
from tg_core.errors import ExchangeError

if TYPE_CHECKING:
    import numpy as np

    from tg_core.tensor import Tensor

HOST_DEVICES = ("CPU",)
"""The devices whose memory is the host's, so that they can use foreign memory where it is."""
_ON_HOST = frozenset((1, 3, 11))
"""`kDLCPU`, `kDLCUDAHost` and `kDLROCMHost`: kinds of devices with host memory."""


def from_dlpack(x: Any, /, *, device: str | None = None, copy: bool | None = None) -> Tensor:
    """Return an array of another library as ours.

    Memory of the host is shared where the device uses it as it is and the values are
    contiguous and writable; a write to one of both shows in the other then. Else it is copied.

    Args:
        x: an object with `__dlpack__` and `__dlpack_device__`.
        device: where the array is.
        copy: True for memory of its own, False to refuse a copy.

    Raises:
        ExchangeError: the memory is not the host's, or a copy is needed and refused.
    """
    import numpy as np

    from tg_core.device import Device
    from tg_core.tensor import Tensor

    target = Device.require(device)
    if isinstance(x, Tensor):
        if copy is False and target != x.device:
            raise ExchangeError(f"from_dlpack: from {x.device} to {target} takes a copy")
        moved = x.to(target) if device is not None else x
        return fresh(moved, x) if copy else moved
    if not hasattr(x, "__dlpack__") or not hasattr(x, "__dlpack_device__"):
        raise ExchangeError(f"from_dlpack: {type(x).__name__} has no __dlpack__")
    kind, number = x.__dlpack_device__()
    if int(kind) not in _ON_HOST:
        raise ExchangeError(
            f"from_dlpack: memory of device kind {int(kind)} number {number} is not the host's, "
            "copy it there first"
        )
    values = np.from_dlpack(x)
    shares = (
        target in HOST_DEVICES
        and values.size > 0
        and values.flags.c_contiguous
        and values.flags.writeable
    )
    if copy is False and not shares:
        raise ExchangeError("from_dlpack: read-only or strided memory needs a copy")
    if copy or not shares:
        return Tensor(np.array(values), device=device)
    return _over(values, target)


def _over(values: np.ndarray, device: str) -> Tensor:
    """Return a tensor over the memory of a numpy array, which lives as long as its storage."""
    from tg_core.device import buffer_of
    from tg_core.dtype import from_numpy
    from tg_core.tensor import Tensor

    result = Tensor.from_blob(
        int(values.ctypes.data), values.shape, dtype=from_numpy(values.dtype), device=device
    )
    buffer = buffer_of(result.uop.base)
    weakref.finalize(buffer, _let_go, values).atexit = False
    return result


def _let_go(values: np.ndarray) -> None:
    """Drop the last reference to foreign memory."""
