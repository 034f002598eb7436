"""Values made of constants alone: counting, identity, triangles, and tests against positions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tg_core.dtype import ConstType, DType, DTypeLike, dtypes, to_dtype
from tg_core.errors import DTypeError, ShapeError
from tg_core.uop.mixin.reduce import ReduceMixin
from tg_core.uop.mixin.shape_utils import require_int, resolve_axis, shape_text
from tg_core.uop.opcodes import Ops
from tg_core.uop.sizes import static_size

if TYPE_CHECKING:
    from typing import Self

    from tg_core.uop.uop import sint


class CreationMixin(ReduceMixin):
    """`arange linspace eye tril triu one_hot const_like meshgrid`."""

    __slots__ = ()

    @staticmethod
    def const(b: Any, dtype: Any = None) -> Any:
        """Return a scalar constant; weak when `dtype` is None."""
        raise NotImplementedError

    def const_like(self, b: ConstType, dtype: DType | None = None) -> Self:
        """Return the constant `b` with the shape and dtype of self."""
        target = self.dtype if dtype is None else to_dtype(dtype)
        return self._operand(b, "const_like")._as(target)._broadcast_to(self.shape)

    @classmethod
    def _counting(cls, count: sint, dtype: DType) -> Self:
        """Return `0, 1, ..., count - 1`.

        A running sum of ones, which index algebra turns back into the loop variable itself.
        """
        if isinstance(count, int) and count <= 1:
            nothing: Self = cls.const(0, dtype)
            return nothing._broadcast_to((count,))
        one: Self = cls.const(1, dtype)
        ones = one._broadcast_to((count - 1,))._pad_zeros(((count, 0),))
        return ones._windows_of(count)._reduce(Ops.ADD, (1,), False)

    def _windows_of(self, count: sint) -> Self:
        """Return the `count` windows of length `count` of a vector of `2 * count - 1` values."""
        length = self.shape[0]
        repeated = self._broadcast_to((count + 1, length))
        flat = repeated.reshape(((count + 1) * length,)).shrink(((0, count * (length + 1)),))
        return flat.reshape((count, length + 1)).shrink(((0, count), (0, count)))

    @classmethod
    def arange(
        cls, start: Any, stop: Any = None, step: Any = 1, dtype: DTypeLike | None = None
    ) -> Self:
        """Return the values from `start` up to, not including, `stop` in steps of `step`.

        Args:
            start: the first value; the end when `stop` is None, and 0 is first.
            stop: the end.
            step: the distance of two values, not zero.
            dtype: the default int, or the default float when an argument is a float.

        Raises:
            ShapeError: the step is zero.
        """
        first, end = (0, start) if stop is None else (start, stop)
        if isinstance(step, (int, float)) and step == 0:
            raise ShapeError("arange: the step must not be zero")
        entries: tuple[Any, ...] = (first, end, step)
        for entry in entries:
            plain = isinstance(entry, (int, float)) and math.isfinite(entry)
            if not plain and not (hasattr(entry, "vmin") and dtypes.is_int(entry.dtype)):
                raise ShapeError(f"arange: expected finite numbers, found {entry!r}")
        symbolic = not all(isinstance(entry, (int, float)) for entry in (first, end, step))
        if dtype is not None:
            target = to_dtype(dtype)
        elif any(isinstance(entry, float) for entry in (first, end, step)):
            target = dtypes.default_float()
        else:
            target = dtypes.default_int()
        if symbolic:
            count: Any = (end - first + (step - 1)) // step
        else:
            count = max(math.ceil((end - first) / step), 0)
            if all(isinstance(entry, int) for entry in (first, end, step)):
                count = max(-((first - end) // step), 0)
        counter = target
        if not dtypes.is_int(target) or target.bits < 32:
            counter = dtypes.int32
        if isinstance(count, int) and count > dtypes.max(dtypes.int32):
            counter = dtypes.int64
        steps = cls._counting(count, counter)
        if dtypes.is_float(target) and any(isinstance(entry, float) for entry in (first, step)):
            wide = dtypes.float64 if target is dtypes.float64 else dtypes.float32
            steps = steps._as(wide)
        # `0, 1, 2, ...` stays recognizable as positions
        scaled = steps if step == 1 and not isinstance(step, float) else steps * step
        values: Self = scaled if first == 0 and not isinstance(first, float) else scaled + first
        return values._as(target)

    @classmethod
    def linspace(
        cls, start: float, stop: float, steps: int, dtype: DTypeLike | None = None
    ) -> Self:
        """Return `steps` values from `start` to `stop`, both included.

        Raises:
            ShapeError: `steps` is negative.
        """
        steps = require_int("linspace", steps)
        if not all(isinstance(bound, (int, float)) for bound in (start, stop)):
            raise DTypeError(f"linspace: expected numbers, found {start!r} and {stop!r}")
        if steps < 0:
            raise ShapeError(f"linspace: steps must not be negative, found {steps}")
        target = dtypes.default_float() if dtype is None else to_dtype(dtype)
        if target is dtypes.bool:
            raise DTypeError("linspace: bool cannot hold evenly spaced values")
        wide = target if target in (dtypes.float64, dtypes.float32) else dtypes.float32
        if steps == 1:
            single: Self = cls.const(float(start), wide)
            return single._broadcast_to((1,))._as(target)
        count = cls._counting(steps, dtypes.int32)
        rising = count._as(wide) * ((stop - start) / (steps - 1)) + float(start)
        # the second half counts from the end, so that both ends are exact
        falling = float(stop) - (steps - 1 - count)._as(wide) * ((stop - start) / (steps - 1))
        return (count < steps // 2).where(rising, falling)._as(target)

    @classmethod
    def eye(cls, n: int, m: int | None = None, dtype: DTypeLike | None = None) -> Self:
        """Return a matrix of `n` rows and `m` (or `n`) columns with ones on the diagonal.

        Raises:
            ShapeError: a size is negative.
        """
        n = require_int("eye", n)
        columns = n if m is None else require_int("eye", m)
        if n < 0 or columns < 0:
            raise ShapeError(f"eye: sizes must not be negative, found {n} and {columns}")
        target = dtypes.default_float() if dtype is None else to_dtype(dtype)
        rows = cls._counting(n, dtypes.int32).reshape((n, 1))
        return rows.eq(cls._counting(columns, dtypes.int32).reshape((1, columns)))._as(target)

    def _positions(self, axis: int, dtype: DType = dtypes.int32) -> Self:
        """Return the positions along `axis`, shaped to broadcast against self."""
        size = self.shape[axis]
        shape: list[sint] = [1] * self.ndim
        shape[axis] = size
        return self._counting(size, dtype).reshape(tuple(shape))

    def tril(self, diagonal: sint = 0) -> Self:
        """Return the matrices with zeros above the diagonal.

        Raises:
            ShapeError: self has fewer than two axes.
        """
        return self._triangle("tril", diagonal)[0]

    def triu(self, diagonal: sint = 0) -> Self:
        """Return the matrices with zeros below the diagonal.

        Raises:
            ShapeError: self has fewer than two axes.
        """
        return self._triangle("triu", diagonal)[1]

    def _triangle(self, name: str, diagonal: sint) -> tuple[Self, Self]:
        if self.ndim < 2:
            raise ShapeError(f"{name}: expected a matrix, found shape {shape_text(self.shape)}")
        if not hasattr(diagonal, "vmin"):
            diagonal = require_int(name, diagonal)
        offset = self._positions(self.ndim - 1) - self._positions(self.ndim - 2)
        zero = self._const(0, self.dtype)
        return (offset <= diagonal).where(self, zero), (offset >= diagonal).where(self, zero)

    def one_hot(self, num_classes: int) -> Self:
        """Return a new last axis with 1 at the position self names, in the default int.

        Raises:
            DTypeError: self is no integer.
        """
        if not dtypes.is_int(self.dtype):
            raise DTypeError(f"one_hot: expected integers, found {self.dtype.name}")
        return self._matches(require_int("one_hot", num_classes))._as(dtypes.default_int())

    def _matches(self, count: sint) -> Self:
        """Return a new last axis that is True at the position self names."""
        named = self if self.dtype.bits >= 32 else self._as(dtypes.int32)
        if isinstance(count, int) and count > dtypes.max(dtypes.int32):
            named = named._as(dtypes.int64)
        return named.unsqueeze(-1)._binary(Ops.CMPEQ, self._counting(count, named.dtype))

    def diag(self) -> Self:
        """Return the matrix with the vector self on its diagonal.

        Raises:
            ShapeError: self is no vector.
        """
        if self.ndim != 1:
            raise ShapeError(f"diag: expected a vector, found shape {shape_text(self.shape)}")
        on_diagonal = self._counting(self.shape[0], dtypes.int32)._matches(self.shape[0])
        return on_diagonal.where(self.unsqueeze(0), self._const(0, self.dtype))

    def diagonal(self, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Self:
        """Return the diagonals over two axes as a new last axis.

        Raises:
            ShapeError: the axes are the same.
        """
        first, second = (resolve_axis("diagonal", dim, self.ndim) for dim in (dim1, dim2))
        offset = require_int("diagonal", offset)
        if first == second:
            raise ShapeError(f"diagonal: dim1 {dim1} and dim2 {dim2} are the same axis")
        rest = tuple(axis for axis in range(self.ndim) if axis not in (first, second))
        moved = self.permute((*rest, first, second))
        rows, columns = (static_size(size, "diagonal") for size in moved.shape[-2:])
        row, column = max(-offset, 0), max(offset, 0)
        count = max(min(rows - row, columns - column), 0)
        keep = tuple((0, size) for size in moved.shape[:-2])
        if count == 0:
            return moved.shrink((*keep, (0, 0), (0, min(columns, 1)))).reshape(
                (*moved.shape[:-2], 0)
            )
        square = moved.shrink((*keep, (row, row + count), (column, column + count)))
        # in rows of one more, element (i, i) of the square comes first: i * (count + 1)
        lead = moved.shape[:-2]
        flat = square.reshape((*lead, count * count))
        padded = flat._pad_zeros((*((0, 0) for _ in keep), (0, count)))
        rows_of = padded.reshape((*lead, count, count + 1))
        return rows_of.shrink((*keep, (0, count), (0, 1))).reshape((*lead, count))

    def meshgrid(self, *args: Self, indexing: str = "ij") -> tuple[Self, ...]:
        """Return the coordinate grids of the vectors self and `args`.

        Raises:
            ShapeError: one of them has more than one axis, or `indexing` is unknown.
        """
        if indexing not in ("ij", "xy"):
            raise ShapeError(f"meshgrid: indexing must be 'ij' or 'xy', found {indexing!r}")
        vectors = [self, *args]
        for vector in vectors:
            self._same_kind(vector, "meshgrid")
            if vector.ndim > 1:
                raise ShapeError(f"meshgrid: expected vectors, found {shape_text(vector.shape)}")
        sizes = tuple(vector.shape[0] if vector.ndim else 1 for vector in vectors)
        grids = []
        for axis, vector in enumerate(vectors):
            shape = tuple(size if other == axis else 1 for other, size in enumerate(sizes))
            grids.append(vector.reshape(shape)._broadcast_to(sizes))
        if indexing == "xy" and len(vectors) > 1:
            grids = [grid.transpose(0, 1) for grid in grids]
        return tuple(grids)
