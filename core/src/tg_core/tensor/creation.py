"""Tensors that are made from nothing: storage, constants, foreign memory."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tg_core.dtype import ConstType, DType, DTypeLike, dtypes, to_dtype
from tg_core.errors import DTypeError, ShapeError
from tg_core.tensor.data import scalar_dtype
from tg_core.uop.mixin.shape_utils import flatten_args, shape_text
from tg_core.uop.ops import UOp
from tg_core.uop.sizes import static_size

if TYPE_CHECKING:
    from tg_core.tensor.tensor import Tensor
    from tg_core.uop.ops import sint

DeviceLike = str | tuple[str, ...] | None


def checked_shape(name: str, shape: tuple[Any, ...]) -> tuple[sint, ...]:
    """Return a shape whose sizes are ints that are not negative, or symbolic.

    Raises:
        ShapeError: a size is negative or no int.
    """
    for size in shape:
        if isinstance(size, UOp):
            continue
        if isinstance(size, bool) or not hasattr(size, "__index__") or int(size) < 0:
            raise ShapeError(f"{name}: sizes must be ints >= 0, found {shape_text(shape)}")
    return tuple(size if isinstance(size, UOp) else int(size) for size in shape)


def _value_dtype(value: Any, dtype: DTypeLike | None) -> DType:
    if dtype is not None:
        return to_dtype(dtype)
    if isinstance(value, UOp):
        return dtypes.default_int() if dtypes.is_weak(value.dtype) else value.dtype
    return scalar_dtype(value)


class CreationMethods:
    """`empty full zeros ones` and their `_like` forms, memory from elsewhere, shapes of storage."""

    __slots__ = ()

    @classmethod
    def empty(
        cls: type[Tensor], *shape: Any, device: DeviceLike = None, dtype: DTypeLike | None = None
    ) -> Tensor:
        """Return storage whose content is undefined until it is written.

        Raises:
            ShapeError: a size is negative.
        """
        from tg_core.device import new_buffer_uop
        from tg_core.schedule.storage_view import greatest_numel, storage_view
        from tg_core.tensor.shard_tensors import empty_over

        sizes = checked_shape("empty", flatten_args(*_head(shape)))
        target = dtypes.default_float() if dtype is None else to_dtype(dtype)
        if dtypes.is_weak(target):
            raise DTypeError(f"empty: {target.name} has no width, give a concrete dtype")
        if 0 in sizes:
            return cls.const(0, target)._broadcast_to(sizes)
        if isinstance(device, tuple):
            return cls._from_uop(empty_over(device, None, sizes, target))
        buffer = new_buffer_uop(device, greatest_numel(sizes), target)
        return cls._from_uop(storage_view(buffer, sizes))

    @classmethod
    def invalids(
        cls: type[Tensor], *shape: Any, device: DeviceLike = None, dtype: DTypeLike | None = None
    ) -> Tensor:
        """Return storage that is never initialised; reading it is undefined but safe."""
        return cls.empty(*shape, device=device, dtype=dtype)

    @classmethod
    def full(
        cls: type[Tensor],
        shape: Any,
        fill_value: Any,
        dtype: DTypeLike | None = None,
        device: DeviceLike = None,
        buffer: bool = True,
    ) -> Tensor:
        """Return a tensor of one value.

        Args:
            shape: the sizes.
            fill_value: a scalar or a symbolic scalar.
            dtype: the dtype, that of the value unless given.
            device: where the storage is; the default device unless given.
            buffer: give it storage of its own, which can be written to; else it is a constant.

        Raises:
            ShapeError: a size is negative.
        """
        sizes = checked_shape("full", flatten_args(shape, ()))
        scalar = cls.const(fill_value, _value_dtype(fill_value, dtype))
        value = scalar._broadcast_to(sizes)
        return value.clone(device) if buffer and 0 not in sizes else value

    @classmethod
    def zeros(cls: type[Tensor], *shape: Any, **kwargs: Any) -> Tensor:
        """Return a tensor of zeros, of the default float unless `dtype` is given."""
        kwargs.setdefault("dtype", dtypes.default_float())
        return cls.full(flatten_args(*_head(shape)), 0, **kwargs)

    @classmethod
    def ones(cls: type[Tensor], *shape: Any, **kwargs: Any) -> Tensor:
        """Return a tensor of ones, of the default float unless `dtype` is given."""
        kwargs.setdefault("dtype", dtypes.default_float())
        return cls.full(flatten_args(*_head(shape)), 1, **kwargs)

    def full_like(
        self: Tensor,
        fill_value: ConstType,
        dtype: DTypeLike | None = None,
        device: DeviceLike = None,
        buffer: bool = True,
    ) -> Tensor:
        """Return a tensor of one value, with the shape, dtype and device of self."""
        where = device if device is not None else self.uop.device
        if isinstance(where, tuple) and device is None:
            value = type(self).full(self.shape, fill_value, dtype or self.dtype, buffer=False)
            placed = value.shard_like(self)
            return placed.clone() if buffer else placed
        return type(self).full(self.shape, fill_value, dtype or self.dtype, where, buffer)

    def zeros_like(self: Tensor, **kwargs: Any) -> Tensor:
        """Return zeros with the shape, dtype and device of self."""
        return self.full_like(0, **kwargs)

    def ones_like(self: Tensor, **kwargs: Any) -> Tensor:
        """Return ones with the shape, dtype and device of self."""
        return self.full_like(1, **kwargs)

    def empty_like(
        self: Tensor, dtype: DTypeLike | None = None, device: DeviceLike = None
    ) -> Tensor:
        """Return undefined storage with the shape, dtype and device of self."""
        from tg_core.tensor.shard_tensors import empty_over

        where = device if device is not None else self.uop.device
        if isinstance(where, tuple) and device is None:
            target = to_dtype(dtype or self.dtype)
            return self._from_uop(empty_over(where, self.uop, self.shape, target))
        return type(self).empty(*self.shape, dtype=dtype or self.dtype, device=where)

    @staticmethod
    def from_blob(ptr: int, shape: tuple[int, ...], **kwargs: Any) -> Tensor:
        """Return a tensor over memory at address `ptr`, which the caller keeps alive.

        Args:
            ptr: the address.
            shape: the sizes.
            **kwargs: `dtype` (default float) and `device` (default CPU).

        Raises:
            DTypeError: the dtype has no width.
        """
        from tg_core.device import Buffer, BufferOptions, Device, new_buffer_uop
        from tg_core.tensor.tensor import Tensor

        dtype = to_dtype(kwargs.get("dtype") or dtypes.default_float())
        if not dtype.itemsize:
            raise DTypeError(f"from_blob: {dtype.name} has no width")
        sizes = checked_shape("from_blob", tuple(shape))
        count = math.prod(static_size(size, "from_blob") for size in sizes)
        name = Device.require(kwargs.get("device"))
        buffer = Buffer(name, count, dtype, options=BufferOptions(external=ptr))
        return Tensor._from_uop(new_buffer_uop(name, count, dtype, buffer).reshape(sizes))

    @staticmethod
    def from_url(url: str, gunzip: bool = False, **kwargs: Any) -> Tensor:
        """Return the bytes behind a URL as a uint8 tensor.

        Args:
            url: an address Python's urllib can open.
            gunzip: unpack the content.
            **kwargs: passed to `Tensor`.
        """
        import gzip
        import urllib.request

        with urllib.request.urlopen(url) as response:
            content = response.read()
        from tg_core.tensor.tensor import Tensor

        return Tensor(gzip.decompress(content) if gunzip else content, **kwargs)


def _head(shape: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    """Return `(first, rest)` of sizes given one by one or as one sequence."""
    return (shape[0], shape[1:]) if shape else ((), ())
