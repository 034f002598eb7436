"""Reductions. Their axes are an attribute first, an input from version 18 (13 for ReduceSum)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from tg_core.dtype import dtypes
from tg_core.onnx.axes import place_of
from tg_core.onnx.kinds import Int, Ints
from tg_core.onnx.registry import operator
from tg_core.onnx.sizes import size_of
from tg_core.tensor import Tensor

__all__ = ["REDUCTIONS"]

Axes: TypeAlias = tuple[int, ...] | None
Reduction: TypeAlias = Callable[[Tensor, Axes, bool], Tensor]


def _sum(x: Tensor, axes: Axes, keep: bool) -> Tensor:
    return x.sum(axes, keep).cast(x.dtype)


def _prod(x: Tensor, axes: Axes, keep: bool) -> Tensor:
    return x.prod(axes, keep).cast(x.dtype)


def _mean(x: Tensor, axes: Axes, keep: bool) -> Tensor:
    return x.mean(axes, keep).cast(x.dtype)


def _extreme(reduced: Reduction, neutral: Callable[[Tensor], bool | int | float]) -> Reduction:
    def extreme(x: Tensor, axes: Axes, keep: bool) -> Tensor:
        if 0 not in x.shape:
            return reduced(x, axes, keep)
        # nothing to choose from: what loses against every value
        empty = x.sum(axes, keep).cast(x.dtype)
        return empty.const_like(neutral(x))

    return extreme


def _least(x: Tensor) -> bool | int | float:
    return dtypes.min(x.dtype)


def _greatest(x: Tensor) -> bool | int | float:
    return dtypes.max(x.dtype)


def _l1(x: Tensor, axes: Axes, keep: bool) -> Tensor:
    return _sum(x.abs() if not dtypes.is_unsigned(x.dtype) else x, axes, keep)


def _l2(x: Tensor, axes: Axes, keep: bool) -> Tensor:
    return (x * x).sum(axes, keep).sqrt().cast(x.dtype)


def _log_sum(x: Tensor, axes: Axes, keep: bool) -> Tensor:
    return x.sum(axes, keep).log().cast(x.dtype)


def _log_sum_exp(x: Tensor, axes: Axes, keep: bool) -> Tensor:
    if 0 in x.shape or not dtypes.is_float(x.dtype):
        return x.exp().sum(axes, keep).log().cast(x.dtype)
    return x.logsumexp(axes, keep)


def _sum_square(x: Tensor, axes: Axes, keep: bool) -> Tensor:
    return _sum(x * x, axes, keep)


REDUCTIONS: Mapping[str, Reduction] = {
    "ReduceL1": _l1,
    "ReduceL2": _l2,
    "ReduceLogSum": _log_sum,
    "ReduceLogSumExp": _log_sum_exp,
    "ReduceMax": _extreme(Tensor.max, _least),
    "ReduceMean": _mean,
    "ReduceMin": _extreme(Tensor.min, _greatest),
    "ReduceProd": _prod,
    "ReduceSum": _sum,
    "ReduceSumSquare": _sum_square,
}


def _register(name: str, function: Reduction, since: int) -> None:
    @operator(name, since=1)
    def by_attribute(
        data: Tensor, *, axes: tuple[int, ...] | None = None, keepdims: bool = True
    ) -> Tensor:
        return function(data, axes or None, keepdims)

    @operator(name, since=since)
    def by_input(
        data: Tensor,
        axes: Ints | None = None,
        *,
        keepdims: bool = True,
        noop_with_empty_axes: bool = False,
    ) -> Tensor:
        # an empty list of axes means all of them, unless it is to mean none
        reduced = axes or (() if noop_with_empty_axes else None)
        return function(data, reduced, keepdims)


for _name, _function in REDUCTIONS.items():
    _register(_name, _function, 13 if _name == "ReduceSum" else 18)


def _extreme_position(x: Tensor, axis: int, keep: bool, last: bool, largest: bool) -> Tensor:
    ordered = x.flip(axis) if last else x
    found = ordered.argmax(axis, keep) if largest else ordered.argmin(axis, keep)
    found = found.cast(dtypes.int64)
    return size_of(x, axis) - 1 - found if last else found


@operator("ArgMax")
def arg_max(
    data: Tensor, *, axis: int = 0, keepdims: bool = True, select_last_index: bool = False
) -> Tensor:
    """Return the position of the first (or last) maximum along an axis."""
    return _extreme_position(data, axis, keepdims, select_last_index, True)


@operator("ArgMin")
def arg_min(
    data: Tensor, *, axis: int = 0, keepdims: bool = True, select_last_index: bool = False
) -> Tensor:
    """Return the position of the first (or last) minimum along an axis."""
    return _extreme_position(data, axis, keepdims, select_last_index, False)


def _running(x: Tensor, axis: int, exclusive: bool, reverse: bool, product: bool) -> Tensor:
    ordered = x.flip(axis) if reverse else x
    if exclusive and size_of(x, axis):
        # what comes before the first element is the neutral one
        pairs = [(0, 0)] * x.ndim
        pairs[axis] = (1, -1)
        ordered = ordered.pad(pairs, value=1 if product else 0)
    found = ordered.cumprod(axis) if product else ordered.cumsum(axis)
    found = found.cast(x.dtype)
    return found.flip(axis) if reverse else found


@operator("CumSum", since=11)
def cum_sum(x: Tensor, axis: Int, *, exclusive: bool = False, reverse: bool = False) -> Tensor:
    """Return the running sum along an axis."""
    return _running(x, place_of(axis, x.ndim), exclusive, reverse, False)


@operator("CumProd", since=26)
def cum_prod(x: Tensor, axis: Int, *, exclusive: bool = False, reverse: bool = False) -> Tensor:
    """Return the running product along an axis."""
    return _running(x, place_of(axis, x.ndim), exclusive, reverse, True)
