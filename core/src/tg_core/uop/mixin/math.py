"""Elementary functions built from the primitive ones.

Floats narrower than 32 bits are widened around every composite function, so that the result
is rounded once.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tg_core.dtype import dtypes
from tg_core.errors import DTypeError
from tg_core.uop.mixin.primitives import PrimitiveMixin
from tg_core.uop.opcodes import Ops

if TYPE_CHECKING:
    from typing import Self


class MathMixin(PrimitiveMixin):
    """Exponentials, logarithms, powers, trigonometric and hyperbolic functions, rounding.

    Predicates on floats.
    """

    __slots__ = ()

    def _wide(self) -> Self:
        """Return self as a float of at least 32 bits: what composite functions compute in."""
        value = self._require_float()
        return value._as(dtypes.float32) if 0 < value.dtype.bits < 32 else value

    def _narrow(self, like: Self) -> Self:
        """Return self rounded to the float dtype that a function of `like` has."""
        return self._as(like._require_float().dtype)

    # *** exponentials, logarithms, powers ***

    def exp(self) -> Self:
        """Return e to the power self."""
        return (self._wide() * (1 / math.log(2))).exp2()._narrow(self)

    def log(self) -> Self:
        """Return the natural logarithm; NaN for negative values."""
        return (self._wide().log2() * math.log(2))._narrow(self)

    def log10(self) -> Self:
        """Return the logarithm to base 10; NaN for negative values."""
        return (self._wide().log2() * math.log10(2))._narrow(self)

    def log1p(self) -> Self:
        """Return `log(1 + self)`, accurate near zero."""
        value = self._wide()
        shifted = value + 1.0
        # log(u) * x / (u - 1) cancels the rounding of u = 1 + x (Kahan)
        small = shifted.eq(1.0)
        correction = shifted - 1.0
        exact = shifted.log() * (value / small.where(1.0, correction))
        return (
            (small | shifted.isinf()).where(small.where(value, shifted.log()), exact)._narrow(self)
        )

    def expm1(self) -> Self:
        """Return `exp(self) - 1`, accurate near zero."""
        value = self._wide()
        half = (value * 0.5).clamp(-20.0, 20.0)
        # 2 sinh(x/2) exp(x/2), with sinh by its series where the difference of exponentials would
        # cancel
        series = 2.0 * half._sinh_series() * half.exp()
        return (value.abs() < 1.0).where(series, value.exp() - 1.0)._narrow(self)

    def _sinh_series(self) -> Self:
        square = self * self
        terms = (1 / 39916800, 1 / 362880, 1 / 5040, 1 / 120, 1 / 6, 1.0)
        series: Self = _horner(square, terms)
        return self * series

    def rsqrt(self) -> Self:
        """Return `1 / sqrt(self)`."""
        return self._wide().sqrt().reciprocal()._narrow(self)

    def square(self) -> Self:
        """Return self times self."""
        return self * self

    def __pow__(self, x: Any) -> Self:
        return self._power(x, False)

    def __rpow__(self, x: Any) -> Self:
        return self._power(x, True)

    def pow(self, x: Any, reverse: bool = False) -> Self:
        """Return self to the power `x`, or `x` to the power self when `reverse`.

        Raises:
            DTypeError: an integer is raised to a negative constant.
        """
        return self._named(self._power(x, reverse), "pow", x)

    def _power(self, x: Any, reverse: bool) -> Self:
        if not reverse and isinstance(x, (int, float)):
            simple = self._constant_power(x)
            if simple is not None:
                return simple
        other = x if type(x) is type(self) else self._coerce(x)
        if other is None:
            return NotImplemented  # type: ignore[no-any-return]  # asks the other operand
        base, exponent = (other, self) if reverse else (self, other)
        if dtypes.is_float(self._result_dtype(base.dtype, exponent.dtype)):
            return base._binary(Ops.POW, exponent)
        return base._integer_power(exponent)

    def _constant_power(self, exponent: int | float) -> Self | None:
        """Return a power with an exponent that needs no POW, else None."""
        is_float = dtypes.is_float(self.dtype)
        if isinstance(exponent, float) and not is_float:
            return (
                self._require_float()._constant_power(exponent)
                if not dtypes.is_weak(self.dtype)
                else None
            )
        if exponent == 0:
            return (
                self * 0 + 1
                if not is_float
                else self._const(1.0, self.dtype)._broadcast_to(self.shape)
            )
        if exponent == 1:
            return self
        if exponent == 2:
            return self * self
        if exponent == 3:
            return self * self * self
        if is_float:
            if exponent == 0.5:
                return self.sqrt()
            return self.reciprocal() if exponent == -1 else None
        if exponent < 0:
            raise DTypeError(
                f"pow: {self.dtype.name} to the negative power {exponent} is no integer, cast to "
                f"a float first"
            )
        result, square, remaining = None, self, int(exponent)
        while remaining:
            if remaining & 1:
                result = square if result is None else result * square
            remaining >>= 1
            square = square * square if remaining else square
        return result

    def _integer_power(self, exponent: Self) -> Self:
        """Return an exact integer power by squaring, wrapped to the width.

        A negative exponent gives the truncated reciprocal.
        """
        common = self._commit()._result_dtype(self._commit().dtype, exponent._commit().dtype)
        common = dtypes.default_int() if common is dtypes.bool else common
        base, power = self._as(common), exponent._as(common)
        result = self._const(1, common)
        remaining, square = power, base
        for _ in range(min(common.bits - (not dtypes.is_unsigned(common)), 63)):
            result = (remaining & 1).ne(0).where(result * square, result)
            remaining = remaining >> 1
            square = square * square
        if dtypes.is_unsigned(common):
            return result
        unit = base.eq(1).where(1, base.eq(-1).where((power & 1).ne(0).where(-1, 1), 0))
        return (power < 0).where(unit, result)

    def logaddexp(self, other: Any) -> Self:
        """Return `log(exp(self) + exp(other))` without overflow."""
        lhs, rhs = self._require_float(), self._operand(other, "logaddexp")
        top = lhs.maximum(rhs)
        # where both are the same infinity the difference would be NaN
        gap = lhs.eq(rhs).where(0.0, (lhs - rhs).abs())
        return top._wide().add(gap._wide().neg().exp().log1p())._as(top.dtype)

    # *** trigonometric ***

    def cos(self) -> Self:
        """Return the cosine of self in radians."""
        return (self._wide() + math.pi / 2).sin()._narrow(self)

    def tan(self) -> Self:
        """Return the tangent of self in radians."""
        wide = self._wide()
        return (wide.sin() / wide.cos())._narrow(self)

    def asin(self) -> Self:
        """Return the arc sine; NaN outside of [-1, 1]."""
        wide = self._wide()
        # atan2 of the two legs is accurate at both ends, where a polynomial in x is not
        return wide._atan_of(((1.0 - wide) * (1.0 + wide)).sqrt())._narrow(self)

    def acos(self) -> Self:
        """Return the arc cosine; NaN outside of [-1, 1]."""
        wide = self._wide()
        return ((1.0 - wide).sqrt()._atan_of((1.0 + wide).sqrt()) * 2.0)._narrow(self)

    def atan(self) -> Self:
        """Return the arc tangent in [-pi/2, pi/2]."""
        wide = self._wide()
        return wide._atan_of(self._const(1.0, wide.dtype))._narrow(self)

    def _atan_of(self, x: Self) -> Self:
        """Return the angle of the point `(x, self)` for `x >= 0`."""
        y = self._magnitude()
        swapped = y > x
        low, high = swapped.where(x, y), swapped.where(y, x)
        both = low.isinf() & high.isinf()
        ratio = both.where(1.0, high.eq(0.0).where(0.0, low / high.eq(0.0).where(1.0, high)))
        angle = ratio._atan_unit()
        size = swapped.where(math.pi / 2 - angle, angle)
        return (self < 0.0).where(-size, size)

    def _atan_unit(self) -> Self:
        """Return the arc tangent for values in [0, 1]."""
        # halving the angle twice brings the argument below tan(pi/16), where the series converges
        # fast
        once = self / ((self * self + 1.0).sqrt() + 1.0)
        twice = once / ((once * once + 1.0).sqrt() + 1.0)
        terms = 13 if self.dtype is dtypes.float64 else 6
        series: Self = _horner(
            twice * twice, [(-1.0) ** n / (2 * n + 1) for n in reversed(range(terms))]
        )
        return twice * series * 4.0

    def atan2(self, x: Any) -> Self:
        """Return the angle of the point `(x, self)` in [-pi, pi], signs of zeros included."""
        y, x = self._require_float()._match_dtypes(self._operand(x, "atan2")._require_float())
        wide_y, wide_x = y._wide(), x._wide()
        size = wide_y._sign_bit().where(-wide_y, wide_y)
        angle = size._atan_of(wide_x.abs())
        angle = wide_x._sign_bit().where(math.pi - angle, angle)
        return wide_y._sign_bit().where(-angle, angle)._as(y.dtype)

    def sinh(self) -> Self:
        """Return the hyperbolic sine."""
        wide = self._wide()
        # half of each exponential first: exp overflows before sinh does
        grown = (wide - math.log(2)).exp() - (-wide - math.log(2)).exp()
        return (wide.abs() < 1.0).where(wide.clamp(-1.0, 1.0)._sinh_series(), grown)._narrow(self)

    def cosh(self) -> Self:
        """Return the hyperbolic cosine."""
        wide = self._wide()
        return ((wide - math.log(2)).exp() + (-wide - math.log(2)).exp())._narrow(self)

    def tanh(self) -> Self:
        """Return the hyperbolic tangent."""
        wide = self._wide()
        # 1 - 2/(e^2|x| + 1) loses digits near zero: there -expm1(-2|x|) / (2 + expm1(-2|x|))
        # would be exact, its series is used
        decay = (wide.abs() * -2.0).exp()
        large = (1.0 - decay) / (1.0 + decay)
        small = wide.clamp(-0.5, 0.5)
        square = small * small
        near = small * (_horner(square, _SINH) / _horner(square, _COSH))
        signed = (wide < 0.0).where(-large, large)
        return (wide.abs() < 0.5).where(near, signed)._narrow(self)

    def asinh(self) -> Self:
        """Return the inverse hyperbolic sine."""
        wide = self._wide()
        size = wide._magnitude()
        square = size * size
        exact = (size + square / ((square + 1.0).sqrt() + 1.0)).log1p()
        result = (size > 1e6).where(size.log() + math.log(2), exact)
        return (wide < 0.0).where(-result, result)._narrow(self)

    def acosh(self) -> Self:
        """Return the inverse hyperbolic cosine; NaN below 1."""
        wide = self._wide()
        rest = wide - 1.0
        exact = (rest + rest.sqrt() * (wide + 1.0).sqrt()).log1p()
        return (wide > 1e6).where(wide.log() + math.log(2), exact)._narrow(self)

    def atanh(self) -> Self:
        """Return the inverse hyperbolic tangent; NaN outside of [-1, 1]."""
        wide = self._wide()
        size = wide._magnitude()
        result = (2.0 * size / (1.0 - size)).log1p() * 0.5
        return (wide < 0.0).where(-result, result)._narrow(self)

    def erf(self) -> Self:
        """Return the error function, with an absolute error below 2e-7 in float32."""
        wide = self._wide()
        size = wide.abs()
        # Abramowitz and Stegun, 7.1.28 has 3e-7; near zero its cancellation is avoided by the
        # Maclaurin series
        near = wide.clamp(-1.0, 1.0)
        series = near * (2 / math.sqrt(math.pi)) * _horner(near * near, _ERF_SERIES)
        scaled = (1.0 + 0.3275911 * size).reciprocal()
        tail = scaled * _horner(scaled, _ERF_TAIL) * (-(size * size)).exp()
        far = (wide < 0.0).where(tail - 1.0, 1.0 - tail)
        return (size < 1.0).where(series, far)._narrow(self)

    # *** rounding, signs, predicates ***

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
        return up.where(cut + (self < 0.0).where(-1.0, 1.0), cut)

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
        size = self._require_float().abs()
        sign = self._operand(other, "copysign")._sign_bit()
        return sign.where(-size, size)

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
        if not dtypes.is_float(self._result_dtype(self.dtype, against.dtype)):
            self, against = self._as(dtypes.float64), against._as(dtypes.float64)
        finite = self.isfinite() & against.isfinite()
        close = finite & ((self - against).abs() <= against.abs() * rtol + atol)
        equal = close | self.eq(against)
        return equal | (self.isnan() & against.isnan()) if equal_nan else equal


_SINH = [1 / math.factorial(2 * n + 1) for n in reversed(range(8))]
_COSH = [1 / math.factorial(2 * n) for n in reversed(range(8))]
_ERF_SERIES = [(-1.0) ** n / (math.factorial(n) * (2 * n + 1)) for n in reversed(range(13))]
_ERF_TAIL = [1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592]


def _horner(x: Any, coefficients: Any) -> Any:
    """Return the polynomial whose coefficients are given from the highest power down."""
    result = coefficients[0]
    for coefficient in coefficients[1:]:
        result = x * result + coefficient
    return result
