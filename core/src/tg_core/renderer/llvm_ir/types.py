"""How dtypes and constants look in LLVM IR text.

A bool is `i1` as a value and `i8` in memory. bfloat16 is held as `i16`: its arithmetic goes through
float by integer ops, so that no target needs library functions for it.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from tg_core.dtype import dtypes, to_numpy, truncate
from tg_core.errors import CompileError
from tg_core.support.floats import encode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg_core.dtype import DType, PyConst

_FLOATS = {dtypes.float16: "half", dtypes.float32: "float", dtypes.float64: "double"}

_SUFFIXES = {"half": "f16", "float": "f32", "double": "f64"}


def scalar_type(dtype: DType) -> str:
    """Return the type of one value of a dtype.

    Raises:
        CompileError: there is none; codegen decomposes such dtypes unless a renderer declares them.
    """
    if dtype is dtypes.bool:
        return "i1"
    if dtype in dtypes.ints:
        return f"i{dtype.bits}"
    if dtype is dtypes.bfloat16:
        return "i16"
    found = _FLOATS.get(dtype)
    if found is None:
        raise CompileError(f"llvm: no type for {dtype.name}")
    return found


def with_lanes(scalar: str, lanes: int) -> str:
    """Return the type of `lanes` values, or of one when `lanes` is 0."""
    return f"<{lanes} x {scalar}>" if lanes else scalar


def value_type(dtype: DType, lanes: int = 0) -> str:
    """Return the type of a value in a register."""
    return with_lanes(scalar_type(dtype), lanes)


def memory_type(dtype: DType, lanes: int = 0) -> str:
    """Return the type of a value in memory."""
    return with_lanes("i8" if dtype is dtypes.bool else scalar_type(dtype), lanes)


def overload(type_name: str) -> str:
    """Return the suffix that names a type in an intrinsic: `<8 x float>` gives `v8f32`."""
    if type_name.startswith("<"):
        lanes, scalar = type_name[1:-1].split(" x ")
        return f"v{lanes}{_SUFFIXES.get(scalar, scalar)}"
    return _SUFFIXES.get(type_name, type_name)


def literal(value: PyConst, dtype: DType) -> str:
    """Return a constant as text, truncated to its dtype; floats by bit pattern, so exactly.

    Source: LLVM language reference, "Simple Constants": a float is written as a double.
    """
    if dtype is dtypes.bool:
        return "true" if value else "false"
    value = truncate(value, dtype)
    if dtype in dtypes.ints:
        return str(int(value))
    if dtype is dtypes.bfloat16:
        import numpy as np

        return str(int(encode(np.array(value, np.float64), "bfloat16")))
    if dtype is dtypes.float16:
        kind = to_numpy(dtype)
        assert kind is not None
        return f"0xH{int.from_bytes(kind.type(value).tobytes(), 'little'):04X}"
    scalar_type(dtype)
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def vector_literal(values: Sequence[str], scalar: str) -> str:
    """Return a constant vector of literals of one scalar type."""
    return "<" + ", ".join(f"{scalar} {value}" for value in values) + ">"
