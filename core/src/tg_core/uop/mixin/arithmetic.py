"""Arithmetic: Python's operators with their reflected forms, and the same by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from tg_core.dtype import DType, DTypeLike, dtypes, to_dtype
from tg_core.errors import DTypeError
from tg_core.uop.mixin.base import OpBase
from tg_core.uop.opcodes import Ops

if TYPE_CHECKING:
    from typing import Self


class ArithmeticMixin(OpBase):
    """`+ - * / // %`, negation, casts."""

    __slots__ = ()

    # *** casts ***

    def cast(self, dtype: DTypeLike) -> Self:
        """Return the values converted to `dtype`.

        Floats truncate toward zero on the way to integers.

        Raises:
            DTypeError: the dtype is unknown or holds no values.
        """
        target = to_dtype(dtype)
        if target is dtypes.void:
            raise DTypeError("cast: void holds no values")
        return self._as(target)

    # *** operators ***

    def __add__(self, x: Any) -> Self:
        return self._binary(Ops.ADD, x)

    def __radd__(self, x: Any) -> Self:
        return self._binary(Ops.ADD, x, True)

    def __sub__(self, x: Any) -> Self:
        return self._binary(Ops.SUB, x)

    def __rsub__(self, x: Any) -> Self:
        return self._binary(Ops.SUB, x, True)

    def __mul__(self, x: Any) -> Self:
        return self._binary(Ops.MUL, x)

    def __rmul__(self, x: Any) -> Self:
        return self._binary(Ops.MUL, x, True)

    def __floordiv__(self, x: Any) -> Self:
        return self._binary(Ops.FLOORDIV, x)

    def __rfloordiv__(self, x: Any) -> Self:
        return self._binary(Ops.FLOORDIV, x, True)

    def __mod__(self, x: Any) -> Self:
        return self._binary(Ops.FLOORMOD, x)

    def __rmod__(self, x: Any) -> Self:
        return self._binary(Ops.FLOORMOD, x, True)

    def __truediv__(self, x: Any) -> Self:
        return self._true_divide(x, False)

    def __rtruediv__(self, x: Any) -> Self:
        return self._true_divide(x, True)

    def __neg__(self) -> Self:
        return self.neg()

    def __pos__(self) -> Self:
        return self

    def _true_divide(self, x: Any, reverse: bool) -> Self:
        if type(x) is int and not dtypes.is_float(self.dtype):
            x = float(x)
        other = x if type(x) is type(self) else self._coerce(x)
        if other is None:
            return NotImplemented  # type: ignore[no-any-return]  # asks the other operand
        if dtypes.is_float(self.dtype):
            return self._binary(Ops.FDIV, other, reverse)
        if dtypes.is_float(other.dtype):
            # an integer array meets a float: the common dtype is found first, a Python float
            # commits to the default width
            return self._as(self._result_dtype(self.dtype, other.dtype))._binary(
                Ops.FDIV, other, reverse
            )
        # two integers of whatever width give the default float
        return self._require_float()._binary(Ops.FDIV, other._require_float(), reverse)

    # *** by name ***

    def add(self, x: Any, reverse: bool = False) -> Self:
        """Return `self + x`, or `x + self` when `reverse`."""
        return self._named(self._binary(Ops.ADD, x, reverse), "add", x)

    def sub(self, x: Any, reverse: bool = False) -> Self:
        """Return `self - x`, or `x - self` when `reverse`."""
        return self._named(self._binary(Ops.SUB, x, reverse), "sub", x)

    def mul(self, x: Any, reverse: bool = False) -> Self:
        """Return `self * x`, or `x * self` when `reverse`."""
        return self._named(self._binary(Ops.MUL, x, reverse), "mul", x)

    def mod(self, x: Any, reverse: bool = False) -> Self:
        """Return the remainder with the sign of the divisor."""
        return self._named(self._binary(Ops.FLOORMOD, x, reverse), "mod", x)

    def div(
        self, x: Any, reverse: bool = False, rounding_mode: Literal["trunc", "floor"] | None = None
    ) -> Self:
        """Return `self / x`.

        With a rounding mode the quotient is rounded, and integers stay integers.

        Raises:
            DTypeError: the rounding mode is unknown.
        """
        if rounding_mode is None:
            return self._named(self._true_divide(x, reverse), "div", x)
        if rounding_mode == "floor":
            return self._named(self._binary(Ops.FLOORDIV, x, reverse), "div", x)
        if rounding_mode != "trunc":
            raise DTypeError(
                f"div: rounding_mode must be None, 'trunc' or 'floor', found {rounding_mode!r}"
            )
        other = self._operand(x, "div")
        if dtypes.is_float(self._result_dtype(self.dtype, other.dtype)):
            return self._true_divide(other, reverse)._apply(Ops.TRUNC)
        return self._binary(Ops.CDIV, other, reverse)

    def neg(self) -> Self:
        """Return `-self`.

        Raises:
            DTypeError: the dtype is bool, which has no negative (use `logical_not`).
        """
        if self.dtype is dtypes.bool:
            raise DTypeError("neg: bool has no negative, use logical_not or ~")
        return self._binary(Ops.MUL, -1)

    def maximum(self, x: Any) -> Self:
        """Return the greater of both, NaN where either is NaN."""
        return self._named(self._binary(Ops.MAX, self._within(x)), "maximum", x)

    def minimum(self, x: Any) -> Self:
        """Return the smaller of both, NaN where either is NaN."""
        other = self._operand(self._within(x), "minimum")
        lhs, rhs = self, other
        if lhs.dtype is not rhs.dtype:
            lhs, rhs = lhs._match_dtypes(rhs)
        concrete = rhs.dtype if dtypes.is_weak(lhs.dtype) else lhs.dtype
        # an order-reversing involution turns max into min; negation would overflow on the least
        # and on unsigned integers
        return (
            lhs._reverse_order(concrete)
            ._binary(Ops.MAX, rhs._reverse_order(concrete))
            ._reverse_order(concrete)
        )

    def _reverse_order(self, dtype: DType) -> Self:
        if dtype is dtypes.bool:
            return self._apply(Ops.XOR, (self._const(True),))
        if dtypes.is_int(dtype) and not dtypes.is_weak(dtype):
            return self._as(dtype)._apply(Ops.XOR, (self._const(-1),))
        return self._binary(Ops.MUL, -1)

    def alu(self, op: Ops, *src: Self) -> Self:
        """Return `op(self, *src)` as it is, without promotion or broadcasting."""
        return self._apply(op, src)

    def usum(self, *uops: Self) -> Self:
        """Return the sum of self and all others as a balanced tree.

        Which keeps the graph shallow.
        """
        total: Self = _balanced(Ops.ADD, [self, *(self._operand(u, "usum") for u in uops)])
        return total

    def uprod(self, *uops: Self) -> Self:
        """Return the product of self and all others as a balanced tree."""
        product: Self = _balanced(Ops.MUL, [self, *(self._operand(u, "uprod") for u in uops)])
        return product


def _balanced(op: Ops, nodes: list[Any]) -> Any:
    while len(nodes) > 1:
        paired = [nodes[i]._binary(op, nodes[i + 1]) for i in range(0, len(nodes) - 1, 2)]
        nodes = paired + nodes[len(paired) * 2 :]
    return nodes[0]
