"""The unary functions that are ops of the IR, and the markers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.dtype import DTypeLike, dtypes, to_dtype
from tg_core.errors import DTypeError, ShapeError
from tg_core.uop.mixin.logic import LogicMixin
from tg_core.uop.opcodes import Ops

if TYPE_CHECKING:
    from typing import Self


class PrimitiveMixin(LogicMixin):
    """`exp2 log2 sin sqrt reciprocal trunc`, `bitcast`, `detach`, `contiguous`."""

    __slots__ = ()

    def exp2(self) -> Self:
        """Return 2 to the power self."""
        return self._require_float()._apply(Ops.EXP2)

    def log2(self) -> Self:
        """Return the logarithm to base 2; NaN for negative values."""
        return self._require_float()._apply(Ops.LOG2)

    def sin(self) -> Self:
        """Return the sine of self in radians."""
        return self._require_float()._apply(Ops.SIN)

    def sqrt(self) -> Self:
        """Return the square root; NaN for negative values."""
        return self._require_float()._apply(Ops.SQRT)

    def reciprocal(self) -> Self:
        """Return `1 / self`."""
        return self._require_float()._apply(Ops.RECIPROCAL)

    def trunc(self) -> Self:
        """Return self rounded toward zero, in the same dtype."""
        return self._apply(Ops.TRUNC) if dtypes.is_float(self.dtype) else self

    def bitcast(self, dtype: DTypeLike) -> Self:
        """Return the same bits read as `dtype`; the last axis scales when the sizes differ.

        Raises:
            DTypeError: one of the dtypes has no width.
            ShapeError: the last axis does not hold a whole number of the new elements.
        """
        target = to_dtype(dtype)
        if target is self.dtype:
            return self
        if not (target.itemsize and self.dtype.itemsize):
            raise DTypeError(
                f"bitcast: both dtypes need a width, found {self.dtype.name} and {target.name}"
            )
        if dtypes.bool in (target, self.dtype) and target.itemsize != self.dtype.itemsize:
            raise DTypeError(f"bitcast: bool has no bits to spread over {target.name}")
        if target.itemsize != self.dtype.itemsize:
            last = self.shape[-1] if self.shape else None
            if not isinstance(last, int) or last * self.dtype.itemsize % target.itemsize:
                raise ShapeError(
                    f"bitcast: the last axis of shape {self.shape} of {self.dtype.name} is no "
                    f"whole number of {target.name}"
                )
        return self._apply(Ops.BITCAST, (), target)

    def threefry(self, seed: Self) -> Self:
        """Return 64 random bits for each counter self under the key `seed`, both uint64.

        Raises:
            DTypeError: one of them is not uint64.
        """
        self._same_kind(seed, "threefry")
        if self.dtype is not dtypes.uint64 or seed.dtype is not dtypes.uint64:
            raise DTypeError(
                f"threefry: counter and key must be uint64, found {self.dtype.name} and "
                f"{seed.dtype.name}"
            )
        return self._binary(Ops.THREEFRY, seed)

    def detach(self) -> Self:
        """Return the same value with gradients stopped."""
        return self._apply(Ops.DETACH)

    def contiguous(self) -> Self:
        """Return a value that asks for contiguous layout when it is computed."""
        return self._apply(Ops.CONTIGUOUS)

    def contiguous_backward(self) -> Self:
        """Return self; its gradient is computed in contiguous layout."""
        return self._apply(Ops.CONTIGUOUS_BACKWARD)
