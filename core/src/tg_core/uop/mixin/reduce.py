"""Reductions along axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tg_core.dtype import DType, DTypeLike, dtypes, sum_dtype, to_dtype
from tg_core.errors import ShapeError
from tg_core.uop.mixin.movement import MovementMixin
from tg_core.uop.mixin.shape_utils import prod, resolve_axes, shape_text
from tg_core.uop.mixin.trigonometry import TrigonometryMixin
from tg_core.uop.opcodes import Ops

if TYPE_CHECKING:
    from typing import Self

    from tg_core.uop.uop import sint

Axis = int | Sequence[int] | None


def accumulation_dtype(dtype: DType) -> DType:
    """Return the dtype sums of `dtype` are accumulated in: float32 for narrower floats."""
    if dtypes.is_float(dtype) and 0 < dtype.bits < 32:
        return dtypes.float32
    return sum_dtype(dtype)


class ReduceMixin(TrigonometryMixin, MovementMixin):
    """Sum, product, extrema, means, variances, logical reductions and the positions of extrema."""

    __slots__ = ()

    def _reduce(self, op: Ops, axes: tuple[int, ...], keepdim: bool) -> Self:
        result = self if not axes else self._apply(Ops.REDUCE_AXIS, (), (op, axes))
        if keepdim or not axes:
            return result
        return result.reshape(
            tuple(size for axis, size in enumerate(self.shape) if axis not in axes)
        )

    def sum(self, axis: Axis = None, keepdim: bool = False, dtype: DTypeLike | None = None) -> Self:
        """Return the sum; bool and narrow integers widen.

        Narrow floats accumulate in float32 and are rounded once.

        A `dtype` given is accumulated in and returned instead.
        """
        axes = resolve_axes("sum", axis, self.ndim)
        if dtype is not None:
            return self._as(to_dtype(dtype))._reduce(Ops.ADD, axes, keepdim)
        total = self._as(accumulation_dtype(self.dtype))._reduce(Ops.ADD, axes, keepdim)
        return total._as(sum_dtype(self.dtype))

    def prod(
        self, axis: Axis = None, keepdim: bool = False, dtype: DTypeLike | None = None
    ) -> Self:
        """Return the product, with the dtypes of `sum`."""
        axes = resolve_axes("prod", axis, self.ndim)
        if dtype is not None:
            return self._as(to_dtype(dtype))._reduce(Ops.MUL, axes, keepdim)
        total = self._as(accumulation_dtype(self.dtype))._reduce(Ops.MUL, axes, keepdim)
        return total._as(sum_dtype(self.dtype))

    def _require_elements(self, name: str, axes: tuple[int, ...]) -> None:
        if any(isinstance(self.shape[axis], int) and self.shape[axis] == 0 for axis in axes):
            raise ShapeError(
                f"{name}: no value to choose from along axes {axes} of shape "
                f"{shape_text(self.shape)}"
            )

    def max(self, axis: Axis = None, keepdim: bool = False) -> Self:
        """Return the maximum; NaN wins over everything.

        Raises:
            ShapeError: a reduced axis is empty.
        """
        axes = resolve_axes("max", axis, self.ndim)
        self._require_elements("max", axes)
        return self._reduce(Ops.MAX, axes, keepdim)

    def min(self, axis: Axis = None, keepdim: bool = False) -> Self:
        """Return the minimum; NaN wins over everything.

        Raises:
            ShapeError: a reduced axis is empty.
        """
        axes = resolve_axes("min", axis, self.ndim)
        self._require_elements("min", axes)
        return (
            self._reverse_order(self.dtype)
            ._reduce(Ops.MAX, axes, keepdim)
            ._reverse_order(self.dtype)
        )

    def any(self, axis: Axis = None, keepdim: bool = False) -> Self:
        """Return whether some element is true; False along an empty axis."""
        return self._as(dtypes.bool)._reduce(Ops.MAX, resolve_axes("any", axis, self.ndim), keepdim)

    def all(self, axis: Axis = None, keepdim: bool = False) -> Self:
        """Return whether every element is true; True along an empty axis."""
        return self.logical_not().any(axis, keepdim).logical_not()

    def _count(self, axes: tuple[int, ...]) -> sint:
        count: sint = prod([self.shape[axis] for axis in axes])
        return count

    def _scaled(self, divisor: Any) -> Self:
        """Return self divided by a count that may be symbolic."""
        if isinstance(divisor, int):
            return self / self._const(float(divisor)) if divisor else self * float("nan")
        return self / self._operand(divisor, "mean")._as(self.dtype)

    def mean(self, axis: Axis = None, keepdim: bool = False) -> Self:
        """Return the mean; integers give the default float.

        Narrow floats are computed in float32.
        """
        axes = resolve_axes("mean", axis, self.ndim)
        values = self._require_float()
        wide = values._as(accumulation_dtype(values.dtype))
        return wide._reduce(Ops.ADD, axes, keepdim)._scaled(self._count(axes))._as(values.dtype)

    def _variance(self, axes: tuple[int, ...], keepdim: bool, correction: int) -> Self:
        """Return the variance in the accumulation dtype."""
        values = self._require_float()
        wide = values._as(accumulation_dtype(values.dtype))
        deviation = wide - wide.mean(axes, keepdim=True)
        count = self._count(axes)
        if isinstance(count, int):
            divisor: Any = max(count - correction, 0)
        else:
            divisor = self._operand(count, "var").sub(correction).maximum(0)
        return deviation.square()._reduce(Ops.ADD, axes, keepdim)._scaled_by(divisor)

    def _scaled_by(self, divisor: Any) -> Self:
        if isinstance(divisor, int):
            return self / self._const(float(divisor))
        return self / self._operand(divisor, "var")._as(self.dtype)

    def var(self, axis: Axis = None, keepdim: bool = False, correction: int = 1) -> Self:
        """Return the variance: the mean square deviation, with `correction` off the count."""
        axes = resolve_axes("var", axis, self.ndim)
        return self._variance(axes, keepdim, correction)._as(self._require_float().dtype)

    def std(self, axis: Axis = None, keepdim: bool = False, correction: int = 1) -> Self:
        """Return the standard deviation, the root of `var`; the gradient of equal values is 0."""
        axes = resolve_axes("std", axis, self.ndim)
        variance = self._variance(axes, keepdim, correction)
        equal = variance.eq(0.0)
        # the root has no slope at zero, so it stays away from there
        root = equal.where(variance, equal.where(1.0, variance).sqrt())
        return root._as(self._require_float().dtype)

    def var_mean(
        self, axis: Axis = None, keepdim: bool = False, correction: int = 1
    ) -> tuple[Self, Self]:
        """Return `(var, mean)`."""
        return self.var(axis, keepdim, correction), self.mean(axis, keepdim)

    def std_mean(
        self, axis: Axis = None, keepdim: bool = False, correction: int = 1
    ) -> tuple[Self, Self]:
        """Return `(std, mean)`."""
        return self.std(axis, keepdim, correction), self.mean(axis, keepdim)
