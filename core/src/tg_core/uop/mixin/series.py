"""Power series of elementary functions, as coefficients from the highest power down.

Near zero every odd function here is `x + x * rest(x^2)`: the first term is exact, so the error of
the rest counts in proportion to its size. Series, not fitted polynomials, so that derivatives are
as accurate as values.
"""

from __future__ import annotations

import math
from typing import Any, Final

from tg_core.dtype import DType, dtypes


def horner(x: Any, coefficients: Any) -> Any:
    """Return the polynomial whose coefficients are given from the highest power down."""
    result = coefficients[0]
    for coefficient in coefficients[1:]:
        result = x * result + coefficient
    return result


def odd(x: Any, rest: Any) -> Any:
    """Return `x + x * rest`, with the sign of x where it is zero.

    Args:
        x: a value.
        rest: zero where x is.
    """
    # added to a zero, 0.0 makes it positive: the product then has the sign of x
    return x + x * (rest + 0.0)


def is_double(dtype: DType) -> bool:
    """Tell whether a float dtype needs the longer series; a weak one may turn out to."""
    return dtype in (dtypes.float64, dtypes.weakfloat)


def terms(coefficients: list[float], short: int, dtype: DType) -> list[float]:
    """Return the coefficients that a dtype needs, of which float32 takes the lowest `short`."""
    return coefficients if is_double(dtype) else coefficients[-short:]


def _falling(count: int) -> range:
    return range(count - 1, -1, -1)


EXPM1: Final = [1 / math.factorial(k + 2) for k in _falling(19)]
"""(exp(x) - 1 - x) / x^2, for |x| <= 1."""
SINH: Final = [1 / math.factorial(2 * n + 3) for n in _falling(12)]
"""(sinh(x) - x) / x^3 by x^2, for |x| <= 2."""
COSH: Final = [1 / math.factorial(2 * n) for n in _falling(11)]
"""cosh(x) by x^2, for |x| <= 1."""
SINH_LESS_X_COSH: Final = [-(2 * n + 2) / math.factorial(2 * n + 3) for n in _falling(11)]
"""(sinh(x) - x cosh(x)) / x^3 by x^2, for |x| <= 1."""
ASIN: Final = [math.comb(2 * n + 2, n + 1) / (4 ** (n + 1) * (2 * n + 3)) for n in _falling(24)]
"""(asin(x) - x) / x^3 by x^2, for |x| <= 1/2; of -x^2 it is that of asinh."""
ATAN: Final = [(-1.0) ** (n + 1) / (2 * n + 3) for n in _falling(19)]
"""(atan(x) - x) / x^3 by x^2, for |x| <= tan(pi/8)."""
ATANH: Final = [1 / (2 * n + 3) for n in _falling(25)]
"""(atanh(x) - x) / x^3 by x^2, for |x| <= 1/2."""
ERF: Final = [
    2 / math.sqrt(math.pi) * (-1.0) ** n / (math.factorial(n) * (2 * n + 1)) for n in _falling(13)
]
"""erf(x) / x by x^2, for |x| <= 1 in float32."""
ERF[-1] -= 1.0
