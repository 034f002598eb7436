"""Integer and boolean ops on Python's own integers, which have no width: the width is applied last.

Where machines disagree: division by zero gives 0, so does its remainder; a shift by the width or
more, or by a negative amount, gives 0, and -1 to the right from a negative value.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

__all__ = ["BINARY", "COMPARISONS", "UNARY", "wrap"]


def wrap(value: int, dtype: str) -> int:
    """Return the value that a width keeps, in two's complement."""
    bits = int(dtype.lstrip("uint"))
    value &= (1 << bits) - 1
    if dtype.startswith("u") or value < 1 << (bits - 1):
        return value
    return value - (1 << bits)


def _floor_divide(a: int, b: int) -> int:
    return a // b if b else 0


def _floor_modulo(a: int, b: int) -> int:
    return a % b if b else 0


def _truncating_divide(a: int, b: int) -> int:
    if not b:
        return 0
    size = abs(a) // abs(b)
    return size if (a < 0) == (b < 0) else -size


def _shift_left(bits: int) -> Callable[[int, int], int]:
    def shift(a: int, b: int) -> int:
        return a << b if 0 <= b < bits else 0

    return shift


def _shift_right(bits: int) -> Callable[[int, int], int]:
    def shift(a: int, b: int) -> int:
        if 0 <= b < bits:
            return a >> b
        return -1 if a < 0 else 0

    return shift


BINARY: dict[str, Callable[[int, int], int]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "floordiv": _floor_divide,
    "mod": _floor_modulo,
    "truncdiv": _truncating_divide,
    "maximum": max,
    "minimum": min,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
}
"""By the name of the operation."""

SHIFTS: dict[str, Callable[[int], Callable[[int, int], int]]] = {
    "lshift": _shift_left,
    "rshift": _shift_right,
}
"""Shifts, given the width of the dtype."""

UNARY: dict[str, Callable[[int], int]] = {
    "neg": operator.neg,
    "abs": abs,
    "bitwise_not": operator.invert,
    "square": lambda a: a * a,
    "sign": lambda a: (a > 0) - (a < 0),
}

COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "eq": operator.eq,
    "ne": operator.ne,
}
"""Comparisons, of integers and floats alike; with a NaN all are false but `ne`."""
