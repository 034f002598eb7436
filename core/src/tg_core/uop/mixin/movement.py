"""Movement: new views of the same values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tg_core.errors import ShapeError
from tg_core.uop.mixin.base import OpBase
from tg_core.uop.mixin.shape_utils import (
    broadcast_shapes,
    flatten_args,
    prod,
    resolve_axes,
    resolve_axis,
    shape_text,
)
from tg_core.uop.opcodes import Ops

if TYPE_CHECKING:
    from typing import Self

    from tg_core.uop.uop import sint


def _is_symbolic(size: Any) -> bool:
    return not isinstance(size, int)


class MovementMixin(OpBase):
    """`reshape expand permute shrink flip` and a constant `pad` of zeros.

    With sizes that may be symbolic.
    """

    __slots__ = ()

    def _inferred_shape(self, shape: tuple[Any, ...]) -> tuple[sint, ...]:
        unknown = [axis for axis, size in enumerate(shape) if isinstance(size, int) and size == -1]
        if len(unknown) > 1:
            raise ShapeError(f"reshape: only one size can be inferred, found {shape_text(shape)}")
        if any(isinstance(size, int) and size < -1 for size in shape):
            raise ShapeError(f"reshape: sizes must not be negative, found {shape_text(shape)}")
        if not unknown:
            return shape
        known = prod([size for axis, size in enumerate(shape) if axis != unknown[0]])
        total = prod(self.shape)
        if isinstance(known, int) and isinstance(total, int) and (known == 0 or total % known):
            raise ShapeError(
                f"reshape: cannot infer -1 in {shape_text(shape)} from shape "
                f"{shape_text(self.shape)}"
            )
        return (*shape[: unknown[0]], total // known, *shape[unknown[0] + 1 :])

    def reshape(self, shape: Any, *args: Any) -> Self:
        """Return the values in row-major order under another shape.

        One size may be -1 and None keeps the size at that axis.

        Raises:
            ShapeError: the number of elements differs.
        """
        given = flatten_args(shape, args)
        if any(size is None for size in given):
            if len(given) > self.ndim:
                raise ShapeError(
                    f"reshape: None at {shape_text(given)} keeps an axis that shape "
                    f"{shape_text(self.shape)} lacks"
                )
            given = tuple(
                self.shape[axis] if size is None else size for axis, size in enumerate(given)
            )
        target = self._inferred_shape(given)
        if target == self.shape:
            return self
        have, want = prod(self.shape), prod(target)
        if have is not want and isinstance(have, int) and isinstance(want, int) and have != want:
            raise ShapeError(
                f"reshape: shape {shape_text(self.shape)} has {have} elements, "
                f"{shape_text(target)} has {want}"
            )
        return self._movement(Ops.RESHAPE, target)

    def view(self, shape: Any, *args: Any) -> Self:
        """Return `reshape(shape)`."""
        return self.reshape(shape, *args)

    def expand(self, shape: Any, *args: Any) -> Self:
        """Return self with axes of size 1 repeated to `shape`; -1 or None keeps a size.

        New axes go in front.

        Raises:
            ShapeError: an axis of another size than 1 would change.
        """
        given = flatten_args(shape, args)
        lead = len(given) - self.ndim
        if lead < 0:
            raise ShapeError(
                f"expand: shape {shape_text(self.shape)} has more axes than {shape_text(given)}"
            )
        own = (1,) * lead + tuple(self.shape)
        target = tuple(
            have if want is None or (isinstance(want, int) and want == -1) else want
            for have, want in zip(own, given, strict=True)
        )
        if any(isinstance(size, int) and size < 0 for size in target):
            raise ShapeError(f"expand: sizes must not be negative, found {shape_text(target)}")
        for have, want in zip(own, target, strict=True):
            if have is not want and have != want and not (isinstance(have, int) and have == 1):
                raise ShapeError(
                    f"expand: shape {shape_text(self.shape)} does not expand to "
                    f"{shape_text(target)}"
                )
        return self._broadcast_to(target)

    def permute(self, order: Any, *args: Any) -> Self:
        """Return self with its axes in `order`.

        Raises:
            ShapeError: `order` is not a permutation of the axes.
        """
        given = tuple(
            resolve_axis("permute", axis, self.ndim) for axis in flatten_args(order, args)
        )
        if sorted(given) != list(range(self.ndim)):
            raise ShapeError(
                f"permute: {given} is not an order of the axes of shape {shape_text(self.shape)}"
            )
        return self if given == tuple(range(self.ndim)) else self._movement(Ops.PERMUTE, given)

    def flip(self, axis: Any, *args: Any) -> Self:
        """Return self reversed along the axes."""
        axes = resolve_axes("flip", flatten_args(axis, args), self.ndim)
        return self._movement(Ops.FLIP, axes) if axes else self

    def shrink(self, arg: Sequence[tuple[sint, sint] | None]) -> Self:
        """Return the part `[begin, end)` of every axis; None keeps an axis whole.

        Raises:
            ShapeError: a range is outside its axis.
        """
        if not isinstance(arg, (tuple, list)) or len(arg) != self.ndim:
            raise ShapeError(
                f"shrink: expected {self.ndim} ranges for shape {shape_text(self.shape)}, found "
                f"{arg!r}"
            )
        if any(entry is not None and not isinstance(entry, (tuple, list)) for entry in arg):
            raise ShapeError(f"shrink: expected (begin, end) or None for each axis, found {arg!r}")
        ranges = tuple(
            (0, size) if entry is None else (entry[0], entry[1])
            for entry, size in zip(arg, self.shape, strict=True)
        )
        for (begin, end), size in zip(ranges, self.shape, strict=True):
            if (
                isinstance(begin, int)
                and isinstance(end, int)
                and isinstance(size, int)
                and not 0 <= begin <= end <= size
            ):
                raise ShapeError(
                    f"shrink: range ({begin}, {end}) is outside an axis of size {size} of shape "
                    f"{shape_text(self.shape)}"
                )
        whole = all(
            _same(begin, 0) and _same(end, size)
            for (begin, end), size in zip(ranges, self.shape, strict=True)
        )
        return self if whole else self._movement(Ops.SHRINK, ranges)

    def _pad_zeros(self, amounts: Sequence[tuple[sint, sint]]) -> Self:
        """Return self with zeros before and after every axis; amounts are not negative."""
        pairs = tuple((before, after) for before, after in amounts)
        if all(_same(before, 0) and _same(after, 0) for before, after in pairs):
            return self
        return self._movement(Ops.PAD, pairs)

    # *** forms of the above ***

    def unsqueeze(self, dim: int) -> Self:
        """Return self with a new axis of size 1 at `dim`."""
        axis = resolve_axis("unsqueeze", dim, self.ndim, extra=1)
        return self.reshape((*self.shape[:axis], 1, *self.shape[axis:]))

    def squeeze(self, dim: int | Sequence[int] | None = None) -> Self:
        """Return self without its axes of size 1.

        Or without the given ones where their size is 1.
        """
        axes = resolve_axes("squeeze", dim, self.ndim)
        return self.reshape(
            tuple(
                size
                for axis, size in enumerate(self.shape)
                if axis not in axes or _is_symbolic(size) or size != 1
            )
        )

    def transpose(self, dim0: int = 1, dim1: int = 0) -> Self:
        """Return self with two axes exchanged."""
        first, second = (resolve_axis("transpose", dim, self.ndim) for dim in (dim0, dim1))
        order = list(range(self.ndim))
        if order:
            order[first], order[second] = order[second], order[first]
        return self.permute(tuple(order))

    @property
    def T(self) -> Self:
        """Self with its first two axes exchanged; a vector or a scalar is its own transpose."""
        return self.transpose() if self.ndim > 1 else self

    def flatten(self, start_dim: int = 0, end_dim: int = -1) -> Self:
        """Return self with the axes `start_dim` to `end_dim` merged into one."""
        if not self.ndim:
            return self.reshape((1,))
        start, end = (
            resolve_axis("flatten", start_dim, self.ndim),
            resolve_axis("flatten", end_dim, self.ndim),
        )
        if start > end:
            raise ShapeError(f"flatten: start_dim {start_dim} comes after end_dim {end_dim}")
        return self.reshape(
            (*self.shape[:start], prod(self.shape[start : end + 1]), *self.shape[end + 1 :])
        )

    def unflatten(self, dim: int, sizes: Sequence[sint]) -> Self:
        """Return self with the axis `dim` split into `sizes`, one of which may be -1."""
        axis = resolve_axis("unflatten", dim, self.ndim)
        if not self.ndim or not isinstance(sizes, (tuple, list)):
            raise ShapeError(
                f"unflatten: expected a sequence of sizes for shape {shape_text(self.shape)}, "
                f"found {sizes!r}"
            )
        sizes = flatten_args(tuple(sizes), ())
        if -1 in sizes:
            known = prod([size for size in sizes if size != -1])
            length = self.shape[axis]
            if isinstance(length, int) and (known == 0 or length % known):
                raise ShapeError(f"unflatten: axis of size {length} does not split into {sizes}")
            sizes = tuple(length // known if size == -1 else size for size in sizes)
        return self.reshape((*self.shape[:axis], *sizes, *self.shape[axis + 1 :]))

    def shrink_to(self, shape: Any, *args: Any) -> Self:
        """Return the leading part of every axis; None keeps an axis whole."""
        sizes = flatten_args(shape, args)
        return self.shrink(tuple(None if size is None else (0, size) for size in sizes))

    def _aligned(self, *others: Self) -> tuple[Self, ...]:
        """Return self and the others broadcast to one shape."""
        everything = (self, *others)
        shape = broadcast_shapes("broadcast", *(entry.shape for entry in everything))
        return tuple(entry._broadcast_to(shape) for entry in everything)


def _same(size: Any, other: Any) -> bool:
    """Tell whether two sizes are known to be the same, without building a symbolic comparison."""
    return size is other or (isinstance(size, int) and isinstance(other, int) and size == other)
