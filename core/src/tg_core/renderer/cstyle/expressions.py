"""Elementwise ops as C expressions, free of undefined behaviour.

The results are those of the table in `tg_core.device.interpreter_ops`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.dtype import dtypes
from tg_core.errors import CompileError
from tg_core.renderer.cstyle.names import UNSIGNED
from tg_core.uop.ops import Ops

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tg_core.renderer.cstyle.kernel import CKernel
    from tg_core.uop.ops import UOp

_OPERATORS = {
    Ops.ADD: "+",
    Ops.SUB: "-",
    Ops.MUL: "*",
    Ops.FDIV: "/",
    Ops.AND: "&",
    Ops.OR: "|",
    Ops.XOR: "^",
    Ops.CMPLT: "<",
    Ops.CMPNE: "!=",
    Ops.CMPEQ: "==",
}
_BOOL_OPERATORS = {Ops.ADD: "|", Ops.SUB: "^", Ops.MUL: "&", Ops.MAX: "|"}


def _binary(kernel: CKernel, uop: UOp) -> str:
    a, b = (kernel.operand(s) for s in uop.src)
    dtype = uop.dtype
    if dtype is dtypes.bool:
        return f"{a} {_BOOL_OPERATORS.get(uop.op) or _OPERATORS[uop.op]} {b}"
    operator = _OPERATORS[uop.op]
    if dtype in UNSIGNED and uop.op in (Ops.ADD, Ops.SUB, Ops.MUL):
        # signed overflow is undefined and narrow operands are promoted; unsigned arithmetic wraps
        wide = kernel.type(dtypes.uint64 if dtype.bits == 64 else dtypes.uint32)
        return f"({kernel.type(dtype)})(({wide}){a} {operator} ({wide}){b})"
    if dtype in dtypes.ints and dtype.bits < 32:
        wide = kernel.type(dtypes.uint32)
        return f"({kernel.type(dtype)})(({wide}){a} {operator} ({wide}){b})"
    return f"{a} {operator} {b}"


def _division(kernel: CKernel, uop: UOp) -> str:
    a, b = (kernel.operand(s) for s in uop.src)
    kind = kernel.type(uop.dtype)
    signed = uop.dtype in UNSIGNED
    if uop.op is Ops.CMOD:
        guard = f"({b} == 0 || {b} == -1)" if signed else f"{b} == 0"
        return f"{guard} ? 0 : ({kind})({a} % {b})"
    if not signed:
        return f"{b} == 0 ? 0 : ({kind})({a} / {b})"
    wide = kernel.type(UNSIGNED[uop.dtype])
    return f"{b} == 0 ? 0 : {b} == -1 ? ({kind})(0 - ({wide}){a}) : ({kind})({a} / {b})"


def _shift(kernel: CKernel, uop: UOp) -> str:
    a, b = (kernel.operand(s) for s in uop.src)
    dtype, bits = uop.dtype, uop.dtype.bits
    kind = kernel.type(dtype)
    amount = uop.src[1]
    within = 0 <= amount.vmin and amount.vmax < bits
    guard = f"({kernel.type(dtypes.uint64)}){b} < {bits}u"
    if uop.op is Ops.SHL:
        wide = kernel.type(dtypes.uint64 if bits == 64 else dtypes.uint32)
        shifted = f"({kind})(({wide}){a} << {b})"
        return shifted if within else f"{guard} ? {shifted} : 0"
    if dtype in UNSIGNED:
        return f"({kind})({a} >> {b if within else f'({guard} ? {b} : {bits - 1})'})"
    shifted = f"({kind})({a} >> {b})"
    return shifted if within else f"{guard} ? {shifted} : 0"


def _max(kernel: CKernel, uop: UOp) -> str:
    if uop.dtype is dtypes.bool:
        return _binary(kernel, uop)
    a, b = (kernel.operand(s) for s in uop.src)
    if not dtypes.is_float(uop.dtype):
        return f"{a} > {b} ? {a} : {b}"
    # a NaN in b fails every comparison and is the last alternative; two zeros add up to the greater
    return f"({a} > {b} || {a} != {a}) ? {a} : ({a} == 0 && {b} == 0) ? {a} + {b} : {b}"


def _sqrt(kernel: CKernel, uop: UOp) -> str:
    suffix = "f" if uop.dtype is dtypes.float32 else ""
    return f"__builtin_sqrt{suffix}({kernel.operand(uop.src[0])})"


def _trunc(kernel: CKernel, uop: UOp) -> str:
    value = kernel.operand(uop.src[0])
    if not dtypes.is_float(uop.dtype):
        return value
    return f"__builtin_trunc{'f' if uop.dtype is dtypes.float32 else ''}({value})"


def _reciprocal(kernel: CKernel, uop: UOp) -> str:
    return f"1 / {kernel.operand(uop.src[0])}"


def _where(kernel: CKernel, uop: UOp) -> str:
    condition, a, b = (kernel.operand(s) for s in uop.src)
    return f"{condition} ? {a} : {b}"


def _multiply_add(kernel: CKernel, uop: UOp) -> str:
    a, b, c = (kernel.operand(s) for s in uop.src)
    if dtypes.is_float(uop.dtype):
        return f"__builtin_fma{'f' if uop.dtype is dtypes.float32 else ''}({a}, {b}, {c})"
    wide = kernel.type(dtypes.uint64 if uop.dtype.bits == 64 else dtypes.uint32)
    return f"({kernel.type(uop.dtype)})(({wide}){a} * ({wide}){b} + ({wide}){c})"


def _cast(kernel: CKernel, uop: UOp) -> str:
    source, value = uop.src[0].dtype, kernel.operand(uop.src[0])
    kind = kernel.type(uop.dtype)
    if uop.dtype is dtypes.bool:
        return f"{value} != 0"
    if dtypes.is_float(source) and uop.dtype in dtypes.ints:
        signed = f"({kind})tg_to_int({value})"
        if uop.dtype is not dtypes.uint64:
            return signed
        return f"({value} >= 0x1p63 && {value} < 0x1p64) ? ({kind}){value} : {signed}"
    return f"({kind}){value}"


EXPRESSIONS: Mapping[Ops, Callable[[CKernel, UOp], str]] = {
    **dict.fromkeys(_OPERATORS, _binary),
    Ops.CDIV: _division,
    Ops.CMOD: _division,
    Ops.SHL: _shift,
    Ops.SHR: _shift,
    Ops.MAX: _max,
    Ops.SQRT: _sqrt,
    Ops.TRUNC: _trunc,
    Ops.RECIPROCAL: _reciprocal,
    Ops.WHERE: _where,
    Ops.MULACC: _multiply_add,
    Ops.CAST: _cast,
}
"""How each op is written."""

HELPERS = """static inline long long tg_to_int(double x) {
  return (x > -0x1p63 && x < 0x1p63) ? (long long)x : (-9223372036854775807ll - 1);
}
"""
"""Functions that expressions call."""


def expression(kernel: CKernel, uop: UOp) -> str:
    """Return the expression of an elementwise node.

    Raises:
        CompileError: the language has no such op.
    """
    rule = EXPRESSIONS.get(uop.op)
    if rule is None:
        raise CompileError(f"{kernel.renderer.name}: no {uop.op.name} for {uop.dtype.name}")
    return rule(kernel, uop)
