"""Operations on storage as methods; `storage` does the work (see `spec/tensor.md`, section 2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg_core.dtype import dtypes
from tg_core.errors import ShapeError
from tg_core.tensor.shard_states import stored_base
from tg_core.uop.mixin.shape_utils import shape_text
from tg_core.uop.ops import GroupOp, Ops

if TYPE_CHECKING:
    from tg_core.tensor.tensor import Tensor
    from tg_core.uop.ops import UOp


class StorageMethods:
    """`realize contiguous clone assign to replace` and what schedules without running."""

    __slots__ = ()

    grad: Tensor | None

    def realize(self: Tensor, *lst: Tensor, do_update_stats: bool = True) -> Tensor:
        """Compute and store self and the given tensors; return self.

        Raises:
            DTypeError: one of them is weak.
        """
        from tg_core.tensor import storage

        storage.realize_tensors([self, *lst])
        return self

    def contiguous(self: Tensor, **kwargs: Any) -> Tensor:
        """Return a value that asks for contiguous layout when it is computed."""
        from tg_core.tensor import storage

        node = storage.contiguous(self.uop)
        return self if node is self.uop else self._from_uop(node)

    def clone(self: Tensor, device: str | tuple[str, ...] | None = None) -> Tensor:
        """Return a tensor with storage of its own, filled with self when it is computed.

        Raises:
            DTypeError: self is weak.
        """
        from tg_core.tensor import storage

        if isinstance(device, tuple):
            return self.shard(device).clone()
        return self._moved(storage.clone(self.uop, device))

    def to(self: Tensor, device: str | tuple[str, ...] | None) -> Tensor:
        """Return self on `device`: itself when it is there, else a lazy transfer."""
        from tg_core.tensor import storage

        if isinstance(device, tuple):
            return self if device == self.uop.device else self.shard(device)
        node = storage.to_device(self.uop, device)
        return self if node is self.uop else self._moved(node)

    def _moved(self: Tensor, node: UOp) -> Tensor:
        """Return a tensor of `node` that keeps the parameter flag.

        And the gradient on its device.
        """
        moved = self._from_uop(node)
        moved.is_param = self.is_param
        if self.grad is not None and node.device is not None:
            moved.grad = self.grad.to(node.device)
        return moved

    def to_(self: Tensor, device: str | tuple[str, ...] | None) -> Tensor:
        """Move self to `device` in place, its gradient along; return self."""
        from tg_core.tensor.writes import rebind

        rebind(self, self.to(device).uop)
        if self.grad is not None:
            self.grad = self.grad.to(device)
        return self

    def assign(self: Tensor, x: Any) -> Tensor:
        """Write `x`, broadcast to the shape of self, into self; return self.

        Raises:
            ShapeError: `x` does not broadcast to the shape of self.
            DTypeError: `x` is a tensor of another dtype.
            DeviceError: `x` is a tensor on another device.
        """
        from tg_core.tensor import storage

        value = x if isinstance(x, type(self)) else self._value_like(x)
        if dtypes.is_weak(value.dtype):
            value = value.cast(self.dtype)
        base = strided_base(self.uop)
        if base is None:
            return storage.assign_tensor(self, value)
        # a strided view is no range of its storage: the storage takes the whole new value
        from tg_core.tensor.gradient_rules import put_back

        placed, written = put_back(base, self.uop, value._put_shape(self.shape).uop)
        storage.assign_tensor(self._from_uop(base), self._from_uop(written.where(placed, base)))
        return self

    def replace(self: Tensor, x: Tensor) -> Tensor:
        """Take over the graph of `x`; return self.

        Raises:
            DTypeError: `x` is no tensor.
            ShapeError: the shapes differ.
        """
        self._same_kind(x, "replace")
        if self.shape != x.shape:
            raise ShapeError(
                f"replace: shape {shape_text(self.shape)} cannot become {shape_text(x.shape)}"
            )
        from tg_core.tensor.writes import rebind

        rebind(self, x.uop)
        return self

    def callify(self: Tensor, *lst: Tensor) -> Tensor:
        """Group the pending computation of the tensors into one deferred call; return self."""
        from tg_core.tensor import storage

        storage.callify_tensors([self, *lst])
        return self

    def schedule_linear(self: Tensor, *lst: Tensor) -> UOp:
        """Return the LINEAR that would compute the tensors."""
        return self.linear_with_vars(*lst)[0]

    def linear_with_vars(self: Tensor, *lst: Tensor) -> tuple[UOp, dict[str, int]]:
        """Return the LINEAR that would compute the tensors, and the values of its variables."""
        from tg_core.tensor import storage

        return storage.linear_with_vars([self, *lst])

    def as_param(self: Tensor, slot: int) -> Tensor:
        """Return the tensor as parameter `slot` of a call body."""
        from tg_core.tensor import storage

        return storage.as_param(self, slot)


def strided_base(view: UOp) -> UOp | None:
    """Return the storage under a strided view that padding rounds up to whole strides, else None.

    Such a view is SHRINK(RESHAPE(PAD(x))): the padding is cut off again.
    """
    padded = False
    above: tuple[UOp, ...] = ()
    while view.op in GroupOp.Movement:
        if view.op is Ops.EXPAND:
            return None
        if view.op is Ops.PAD:
            if [node.op for node in above[-2:]] != [Ops.SHRINK, Ops.RESHAPE]:
                return None
            padded = True
        above = (*above[-1:], view)
        view = view.src[0]
    if not padded:
        return None
    if view.op is Ops.MULTI:
        return stored_base(view)
    return view if view.op in (Ops.BUFFER, Ops.AFTER, Ops.PARAM) else None
