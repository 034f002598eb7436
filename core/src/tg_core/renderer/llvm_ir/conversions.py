"""CAST and BITCAST in LLVM IR.

Float to integer truncates toward zero; a value that fits 64 bits wraps to the destination's width;
NaN and what lies beyond are `-2**63` wrapped, which is 0 in narrow types, on every path. Nothing
here is poison or traps.

Conversions to narrow integers stay in vector registers: the value is reduced modulo `2**32` in
floating point, which is exact, and converted to 32 bits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.dtype import dtypes
from tg_core.renderer.float_ranges import float_range
from tg_core.renderer.llvm_ir.types import literal, scalar_type, value_type, with_lanes
from tg_core.renderer.utils import lanes_of

if TYPE_CHECKING:
    from tg_core.dtype import DType
    from tg_core.renderer.llvm_ir.builder import Builder
    from tg_core.renderer.llvm_ir.kernel import Kernel
    from tg_core.uop.ops import UOp

_TWO_63 = 2.0**63


def constant(value: float, dtype: DType, lanes: int) -> str:
    """Return a constant with as many lanes as a value has."""
    scalar = scalar_type(dtype)
    text = literal(value, dtype)
    return text if not lanes else "<" + ", ".join([f"{scalar} {text}"] * lanes) + ">"


def float_from_bfloat16(builder: Builder, value: str, lanes: int) -> str:
    """Return bfloat16 bits as a float."""
    narrow, wide = with_lanes("i16", lanes), with_lanes("i32", lanes)
    bits = builder.value(f"zext {narrow} {value} to {wide}")
    high = builder.value(f"shl {wide} {bits}, {constant(16, dtypes.int32, lanes)}")
    return builder.value(f"bitcast {wide} {high} to {with_lanes('float', lanes)}")


def bfloat16_from_float(builder: Builder, value: str, lanes: int) -> str:
    """Return a float rounded to nearest even as bfloat16 bits; NaN stays NaN."""
    wide, kind = with_lanes("i32", lanes), with_lanes("float", lanes)

    def number(n: int) -> str:
        return constant(n, dtypes.uint32, lanes)

    bits = builder.value(f"bitcast {kind} {value} to {wide}")
    high = builder.value(f"lshr {wide} {bits}, {number(16)}")
    odd = builder.value(f"and {wide} {high}, {number(1)}")
    bias = builder.value(f"add {wide} {odd}, {number(0x7FFF)}")
    sum_ = builder.value(f"add {wide} {bits}, {bias}")
    rounded = builder.value(f"lshr {wide} {sum_}, {number(16)}")
    quiet = builder.value(f"or {wide} {high}, {number(0x40)}")
    nan = builder.value(f"fcmp uno {kind} {value}, {value}")
    chosen = builder.value(
        f"select {with_lanes('i1', lanes)} {nan}, {wide} {quiet}, {wide} {rounded}"
    )
    return builder.value(f"trunc {wide} {chosen} to {with_lanes('i16', lanes)}")


def float_from_double_odd(builder: Builder, value: str, lanes: int) -> str:
    """Return a double as a float rounded to odd, so that a further narrowing rounds once."""
    double, kind, wide = (with_lanes(t, lanes) for t in ("double", "float", "i32"))
    flag = with_lanes("i1", lanes)
    nearest = builder.value(f"fptrunc {double} {value} to {kind}")
    back = builder.value(f"fpext {kind} {nearest} to {double}")
    magnitude = builder.call("llvm.fabs", double, (double, value))
    magnitude_back = builder.call("llvm.fabs", double, (double, back))
    away = builder.value(f"fcmp ogt {double} {magnitude_back}, {magnitude}")
    inexact = builder.value(f"fcmp one {double} {back}, {value}")
    bits = builder.value(f"bitcast {kind} {nearest} to {wide}")
    one_less = builder.value(f"zext {flag} {away} to {wide}")
    toward_zero = builder.value(f"sub {wide} {bits}, {one_less}")
    sticky = builder.value(f"zext {flag} {inexact} to {wide}")
    odd = builder.value(f"or {wide} {toward_zero}, {sticky}")
    return builder.value(f"bitcast {wide} {odd} to {kind}")


def _integer_to_bfloat16(builder: Builder, value: str, dtype: DType, lanes: int) -> str:
    source = value_type(dtype, lanes)
    convert = "uitofp" if dtypes.is_unsigned(dtype) or dtype is dtypes.bool else "sitofp"
    if dtype.bits <= 16:
        exact = builder.value(f"{convert} {source} {value} to {with_lanes('float', lanes)}")
        return bfloat16_from_float(builder, exact, lanes)
    if dtype.bits == 64:
        value = _sticky_53_bits(builder, value, dtype, lanes)
    double = builder.value(f"{convert} {source} {value} to {with_lanes('double', lanes)}")
    return bfloat16_from_float(builder, float_from_double_odd(builder, double, lanes), lanes)


def _sticky_53_bits(builder: Builder, value: str, dtype: DType, lanes: int) -> str:
    """Return a 64-bit integer with what a double cannot hold folded into its last kept bit."""
    kind, flag = with_lanes("i64", lanes), with_lanes("i1", lanes)

    def number(n: int) -> str:
        return constant(n, dtypes.int64, lanes)

    low = builder.value(f"and {kind} {value}, {number(0x7FF)}")
    some = builder.value(f"icmp ne {kind} {low}, {number(0)}")
    bit = builder.value(f"zext {flag} {some} to {kind}")
    lifted = builder.value(f"shl {kind} {bit}, {number(11)}")
    kept = builder.value(f"and {kind} {value}, {number(-0x800)}")
    sticky = builder.value(f"or {kind} {kept}, {lifted}")
    shift = "lshr" if dtypes.is_unsigned(dtype) else "ashr"
    top = builder.value(f"{shift} {kind} {value}, {number(53)}")
    # small means the bits from 53 up are all equal to the sign
    shifted = builder.value(f"add {kind} {top}, {number(0 if shift == 'lshr' else 1)}")
    small = builder.value(f"icmp ule {kind} {shifted}, {number(0 if shift == 'lshr' else 1)}")
    return builder.value(f"select {flag} {small}, {kind} {value}, {kind} {sticky}")


def _float_to_integer(
    builder: Builder, value: str, source: DType, target: DType, lanes: int
) -> str:
    kind, flag = value_type(source, lanes), with_lanes("i1", lanes)
    result = value_type(target, lanes)
    limit = constant(_TWO_63, source, lanes)
    magnitude = builder.call("llvm.fabs", kind, (kind, value))
    fits = builder.value(f"fcmp olt {kind} {magnitude}, {limit}")
    if target.bits == 64:
        converted = builder.value(f"fptosi {kind} {value} to {result}")
        lowest = constant(-(2**63), dtypes.int64, lanes)
        signed = builder.value(f"select {flag} {fits}, {result} {converted}, {result} {lowest}")
        if target is not dtypes.uint64:
            return signed
        over = builder.value(f"fcmp oge {kind} {value}, {limit}")
        below = builder.value(f"fcmp olt {kind} {value}, {constant(2.0**64, source, lanes)}")
        upper = builder.value(f"and {flag} {over}, {below}")
        unsigned = builder.value(f"fptoui {kind} {value} to {result}")
        return builder.value(f"select {flag} {upper}, {result} {unsigned}, {result} {signed}")
    whole = builder.call("llvm.trunc", kind, (kind, value))
    quotient = builder.value(f"fmul {kind} {whole}, {constant(2.0**-32, source, lanes)}")
    turns = builder.call("llvm.trunc", kind, (kind, quotient))
    above = builder.value(f"fmul {kind} {turns}, {constant(2.0**32, source, lanes)}")
    # within 2**32 and of the sign of `whole`: a multiple of its last place and not longer, so exact
    rest = builder.value(f"fsub {kind} {whole}, {above}")
    high = builder.value(f"fcmp oge {kind} {rest}, {constant(2.0**31, source, lanes)}")
    low = builder.value(f"fcmp olt {kind} {rest}, {constant(-(2.0**31), source, lanes)}")
    lowered = builder.value(f"fsub {kind} {rest}, {constant(2.0**32, source, lanes)}")
    raised = builder.value(f"fadd {kind} {rest}, {constant(2.0**32, source, lanes)}")
    not_high = builder.value(f"select {flag} {low}, {kind} {raised}, {kind} {rest}")
    centred = builder.value(f"select {flag} {high}, {kind} {lowered}, {kind} {not_high}")
    safe = builder.value(
        f"select {flag} {fits}, {kind} {centred}, {kind} {constant(0.0, source, lanes)}"
    )
    word = with_lanes("i32", lanes)
    bits = builder.value(f"fptosi {kind} {safe} to {word}")
    return bits if target.bits == 32 else builder.value(f"trunc {word} {bits} to {result}")


def _to_bool(builder: Builder, value: str, source: DType, lanes: int) -> str:
    kind = value_type(source, lanes)
    if source is dtypes.bfloat16:
        value = builder.value(f"shl {kind} {value}, {constant(1, dtypes.int16, lanes)}")
    if dtypes.is_float(source) and source is not dtypes.bfloat16:
        return builder.value(f"fcmp une {kind} {value}, {constant(0.0, source, lanes)}")
    zero = "zeroinitializer" if lanes else "0"
    return builder.value(f"icmp ne {kind} {value}, {zero}")


def _from_integer(builder: Builder, value: str, source: DType, target: DType, lanes: int) -> str:
    start, end = value_type(source, lanes), value_type(target, lanes)
    unsigned = dtypes.is_unsigned(source) or source is dtypes.bool
    if target is dtypes.bfloat16:
        return _integer_to_bfloat16(builder, value, source, lanes)
    if target is dtypes.float16:
        # integers that a half can hold are exact in a float, larger ones are infinite either way
        single = _from_integer(builder, value, source, dtypes.float32, lanes)
        return builder.value(f"fptrunc {with_lanes('float', lanes)} {single} to {end}")
    if dtypes.is_float(target):
        return builder.value(f"{'uitofp' if unsigned else 'sitofp'} {start} {value} to {end}")
    if target.bits == source.bits:
        return value
    if target.bits < source.bits:
        return builder.value(f"trunc {start} {value} to {end}")
    return builder.value(f"{'zext' if unsigned else 'sext'} {start} {value} to {end}")


def _from_float(builder: Builder, value: str, source: DType, target: DType, lanes: int) -> str:
    start, end = value_type(source, lanes), value_type(target, lanes)
    if target in dtypes.ints:
        if source is dtypes.float16:
            value = builder.value(f"fpext {start} {value} to {with_lanes('float', lanes)}")
            source = dtypes.float32
        return _float_to_integer(builder, value, source, target, lanes)
    if target.bits > source.bits:
        return builder.value(f"fpext {start} {value} to {end}")
    if source is dtypes.float64 and target.bits == 16:
        value = float_from_double_odd(builder, value, lanes)
        start = with_lanes("float", lanes)
    elif source is dtypes.float16:
        value = builder.value(f"fpext {start} {value} to {with_lanes('float', lanes)}")
    if target is dtypes.bfloat16:
        return bfloat16_from_float(builder, value, lanes)
    return builder.value(f"fptrunc {start} {value} to {end}")


def convert(builder: Builder, value: str, source: DType, target: DType, lanes: int) -> str:
    """Convert a value between dtypes.

    Args:
        builder: where instructions go.
        value: name or literal.
        source: the value's dtype.
        target: the dtype wanted.
        lanes: lanes of the value, 0 for a scalar.
    """
    if source is target:
        return value
    if target is dtypes.bool:
        return _to_bool(builder, value, source, lanes)
    if source is dtypes.bfloat16:
        value = float_from_bfloat16(builder, value, lanes)
        source = dtypes.float32
        if target is source:
            return value
    if dtypes.is_float(source):
        return _from_float(builder, value, source, target, lanes)
    return _from_integer(builder, value, source, target, lanes)


def _converts_directly(source: UOp, target: DType) -> bool:
    """Tell whether a float certainly fits the signed integer it becomes, so nothing can wrap."""
    if target.kind != "int" or source.dtype not in (dtypes.float32, dtypes.float64):
        return False
    limit = 2.0 ** (target.bits - 1) - 2.0 ** (target.bits - 10)
    return float_range(source).within(-limit, limit)


def render_cast(kernel: Kernel, uop: UOp) -> str | None:
    """Render a CAST; one around a constant is written where it is used."""
    if uop.const_value is not None:
        return None
    source = uop.src[0]
    lanes = lanes_of(uop)
    if _converts_directly(source, uop.dtype):
        kind, result = value_type(source.dtype, lanes), value_type(uop.dtype, lanes)
        return kernel.builder.value(f"fptosi {kind} {kernel.operand(source)} to {result}")
    return convert(kernel.builder, kernel.operand(source), source.dtype, uop.dtype, lanes)


def render_bitcast(kernel: Kernel, uop: UOp) -> str:
    """Render a BITCAST; bool counts as one byte."""
    builder, source = kernel.builder, uop.src[0]
    value, lanes = kernel.operand(source), lanes_of(source)
    start, end = value_type(source.dtype, lanes), value_type(uop.dtype, lanes_of(uop))
    if source.dtype is dtypes.bool:
        start, value = (
            with_lanes("i8", lanes),
            builder.value(f"zext {start} {value} to {with_lanes('i8', lanes)}"),
        )
    if uop.dtype is dtypes.bool:
        byte = with_lanes("i8", lanes_of(uop))
        if start != byte:
            value = builder.value(f"bitcast {start} {value} to {byte}")
        zero = "zeroinitializer" if lanes_of(uop) else "0"
        return builder.value(f"icmp ne {byte} {value}, {zero}")
    return value if start == end else builder.value(f"bitcast {start} {value} to {end}")
