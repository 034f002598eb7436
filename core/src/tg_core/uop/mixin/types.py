"""Casts and sizes by name. They shadow builtins, so nothing else is defined beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg_core.dtype import dtypes
from tg_core.errors import ShapeError
from tg_core.uop.mixin.arithmetic import ArithmeticMixin
from tg_core.uop.mixin.shape_utils import prod, resolve_axis

if TYPE_CHECKING:
    import builtins
    from typing import Self


class TypesMixin(ArithmeticMixin):
    """`float() half() int() ...`, `numel`, `size`, `nbytes`."""

    __slots__ = ()

    def float(self) -> Self:
        """Return self as float32."""
        return self.cast(dtypes.float32)

    def half(self) -> Self:
        """Return self as float16."""
        return self.cast(dtypes.float16)

    def double(self) -> Self:
        """Return self as float64."""
        return self.cast(dtypes.float64)

    def bfloat16(self) -> Self:
        """Return self as bfloat16."""
        return self.cast(dtypes.bfloat16)

    def int(self) -> Self:
        """Return self as int32."""
        return self.cast(dtypes.int32)

    def short(self) -> Self:
        """Return self as int16."""
        return self.cast(dtypes.int16)

    def long(self) -> Self:
        """Return self as int64."""
        return self.cast(dtypes.int64)

    def bool(self) -> Self:
        """Return self as bool: True where it is not zero."""
        return self.cast(dtypes.bool)

    def numel(self) -> Any:
        """Return the number of elements; symbolic when a size is."""
        return prod(self.shape)

    def max_numel(self) -> builtins.int:
        """Return the number of elements with every symbolic size at its greatest."""
        count: builtins.int = prod([s if isinstance(s, _INT) else _INT(s.vmax) for s in self.shape])
        return count

    @property
    def max_shape(self) -> tuple[builtins.int, ...]:
        """The shape with every symbolic size at its greatest."""
        return tuple(s if isinstance(s, _INT) else _INT(s.vmax) for s in self.shape)

    def element_size(self) -> builtins.int:
        """Return the size of one element in bytes."""
        return self.dtype.itemsize

    def nbytes(self) -> Any:
        """Return the size of all elements in bytes.

        Raises:
            ShapeError: the dtype has no width.
        """
        if not self.dtype.itemsize:
            raise ShapeError(f"nbytes: {self.dtype.name} has no width")
        return self.numel() * self.dtype.itemsize

    def size(self, dim: builtins.int | None = None) -> Any:
        """Return the shape, or the size of one axis."""
        return self.shape if dim is None else self.shape[resolve_axis("size", dim, self.ndim)]


_INT = int
