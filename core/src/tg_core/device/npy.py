"""NPY: numpy arrays as buffers, so that data from numpy needs no copy before its first use."""

from __future__ import annotations

from typing import Any

import numpy as np

from tg_core.device.api import Compiled
from tg_core.device.buffer import Buffer
from tg_core.dtype import from_numpy
from tg_core.errors import DTypeError

__all__ = ["NpyDevice", "buffer_of_array"]


class NpyDevice(Compiled):
    """Holds arrays; runs nothing."""


def buffer_of_array(array: np.ndarray[Any, np.dtype[Any]]) -> Buffer:
    """Return a buffer over the memory of an array; the array stays alive with it.

    Args:
        array: C-contiguous, in native byte order.

    Raises:
        DTypeError: not contiguous, byte-swapped, or of a dtype that tensors do not have.
    """
    if not array.flags.c_contiguous or not array.dtype.isnative:
        raise DTypeError(
            f"buffer_of_array: {array.dtype} with strides {array.strides}, "
            "expected C-contiguous memory in native byte order"
        )
    dtype = from_numpy(array.dtype)
    flat = array.reshape(-1).view(np.uint8)
    return Buffer("NPY", array.size, dtype, opaque=flat)
