"""Writing values to places that a tensor names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeVar

from tg_core.dtype import dtypes
from tg_core.errors import DTypeError, ShapeError
from tg_core.uop.mixin.reduce import accumulation_dtype
from tg_core.uop.mixin.shape_utils import resolve_axis, shape_text
from tg_core.uop.mixin.sorting import SortingMixin
from tg_core.uop.opcodes import Ops

if TYPE_CHECKING:
    from typing import Self

_REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")

T = TypeVar("T", bound="ScatterMixin")


class ScatterMixin(SortingMixin):
    """`scatter scatter_reduce`."""

    __slots__ = ()

    def scatter(
        self,
        dim: int,
        index: Self,
        src: Any,
        reduce: Literal["multiply", "add"] | None = None,
    ) -> Self:
        """Return self with `src` at the places that `index` names along `dim`.

        The last write to a place wins; out of range writes nothing.

        Args:
            dim: the axis.
            index: integers, with as many axes as self.
            src: a scalar, or a tensor at least as large as `index`.
            reduce: add to or multiply what is there instead of replacing it.

        Raises:
            DTypeError: `index` is no integer tensor, `src` has another dtype, or `reduce` is
                unknown.
            ShapeError: the shapes do not fit.
        """
        if reduce not in (None, "add", "multiply"):
            raise DTypeError(f"scatter: reduce must be None, 'add' or 'multiply', found {reduce!r}")
        if reduce is not None:
            values = src if isinstance(src, type(self)) else self._filled(index, src)
            return self.scatter_reduce(dim, index, values, "sum" if reduce == "add" else "prod")
        axis, hits, values = self._scatter_parts("scatter", dim, index, src)
        count = hits.shape[-2]
        order = self._counting(count, dtypes.int32).unsqueeze(-1)
        last = hits._last(order, hits.ndim - 2)
        chosen = values.unsqueeze(-2)._sum_where(
            last._matches(count), (*last.shape, count), last.ndim
        )
        return self._overlay(axis, chosen, last >= 0)

    def scatter_reduce(
        self,
        dim: int,
        index: Self,
        src: Self,
        reduce: Literal["sum", "prod", "mean", "amax", "amin"],
        include_self: bool = True,
    ) -> Self:
        """Return self with `src` combined into the places that `index` names along `dim`.

        Args:
            dim: the axis.
            index: integers, with as many axes as self.
            src: at least as large as `index`.
            reduce: how values of one place are combined.
            include_self: whether the value of self takes part where something is written.

        Raises:
            DTypeError: `reduce` is unknown, or the dtypes do not fit.
            ShapeError: the shapes do not fit.
        """
        if reduce not in _REDUCTIONS:
            raise DTypeError(
                f"scatter_reduce: reduce must be one of {', '.join(_REDUCTIONS)}, found {reduce!r}"
            )
        axis, hits, values = self._scatter_parts("scatter_reduce", dim, index, src)
        along = hits.ndim - 2
        own = self.transpose(axis, self.ndim - 1)._cut_to((*hits.shape[:along], hits.shape[-1]))
        wide = accumulation_dtype(self.dtype) if dtypes.is_float(self.dtype) else self.dtype
        spread, own = values._as(wide).unsqueeze(-1), own._as(wide)
        # how many are written to a place need be counted only where self gives way to them
        counted = reduce == "mean" or not include_self
        number = hits._as(dtypes.int32)._reduce(Ops.ADD, (along,), False) if counted else None
        if reduce in ("sum", "mean"):
            result = hits.where(spread, self._const(0, wide))._reduce(Ops.ADD, (along,), False)
            result = result + own if include_self else result
            if reduce == "mean" and number is not None:
                parts = (number + 1 if include_self else number).maximum(1)._as(wide)
                result = result // parts if dtypes.is_int(wide) else result / parts
        elif reduce == "prod":
            result = hits.where(spread, self._const(1, wide))._reduce(Ops.MUL, (along,), False)
            result = result * own if include_self else result
        else:
            result = _extreme(hits, spread, own, reduce == "amax", include_self)
        written = self._const(True)._broadcast_to(result.shape) if number is None else number > 0
        return self._overlay(axis, result._as(self.dtype), written)

    def _filled(self, index: Self, value: Any) -> Self:
        return self._const(value, self.dtype)._broadcast_to(index.shape)

    def _scatter_parts(self, name: str, dim: int, index: Self, src: Any) -> tuple[int, Self, Self]:
        """Return the axis, where index i hits place p as `(..., i, p)`, and the values as
        `(..., i)`.
        """
        axis = resolve_axis(name, dim, self.ndim)
        self._check_index(name, axis, index)
        values = src if isinstance(src, type(self)) else self._filled(index, src)
        if values.dtype is not self.dtype:
            raise DTypeError(
                f"{name}: src of dtype {values.dtype.name} for self of dtype {self.dtype.name}"
            )
        small = values.ndim != index.ndim or any(
            have < want for have, want in zip(values.shape, index.shape, strict=True)
        )
        if small:
            raise ShapeError(
                f"{name}: src of shape {shape_text(values.shape)} is smaller than the index of "
                f"shape {shape_text(index.shape)}"
            )
        last = self.ndim - 1
        size = self.shape[axis]
        moved = values._cut_to(index.shape).transpose(axis, last)
        places = index._wrapped(name, axis, size)
        return axis, places.transpose(axis, last)._matches(size), moved

    def _cut_to(self, shape: tuple[Any, ...]) -> Self:
        return self.shrink(tuple((0, size) for size in shape))

    def _overlay(self, axis: int, result: Self, written: Self) -> Self:
        """Return self with `result`, whose axis is last, where `written`."""
        last = self.ndim - 1
        placed = result.transpose(axis, last).pad_to(self.shape)
        return written.transpose(axis, last).pad_to(self.shape).where(placed, self)


def _extreme(hits: T, spread: T, own: T, greatest: bool, include: bool) -> T:
    """Return the greatest or smallest value that reaches each place."""
    dtype = own.dtype
    values = spread if greatest else spread._reverse_order(dtype)
    lowest = values._const(dtypes.min(dtype), dtype)
    best = hits.where(values, lowest)._reduce(Ops.MAX, (hits.ndim - 2,), False)
    best = best if greatest else best._reverse_order(dtype)
    if not include:
        return best
    return best.maximum(own) if greatest else best.minimum(own)
