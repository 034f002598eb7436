"""Elementwise operations on the bits of integers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.array_api.operands import array_of, pair

if TYPE_CHECKING:
    from tg_core.tensor import Tensor


def bitwise_and(x1: Tensor | int | bool, x2: Tensor | int | bool, /) -> Tensor:
    """Return the bits set in both."""
    left, right = pair(x1, x2, "bitwise_and")
    return left & right


def bitwise_invert(x: Tensor, /) -> Tensor:
    """Return the bits flipped, or the logical not of bool."""
    return ~array_of(x, "bitwise_invert")


def bitwise_left_shift(x1: Tensor | int, x2: Tensor | int, /) -> Tensor:
    """Return x1 with its bits moved up by x2 places, in the common dtype."""
    left, right = pair(x1, x2, "bitwise_left_shift")
    # the machine's shift takes the amount modulo the width
    return (right < left.dtype.bits).where(left << right, 0)


def bitwise_or(x1: Tensor | int | bool, x2: Tensor | int | bool, /) -> Tensor:
    """Return the bits set in one of both."""
    left, right = pair(x1, x2, "bitwise_or")
    return left | right


def bitwise_right_shift(x1: Tensor | int, x2: Tensor | int, /) -> Tensor:
    """Return x1 with its bits moved down by x2 places, the sign repeated, in the common dtype."""
    left, right = pair(x1, x2, "bitwise_right_shift")
    return left >> right.minimum(left.dtype.bits - 1)


def bitwise_xor(x1: Tensor | int | bool, x2: Tensor | int | bool, /) -> Tensor:
    """Return the bits set in exactly one of both."""
    left, right = pair(x1, x2, "bitwise_xor")
    return left ^ right
