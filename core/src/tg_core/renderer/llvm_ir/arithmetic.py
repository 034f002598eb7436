"""Elementwise ops in LLVM IR: no fast-math flag, fused multiply-add only for MULACC."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.dtype import dtypes
from tg_core.errors import CompileError
from tg_core.renderer.llvm_ir.conversions import (
    bfloat16_from_float,
    constant,
    convert,
    float_from_bfloat16,
    float_from_double_odd,
)
from tg_core.renderer.llvm_ir.types import value_type, with_lanes
from tg_core.renderer.utils import lanes_of
from tg_core.uop.ops import Ops

if TYPE_CHECKING:
    from tg_core.dtype import DType
    from tg_core.renderer.llvm_ir.kernel import Kernel
    from tg_core.uop.ops import UOp

_FLOAT_BINARY = {Ops.ADD: "fadd", Ops.SUB: "fsub", Ops.MUL: "fmul", Ops.FDIV: "fdiv"}
_INT_BINARY = {
    Ops.ADD: "add",
    Ops.SUB: "sub",
    Ops.MUL: "mul",
    Ops.AND: "and",
    Ops.OR: "or",
    Ops.XOR: "xor",
}
# bool arithmetic is that of 0 and 1, clamped to them
_BOOL_BINARY = {
    Ops.ADD: "or",
    Ops.SUB: "xor",
    Ops.MUL: "and",
    Ops.MAX: "or",
    Ops.AND: "and",
    Ops.OR: "or",
    Ops.XOR: "xor",
}
_FLOAT_COMPARE = {Ops.CMPLT: "olt", Ops.CMPNE: "une", Ops.CMPEQ: "oeq"}
_INT_COMPARE = {Ops.CMPNE: "ne", Ops.CMPEQ: "eq"}


def cannot_wrap(uop: UOp) -> bool:
    """Tell whether the bounds of the operands prove that signed ADD, SUB or MUL stays in range.

    Index arithmetic is; knowing it lets LLVM keep addresses as pointers that step.
    """
    (a, b), dtype = uop.src, uop.dtype
    if dtype.kind != "int":
        return False
    if uop.op is Ops.ADD:
        ends = [a.vmin + b.vmin, a.vmax + b.vmax]
    elif uop.op is Ops.SUB:
        ends = [a.vmin - b.vmax, a.vmax - b.vmin]
    else:
        ends = [x * y for x in (a.vmin, a.vmax) for y in (b.vmin, b.vmax)]
    return dtypes.min(dtype) <= min(ends) and max(ends) <= dtypes.max(dtype)


def _float_operands(kernel: Kernel, uop: UOp, lanes: int) -> tuple[DType, list[str]]:
    """Return the operands of a float op and the dtype they are in: float32 for bfloat16."""
    dtype = uop.src[0].dtype
    values = [kernel.operand(s, lanes) for s in uop.src]
    if dtype is dtypes.bfloat16:
        return dtypes.float32, [float_from_bfloat16(kernel.builder, v, lanes) for v in values]
    return dtype, values


def _float_result(kernel: Kernel, uop: UOp, value: str, lanes: int) -> str:
    if uop.dtype is dtypes.bfloat16:
        return bfloat16_from_float(kernel.builder, value, lanes)
    return value


def render_binary(kernel: Kernel, uop: UOp) -> str:
    """Render ADD, SUB, MUL, FDIV, AND, OR, XOR."""
    builder, dtype, lanes = kernel.builder, uop.dtype, lanes_of(uop)
    if dtypes.is_float(dtype):
        if uop.op not in _FLOAT_BINARY:
            raise CompileError(f"{uop.op.name}: not defined for {dtype.name}")
        wide, (a, b) = _float_operands(kernel, uop, lanes)
        text = f"{_FLOAT_BINARY[uop.op]} {value_type(wide, lanes)} {a}, {b}"
        return _float_result(kernel, uop, builder.value(text), lanes)
    a, b = (kernel.operand(s, lanes) for s in uop.src)
    kind = value_type(dtype, lanes)
    if dtype is dtypes.bool:
        return builder.value(f"{_BOOL_BINARY[uop.op]} {kind} {a}, {b}")
    arithmetic = uop.op in (Ops.ADD, Ops.SUB, Ops.MUL)
    flags = " nsw" if arithmetic and cannot_wrap(uop) else ""
    return builder.value(f"{_INT_BINARY[uop.op]}{flags} {kind} {a}, {b}")


def render_comparison(kernel: Kernel, uop: UOp) -> str:
    """Render CMPLT, CMPNE, CMPEQ; comparisons with NaN are false but for CMPNE."""
    builder, lanes = kernel.builder, lanes_of(uop)
    dtype = uop.src[0].dtype
    if dtypes.is_float(dtype):
        wide, (a, b) = _float_operands(kernel, uop, lanes)
        return builder.value(f"fcmp {_FLOAT_COMPARE[uop.op]} {value_type(wide, lanes)} {a}, {b}")
    a, b = (kernel.operand(s, lanes) for s in uop.src)
    unsigned = dtypes.is_unsigned(dtype) or dtype is dtypes.bool
    predicate = _INT_COMPARE.get(uop.op) or ("ult" if unsigned else "slt")
    return builder.value(f"icmp {predicate} {value_type(dtype, lanes)} {a}, {b}")


def render_max(kernel: Kernel, uop: UOp) -> str:
    """Render MAX: NaN wins, and +0 is greater than -0."""
    builder, dtype, lanes = kernel.builder, uop.dtype, lanes_of(uop)
    if dtype is dtypes.bool:
        return render_binary(kernel, uop)
    if dtypes.is_float(dtype):
        wide, (a, b) = _float_operands(kernel, uop, lanes)
        kind = value_type(wide, lanes)
        result = builder.call("llvm.maximum", kind, (kind, a), (kind, b))
        return _float_result(kernel, uop, result, lanes)
    a, b = (kernel.operand(s, lanes) for s in uop.src)
    kind = value_type(dtype, lanes)
    function = "llvm.umax" if dtypes.is_unsigned(dtype) else "llvm.smax"
    return builder.call(function, kind, (kind, a), (kind, b))


def render_unary(kernel: Kernel, uop: UOp) -> str:
    """Render SQRT, TRUNC and RECIPROCAL."""
    builder, lanes = kernel.builder, lanes_of(uop)
    if not dtypes.is_float(uop.src[0].dtype):
        if uop.op is Ops.TRUNC:
            return kernel.operand(uop.src[0])
        raise CompileError(f"{uop.op.name}: not defined for {uop.src[0].dtype.name}")
    wide, (a,) = _float_operands(kernel, uop, lanes)
    kind = value_type(wide, lanes)
    if uop.op is Ops.RECIPROCAL:
        result = builder.value(f"fdiv {kind} {constant(1.0, wide, lanes)}, {a}")
    else:
        result = builder.call(f"llvm.{uop.op.name.lower()}", kind, (kind, a))
    return _float_result(kernel, uop, result, lanes)


def render_where(kernel: Kernel, uop: UOp) -> str:
    """Render WHERE as a select, which evaluates both sides."""
    lanes = lanes_of(uop)
    condition, a, b = uop.src
    mask = lanes if lanes_of(condition) else 0
    chosen, other = kernel.typed(a, lanes), kernel.typed(b, lanes)
    return kernel.builder.value(f"select {kernel.typed(condition, mask)}, {chosen}, {other}")


def render_multiply_add(kernel: Kernel, uop: UOp) -> str:
    """Render MULACC: floats rounded once, integers wrapped."""
    builder, dtype, lanes = kernel.builder, uop.dtype, lanes_of(uop)
    kind = value_type(dtype, lanes)
    a, b, c = (kernel.operand(s, lanes) for s in uop.src)
    if not dtypes.is_float(dtype):
        product = builder.value(f"mul {kind} {a}, {b}")
        return builder.value(f"add {kind} {product}, {c}")
    if dtype is dtypes.bfloat16:
        raise CompileError("MULACC: not defined for bfloat16, whose arithmetic is not native")
    if dtype is not dtypes.float16:
        return builder.call("llvm.fma", kind, (kind, a), (kind, b), (kind, c))
    # the product of halves is exact in double; where the sum is not, one operand is too small to
    # reach a tie of halves
    double = with_lanes("double", lanes)
    wide = [convert(builder, v, dtype, dtypes.float64, lanes) for v in (a, b, c)]
    product = builder.value(f"fmul {double} {wide[0]}, {wide[1]}")
    total = builder.value(f"fadd {double} {product}, {wide[2]}")
    single = float_from_double_odd(builder, total, lanes)
    return builder.value(f"fptrunc {with_lanes('float', lanes)} {single} to {kind}")
