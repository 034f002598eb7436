"""What the Python array API standard asks of an array beyond the op surface."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg_core.dtype import dtypes, promote
from tg_core.errors import DeviceError, DTypeError, ExchangeError, ShapeError
from tg_core.tensor.inplace import InplaceMethods
from tg_core.uop.mixin import OpMixin
from tg_core.uop.ops import Ops, UOp

if TYPE_CHECKING:
    from types import ModuleType

    from tg_core.tensor.tensor import Tensor

VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")
"""The versions of the standard that the namespace follows; each contains those before."""


class Extent(int):
    """The number of elements of a tensor as the standard wants it: `x.size` is an int.

    Called, it is the method of our own vocabulary: `x.size()` is the shape, `x.size(0)` a size.
    """

    _tensor: Tensor

    def __call__(self, dim: int | None = None) -> Any:
        return OpMixin.size(self._tensor, dim)


class _Size:
    """Gives `Tensor.size` its two meanings."""

    def __get__(self, tensor: Tensor | None, owner: type[Tensor]) -> Any:
        if tensor is None:
            return OpMixin.size
        count = tensor.numel()
        if not isinstance(count, int):
            return OpMixin.size.__get__(tensor)
        extent = Extent(count)
        extent._tensor = tensor
        return extent


class StandardMethods:
    """`__array_namespace__`, `mT`, `size`, `to_device` and the exchange through DLPack."""

    __slots__ = ()

    size: Any = _Size()
    """The number of elements; called, the shape or the size of one axis."""

    def __array_namespace__(self: Tensor, /, *, api_version: str | None = None) -> ModuleType:
        """Return the namespace with the functions of the Python array API standard.

        Args:
            api_version: the version of the standard, the newest unless given.

        Raises:
            ShapeError: the namespace does not follow that version; it is a `ValueError`.
        """
        from tg_core import array_api

        if api_version is not None and api_version not in VERSIONS:
            raise ShapeError(
                f"array_namespace: version {api_version!r} of the standard is not supported, "
                f"expected one of {', '.join(VERSIONS)}"
            )
        return array_api

    def __getitem__(self: Tensor, indices: Any) -> Tensor:
        """Return the part that the indices select; a 0-d mask adds an axis of size 0 or 1.

        Raises:
            IndexingError: an index is malformed or out of range.
        """
        if _is_scalar_mask(self, indices):
            return self.unsqueeze(0)[indices.reshape((1,))]
        return OpMixin.__getitem__(self, indices)

    def __setitem__(self: Tensor, indices: Any, v: Any) -> None:
        """Write to the part that the indices select, as `InplaceMethods` does, and by 0-d masks."""
        if not _is_scalar_mask(self, indices):
            InplaceMethods.__setitem__(self, indices, v)
            return
        written = indices.where(self._written_value(v)._put_shape(self.shape), self)
        InplaceMethods.__setitem__(self, Ellipsis, written)

    def __lshift__(self: Tensor, x: Any) -> Tensor:
        return OpMixin.__lshift__(_widened(self, x), x)

    def __rshift__(self: Tensor, x: Any) -> Tensor:
        return OpMixin.__rshift__(_widened(self, x), x)

    @property
    def mT(self: Tensor) -> Tensor:
        """The matrices of the last two axes transposed.

        Raises:
            ShapeError: there are fewer than two axes.
        """
        if self.ndim < 2:
            raise ShapeError(f"mT: expected matrices, found shape {self.shape}")
        return self.transpose(-2, -1)

    def to_device(self: Tensor, device: str, /, *, stream: Any = None) -> Tensor:
        """Return self on a device: itself when it is there, else a lazy transfer.

        Args:
            device: its name.
            stream: must be None; the order of operations is the scheduler's.

        Raises:
            DeviceError: a stream is given.
        """
        if stream is not None:
            raise DeviceError("to_device: streams are not ours to choose, leave stream out")
        return self.to(device)

    def __complex__(self: Tensor) -> complex:
        return complex(self.item())

    def __dlpack_device__(self: Tensor) -> tuple[int, int]:
        """Return the kind and number of the device that `__dlpack__` exports memory of.

        That is the host for every device: memory the host cannot address is copied to it.
        """
        from tg_core.tensor.dlpack import CPU

        return CPU, 0

    def __dlpack__(
        self: Tensor,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Return a capsule with the values, computing them first.

        The capsule shares the memory of a tensor that fills its storage, where the host
        addresses that; a view, and memory elsewhere, is copied.

        Args:
            stream: must be None, as host memory has no streams.
            max_version: the newest version of DLPack that the caller reads.
            dl_device: the device wanted; there is the host only.
            copy: True for memory of its own, False to refuse a copy.

        Raises:
            ExchangeError: a copy is needed and refused, or the device or dtype has no place in
                DLPack; it is a `BufferError`.
        """
        from tg_core.tensor.dlpack import CPU, capsule_of

        if stream is not None:
            raise ExchangeError("dlpack: the host has no streams, leave stream out")
        if dl_device is not None and tuple(dl_device) != (CPU, 0):
            raise ExchangeError(f"dlpack: memory is exported on the host only, found {dl_device}")
        if self.dtype in dtypes.fp8s:
            raise ExchangeError(f"dlpack: {self.dtype.name} has no code, bitcast it to uint8")
        if dtypes.is_weak(self.dtype):
            raise DTypeError(f"dlpack: {self.dtype.name} has no width, cast it first")
        view, is_copied = self._lent_bytes(copy)
        return capsule_of(
            _address(view),
            self._int_shape(),
            self.dtype,
            view,
            versioned=max_version is not None and max_version[0] >= 1,
            is_copied=is_copied,
        )

    def _lent_bytes(self: Tensor, copy: bool | None) -> tuple[memoryview, bool]:
        """Return the values as bytes in host memory, and whether they are a copy."""
        from tg_core.device.storage import buffer_of

        if 0 in self._int_shape():
            return memoryview(b""), False
        self.realize()
        node = self.uop
        while node.op in (Ops.RESHAPE, Ops.DETACH):
            node = node.src[0]
        buffer = buffer_of(node)
        shared = None
        if copy is not True and buffer is not None and buffer.is_allocated() and _fills(self, node):
            shared = buffer.host_view()
        if shared is None:
            if copy is False:
                raise ExchangeError(
                    f"dlpack: {self!r} needs a copy, as it is a view or not in host memory"
                )
            return self.clone()._host_bytes(), True
        assert buffer is not None
        return buffer.as_memoryview(), False


def _widened(value: Tensor, amount: Any) -> Tensor:
    """Return a value to shift in the integer dtype that it and the amount promote to.

    The operators promote as the standard asks; the methods `lshift` and `rshift` keep the dtype
    of the value.
    """
    if type(amount) is not type(value) or not dtypes.is_int(value.dtype):
        return value
    common = promote(value.dtype, amount.dtype)
    return value._as(common) if dtypes.is_int(common) and not dtypes.is_weak(common) else value


def _is_scalar_mask(tensor: Tensor, indices: Any) -> bool:
    """Tell whether an index is a bool array without axes."""
    return type(indices) is type(tensor) and not indices.shape and indices.dtype is dtypes.bool


def _fills(tensor: Tensor, node: UOp) -> bool:
    """Tell whether the tensor has all elements of the storage node, as the node's dtype."""
    return node.op is Ops.BUFFER and (tensor.numel(), tensor.dtype) == (node.arg.size, node.dtype)


def _address(view: memoryview) -> int:
    import numpy as np

    return int(np.frombuffer(view, np.uint8).ctypes.data) if view.nbytes else 0
