"""Text of one LLVM function, grown instruction by instruction."""

from __future__ import annotations

from tg_core.renderer.llvm_ir.types import overload, vector_literal, with_lanes


class Builder:
    """Collects instructions, blocks, stack slots and the intrinsics that are used."""

    def __init__(self) -> None:
        self.block = "entry"
        """Label of the block that instructions go to."""
        self.declarations: dict[str, None] = {}
        self._entry: list[str] = []
        self._lines: list[str] = []
        self._count = 0
        self._metadata: list[str] = []

    def name(self, stem: str) -> str:
        """Return a name that no other value or block has."""
        self._count += 1
        return f"{stem}{self._count}"

    def value(self, instruction: str) -> str:
        """Append an instruction that yields a value and return the value's name."""
        result = f"%{self.name('v')}"
        self._lines.append(f"  {result} = {instruction}")
        return result

    def line(self, instruction: str) -> None:
        """Append an instruction without a value."""
        self._lines.append(f"  {instruction}")

    def label(self, name: str) -> None:
        """Begin a block; the one before it must have ended with a branch."""
        self._lines.append(f"{name}:")
        self.block = name

    def jump(self, target: str) -> None:
        """End the block with a branch."""
        self.line(f"br label %{target}")

    def branch(self, condition: str, then: str, otherwise: str) -> None:
        """End the block with a conditional branch."""
        self.line(f"br i1 {condition}, label %{then}, label %{otherwise}")

    def keep_rolled(self) -> str:
        """Return what to append to the branch of a loop that LLVM should not unroll.

        Source: LLVM language reference, "llvm.loop.unroll.disable".
        """
        if not self._metadata:
            self._metadata.append('!0 = !{!"llvm.loop.unroll.disable"}')
        number = len(self._metadata)
        self._metadata.append(f"!{number} = distinct !{{!{number}, !0}}")
        return f", !llvm.loop !{number}"

    def metadata(self) -> str:
        """Return the module's metadata as text."""
        return "".join(f"{line}\n" for line in self._metadata)

    def alloca(self, type_name: str, align: int) -> str:
        """Reserve a stack slot in the entry block, where LLVM can turn it into registers."""
        result = f"%{self.name('r')}"
        self._entry.append(f"  {result} = alloca {type_name}, align {align}")
        return result

    def call(self, function: str, result: str, *operands: tuple[str, str]) -> str:
        """Call an intrinsic that is overloaded by its result type alone.

        Args:
            function: name without the type suffix, `llvm.fma`.
            result: result type.
            operands: type and value of each argument.

        Returns:
            The value's name.
        """
        full = f"@{function}.{overload(result)}"
        types = ", ".join(kind for kind, _ in operands)
        self.declarations[f"declare {result} {full}({types})"] = None
        arguments = ", ".join(f"{kind} {value}" for kind, value in operands)
        return self.value(f"call {result} {full}({arguments})")

    def body(self) -> str:
        """Return the function's blocks as text."""
        return "\n".join(["entry:", *self._entry, *self._lines])


def splat(builder: Builder, value: str, scalar: str, lanes: int) -> str:
    """Return a vector whose lanes all are `value`; constants stay constants.

    Args:
        builder: where instructions go.
        value: a scalar value or literal.
        scalar: its type.
        lanes: number of lanes; 0 returns the scalar.
    """
    if not lanes:
        return value
    if not value.startswith("%"):
        return vector_literal([value] * lanes, scalar)
    vector = with_lanes(scalar, lanes)
    first = builder.value(f"insertelement {vector} poison, {scalar} {value}, i32 0")
    return builder.value(
        f"shufflevector {vector} {first}, {vector} poison, <{lanes} x i32> zeroinitializer"
    )
