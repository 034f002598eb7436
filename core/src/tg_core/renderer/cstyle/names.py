"""How dtypes and constants look in C."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tg_core.dtype import dtypes, truncate
from tg_core.errors import CompileError

if TYPE_CHECKING:
    from tg_core.dtype import DType, PyConst

C_TYPES: dict[DType, str] = {
    dtypes.bool: "_Bool",
    dtypes.int8: "signed char",
    dtypes.int16: "short",
    dtypes.int32: "int",
    dtypes.int64: "long long",
    dtypes.uint8: "unsigned char",
    dtypes.uint16: "unsigned short",
    dtypes.uint32: "unsigned int",
    dtypes.uint64: "unsigned long long",
    dtypes.float32: "float",
    dtypes.float64: "double",
}
"""The dtypes that C has on every machine this project runs on."""

UNSIGNED: dict[DType, DType] = {
    dtypes.int8: dtypes.uint8,
    dtypes.int16: dtypes.uint16,
    dtypes.int32: dtypes.uint32,
    dtypes.int64: dtypes.uint64,
}
"""The dtype in which arithmetic of a signed one wraps instead of being undefined."""


def c_literal(value: PyConst, dtype: DType) -> str:
    """Return a constant of C, exact to the last bit.

    Args:
        value: what to write; truncated to the dtype.
        dtype: its dtype.

    Raises:
        CompileError: C has no such dtype.
    """
    if dtype not in C_TYPES:
        raise CompileError(f"c: no type for {dtype.name}")
    value = truncate(value, dtype)
    if dtype is dtypes.bool:
        return "1" if value else "0"
    if dtypes.is_float(dtype):
        return _float_literal(float(value), "f" if dtype is dtypes.float32 else "")
    if dtype.bits < 64:
        return f"{value}u" if dtype is dtypes.uint32 else str(value)
    if dtype is dtypes.uint64:
        return f"{value}ull"
    # the digits of the least value are no constant of the type, which the minus is applied to
    return "(-9223372036854775807ll - 1)" if value == -(2**63) else f"{value}ll"


def _float_literal(value: float, suffix: str) -> str:
    if math.isnan(value):
        return f'__builtin_nan{suffix}("")'
    if math.isinf(value):
        return f"{'-' if value < 0 else ''}__builtin_inf{suffix}()"
    text = value.hex()
    return f"{text}{suffix}"
