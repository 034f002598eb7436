"""Softmax and its relatives, which before version 13 work on rows of a matrix."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tg_core.onnx.registry import operator
from tg_core.onnx.sizes import sizes_of
from tg_core.tensor import Tensor

__all__ = ["ALONG_AXIS"]


def _hardmax(x: Tensor, axis: int) -> Tensor:
    """Return 1 at the first maximum along the axis, 0 elsewhere."""
    positions = Tensor.arange(x.shape[axis]).reshape((-1, *(1,) * (x.ndim - 1 - axis % x.ndim)))
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
        lead = 1
        for size in sizes_of(x)[: axis + x.ndim if axis < 0 else axis]:
            lead *= size
        return function(x.reshape((lead, -1)), 1).reshape(x.shape)


for _name, _function in ALONG_AXIS.items():
    _register(_name, _function)
