"""The LLVM IR renderer: dispatches each node of a linear program to the file that renders it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from tg_core.dtype import dtypes
from tg_core.errors import CompileError
from tg_core.renderer.api import ARITHMETIC_OPS, Renderer
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

    from tg_core.uop.ops import UOp

Rule: TypeAlias = "Callable[[Kernel, UOp], str | None]"

LLVM_OPS = ARITHMETIC_OPS | {Ops.FLOORDIV, Ops.FLOORMOD, Ops.MULACC}
"""The ops that any LLVM target renders; a target without a fused multiply-add leaves out MULACC."""


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


@dataclass(frozen=True, kw_only=True)
class LLVMRenderer(Renderer):
    """Base of renderers whose language is LLVM IR.

    The function has the signature `void name(ptr args, i64 chunk)`: `args` is an array of 8-byte
    slots, the addresses of buffers and then the variables; `chunk` is the value of `gidx0`. A
    target with another calling convention overrides `header` and `argument`, and replaces entries
    of `rules`.
    """

    language: ClassVar[str] = "LLVM"

    rules: ClassVar[Mapping[Ops, Rule]] = RULES

    @property
    def version(self) -> str:
        return "1"

    def compile(self, source: str) -> bytes:
        """Return the source itself; a backend compiles it with its own LLVM."""
        return source.encode()

    def pointer_type(self, storage: UOp) -> str:
        """Return the type of pointers into `storage`, with the address space if any."""
        return "ptr"

    def pointer_suffix(self, storage: UOp) -> str:
        """Return that type as it appears in names of intrinsics."""
        return "p0"

    def header(self, name: str, kernel: Kernel) -> str:
        """Return the text between `define` and the body."""
        return f"void @{name}(ptr noalias readonly %args, i64 %chunk) nounwind"

    def argument(self, kernel: Kernel, uop: UOp, slot: int) -> str:
        """Render how argument `slot` is read and return its value."""
        return control.render_argument(kernel, uop, slot)

    def render(self, name: str, linear: UOp) -> str:
        kernel = Kernel(self, linear)
        for slot, param in enumerate(arguments_of(linear).all):
            kernel.values[param] = self.argument(kernel, param, slot)
        for uop in linear.src:
            rule = self.rules.get(uop.op)
            if rule is None:
                raise CompileError(
                    f"{name}: {self.name} cannot render {uop.op.name} {uop.dtype.name}"
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
        text = f"define {self.header(name, kernel)} {{\n{kernel.builder.body()}\n}}\n"
        text += kernel.builder.metadata()
        return f"{declarations}\n\n{text}" if declarations else text


LLVM_DTYPES = frozenset((dtypes.bool, *dtypes.ints, dtypes.float16, dtypes.float32, dtypes.float64))
"""The dtypes that LLVM computes in where the target converts halves in hardware."""
