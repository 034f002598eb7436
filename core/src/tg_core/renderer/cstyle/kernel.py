"""The state of one C function while it is rendered."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tg_core.dtype import Invalid
from tg_core.errors import CompileError
from tg_core.renderer.cstyle.names import c_literal
from tg_core.renderer.utils import lanes_of

if TYPE_CHECKING:
    from tg_core.dtype import DType
    from tg_core.renderer.cstyle.api import CStyleRenderer
    from tg_core.uop.ops import UOp


@dataclass
class CKernel:
    """Lines so far, the names of values, and the loops that are open."""

    renderer: CStyleRenderer
    lines: list[str] = field(default_factory=list)
    names: dict[UOp, str] = field(default_factory=dict)
    loops: list[UOp] = field(default_factory=list)
    depth: int = 1
    count: int = 0

    def line(self, text: str) -> None:
        """Append a statement at the current depth."""
        self.lines.append(f"{'  ' * self.depth}{text}")

    def fresh(self, stem: str) -> str:
        """Return a name that nothing else has."""
        self.count += 1
        return f"{stem}{self.count}"

    def type(self, dtype: DType) -> str:
        """Return the language's name of a dtype.

        Raises:
            CompileError: it has none.
        """
        found = self.renderer.types.get(dtype)
        if found is None:
            raise CompileError(f"{self.renderer.name}: no type for {dtype.name}")
        return found

    def operand(self, uop: UOp) -> str:
        """Return the name of a value, or the constant itself.

        Raises:
            CompileError: the node has no value.
        """
        found = self.names.get(uop)
        if found is not None:
            return found
        value = uop.const_value
        if value is None or value is Invalid:
            raise CompileError(f"{uop.op.name}: value is used before it is computed")
        return c_literal(value, uop.dtype)  # type: ignore[arg-type]  # Invalid was handled above

    def assign(self, uop: UOp, expression: str) -> None:
        """Declare a variable with the value of a node."""
        if lanes_of(uop):
            raise CompileError(f"{uop.op.name}: {self.renderer.name} has no vectors")
        name = self.fresh("v")
        self.line(f"{self.type(uop.dtype)} {name} = {expression};")
        self.names[uop] = name
