"""The LLVM IR renderer as others see it; the rules are loaded with the first kernel to compile."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tg_core.dtype import dtypes
from tg_core.renderer.api import ARITHMETIC_OPS, Renderer
from tg_core.uop.ops import Ops

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tg_core.renderer.llvm_ir.kernel import Kernel
    from tg_core.renderer.llvm_ir.rules import Rule
    from tg_core.uop.ops import UOp

LLVM_OPS = ARITHMETIC_OPS | {Ops.FLOORDIV, Ops.FLOORMOD, Ops.MULACC}
"""The ops that any LLVM target renders; a target without a fused multiply-add leaves out MULACC."""


class LLVMRenderer(Renderer):
    """Base of renderers whose language is LLVM IR.

    The function has the signature `void name(ptr args, i64 chunk)`: `args` is an array of 8-byte
    slots, the addresses of buffers and then the variables; `chunk` is the value of `gidx0`. A
    target with another calling convention overrides `header` and `argument`, and replaces entries
    of `rules`.
    """

    language: ClassVar[str] = "LLVM"

    @property
    def version(self) -> str:
        return "1"

    @property
    def rules(self) -> Mapping[Ops, Rule]:
        """How each op is rendered; a rule returns the value's name, if there is one."""
        from tg_core.renderer.llvm_ir.rules import RULES

        return RULES

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
        from tg_core.renderer.llvm_ir.control import render_argument

        return render_argument(kernel, uop, slot)

    def render(self, name: str, linear: UOp) -> str:
        from tg_core.renderer.llvm_ir.rules import render_function

        return render_function(self, name, linear)


LLVM_DTYPES = frozenset((dtypes.bool, *dtypes.ints, dtypes.float16, dtypes.float32, dtypes.float64))
"""The dtypes that LLVM computes in where the target converts halves in hardware."""
