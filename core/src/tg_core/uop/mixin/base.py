"""What the shared op surface needs from the class that carries it.

And how operands meet: coercion, promotion, broadcasting.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tg_core.dtype import ConstType, DType, InvalidType, dtypes, promote_concrete
from tg_core.errors import DTypeError
from tg_core.uop.mixin.shape_utils import broadcast_shapes
from tg_core.uop.opcodes import Ops

if TYPE_CHECKING:
    from typing import Self

    from tg_core.uop.uop import sint

_INT_KINDS = frozenset(("weakint", "int", "uint"))
_COMPARISONS = frozenset((Ops.CMPLT, Ops.CMPNE, Ops.CMPEQ))
_SCALARS = (int, float, bool, InvalidType)


def fit_scalar(value: Any, kind: str) -> Any:
    """Return a Python scalar in the kind of its neighbour: an int beside floats is a float."""
    if isinstance(value, InvalidType):
        return value
    if kind in ("float", "weakfloat"):
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
    if isinstance(value, bool):
        return value if kind == "bool" else int(value)
    return float(value) if isinstance(value, float) else value


class OpBase:
    """The primitives that `UOp` and `Tensor` define.

    Every mixin is written in terms of these alone.
    """

    __slots__ = ()

    _WEAK_RESULTS: bool = True
    """Whether an operation on Python scalars alone stays weak (`UOp`).

    Or commits to the default width (`Tensor`).
    """

    @property
    def dtype(self) -> DType:
        """The scalar dtype."""
        raise NotImplementedError

    @property
    def shape(self) -> tuple[sint, ...]:
        """The shape; entries are ints or symbolic nodes."""
        raise NotImplementedError

    @property
    def device(self) -> Any:
        """The device name, a tuple of names, or None for a value without storage."""
        raise NotImplementedError

    def _apply(self, op: Ops, others: tuple[Self, ...] = (), arg: Any = None) -> Self:
        """Return the node `op(self, *others)` with `arg`, without any check or conversion."""
        raise NotImplementedError

    def _movement(self, op: Ops, arg: Any) -> Self:
        """Return the movement node whose `arg` may hold symbolic entries."""
        raise NotImplementedError

    def _const(self, value: ConstType, dtype: DType | None = None) -> Self:
        """Return a scalar constant of shape `()` and no device; weak when `dtype` is None."""
        raise NotImplementedError

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    # *** operands ***

    def _coerce(self, other: Any) -> Self | None:
        """Return `other` as an operand of the same class, or None when it cannot be one."""
        if isinstance(other, _SCALARS):
            return self._const(fit_scalar(other, self.dtype.kind))
        if isinstance(other, type(self)):
            return other
        return None

    def _operand(self, other: Any, name: str) -> Self:
        """Return `other` as an operand.

        Raises:
            DTypeError: `other` is neither a scalar nor of this class.
        """
        operand = other if type(other) is type(self) else self._coerce(other)
        if operand is None:
            raise DTypeError(
                f"{name}: expected {type(self).__name__}, bool, int or float, found "
                f"{type(other).__name__}"
            )
        return operand

    def _same_kind(self, other: Any, name: str) -> Self:
        """Return `other`, which must be of the same class.

        Raises:
            DTypeError: it is not.
        """
        if not isinstance(other, type(self)):
            raise DTypeError(
                f"{name}: expected {type(self).__name__}, found {type(other).__name__}"
            )
        return other

    def ufix(self, x: Any) -> Self:
        """Return the scalar `x` as a constant that takes the dtype of self.

        Or `x` itself when it is a node.

        A Python float stays weak against an integer, so that the pair promotes.
        """
        if not isinstance(x, _SCALARS):
            return self._operand(x, "ufix")
        weak = isinstance(x, float) and not dtypes.is_float(self.dtype)
        return self._const(x) if weak else self._const(fit_scalar(x, self.dtype.kind), self.dtype)

    def _as(self, dtype: DType) -> Self:
        return self if self.dtype is dtype else self._apply(Ops.CAST, (), dtype)

    def _result_dtype(self, *operand_dtypes: DType) -> DType:
        """Return the common dtype of operands.

        With weak results committed where this class wants that.
        """
        result = promote_concrete(*operand_dtypes)
        if dtypes.is_weak(result) and dtypes.bool in operand_dtypes and not self._WEAK_RESULTS:
            return dtypes.default_float() if result is dtypes.weakfloat else dtypes.default_int()
        return result

    def _match_dtypes(self, other: Self) -> tuple[Self, Self]:
        """Return both operands with equal dtypes.

        Where a weak constant adapts to a concrete operand without a cast.
        """
        ours, theirs = self.dtype, other.dtype
        common = self._result_dtype(ours, theirs)
        return self._adapt(common), other._adapt(common)

    def _adapt(self, common: DType) -> Self:
        """Return self as `common`; weak scalars of the same kind stay as they are.

        Since an operand of that width fixes them.
        """
        dtype = self.dtype
        if dtype is common:
            return self
        if not self.shape:
            if dtype is dtypes.weakint and dtypes.is_int(common):
                return self
            if dtype is dtypes.weakfloat and dtypes.is_float(common):
                return self
        return self._apply(Ops.CAST, (), common)

    def _broadcast_to(self, shape: tuple[sint, ...]) -> Self:
        """Return self expanded to `shape`, which the caller knows to be compatible."""
        own = self.shape
        if own == shape:
            return self
        aligned = (1,) * (len(shape) - len(own)) + tuple(own)
        result = self if aligned == own else self._movement(Ops.RESHAPE, aligned)
        return result if aligned == shape else result._movement(Ops.EXPAND, shape)

    def _binary(self, op: Ops, other: Any, reverse: bool = False) -> Self:
        """Return `op(self, other)` after coercion, promotion and broadcasting.

        `NotImplemented` for foreign operands.
        """
        if type(other) is int and self.dtype.kind in _INT_KINDS:
            # index arithmetic is the hot path: a bare int beside an integer needs neither
            # promotion nor broadcasting
            if op in _COMPARISONS and self._is_beyond(other):
                return self._compared_beyond(op, other, reverse)
            constant = self._const(other)
            return constant._apply(op, (self,)) if reverse else self._apply(op, (constant,))
        if type(other) is not type(self):
            other = self._coerce(other)
            if other is None:
                return NotImplemented  # type: ignore[no-any-return]  # asks the other operand
        lhs, rhs = (other, self) if reverse else (self, other)
        if lhs.dtype is not rhs.dtype:
            lhs, rhs = lhs._match_dtypes(rhs)
        if lhs.shape and rhs.shape and lhs.shape != rhs.shape:
            shape = broadcast_shapes(op.name, lhs.shape, rhs.shape)
            lhs, rhs = lhs._broadcast_to(shape), rhs._broadcast_to(shape)
        return lhs._apply(op, (rhs,))

    def _is_beyond(self, value: int) -> bool:
        """Tell whether no value of this integer dtype equals `value`."""
        dtype = self.dtype
        return dtype.bits > 0 and not dtypes.min(dtype) <= value <= dtypes.max(dtype)

    def _compared_beyond(self, op: Ops, value: int, reverse: bool) -> Self:
        """Return a comparison with an int that the dtype cannot hold, so wrapping it is wrong."""
        above = value > 0
        answer = op is Ops.CMPNE or (op is Ops.CMPLT and above != reverse)
        return self._const(answer)._broadcast_to(self.shape)

    def _within(self, x: Any) -> Any:
        """Return an int moved into the range of this integer dtype; anything else as it is."""
        if type(x) is not int or self.dtype.kind not in _INT_KINDS or not self._is_beyond(x):
            return x
        return dtypes.max(self.dtype) if x > 0 else dtypes.min(self.dtype)

    def _named(self, result: Self, name: str, other: Any) -> Self:
        """Return `result` of an operator called by its name, where `NotImplemented` is an error."""
        if result is NotImplemented:
            self._operand(other, name)
        return result

    def _require_float(self) -> Self:
        """Return self as a float: the default float, or weakfloat where results may be weak."""
        if dtypes.is_float(self.dtype):
            return self
        weak = self.dtype is dtypes.weakint and self._WEAK_RESULTS
        return self._as(dtypes.weakfloat if weak else dtypes.default_float())

    def _require_int(self, name: str) -> None:
        if not dtypes.is_int(self.dtype) and self.dtype is not dtypes.bool:
            raise DTypeError(
                f"{name}: expected an integer or bool operand, found {self.dtype.name} of shape "
                f"{self.shape}"
            )
