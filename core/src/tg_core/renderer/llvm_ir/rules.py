"""Which file renders which node of a linear program, and the loop over them."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from tg_core.errors import CompileError
from tg_core.renderer.llvm_ir import (
    arithmetic,
    calls,
    control,
    conversions,
    integers,
    lanes,
    memory,
)
from tg_core.renderer.llvm_ir.kernel import Kernel
from tg_core.renderer.utils import arguments_of
from tg_core.uop.ops import Ops

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tg_core.renderer.llvm_ir.api import LLVMRenderer
    from tg_core.uop.ops import UOp

Rule: TypeAlias = "Callable[[Kernel, UOp], str | None]"


def _render_nothing(kernel: Kernel, uop: UOp) -> None:
    """Constants are written where they are used, functions where they are called; arguments are
    read by the header.
    """


RULES: Mapping[Ops, Rule] = {
    Ops.CONST: _render_nothing,
    Ops.NOOP: _render_nothing,
    Ops.PARAM: _render_nothing,
    Ops.BARRIER: _render_nothing,
    Ops.CUSTOM_FUNCTION: _render_nothing,
    Ops.CALL: calls.render_call,
    Ops.SPECIAL: control.render_chunk,
    Ops.BUFFER: control.render_buffer,
    Ops.RANGE: control.render_range,
    Ops.END: control.render_end,
    Ops.IF: control.render_if,
    Ops.ENDIF: control.render_endif,
    Ops.INDEX: memory.render_index,
    Ops.LOAD: memory.render_load,
    Ops.STORE: memory.render_store,
    Ops.STACK: lanes.render_stack,
    Ops.CAST: conversions.render_cast,
    Ops.BITCAST: conversions.render_bitcast,
    **dict.fromkeys((Ops.SQRT, Ops.TRUNC, Ops.RECIPROCAL), arithmetic.render_unary),
    **dict.fromkeys(
        (Ops.ADD, Ops.SUB, Ops.MUL, Ops.FDIV, Ops.AND, Ops.OR, Ops.XOR), arithmetic.render_binary
    ),
    **dict.fromkeys((Ops.CMPLT, Ops.CMPNE, Ops.CMPEQ), arithmetic.render_comparison),
    **dict.fromkeys((Ops.CDIV, Ops.CMOD, Ops.FLOORDIV, Ops.FLOORMOD), integers.render_division),
    **dict.fromkeys((Ops.SHL, Ops.SHR), integers.render_shift),
    Ops.MAX: arithmetic.render_max,
    Ops.WHERE: arithmetic.render_where,
    Ops.MULACC: arithmetic.render_multiply_add,
}
"""How each op is rendered on any target; a rule returns the value's name, if there is one."""


def render_function(renderer: LLVMRenderer, name: str, linear: UOp) -> str:
    """Return the text of a function and of what it declares; see `Renderer.render`."""
    kernel = Kernel(renderer, linear)
    for slot, param in enumerate(arguments_of(linear).all):
        kernel.values[param] = renderer.argument(kernel, param, slot)
    rules = renderer.rules
    for uop in linear.src:
        rule = rules.get(uop.op)
        if rule is None:
            raise CompileError(
                f"{name}: {renderer.name} cannot render {uop.op.name} {uop.dtype.name}"
            )
        value = rule(kernel, uop)
        if value is not None:
            kernel.values[uop] = value
    if kernel.loops or kernel.branches:
        raise CompileError(
            f"{name}: {len(kernel.loops)} loops and {len(kernel.branches)} IFs are open"
        )
    kernel.builder.line("ret void")
    declarations = "\n".join(sorted(kernel.builder.declarations))
    text = f"define {renderer.header(name, kernel)} {{\n{kernel.builder.body()}\n}}\n"
    text += kernel.builder.metadata()
    return f"{declarations}\n\n{text}" if declarations else text
