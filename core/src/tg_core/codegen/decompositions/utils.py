"""What the decompositions share: constants and choices at the dtype of an operand, polynomials, the
layout of floats.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tg_core.dtype import DType, PyConst, dtypes
from tg_core.uop.ops import Ops, UOp

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class FloatLayout:
    """The fields of an IEEE 754 binary format."""

    integer: DType
    """Signed integer of the same width."""
    unsigned: DType
    """Unsigned integer of the same width."""
    mantissa_bits: int
    bias: int

    @property
    def exponent_mask(self) -> int:
        """The exponent field, shifted down, of infinities."""
        return 2 * self.bias + 1


LAYOUTS: Final = {
    dtypes.float32: FloatLayout(dtypes.int32, dtypes.uint32, 23, 127),
    dtypes.float64: FloatLayout(dtypes.int64, dtypes.uint64, 52, 1023),
}


def lit(value: PyConst, like: UOp) -> UOp:
    """Return a constant of the dtype of another node."""
    return UOp.const(value, like.dtype)


def choose(condition: UOp, yes: UOp, no: UOp) -> UOp:
    """Return `yes` where the condition holds."""
    return UOp(Ops.WHERE, (condition, yes, no))


def polynomial(x: UOp, coefficients: Sequence[float]) -> UOp:
    """Evaluate a polynomial, coefficients from the constant upwards, by Horner's rule, fused
    where the target can.
    """
    result = lit(coefficients[-1], x)
    for coefficient in reversed(coefficients[:-1]):
        result = multiply_add(result, x, lit(coefficient, x))
    return result


def multiply_add(a: UOp, b: UOp, c: UOp) -> UOp:
    """Return `a * b + c`; a target without MULACC gets a product and a sum."""
    return UOp(Ops.MULACC, (a, b, c))


def is_nan(x: UOp) -> UOp:
    """Return where a float is NaN."""
    return UOp(Ops.CMPNE, (x, x))


def is_equal(x: UOp, value: PyConst) -> UOp:
    """Return where a node equals a constant."""
    return UOp(Ops.CMPEQ, (x, lit(value, x)))


def less(x: UOp, y: UOp) -> UOp:
    """Return where `x < y`."""
    return UOp(Ops.CMPLT, (x, y))


def negate(condition: UOp) -> UOp:
    """Return the opposite of a condition."""
    return UOp(Ops.CMPNE, (condition, UOp.const(True)))


def magnitude(x: UOp) -> UOp:
    """Return a float without its sign."""
    layout = LAYOUTS[x.dtype]
    bits = x.bitcast(layout.unsigned)
    return (bits & lit((1 << (x.dtype.bits - 1)) - 1, bits)).bitcast(x.dtype)


def power_of_two(exponent: UOp, dtype: DType) -> UOp:
    """Return 2 to an integer power within the range of normal numbers, built from its bits."""
    layout = LAYOUTS[dtype]
    biased = exponent + lit(layout.bias, exponent)
    return UOp(Ops.SHL, (biased, lit(layout.mantissa_bits, biased))).bitcast(dtype)


def shift_left(x: UOp, amount: int) -> UOp:
    """Return `x << amount`."""
    return UOp(Ops.SHL, (x, lit(amount, x)))


def shift_right(x: UOp, amount: int) -> UOp:
    """Return `x >> amount`."""
    return UOp(Ops.SHR, (x, lit(amount, x)))
