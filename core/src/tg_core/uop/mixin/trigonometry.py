"""Trigonometric and hyperbolic functions and their inverses.

Floats narrower than 32 bits are widened around every function, so that the result is rounded once.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tg_core.dtype import dtypes
from tg_core.uop.mixin.math import MathMixin, horner

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
        series: Self = horner(
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
        grown = wide._half_exp() - wide.neg()._half_exp()
        return (wide.abs() < 1.0).where(wide.clamp(-1.0, 1.0)._sinh_series(), grown)._narrow(self)

    def cosh(self) -> Self:
        """Return the hyperbolic cosine."""
        wide = self._wide()
        return (wide._half_exp() + wide.neg()._half_exp())._narrow(self)

    def _half_exp(self) -> Self:
        """Return half of the exponential, also where the exponential itself overflows."""
        # the argument is halved, not lowered by log(2): that would round a large one
        root = (self * 0.5).exp()
        return root * 0.5 * root

    def tanh(self) -> Self:
        """Return the hyperbolic tangent."""
        wide = self._wide()
        # 1 - 2/(e^2|x| + 1) loses digits near zero: there -expm1(-2|x|) / (2 + expm1(-2|x|))
        # would be exact, its series is used
        decay = (wide.abs() * -2.0).exp()
        large = (1.0 - decay) / (1.0 + decay)
        small = wide.clamp(-0.5, 0.5)
        square = small * small
        near = small * (horner(square, _SINH) / horner(square, _COSH))
        signed = (wide < 0.0).where(-large, large)
        return (wide.abs() < 0.5).where(near, signed)._narrow(self)

    def asinh(self) -> Self:
        """Return the inverse hyperbolic sine."""
        wide = self._wide()
        size = wide._magnitude()
        square = size * size
        exact = (size + square / ((square + 1.0).sqrt() + 1.0)).log1p()
        is_large = size > _LOGARITHMIC
        # no logarithm of 0 where it is not wanted: its infinite slope would make the gradient NaN
        result = is_large.where(is_large.where(size, 1.0).log() + math.log(2), exact)
        return (wide < 0.0).where(-result, result)._narrow(self)

    def acosh(self) -> Self:
        """Return the inverse hyperbolic cosine; NaN below 1."""
        wide = self._wide()
        rest = wide - 1.0
        exact = (rest + rest.sqrt() * (wide + 1.0).sqrt()).log1p()
        return (wide > _LOGARITHMIC).where(wide.log() + math.log(2), exact)._narrow(self)

    def atanh(self) -> Self:
        """Return the inverse hyperbolic tangent; NaN outside of [-1, 1]."""
        wide = self._wide()
        size = wide._magnitude()
        result = (2.0 * size / (1.0 - size)).log1p() * 0.5
        return (wide < 0.0).where(-result, result)._narrow(self)


_SINH = [1 / math.factorial(2 * n + 1) for n in reversed(range(8))]
_COSH = [1 / math.factorial(2 * n) for n in reversed(range(8))]
_LOGARITHMIC = 1e9
"""Above this, sqrt(x^2 + 1) is x in every precision, and x^2 does not overflow below it."""
