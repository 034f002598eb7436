"""Trigonometric and hyperbolic functions and their inverses.

Floats narrower than 32 bits are widened around every function, so that the result is rounded once.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from tg_core.uop.mixin.math import MathMixin
from tg_core.uop.mixin.series import (
    ASIN,
    ATAN,
    ATANH,
    COSH,
    SINH,
    SINH_LESS_X_COSH,
    horner,
    is_double,
    odd,
    terms,
)

if TYPE_CHECKING:
    from typing import Self


class TrigonometryMixin(MathMixin):
    """`cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh`."""

    __slots__ = ()

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
        size = wide._magnitude()
        inner, angle, rest = size._asin_parts()
        high, low = _HALF_PI[is_double(wide.dtype)]
        # beyond 1/2 the parts are half of the complement
        outer = high - (2.0 * angle + (2.0 * rest - low))
        result = inner.where(angle + rest, outer)
        return (wide < 0.0).where(-result, result)._narrow(self)

    def acos(self) -> Self:
        """Return the arc cosine; NaN outside of [-1, 1]."""
        wide = self._wide()
        size = wide._magnitude()
        inner, angle, rest = size._asin_parts()
        high, low = _HALF_PI[is_double(wide.dtype)]
        negative = wide < 0.0
        turned = negative.where(-angle, angle), negative.where(-rest, rest)
        near = high - (turned[0] + (turned[1] - low))
        small = 2.0 * (angle + rest)
        far = negative.where(2.0 * high - (2.0 * angle + (2.0 * rest - 2.0 * low)), small)
        return inner.where(near, far)._narrow(self)

    def _asin_parts(self) -> tuple[Self, Self, Self]:
        """Return where self, not negative, is at most 1/2; and the arc sine as a sum of two: of
        self there, elsewhere of the root of `(1 - self) / 2`.
        """
        inner = self <= 0.5
        square = inner.where(self * self, 0.5 * (1.0 - self))
        angle = inner.where(self, inner.where(0.25, square).sqrt())
        return inner, angle, angle * (square * horner(square, terms(ASIN, 12, self.dtype)))

    def atan(self) -> Self:
        """Return the arc tangent in [-pi/2, pi/2]."""
        wide = self._wide()
        return wide._atan_of(self._const(1.0, wide.dtype))._narrow(self)

    def _atan_of(self, x: Self) -> Self:
        """Return the angle of the point `(x, self)` for `x >= 0`."""
        y = self._magnitude()
        swapped = y > x
        least, most = swapped.where(x, y), swapped.where(y, x)
        infinite, origin = most.isinf(), most.eq(0.0)
        least = infinite.where(least.isinf().where(1.0, 0.0), least)
        most = (infinite | origin).where(1.0, most)
        # their sum must not overflow
        limit, factor = _LARGE[is_double(self.dtype)]
        scale = (most > limit).where(factor, 1.0)
        least, most = least * scale, most * scale
        # above tan(pi/8) the angle is taken from the diagonal
        steep = least > most * _TAN_EIGHTH
        ratio = steep.where(least - most, least) / steep.where(least + most, most)
        square = ratio * ratio
        rest = ratio * (square * horner(square, terms(ATAN, 9, self.dtype)) + 0.0)
        high, low = _HALF_PI[is_double(self.dtype)]
        diagonal = high / 2 + (ratio + (rest + low / 2))
        angle = steep.where(diagonal, ratio + rest)
        size = swapped.where(high - (angle - low), angle)
        return (self < 0.0).where(-size, size)

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
        near = wide.clamp(-2.0, 2.0)
        square = near * near
        series = odd(near, square * horner(square, terms(SINH, 9, wide.dtype)))
        grown = wide._half_exp() - wide.neg()._half_exp()
        return (wide.abs() < 2.0).where(series, grown)._narrow(self)

    def cosh(self) -> Self:
        """Return the hyperbolic cosine."""
        wide = self._wide()
        return (wide._half_exp() + wide.neg()._half_exp())._narrow(self)

    def _half_exp(self) -> Self:
        """Return half of the exponential, also where the exponential itself overflows."""
        limit, shift, factor = _HALF_EXP[is_double(self.dtype)]
        # both are so close that their difference is exact
        large = self > limit
        return large.where((self - shift).exp() * factor, large.where(0.0, self).exp() * 0.5)

    def tanh(self) -> Self:
        """Return the hyperbolic tangent."""
        wide = self._wide()
        near = wide.clamp(-1.0, 1.0)
        square = near * near
        rest = horner(square, terms(SINH_LESS_X_COSH, 7, wide.dtype))
        series = odd(near, square * rest / horner(square, terms(COSH, 7, wide.dtype)))
        decay = (wide.abs() * -2.0).exp()
        large = 1.0 - 2.0 * decay / (1.0 + decay)
        signed = (wide < 0.0).where(-large, large)
        return (wide.abs() < 1.0).where(series, signed)._narrow(self)

    def asinh(self) -> Self:
        """Return the inverse hyperbolic sine."""
        wide = self._wide()
        size = wide._magnitude()
        near = size.clamp(max_=0.5)
        small = near * near
        series = odd(near, -small * horner(-small, terms(ASIN, 12, wide.dtype)))
        square = size * size
        exact = size._log1p_of_sum(square / ((square + 1.0).sqrt() + 1.0))
        is_large = size > _LOGARITHMIC
        # no logarithm of 0 where it is not wanted: its infinite slope would make the gradient NaN
        far = is_large.where(is_large.where(size, 1.0).log() + math.log(2), exact)
        result = (size < 0.5).where(series, far)
        return (wide < 0.0).where(-result, result)._narrow(self)

    def acosh(self) -> Self:
        """Return the inverse hyperbolic cosine; NaN below 1."""
        wide = self._wide()
        rest = wide - 1.0
        # near 1 it is twice the asinh of the root of rest / 2
        half = (rest * 0.5).clamp(max_=0.25)
        near = 2.0 * odd(half.sqrt(), -half * horner(-half, terms(ASIN, 12, wide.dtype)))
        root = (wide < 1.5).where(1.0, rest * (wide + 1.0)).sqrt()
        exact = (wide < 1.5).where(near, root._log1p_of_sum(rest))
        return (wide > _LOGARITHMIC).where(wide.log() + math.log(2), exact)._narrow(self)

    def atanh(self) -> Self:
        """Return the inverse hyperbolic tangent; NaN outside of [-1, 1]."""
        wide = self._wide()
        size = wide._magnitude()
        near = size.clamp(max_=0.5)
        square = near * near
        series = odd(near, square * horner(square, terms(ATANH, 12, wide.dtype)))
        result = (size < 0.5).where(series, (2.0 * size / (1.0 - size)).log1p() * 0.5)
        return (wide < 0.0).where(-result, result)._narrow(self)


_HALF_PI: Final = {
    False: (1.57079637050628662109375, -4.371139000186241e-08),
    True: (1.5707963267948966, 6.123233995736766e-17),
}
"""Half of pi as a float of the precision and what is missing; by whether that is float64."""
_TAN_EIGHTH: Final = math.sqrt(2) - 1
_LARGE: Final = {False: (2.0**100, 2.0**-30), True: (2.0**1000, 2.0**-60)}
"""What is so large that it is scaled, and by how much."""
_HALF_EXP: Final = {
    False: (88.0, 47.9375, math.exp(47.9375) / 2),
    True: (709.0, 356.1875, 2.4503931923586324e154),
}
"""Above which arguments, by how much these are lowered, and half of the exponential of that: a
number that rounds by very little.
"""
_LOGARITHMIC = 1e9
"""Above this, sqrt(x^2 + 1) is x in every precision, and x^2 does not overflow below it."""
