"""Elementwise trigonometric and hyperbolic functions and their inverses; angles are in radians."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.array_api.operands import float_pair, floats_of

if TYPE_CHECKING:
    from tg_core.tensor import Tensor

Scalar = bool | int | float


def acos(x: Tensor, /) -> Tensor:
    """Return the arc cosine; NaN outside of [-1, 1]."""
    return floats_of(x, "acos").acos()


def acosh(x: Tensor, /) -> Tensor:
    """Return the inverse hyperbolic cosine; NaN below 1."""
    return floats_of(x, "acosh").acosh()


def asin(x: Tensor, /) -> Tensor:
    """Return the arc sine; NaN outside of [-1, 1]."""
    return floats_of(x, "asin").asin()


def asinh(x: Tensor, /) -> Tensor:
    """Return the inverse hyperbolic sine."""
    return floats_of(x, "asinh").asinh()


def atan(x: Tensor, /) -> Tensor:
    """Return the arc tangent."""
    return floats_of(x, "atan").atan()


def atan2(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Return the angle of the point with ordinate x1 and abscissa x2, in [-pi, pi]."""
    left, right = float_pair(x1, x2, "atan2")
    return left.atan2(right)


def atanh(x: Tensor, /) -> Tensor:
    """Return the inverse hyperbolic tangent; NaN outside of [-1, 1]."""
    return floats_of(x, "atanh").atanh()


def cos(x: Tensor, /) -> Tensor:
    """Return the cosine; NaN for infinities."""
    return floats_of(x, "cos").cos()


def cosh(x: Tensor, /) -> Tensor:
    """Return the hyperbolic cosine."""
    return floats_of(x, "cosh").cosh()


def sin(x: Tensor, /) -> Tensor:
    """Return the sine; NaN for infinities."""
    return floats_of(x, "sin").sin()


def sinh(x: Tensor, /) -> Tensor:
    """Return the hyperbolic sine."""
    return floats_of(x, "sinh").sinh()


def tan(x: Tensor, /) -> Tensor:
    """Return the tangent; NaN for infinities."""
    return floats_of(x, "tan").tan()


def tanh(x: Tensor, /) -> Tensor:
    """Return the hyperbolic tangent."""
    return floats_of(x, "tanh").tanh()
