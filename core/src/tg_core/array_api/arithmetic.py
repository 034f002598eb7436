"""Elementwise arithmetic, remainders and powers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.array_api.operands import array_of, float_pair, floats_of, fresh, pair

if TYPE_CHECKING:
    from tg_core.tensor import Tensor

Scalar = bool | int | float


def abs(x: Tensor, /) -> Tensor:
    """Return the absolute value."""
    value = array_of(x, "abs")
    return fresh(value.abs(), value)


def add(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Return the sum."""
    left, right = pair(x1, x2, "add")
    return left + right


def divide(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Return the quotient; integers give the default float."""
    left, right = float_pair(x1, x2, "divide")
    return left / right


def floor_divide(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Return the quotient rounded toward minus infinity."""
    left, right = pair(x1, x2, "floor_divide")
    return left // right


def multiply(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Return the product."""
    left, right = pair(x1, x2, "multiply")
    return left * right


def negative(x: Tensor, /) -> Tensor:
    """Return `-x`; unsigned integers wrap."""
    return -array_of(x, "negative")


def positive(x: Tensor, /) -> Tensor:
    """Return a copy of x."""
    value = array_of(x, "positive")
    return fresh(value, value)


def pow(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Return x1 to the power x2, with the special values of C's `pow`."""
    left, right = pair(x1, x2, "pow")
    return left**right


def reciprocal(x: Tensor, /) -> Tensor:
    """Return `1 / x`."""
    return floats_of(x, "reciprocal").reciprocal()


def remainder(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Return the remainder of `floor_divide`, which has the sign of x2."""
    left, right = pair(x1, x2, "remainder")
    return left % right


def square(x: Tensor, /) -> Tensor:
    """Return `x * x`."""
    return array_of(x, "square").square()


def subtract(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Return the difference."""
    left, right = pair(x1, x2, "subtract")
    return left - right
