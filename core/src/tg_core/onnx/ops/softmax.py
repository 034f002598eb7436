"""Softmax and its relatives, which before version 13 work on rows of a matrix."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from tg_core.onnx.axes import place_of
from tg_core.onnx.registry import operator
from tg_core.onnx.sizes import sizes_of
from tg_core.tensor import Tensor

__all__ = ["ALONG_AXIS"]


def _hardmax(x: Tensor, axis: int) -> Tensor:
    """Return 1 at the first maximum along the axis, 0 elsewhere."""
    place = place_of(axis, x.ndim)
    positions = Tensor.arange(x.shape[place]).reshape(
        (x.shape[place], *(1,) * (x.ndim - 1 - place))
    )
    return x.argmax(axis, keepdim=True).eq(positions).cast(x.dtype)


ALONG_AXIS: Mapping[str, Callable[[Tensor, int], Tensor]] = {
    "Hardmax": _hardmax,
    "LogSoftmax": Tensor.log_softmax,
    "Softmax": Tensor.softmax,
}


def _register(name: str, function: Callable[[Tensor, int], Tensor]) -> None:
    @operator(name, since=13)
    def along(x: Tensor, *, axis: int = -1) -> Tensor:
        return function(x, axis)

    @operator(name, since=1)
    def of_rows(x: Tensor, *, axis: int = 1) -> Tensor:
        # one past the last axis is allowed: every value is a row then
        place = axis if axis == x.ndim else place_of(axis, x.ndim)
        rows, columns = math.prod(sizes_of(x)[:place]), math.prod(sizes_of(x)[place:])
        return function(x.reshape((rows, columns)), 1).reshape(x.shape)


for _name, _function in ALONG_AXIS.items():
    _register(_name, _function)
