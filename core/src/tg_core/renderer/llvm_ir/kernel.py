"""The state of one function while it is rendered."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tg_core.dtype import Invalid, dtypes
from tg_core.errors import CompileError
from tg_core.renderer.llvm_ir.builder import Builder, splat
from tg_core.renderer.llvm_ir.types import literal, scalar_type, value_type
from tg_core.renderer.utils import lanes_of

if TYPE_CHECKING:
    from tg_core.renderer.llvm_ir.api import LLVMRenderer
    from tg_core.uop.ops import UOp


@dataclass
class OpenLoop:
    """A loop whose END has not been rendered."""

    range: UOp
    latch: str
    """Block that counts up and branches back."""
    body: str
    exit: str
    counter: str
    following: str
    """The value the counter has in the next iteration."""
    size: str


@dataclass
class Kernel:
    """One function: its builder, the values of the nodes so far, and the loops that are open."""

    renderer: LLVMRenderer
    linear: UOp
    builder: Builder = field(default_factory=Builder)
    values: dict[UOp, str] = field(default_factory=dict)
    loops: list[OpenLoop] = field(default_factory=list)
    branches: list[str] = field(default_factory=list)
    """Blocks that follow the open IFs."""

    def operand(self, uop: UOp, lanes: int | None = None) -> str:
        """Return the text of a node's value.

        Args:
            uop: a constant or a node rendered before.
            lanes: number of lanes wanted; a scalar is splatted to them. None: as it is.

        Raises:
            CompileError: the node has no value.
        """
        text = self.values.get(uop)
        if text is None:
            text = self._constant(uop)
        own = lanes_of(uop)
        if lanes is None or own == lanes:
            return text
        if own:
            raise CompileError(
                f"{uop.op.name}: {own} lanes where {lanes or 'one value'} is expected"
            )
        return splat(self.builder, text, scalar_type(uop.dtype), lanes)

    def typed(self, uop: UOp, lanes: int | None = None) -> str:
        """Return a node's value with its type in front."""
        own = lanes_of(uop) if lanes is None else lanes
        return f"{value_type(uop.dtype, own)} {self.operand(uop, lanes)}"

    def _constant(self, uop: UOp) -> str:
        value = uop.const_value
        if value is None or value is Invalid:
            raise CompileError(f"{uop.op.name}: value is used before it is computed")
        if dtypes.is_weak(uop.dtype):
            raise CompileError(f"{uop.op.name}: constant {value} has no width")
        return literal(value, uop.dtype)  # type: ignore[arg-type]  # Invalid was handled above
