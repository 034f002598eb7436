"""The greatest and smallest values."""

from __future__ import annotations

from tg_core.dtype import dtypes
from tg_core.onnx.kinds import Int
from tg_core.onnx.registry import operator
from tg_core.tensor import Tensor

__all__ = ["top_k"]


@operator("TopK")
def top_k_by_attribute(x: Tensor, *, k: int, axis: int = -1) -> tuple[Tensor, Tensor]:
    """Return the k greatest values along an axis and where they are."""
    return top_k(x, k, axis=axis)


@operator("TopK", since=10)
def top_k(
    x: Tensor,
    k: Int,
    *,
    axis: int = -1,
    largest: bool = True,
    sorted: bool = True,  # noqa: A002 - the name in files
) -> tuple[Tensor, Tensor]:
    """Return the k greatest (or smallest) values along an axis and where they are."""
    values, places = x.topk(k, axis, largest, True)
    return values, places.cast(dtypes.int64)
