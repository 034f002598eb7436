"""Exact evaluation of one operation on constants: the meaning of every op at every width.

Integers wrap, floats are rounded to the grid of their dtype after each operation, and what the
language leaves unspecified (division by zero, shifts out of range) is not evaluated.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from tg_core.dtype import DType, Invalid, PyConst, dtypes, truncate
from tg_core.uop.bounds_arithmetic import truncating_div, truncating_mod
from tg_core.uop.opcodes import GroupOp, Ops

if TYPE_CHECKING:
    from tg_core.uop.uop import UOp

_WEAK_SHIFT_LIMIT = 128


def int_to_float(value: int, dtype: DType) -> float:
    """Round an integer to a float dtype once, to nearest even.

    Args:
        value: any integer.
        dtype: the float dtype.

    Returns:
        The value on the grid of the dtype; going through a double would round large integers twice.
    """
    magnitude = abs(value)
    excess = magnitude.bit_length() - 53
    if excess > 0 and dtype not in (dtypes.float64, dtypes.weakfloat):
        # keep what was shifted out as one sticky bit, so that no tie appears where there is none
        sticky = 1 if magnitude & ((1 << excess) - 1) else 0
        magnitude = ((magnitude >> excess) | sticky) << excess
    return float(truncate(magnitude if value >= 0 else -magnitude, dtype))


def cast_value(value: PyConst, dtype: DType) -> PyConst:
    """Convert a Python value as a CAST does.

    Args:
        value: the value of the source.
        dtype: the dtype of the CAST.

    Returns:
        The value that the dtype stores.
    """
    if dtypes.is_float(dtype) and isinstance(value, int) and not isinstance(value, bool):
        return int_to_float(value, dtype)
    return truncate(value, dtype)


def _exp2(x: float) -> float:
    try:
        return math.pow(2.0, x)
    except OverflowError:
        return math.inf


def _log2(x: float) -> float:
    if x == 0.0:
        return -math.inf
    return math.log2(x) if x > 0.0 else math.nan


def _sin(x: float) -> float:
    return math.sin(x) if math.isfinite(x) else math.nan


def _sqrt(x: float) -> float:
    return x if x == 0.0 else math.sqrt(x) if x > 0.0 else math.nan


def _divide(a: float, b: float) -> float:
    if b != 0.0:
        return a / b
    if a == 0.0 or math.isnan(a):
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1.0, b)


def _reciprocal(x: float) -> float:
    return _divide(1.0, x)


def _trunc(x: float) -> float:
    return math.copysign(float(math.trunc(x)), x) if math.isfinite(x) else x


def _float_max(a: float, b: float) -> float:
    if math.isnan(a) or math.isnan(b):
        return math.nan
    return a if a > b else b


def _float_pow(a: float, b: float) -> float:
    try:
        return math.pow(a, b)
    except OverflowError:
        odd = b == math.trunc(b) and int(b) % 2 == 1
        return -math.inf if a < 0.0 and odd else math.inf
    except ValueError:
        if a == 0.0:
            odd = b == math.trunc(b) and int(b) % 2 == 1
            return math.copysign(math.inf, a) if odd else math.inf
        return math.nan


def _add(a: float, b: float) -> float:
    return a + b


def _sub(a: float, b: float) -> float:
    return a - b


def _mul(a: float, b: float) -> float:
    return a * b


_FLOAT_OPS: dict[Ops, Callable[..., float]] = {
    Ops.EXP2: _exp2,
    Ops.LOG2: _log2,
    Ops.SIN: _sin,
    Ops.SQRT: _sqrt,
    Ops.RECIPROCAL: _reciprocal,
    Ops.TRUNC: _trunc,
    Ops.ADD: _add,
    Ops.SUB: _sub,
    Ops.MUL: _mul,
    Ops.FDIV: _divide,
    Ops.MAX: _float_max,
    Ops.POW: _float_pow,
}


def _int_op(op: Ops, dtype: DType, a: int, b: int) -> int | None:
    """Evaluate a binary integer operation exactly; None where its value is unspecified."""
    if op is Ops.ADD:
        return a + b
    if op is Ops.SUB:
        return a - b
    if op is Ops.MUL:
        return a * b
    if op is Ops.MAX:
        return max(a, b)
    if op in (Ops.FLOORDIV, Ops.FLOORMOD, Ops.CDIV, Ops.CMOD):
        if b == 0:
            return None
        if op is Ops.FLOORDIV:
            return a // b
        if op is Ops.FLOORMOD:
            return a % b
        return truncating_div(a, b) if op is Ops.CDIV else truncating_mod(a, b)
    if op is Ops.AND:
        return a & b
    if op is Ops.OR:
        return a | b
    if op is Ops.XOR:
        return a ^ b
    if op in (Ops.SHL, Ops.SHR):
        bits = _WEAK_SHIFT_LIMIT if dtype is dtypes.weakint else dtype.bits
        if not 0 <= b < bits:
            return None
        return a << b if op is Ops.SHL else a >> b
    return None


def _bool_op(op: Ops, a: bool, b: bool) -> bool | None:
    if op is Ops.AND or op is Ops.MUL:
        return a and b
    if op is Ops.OR or op is Ops.MAX:
        return a or b
    if op is Ops.XOR:
        return a != b
    return None


def _compare(op: Ops, a: PyConst, b: PyConst) -> bool:
    if op is Ops.CMPLT:
        return a < b
    return a != b if op is Ops.CMPNE else a == b


def _operand_dtype(u: UOp) -> DType:
    """Dtype that the operands of a comparison are brought to before they are compared."""
    a, b = u.src[0].dtype, u.src[1].dtype
    return b if dtypes.is_weak(a) else a


def fold_alu(u: UOp) -> PyConst | None:
    """Evaluate an elementwise node whose sources are all constants.

    Args:
        u: the node.

    Returns:
        The value at the node's width, or None when a source is no constant or is Invalid, or when
        the language leaves the value open.
    """
    values: list[PyConst] = []
    for source in u.src:
        if source.op is not Ops.CONST and source.op is not Ops.CAST:
            return None
        value = source.const_value
        if value is None or value is Invalid:
            return None
        values.append(value)  # type: ignore[arg-type]  # Invalid was handled above
    return fold_values(u, values)


def fold_values(u: UOp, values: list[PyConst]) -> PyConst | None:
    """Evaluate an elementwise node for given values of its sources; see `fold_alu`."""
    op, dtype = u.op, u.dtype
    if op is Ops.CAST:
        return cast_value(values[0], dtype)
    if op is Ops.WHERE:
        return cast_value(values[1] if values[0] else values[2], dtype)
    if op in GroupOp.Comparison:
        operand = _operand_dtype(u)
        return _compare(op, cast_value(values[0], operand), cast_value(values[1], operand))
    if op is Ops.TRUNC and not dtypes.is_float(dtype):
        return values[0]
    if op is Ops.MULACC and dtypes.is_int(dtype):
        return truncate(int(values[0]) * int(values[1]) + int(values[2]), dtype)
    if dtypes.is_float(dtype):
        function = _FLOAT_OPS.get(op)
        if function is None:
            return None
        return truncate(function(*[float(cast_value(v, dtype)) for v in values]), dtype)
    if len(values) != 2:
        return None
    if dtype is dtypes.bool:
        return _bool_op(op, bool(values[0]), bool(values[1]))
    a, b = (int(cast_value(v, dtype)) for v in values)
    result = _int_op(op, dtype, a, b)
    return None if result is None else truncate(result, dtype)
