"""In-place operators and writing through indices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg_core.dtype import dtypes
from tg_core.errors import DTypeError, IndexingError
from tg_core.tensor.data import from_scalar
from tg_core.tensor.shard_states import stored_base
from tg_core.tensor.storage_methods import strided_base
from tg_core.uop.mixin.base import fit_scalar
from tg_core.uop.mixin.index_parse import IndexEntry, has_advanced, parse_index
from tg_core.uop.mixin.indexing import result_entries
from tg_core.uop.ops import GroupOp, Ops

if TYPE_CHECKING:
    from tg_core.tensor.tensor import Tensor

_STORAGE = frozenset((Ops.BUFFER, Ops.PARAM, Ops.AFTER))
_SHARING = GroupOp.Movement | {Ops.BITCAST, Ops.DETACH}


class InplaceMethods:
    """`+= -= *= ...` and `x[i] = v`."""

    __slots__ = ()

    def __iadd__(self: Tensor, x: Any) -> Tensor:
        return self.assign(self + x)

    def __isub__(self: Tensor, x: Any) -> Tensor:
        return self.assign(self - x)

    def __imul__(self: Tensor, x: Any) -> Tensor:
        return self.assign(self * x)

    def __itruediv__(self: Tensor, x: Any) -> Tensor:
        return self.assign(self / x)

    def __ifloordiv__(self: Tensor, x: Any) -> Tensor:
        return self.assign(self // x)

    def __imod__(self: Tensor, x: Any) -> Tensor:
        return self.assign(self % x)

    def __ipow__(self: Tensor, x: Any) -> Tensor:
        return self.assign(self**x)

    def __imatmul__(self: Tensor, x: Any) -> Tensor:
        return self.assign(self @ x)

    def __iand__(self: Tensor, x: Any) -> Tensor:
        return self.assign(self & x)

    def __ior__(self: Tensor, x: Any) -> Tensor:
        return self.assign(self | x)

    def __ixor__(self: Tensor, x: Any) -> Tensor:
        return self.assign(self ^ x)

    def __ilshift__(self: Tensor, x: Any) -> Tensor:
        return self.assign(self.lshift(x))

    def __irshift__(self: Tensor, x: Any) -> Tensor:
        return self.assign(self.rshift(x))

    def __setitem__(self: Tensor, indices: Any, v: Any) -> None:
        """Write `v`, broadcast to the shape of `self[indices]`.

        Basic indices on storage write through a view; tensors and lists as indices, and any index
        of a value without storage, replace self by a new value. The last write wins where an
        index repeats.

        Raises:
            IndexingError: an index is malformed or out of range; checked before all else.
            DTypeError: `v` is a tensor of another dtype.
            ShapeError: `v` does not broadcast.
        """
        parsed = parse_index(self, indices)
        advanced = has_advanced(parsed)
        if advanced and str(self.uop.device).startswith("DISK"):
            raise IndexingError("setitem: a tensor on DISK takes basic indices only")
        value = self._written_value(v)
        view = None if advanced else self._basic_index(parsed)
        if view is not None and isinstance(v, type(self)) and view.uop is v.uop:
            return  # `x[i] += v` has written through the view already
        if view is not None and _has_storage(view):
            view.assign(value)
            return
        written = self._index_put(parsed, value)
        if _has_storage(self) and not advanced:
            self.assign(written)
        else:
            self.replace(written)

    def _index_put(self: Tensor, entries: list[IndexEntry], value: Tensor) -> Tensor:
        """Return self with `value` at the indexed places, as a new value."""
        view = self._basic_index(entries)
        if has_advanced(entries):
            value = view._put(result_entries(entries), value)
        else:
            value = value._put_shape(view.shape)
        if view.uop is self.uop:
            return value
        from tg_core.tensor.gradient_rules import put_back

        placed, written = put_back(self.uop, view.uop, value.uop)
        return self._from_uop(written.where(placed, self.uop))

    def _written_value(self: Tensor, v: Any) -> Tensor:
        value = v if isinstance(v, type(self)) else self._value_like(v)
        if dtypes.is_weak(value.dtype):
            return value.cast(self.dtype)
        if value.dtype is not self.dtype:
            raise DTypeError(
                f"setitem: a {value.dtype.name} value does not go into a {self.dtype.name} tensor, "
                "cast it first"
            )
        return value

    def _value_like(self: Tensor, v: Any) -> Tensor:
        """Return a scalar or nested lists as a tensor of the dtype and device of self."""
        if isinstance(v, (bool, int, float)):
            return self._from_uop(from_scalar(fit_scalar(v, self.dtype.kind), self.dtype))
        return type(self)(v, dtype=self.dtype, device=self.uop.device)


def _has_storage(tensor: Tensor) -> bool:
    """Tell whether the tensor is storage, or a view of it, that a write can go to."""
    if strided_base(tensor.uop) is not None:
        return True
    node = tensor.uop
    while node.op in _SHARING:
        if node.op in (Ops.PAD, Ops.EXPAND):
            return False
        node = node.src[0]
    return node.op in _STORAGE or (node.op is Ops.MULTI and stored_base(node) is not None)
