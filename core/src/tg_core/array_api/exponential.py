"""Elementwise exponentials, logarithms and roots."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.array_api.operands import float_pair, floats_of

if TYPE_CHECKING:
    from tg_core.tensor import Tensor

Scalar = bool | int | float


def exp(x: Tensor, /) -> Tensor:
    """Return e to the power x."""
    return floats_of(x, "exp").exp()


def expm1(x: Tensor, /) -> Tensor:
    """Return `exp(x) - 1`, accurate near zero."""
    return floats_of(x, "expm1").expm1()


def log(x: Tensor, /) -> Tensor:
    """Return the natural logarithm; NaN for negative values."""
    return floats_of(x, "log").log()


def log10(x: Tensor, /) -> Tensor:
    """Return the logarithm to base 10."""
    return floats_of(x, "log10").log10()


def log1p(x: Tensor, /) -> Tensor:
    """Return `log(1 + x)`, accurate near zero."""
    return floats_of(x, "log1p").log1p()


def log2(x: Tensor, /) -> Tensor:
    """Return the logarithm to base 2."""
    return floats_of(x, "log2").log2()


def logaddexp(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Return `log(exp(x1) + exp(x2))` without overflow."""
    left, right = float_pair(x1, x2, "logaddexp")
    return left.logaddexp(right)


def sqrt(x: Tensor, /) -> Tensor:
    """Return the square root; NaN for negative values, -0 for -0."""
    return floats_of(x, "sqrt").sqrt()
