"""Comparisons, bitwise operators and selection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg_core.dtype import dtypes
from tg_core.errors import DTypeError
from tg_core.uop.mixin.arithmetic import ArithmeticMixin
from tg_core.uop.mixin.shape_utils import broadcast_shapes
from tg_core.uop.opcodes import Ops

if TYPE_CHECKING:
    from typing import Self


class LogicMixin(ArithmeticMixin):
    """`< > <= >= & | ^ ~ << >>`, equality by name, `where` and clamping.

    `==` is left to the class: it is identity on `UOp`, elementwise on `Tensor`.
    """

    __slots__ = ()

    # *** comparisons ***

    def __lt__(self, x: Any) -> Self:
        return self._binary(Ops.CMPLT, x)

    def __gt__(self, x: Any) -> Self:
        return self._binary(Ops.CMPLT, x, True)

    def __le__(self, x: Any) -> Self:
        return self._at_most(x, False)

    def __ge__(self, x: Any) -> Self:
        return self._at_most(x, True)

    def _at_most(self, x: Any, reverse: bool) -> Self:
        """Return `self <= x` (`x <= self` when `reverse`).

        Floats need both comparisons because NaN compares false to all.
        """
        if type(x) is int and dtypes.is_int(self.dtype):
            return self._binary(Ops.CMPLT, x, not reverse).logical_not()
        other = x if type(x) is type(self) else self._coerce(x)
        if other is None:
            return NotImplemented  # type: ignore[no-any-return]  # asks the other operand
        if dtypes.is_float(self.dtype) or dtypes.is_float(other.dtype):
            less = self._binary(Ops.CMPLT, other, reverse)
            return less._binary(Ops.OR, self._binary(Ops.CMPEQ, other, reverse))
        return self._binary(Ops.CMPLT, other, not reverse).logical_not()

    def eq(self, x: Any) -> Self:
        """Return where both are equal; NaN equals nothing."""
        return self._named(self._binary(Ops.CMPEQ, x), "eq", x)

    def ne(self, x: Any) -> Self:
        """Return where both differ; NaN differs from everything."""
        return self._named(self._binary(Ops.CMPNE, x), "ne", x)

    def logical_not(self) -> Self:
        """Return True where self is zero or False."""
        return self._as(dtypes.bool)._apply(Ops.CMPNE, (self._const(True),))

    # *** bitwise ***

    def _bitwise(self, op: Ops, x: Any, reverse: bool = False) -> Self:
        other = x if type(x) is type(self) else self._coerce(x)
        if other is None:
            return NotImplemented  # type: ignore[no-any-return]  # asks the other operand
        self._require_int(op.name.lower())
        other._require_int(op.name.lower())
        return self._binary(op, other, reverse)

    def __and__(self, x: Any) -> Self:
        return self._bitwise(Ops.AND, x)

    def __rand__(self, x: Any) -> Self:
        return self._bitwise(Ops.AND, x, True)

    def __or__(self, x: Any) -> Self:
        return self._bitwise(Ops.OR, x)

    def __ror__(self, x: Any) -> Self:
        return self._bitwise(Ops.OR, x, True)

    def __xor__(self, x: Any) -> Self:
        return self._bitwise(Ops.XOR, x)

    def __rxor__(self, x: Any) -> Self:
        return self._bitwise(Ops.XOR, x, True)

    def __invert__(self) -> Self:
        return self.bitwise_not()

    def __lshift__(self, x: Any) -> Self:
        return self._shift(Ops.SHL, x, False)

    def __rlshift__(self, x: Any) -> Self:
        return self._shift(Ops.SHL, x, True)

    def __rshift__(self, x: Any) -> Self:
        return self._shift(Ops.SHR, x, False)

    def __rrshift__(self, x: Any) -> Self:
        return self._shift(Ops.SHR, x, True)

    def _shift(self, op: Ops, x: Any, reverse: bool) -> Self:
        other = x if type(x) is type(self) else self._coerce(x)
        if other is None:
            return NotImplemented  # type: ignore[no-any-return]  # asks the other operand
        value, amount = (other, self) if reverse else (self, other)
        for operand in (value, amount):
            if not dtypes.is_int(operand.dtype):
                raise DTypeError(
                    f"{op.name.lower()}: expected integer operands, found {value.dtype.name} and "
                    f"{amount.dtype.name}"
                )
        # the result has the dtype of the shifted value, so the amount goes to it and never widens
        # it
        if not dtypes.is_weak(value.dtype):
            amount = amount._adapt(value.dtype)
        return value._binary(op, amount)

    def bitwise_and(self, x: Any, reverse: bool = False) -> Self:
        """Return `self & x`."""
        return self._named(self._bitwise(Ops.AND, x, reverse), "bitwise_and", x)

    def bitwise_or(self, x: Any, reverse: bool = False) -> Self:
        """Return `self | x`."""
        return self._named(self._bitwise(Ops.OR, x, reverse), "bitwise_or", x)

    def bitwise_xor(self, x: Any, reverse: bool = False) -> Self:
        """Return `self ^ x`."""
        return self._named(self._bitwise(Ops.XOR, x, reverse), "bitwise_xor", x)

    def bitwise_not(self) -> Self:
        """Return `~self`: all bits flipped, or the logical not of bool."""
        if self.dtype is dtypes.bool:
            return self.logical_not()
        self._require_int("bitwise_not")
        return self._reverse_order(self.dtype) if not dtypes.is_weak(self.dtype) else self ^ -1

    def lshift(self, x: Any, reverse: bool = False) -> Self:
        """Return `self << x`, in the dtype of the shifted value."""
        return self._named(self._shift(Ops.SHL, x, reverse), "lshift", x)

    def rshift(self, x: Any, reverse: bool = False) -> Self:
        """Return `self >> x`, arithmetic for signed integers, in the dtype of the shifted value."""
        return self._named(self._shift(Ops.SHR, x, reverse), "rshift", x)

    # *** selection ***

    def where(self, x: Any, y: Any) -> Self:
        """Return `x` where self is True and `y` elsewhere, all three broadcast together.

        Raises:
            DTypeError: self is not bool.
        """
        if self.dtype is not dtypes.bool:
            raise DTypeError(
                f"where: the condition must be bool, found {self.dtype.name} of shape {self.shape}"
            )
        chosen, other = self._operand(x, "where"), self._operand(y, "where")
        if chosen.dtype is not other.dtype:
            chosen, other = chosen._match_dtypes(other)
        if dtypes.is_weak(chosen.dtype) and dtypes.is_weak(other.dtype) and not self._WEAK_RESULTS:
            chosen, other = chosen._commit(), other._commit()
        if self.shape != chosen.shape or self.shape != other.shape:
            shape = broadcast_shapes("where", self.shape, chosen.shape, other.shape)
            condition = self if not self.shape and not shape else self._broadcast_to(shape)
            chosen = chosen if not chosen.shape else chosen._broadcast_to(shape)
            other = other if not other.shape else other._broadcast_to(shape)
            return condition._apply(Ops.WHERE, (chosen, other))
        return self._apply(Ops.WHERE, (chosen, other))

    def _commit(self) -> Self:
        """Return self with a weak dtype replaced by its default width."""
        if self.dtype is dtypes.weakint:
            return self._as(dtypes.default_int())
        return self._as(dtypes.default_float()) if self.dtype is dtypes.weakfloat else self

    def masked_fill(self, mask: Self, value: Any) -> Self:
        """Return self with `value` where `mask` is True."""
        self._same_kind(mask, "masked_fill")
        fill = value if isinstance(value, type(self)) else self.ufix(value)
        return mask.where(fill, self)

    def clamp(self, min_: Any = None, max_: Any = None) -> Self:
        """Return self limited to `[min_, max_]`; NaN stays NaN.

        And `max_` wins where the limits cross. A value that equals a constant limit keeps its
        gradient.

        Raises:
            DTypeError: both limits are None.
        """
        if min_ is None and max_ is None:
            raise DTypeError("clamp: at least one of min_ and max_ is required")
        result = self if min_ is None else self._limit(min_, True)
        return result if max_ is None else result._limit(max_, False)

    def _limit(self, limit: Any, from_below: bool) -> Self:
        if not dtypes.is_float(self.dtype) or not isinstance(limit, (int, float)):
            return self.maximum(limit) if from_below else self.minimum(limit)
        return (self < limit if from_below else self > limit).where(limit, self)

    def clip(self, min_: Any = None, max_: Any = None) -> Self:
        """Return `clamp(min_, max_)`."""
        return self.clamp(min_, max_)
