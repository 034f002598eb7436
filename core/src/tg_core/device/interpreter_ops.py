"""What each elementwise op means: one table from op to a numpy function.

A function takes the operands' values and the result's dtype. Integers wrap. Floats are rounded once
per op: transcendental functions are evaluated in float64. Every operand has a defined result; the
cases where machines disagree:

| case | result |
|---|---|
| integer division by zero | 0, remainder 0 |
| least value divided by -1 | the least value, remainder 0 |
| shift by the width or more, or by a negative amount | 0; -1 for SHR of a negative value |
| MAX with a NaN | NaN; +0 is greater than -0 |
| POW of integers with a negative exponent | 0, but for bases 1 and -1 |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from tg_core.device.interpreter_values import Array, is_narrow, rounded, value_type
from tg_core.dtype import dtypes
from tg_core.support.floats import fused_multiply_add

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg_core.dtype import DType

Function: TypeAlias = "Callable[[list[Array], DType], Array]"


def _result(values: Array, dtype: DType) -> Array:
    """Round a float result that numpy computed in a wider type than the dtype has."""
    return rounded(values, dtype) if is_narrow(dtype) else values


def _add(x: list[Array], dtype: DType) -> Array:
    return _result(x[0] + x[1], dtype)


def _sub(x: list[Array], dtype: DType) -> Array:
    return x[0] ^ x[1] if dtype is dtypes.bool else _result(x[0] - x[1], dtype)


def _mul(x: list[Array], dtype: DType) -> Array:
    return _result(x[0] * x[1], dtype)


def _fdiv(x: list[Array], dtype: DType) -> Array:
    return _result(x[0] / x[1], dtype)


def _safe_divisor(x: list[Array]) -> tuple[Array, Array]:
    """Return a divisor without zeros and overflowing -1s, and where the true one is zero."""
    zero = x[1] == 0
    unsafe = zero
    if x[0].dtype.kind == "i":
        unsafe = zero | ((x[1] == -1) & (x[0] == np.iinfo(x[0].dtype).min))
    return np.where(unsafe, x[1].dtype.type(1), x[1]), zero


def _floor_divide(x: list[Array], dtype: DType) -> Array:
    divisor, zero = _safe_divisor(x)
    return np.where(zero, x[0].dtype.type(0), x[0] // divisor)


def _floor_modulo(x: list[Array], dtype: DType) -> Array:
    divisor, _ = _safe_divisor(x)
    remainder: Array = np.mod(x[0], divisor)
    return remainder


def _truncating_divide(x: list[Array], dtype: DType) -> Array:
    divisor, zero = _safe_divisor(x)
    quotient = x[0] // divisor
    inexact = np.mod(x[0], divisor) != 0
    up = inexact & ((x[0] < 0) != (divisor < 0))
    result: Array = np.where(zero, x[0].dtype.type(0), quotient + up.astype(quotient.dtype))
    return result


def _truncating_modulo(x: list[Array], dtype: DType) -> Array:
    divisor, _ = _safe_divisor(x)
    remainder: Array = np.fmod(x[0], divisor)
    return remainder


def _max(x: list[Array], dtype: DType) -> Array:
    greater = np.maximum(x[0], x[1])
    if not dtypes.is_float(dtype):
        return greater
    # numpy may return either zero; the sum of two zeros is -0 only when both are
    both_zero = (x[0] == 0) & (x[1] == 0)
    return np.where(both_zero, x[0] + x[1], greater)


def _less(x: list[Array], dtype: DType) -> Array:
    return np.less(x[0], x[1])


def _not_equal(x: list[Array], dtype: DType) -> Array:
    return np.not_equal(x[0], x[1])


def _equal(x: list[Array], dtype: DType) -> Array:
    return np.equal(x[0], x[1])


def _and(x: list[Array], dtype: DType) -> Array:
    return x[0] & x[1]


def _or(x: list[Array], dtype: DType) -> Array:
    return x[0] | x[1]


def _xor(x: list[Array], dtype: DType) -> Array:
    return x[0] ^ x[1]


def _shift_amount(x: list[Array]) -> tuple[Array, Array]:
    """Return the amount in the dtype of the value, and where it is within the width."""
    bits = x[0].dtype.itemsize * 8
    within = (x[1] >= 0) & (x[1] < bits)
    return np.where(within, x[1], 0).astype(x[0].dtype), within


def _shift_left(x: list[Array], dtype: DType) -> Array:
    amount, within = _shift_amount(x)
    return np.where(within, x[0] << amount, x[0].dtype.type(0))


def _shift_right(x: list[Array], dtype: DType) -> Array:
    amount, within = _shift_amount(x)
    filled = np.where(x[0] < 0, -1, 0).astype(x[0].dtype) if x[0].dtype.kind == "i" else 0
    return np.where(within, x[0] >> amount, filled).astype(x[0].dtype, copy=False)


def _power(x: list[Array], dtype: DType) -> Array:
    if dtypes.is_float(dtype):
        return rounded(np.power(x[0].astype(np.float64), x[1].astype(np.float64)), dtype)
    base, exponent = x
    negative = exponent < 0
    result = np.power(base, np.where(negative, 0, exponent).astype(base.dtype))
    odd = (exponent & 1) == 1
    inverse = np.where(base == 1, 1, np.where(base == -1, np.where(odd, -1, 1), 0))
    return np.where(negative, inverse, result).astype(base.dtype)


def _exp2(x: list[Array], dtype: DType) -> Array:
    return rounded(np.exp2(x[0].astype(np.float64)), dtype)


def _log2(x: list[Array], dtype: DType) -> Array:
    return rounded(np.log2(x[0].astype(np.float64)), dtype)


def _exp(x: list[Array], dtype: DType) -> Array:
    return rounded(np.exp(x[0].astype(np.float64)), dtype)


def _cos(x: list[Array], dtype: DType) -> Array:
    return rounded(np.cos(x[0].astype(np.float64)), dtype)


def _log(x: list[Array], dtype: DType) -> Array:
    return rounded(np.log(x[0].astype(np.float64)), dtype)


def _log10(x: list[Array], dtype: DType) -> Array:
    return rounded(np.log10(x[0].astype(np.float64)), dtype)


def _tan(x: list[Array], dtype: DType) -> Array:
    return rounded(np.tan(x[0].astype(np.float64)), dtype)


def _negate(x: list[Array], dtype: DType) -> Array:
    negated: Array = np.negative(x[0])
    return negated


def _sin(x: list[Array], dtype: DType) -> Array:
    return rounded(np.sin(x[0].astype(np.float64)), dtype)


def _sqrt(x: list[Array], dtype: DType) -> Array:
    return _result(np.sqrt(x[0]), dtype)


def _reciprocal(x: list[Array], dtype: DType) -> Array:
    return _result(x[0].dtype.type(1) / x[0], dtype)


def _trunc(x: list[Array], dtype: DType) -> Array:
    return np.trunc(x[0]) if dtypes.is_float(dtype) else x[0]


def _where(x: list[Array], dtype: DType) -> Array:
    return np.where(x[0], x[1], x[2])


def _multiply_add(x: list[Array], dtype: DType) -> Array:
    if dtypes.is_float(dtype):
        return rounded(fused_multiply_add(x[0], x[1], x[2]), dtype)
    return x[0] * x[1] + x[2]


def _threefry(x: list[Array], dtype: DType) -> Array:
    """Threefry-2x32 with 20 rounds; the low half of counter, key and result is word 0.

    Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011, sections 3 and 4.
    """
    mask, half = np.uint64(0xFFFFFFFF), np.uint64(32)

    def words(packed: Array) -> list[Array]:
        return [(packed & mask).astype(np.uint32), (packed >> half).astype(np.uint32)]

    (first, second), key = words(x[0]), words(x[1])
    schedule = [*key, np.uint32(0x1BD11BDA) ^ key[0] ^ key[1]]
    rotations = ((13, 15, 26, 6), (17, 29, 16, 24))
    first, second = first + schedule[0], second + schedule[1]
    for group in range(5):
        for rotation in rotations[group % 2]:
            first = first + second
            second = (second << np.uint32(rotation)) | (second >> np.uint32(32 - rotation))
            second = second ^ first
        first = first + schedule[(group + 1) % 3]
        second = second + schedule[(group + 2) % 3] + np.uint32(group + 1)
    packed: Array = first.astype(np.uint64) | (second.astype(np.uint64) << half)
    return packed


FUNCTIONS: dict[str, Function] = {
    "ADD": _add,
    "AND": _and,
    "CDIV": _truncating_divide,
    "CMOD": _truncating_modulo,
    "CMPEQ": _equal,
    "CMPLT": _less,
    "CMPNE": _not_equal,
    "COS": _cos,
    "EXP": _exp,
    "EXP2": _exp2,
    "FDIV": _fdiv,
    "FLOORDIV": _floor_divide,
    "FLOORMOD": _floor_modulo,
    "LOG": _log,
    "LOG10": _log10,
    "LOG2": _log2,
    "MAX": _max,
    "MUL": _mul,
    "MULACC": _multiply_add,
    "NEG": _negate,
    "OR": _or,
    "POW": _power,
    "RECIPROCAL": _reciprocal,
    "SHL": _shift_left,
    "SHR": _shift_right,
    "SIN": _sin,
    "SQRT": _sqrt,
    "SUB": _sub,
    "TAN": _tan,
    "THREEFRY": _threefry,
    "TRUNC": _trunc,
    "WHERE": _where,
    "XOR": _xor,
}
"""The meaning of every elementwise op by name; COS, EXP, LOG, LOG10, NEG and TAN are those of the
renderer.
"""


def apply(op: str, operands: list[Array], dtype: DType) -> Array:
    """Evaluate an op.

    Args:
        op: its name.
        operands: values; vectors and single values do not mix.
        dtype: dtype of the result.
    """
    result = FUNCTIONS[op](operands, dtype)
    return result.astype(value_type(dtype), copy=False)
