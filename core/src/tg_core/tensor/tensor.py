"""The tensor: a graph node with the op surface, and the ways in and out of it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from tg_core.dtype import ConstType, DType, DTypeLike, InvalidType, dtypes, to_dtype
from tg_core.errors import DTypeError, ShapeError
from tg_core.tensor import data as tensor_data
from tg_core.tensor.autograd import AutogradMethods
from tg_core.tensor.convert import ConvertMethods
from tg_core.tensor.creation import CreationMethods
from tg_core.tensor.custom import CustomMethods
from tg_core.tensor.families import join_family
from tg_core.tensor.index_data import IndexDataMethods
from tg_core.tensor.inplace import InplaceMethods
from tg_core.tensor.interop import InteropMethods
from tg_core.tensor.join_constants import JoinMethods
from tg_core.tensor.random import RandomMethods
from tg_core.tensor.registry import register
from tg_core.tensor.sharding import ShardingMethods
from tg_core.tensor.standard import StandardMethods
from tg_core.tensor.states import ALIASING
from tg_core.tensor.storage_methods import StorageMethods
from tg_core.uop.mixin import OpMixin
from tg_core.uop.ops import Ops, UOp

if TYPE_CHECKING:
    from typing import Self

    from tg_core.uop.ops import sint


class Tensor(
    StandardMethods,
    AutogradMethods,
    CustomMethods,
    StorageMethods,
    ShardingMethods,
    IndexDataMethods,
    InplaceMethods,
    InteropMethods,
    JoinMethods,
    RandomMethods,
    CreationMethods,
    ConvertMethods,
    OpMixin,
):
    """A lazy n-dimensional array.

    Args:
        data: a scalar, nested lists, bytes, a numpy array, a memory view, a path, a node or
            another tensor; data is copied, so later changes of the source do not show.
        device: where the data goes, the default device unless given.
        dtype: what the values are converted to, on that device.
        is_param: whether `backward` leaves a gradient here.

    Raises:
        DTypeError: the data has no counterpart among our dtypes.
        ShapeError: nested lists are ragged.
    """

    __slots__ = ("__weakref__", "_family", "grad", "is_param", "uop")

    training: ClassVar[bool] = False
    """Whether layers such as dropout and batch norm behave as in training."""

    _WEAK_RESULTS = False

    uop: UOp
    _family: object | None
    grad: Tensor | None
    is_param: bool

    def __init__(
        self,
        data: Any,
        device: str | tuple[str, ...] | None = None,
        dtype: DTypeLike | None = None,
        is_param: bool = False,
    ) -> None:
        self._family = self.grad = None
        self.is_param = is_param
        self.uop = _node_of(data, device, None if dtype is None else to_dtype(dtype))
        register(self)

    @classmethod
    def _from_uop(cls, uop: UOp) -> Self:
        tensor = object.__new__(cls)
        tensor.uop = uop
        tensor._family = tensor.grad = None
        tensor.is_param = False
        register(tensor)
        return tensor

    # *** primitives of the op surface ***

    @property
    def dtype(self) -> DType:
        """The scalar dtype."""
        return self.uop.dtype

    @property
    def shape(self) -> tuple[sint, ...]:
        """The shape; entries are ints or symbolic nodes."""
        return self.uop.shape

    @property
    def device(self) -> str | tuple[str, ...]:
        """Where the values live, or will: the default device for a value without storage."""
        found = self.uop.device
        if found is not None:
            return found
        from tg_core.device import Device

        return Device.DEFAULT

    def _apply(self, op: Ops, others: tuple[Self, ...] = (), arg: Any = None) -> Self:
        node = self.uop._apply(op, tuple(other.uop for other in others), arg)
        if others:
            node.device  # noqa: B018 - operands on different devices fail here, at the call
        result = self._from_uop(node)
        if op in ALIASING:
            join_family(result, self)
        return result

    def _movement(self, op: Ops, arg: Any) -> Self:
        result = self._from_uop(self.uop._movement(op, arg))
        join_family(result, self)
        return result

    def _const(self, value: ConstType, dtype: DType | None = None) -> Self:
        return self._from_uop(UOp.const(value, dtype))

    def _coerce(self, other: Any) -> Self | None:
        if isinstance(other, UOp):
            return self._from_uop(other)
        if getattr(other, "shape", None) == () and hasattr(other, "item"):
            other = other if isinstance(other, Tensor) else other.item()
        elif type(other).__module__ == "numpy" and hasattr(other, "__array__"):
            return type(self)(other, device=self.uop.device)
        return super()._coerce(other)

    @staticmethod
    def const(b: Any, dtype: DTypeLike | None = None) -> Tensor:
        """Return a scalar constant of no device; weak when `dtype` is None."""
        if isinstance(b, Tensor):
            return b if dtype is None else b.cast(dtype)
        if not isinstance(b, (bool, int, float, InvalidType, UOp)):
            raise DTypeError(f"const: expected bool, int or float, found {b!r}")
        return Tensor._from_uop(UOp.const(b, None if dtype is None else to_dtype(dtype)))

    # *** protocol ***

    def __repr__(self) -> str:
        where = self.uop.device or "no device"
        return f"<Tensor {self.shape} {self.dtype.name} on {where}, {self.uop.op.name.lower()}>"

    __hash__ = object.__hash__

    def __eq__(self, x: Any) -> Tensor:  # type: ignore[override]  # elementwise, as in numpy
        return self._binary(Ops.CMPEQ, x)

    def __ne__(self, x: Any) -> Tensor:  # type: ignore[override]  # elementwise, as in numpy
        return self._binary(Ops.CMPNE, x)

    def __len__(self) -> int:
        if not self.shape:
            raise DTypeError("len: a tensor of shape () has no length")
        size = self.shape[0]
        if not isinstance(size, int):
            raise ShapeError(f"len: the size {size} is symbolic")
        return size

    def __bool__(self) -> bool:
        if self.numel() != 1:
            raise ShapeError(
                f"bool: the truth of a tensor of shape {self.shape} is ambiguous, use any() or "
                f"all()"
            )
        return bool(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __index__(self) -> int:
        if not dtypes.is_int(self.dtype) and self.dtype is not dtypes.bool:
            raise DTypeError(f"index: expected an integer tensor, found {self.dtype.name}")
        return int(self.item())

    def __iter__(self) -> Iterator[Tensor]:
        for position in range(len(self)):
            yield self[position]

    @staticmethod
    def train(mode: bool = True) -> contextlib.AbstractContextManager[None]:
        """Return a context manager (or decorator) in which `Tensor.training` is `mode`."""
        return _Training(mode)


class _Training(contextlib.ContextDecorator):
    """Sets `Tensor.training` and puts the former value back."""

    def __init__(self, mode: bool) -> None:
        self.mode = mode
        self.former: list[bool] = []

    def __enter__(self) -> None:
        self.former.append(Tensor.training)
        Tensor.training = self.mode

    def __exit__(self, *exc: object) -> None:
        Tensor.training = self.former.pop()


def _node_of(data: Any, device: str | tuple[str, ...] | None, dtype: DType | None) -> UOp:
    """Return the node that holds `data` on `device` as `dtype`."""
    wanted: DType | None
    if isinstance(data, Tensor):
        node, wanted = data.uop, dtype or data.dtype
    elif isinstance(data, UOp):
        node, wanted = data, dtype or data.dtype
    elif isinstance(data, (bool, int, float, InvalidType)):
        node, wanted = tensor_data.from_scalar(data, dtype), dtype
    elif isinstance(data, (list, tuple)):
        if _holds_tensors(data):
            stacked = _stack_nested(data)
            node, wanted = stacked.uop, dtype or stacked.dtype
        else:
            node, wanted = tensor_data.from_sequence(data, dtype)
    elif isinstance(data, (bytes, bytearray)):
        node, wanted = tensor_data.from_bytes(data, dtype), dtype
    elif isinstance(data, memoryview):
        node, wanted = tensor_data.from_memoryview(data), dtype
    elif isinstance(data, os.PathLike):
        node, wanted = tensor_data.from_path(data, dtype), dtype
        if device is None:
            return node
    elif type(data).__module__.partition(".")[0] == "numpy" or hasattr(data, "__array__"):
        import numpy as np

        node, wanted = tensor_data.from_array(np.asarray(data)), dtype
    else:
        raise DTypeError(f"tensor: cannot be made of {type(data).__name__}")
    placed = _placed(node, device, isinstance(data, (Tensor, UOp)))
    return placed if wanted is None else placed.cast(wanted)


def _placed(node: UOp, device: str | tuple[str, ...] | None, is_node: bool) -> UOp:
    """Return the node on `device`; data that came from outside gets storage of its own there."""
    if device is None and (is_node or node.device is None):
        return node
    from tg_core.device import Device
    from tg_core.tensor import storage

    if isinstance(device, tuple):
        return Tensor._from_uop(node).shard(device).uop
    target = Device.require(device)
    if node.device == target or (node.device is None and target == Device.DEFAULT):
        return node
    if node.device is None:
        return storage.clone(node, target)
    return storage.to_device(node, target)


def _holds_tensors(data: Any) -> bool:
    while isinstance(data, (list, tuple)):
        if any(isinstance(entry, Tensor) for entry in data):
            return True
        data = data[0] if data else None
    return False


def _stack_nested(data: Any) -> Tensor:
    parts = [entry if isinstance(entry, Tensor) else Tensor(entry) for entry in data]
    return parts[0].stack(*parts[1:])
