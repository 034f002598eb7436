"""Rounding, signs and predicates of floats."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tg_core.dtype import dtypes
from tg_core.errors import DTypeError
from tg_core.uop.mixin.primitives import PrimitiveMixin
from tg_core.uop.opcodes import Ops

if TYPE_CHECKING:
    from typing import Self


class RoundingMixin(PrimitiveMixin):
    """`floor ceil round sign abs copysign fmod isnan isinf isclose ...`."""

    __slots__ = ()

    def floor(self) -> Self:
        """Return the greatest whole number not above self, in the same dtype."""
        if not dtypes.is_float(self.dtype):
            return self
        cut = self.trunc()
        return (self < cut).where(cut - 1.0, cut)

    def ceil(self) -> Self:
        """Return the least whole number not below self, in the same dtype."""
        if not dtypes.is_float(self.dtype):
            return self
        cut = self.trunc()
        return (self > cut).where(cut + 1.0, cut)

    def round(self) -> Self:
        """Return the nearest whole number, halves to even, in the same dtype."""
        if not dtypes.is_float(self.dtype):
            return self
        cut = self.trunc()
        rest = (self - cut).abs()
        odd = (cut * 0.5).trunc().ne(cut * 0.5)
        up = (rest > 0.5) | (rest.eq(0.5) & odd)
        return up.where((self < 0.0).where(cut - 1.0, cut + 1.0), cut)

    def sign(self) -> Self:
        """Return -1, 0 or 1 by the sign of self; NaN stays NaN."""
        if self.dtype is dtypes.bool:
            return self
        is_float = dtypes.is_float(self.dtype)
        sign = (self > 0).where(self.ufix(1), (self < 0).where(self.ufix(-1), self.ufix(0)))
        return self.isnan().where(self, sign) if is_float else sign

    def abs(self) -> Self:
        """Return the absolute value."""
        if self.dtype is dtypes.bool or dtypes.is_unsigned(self.dtype):
            return self
        if dtypes.is_float(self.dtype):
            # zero apart: abs(-0.0) is 0.0, and the gradient at zero is 0
            return (self > 0.0).where(self, self.eq(0.0).where(0.0, -self))
        return (self < 0).where(self.neg(), self)

    def _magnitude(self) -> Self:
        """Return the absolute value of a float with gradient 1 at zero, for odd functions."""
        return (self < 0.0).where(-self, self)

    def __abs__(self) -> Self:
        return self.abs()

    def copysign(self, other: Any) -> Self:
        """Return the size of self with the sign of `other`, signs of zeros included."""
        signed = self._operand(other, "copysign")
        common = self._result_dtype(self.dtype, signed.dtype)
        size = (self._as(common) if dtypes.is_float(common) else self)._require_float().abs()
        return signed._sign_bit().where(-size, size)

    def _sign_bit(self) -> Self:
        """Return whether the value is negative or minus zero."""
        if not dtypes.is_float(self.dtype):
            return self < 0
        return (self < 0.0) | (self.eq(0.0) & (self._commit().reciprocal() < 0.0))

    def fmod(self, x: Any) -> Self:
        """Return the remainder with the sign of the dividend."""
        return self._named(self._binary(Ops.CMOD, x), "fmod", x)

    def lerp(self, end: Self, weight: Any) -> Self:
        """Return `self + (end - self) * weight`."""
        moved: Self = self + (end - self) * weight
        return moved

    def isnan(self) -> Self:
        """Return where self is NaN."""
        return self.ne(self) if dtypes.is_float(self.dtype) else self._all_false()

    def isinf(self, detect_positive: bool = True, detect_negative: bool = True) -> Self:
        """Return where self is infinite."""
        if not dtypes.is_float(self.dtype) or not (detect_positive or detect_negative):
            return self._all_false()
        positive, negative = self.eq(math.inf), self.eq(-math.inf)
        if detect_positive and detect_negative:
            return positive | negative
        return positive if detect_positive else negative

    def isfinite(self) -> Self:
        """Return where self is neither infinite nor NaN."""
        return (self.isinf() | self.isnan()).logical_not()

    def _all_false(self) -> Self:
        return self._const(False)._broadcast_to(self.shape)

    def isclose(
        self, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
    ) -> Self:
        """Return where `|self - other| <= atol + rtol * |other|`.

        With infinities equal to themselves.
        """
        against = self._operand(other, "isclose")
        if not all(isinstance(limit, (int, float)) for limit in (rtol, atol)):
            raise DTypeError(f"isclose: expected numbers, found {rtol!r} and {atol!r}")
        if not dtypes.is_float(self._result_dtype(self.dtype, against.dtype)):
            self, against = self._as(dtypes.float64), against._as(dtypes.float64)
        finite = self.isfinite() & against.isfinite()
        close = finite & ((self - against).abs() <= against.abs() * rtol + atol)
        equal = close | self.eq(against)
        return equal | (self.isnan() & against.isnan()) if equal_nan else equal
