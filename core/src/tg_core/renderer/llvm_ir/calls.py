"""Calls through a pointer in LLVM IR, in the C calling convention."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.dtype import dtypes
from tg_core.errors import CompileError
from tg_core.renderer.llvm_ir.types import value_type
from tg_core.renderer.utils import foreign_function, is_storage, lanes_of, variadic_from

if TYPE_CHECKING:
    from tg_core.dtype import DType
    from tg_core.renderer.llvm_ir.kernel import Kernel
    from tg_core.uop.ops import UOp

_C_INT_BITS = 32
"""Narrower integers are passed widened, and the callee may rely on it."""


def _extension(dtype: DType) -> str:
    """Return the attribute of a parameter or result that C widens, with a space after it."""
    if dtype is dtypes.bool:
        return "zeroext "
    if dtype in dtypes.ints and dtype.bits < _C_INT_BITS:
        return "zeroext " if dtypes.is_unsigned(dtype) else "signext "
    return ""


def _c_type(dtype: DType, name: str) -> str:
    if dtype is dtypes.bfloat16:
        raise CompileError(f"{name}: C has no bfloat16, pass its bits as uint16")
    return value_type(dtype)


def _argument(kernel: Kernel, uop: UOp, name: str) -> str:
    if is_storage(uop):
        return f"{kernel.renderer.pointer_type(uop)} {kernel.operand(uop)}"
    if lanes_of(uop):
        raise CompileError(f"{name}: a vector cannot be an argument of a C function")
    return f"{_c_type(uop.dtype, name)} {_extension(uop.dtype)}{kernel.operand(uop)}"


def render_call(kernel: Kernel, uop: UOp) -> str | None:
    """Render a call of a foreign function: arrays by address, values by C's rules.

    Source: LLVM language reference, "Parameter Attributes"; System V x86-64 psABI 3.2.3 and
    AAPCS64 6.8 for the widening of narrow integers.
    """
    function, builder = foreign_function(uop), kernel.builder
    pointer = builder.value(f"inttoptr {kernel.typed(function.src[0])} to ptr")
    name = f"CALL {function.arg}"
    arguments = ", ".join(_argument(kernel, a, name) for a in uop.src[1:])
    void = uop.dtype is dtypes.void
    result = "void" if void else f"{_extension(uop.dtype)}{_c_type(uop.dtype, name)}"
    declared = variadic_from(uop)
    if declared is not None:
        # the callee reads from registers that only the type of a variadic function fills in
        kinds = [_argument(kernel, a, name).split(" ")[0] for a in uop.src[1 : 1 + declared]]
        result += f" ({', '.join([*kinds, '...'])})"
    text = f"call {result} {pointer}({arguments})"
    if void:
        builder.line(text)
        return None
    return builder.value(text)
