"""Calls through a pointer in C."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.dtype import dtypes
from tg_core.errors import CompileError
from tg_core.renderer.utils import foreign_function, is_storage, lanes_of, variadic_from

if TYPE_CHECKING:
    from tg_core.renderer.cstyle.kernel import CKernel
    from tg_core.uop.ops import UOp


def call(kernel: CKernel, uop: UOp) -> None:
    """Write a call of a foreign function: its pointer, cast to the types of the arguments."""
    function = foreign_function(uop)
    kinds = []
    for argument in uop.src[1:]:
        if not is_storage(argument) and lanes_of(argument):
            raise CompileError(f"CALL {function.arg}: C functions take no vectors")
        kinds.append(kernel.type(argument.dtype) + (" *" if is_storage(argument) else ""))
    declared = variadic_from(uop)
    if declared is not None:
        kinds = [*kinds[:declared], "..."]
    void = uop.dtype is dtypes.void
    result = "void" if void else kernel.type(uop.dtype)
    pointer = f"(({result} (*)({', '.join(kinds) or 'void'})){kernel.operand(function.src[0])})"
    text = f"{pointer}({', '.join(kernel.operand(a) for a in uop.src[1:])})"
    if void:
        kernel.line(f"{text};")
    else:
        kernel.assign(uop, text)
