"""Elementary functions built from the primitive ones.

Floats narrower than 32 bits are widened around every composite function, so that the result
is rounded once.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tg_core.dtype import dtypes
from tg_core.errors import DTypeError
from tg_core.uop.mixin.rounding import RoundingMixin
from tg_core.uop.mixin.series import ERF, EXPM1, horner, is_double, odd, terms
from tg_core.uop.opcodes import Ops

if TYPE_CHECKING:
    from typing import Self


class MathMixin(RoundingMixin):
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
        return self._wide()._log1p_of_sum(None)._narrow(self)

    def _log1p_of_sum(self, addend: Self | None) -> Self:
        """Return `log(1 + self + addend)`, the sum accurate where the addend is the smaller."""
        value = self if addend is None else self + addend
        shifted = value + 1.0
        # what rounding took from the sums comes back as the slope of the logarithm times it
        lost = value - (shifted - 1.0)
        if addend is not None:
            lost = lost + (addend - (value - self))
        special = shifted.isinf() | shifted.eq(0.0)
        correction: Self = special.where(0.0, lost / special.where(1.0, shifted))
        # a positive zero is taken away from a zero, which keeps its sign
        return correction - (shifted.log() * -1.0 + 0.0)

    def expm1(self) -> Self:
        """Return `exp(self) - 1`, accurate near zero."""
        value = self._wide()
        near = value.clamp(-1.0, 1.0)
        series = odd(near, near * horner(near, terms(EXPM1, 11, near.dtype)))
        return (value.abs() < 1.0).where(series, value.exp() - 1.0)._narrow(self)

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
        common = self._result_dtype(self.dtype, exponent.dtype)
        if common is dtypes.bool or dtypes.is_weak(common):
            common = dtypes.default_int()
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
        return (power < 0).where(unit._as(common), result)

    def logaddexp(self, other: Any) -> Self:
        """Return `log(exp(self) + exp(other))` without overflow."""
        lhs, rhs = self._require_float(), self._operand(other, "logaddexp")
        top = lhs.maximum(rhs)
        # where both are the same infinity the difference would be NaN
        gap = lhs.eq(rhs).where(0.0, (lhs - rhs).abs())
        return top._wide().add(gap._wide().neg().exp().log1p())._as(top.dtype)

    def erf(self) -> Self:
        """Return the error function."""
        wide = self._wide()
        outer, series, tail = wide._erf_parts()
        signed = (wide < 0.0).where(tail - 1.0, 1.0 - tail)
        return outer.where(signed, series)._narrow(self)

    def _erfc(self) -> Self:
        """Return `1 - erf(self)` of a float of at least 32 bits, also where that is tiny."""
        outer, series, tail = self._erf_parts()
        return outer.where((self < 0.0).where(2.0 - tail, tail), 1.0 - series)

    def _erf_parts(self) -> tuple[Self, Self, Self]:
        """Return where self is large, the error function where it is not, and what it lacks from 1
        for the size of self where it is.
        """
        if is_double(self.dtype):
            return self._erf_parts_double()
        size = self.abs()
        near = self.clamp(-1.0, 1.0)
        series = odd(near, horner(near * near, ERF))
        # the form of Abramowitz and Stegun, 7.1.26, with a polynomial for more digits
        far = size.clamp(1.0, 11.0)
        scaled = (1.0 + _ERFC_SCALE * far).reciprocal()
        tail = scaled * horner(scaled, _ERFC) * (-(far * far)).exp()
        # a NaN is passed on by the series
        return size > 1.0, series, tail

    def _erf_parts_double(self) -> tuple[Self, Self, Self]:
        """Return the same in double precision."""
        size = self.abs()
        # below, a series of positive terms, which cannot cancel; above, the continued fraction of
        # the complement (Abramowitz and Stegun, 7.1.6 and 7.1.14)
        near = self.clamp(-_ERF_SPLIT, _ERF_SPLIT)
        square = near * near
        series = near * (2 / math.sqrt(math.pi)) * square.neg().exp() * horner(square, _ERF_TERMS)
        far = size.clamp(_ERF_SPLIT, 30.0)
        fraction = far
        for level in reversed(range(1, _ERF_LEVELS + 1)):
            fraction = far + (level / 2) / fraction
        tail = (far * far).neg().exp() / (fraction * math.sqrt(math.pi))
        return size > _ERF_SPLIT, series, tail


_ERF_SPLIT = 2.5
_ERF_TERMS = [2.0**n / math.prod(range(1, 2 * n + 2, 2)) for n in reversed(range(48))]
_ERF_LEVELS = 24
_ERFC_SCALE = 0.3275911
_ERFC = [
    -0.06348209622468341,
    0.13176128122202252,
    -0.0058224432182990005,
    0.11086152601439185,
    0.1292101686078041,
    0.1520936968998327,
    0.17578423104098131,
    0.18470468631303497,
    0.18482982618544083,
]
"""erfc(x) exp(x^2) / t by t = 1 / (1 + _ERFC_SCALE x), for 1 <= x <= 11: the least relative error,
which is below 2.2e-9. The lowest coefficient is last.
"""
