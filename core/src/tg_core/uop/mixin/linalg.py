"""Factorisations of matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg_core.dtype import dtypes
from tg_core.errors import DTypeError, ShapeError
from tg_core.uop.mixin.rearrange import RearrangeMixin
from tg_core.uop.mixin.shape_utils import shape_text

if TYPE_CHECKING:
    from typing import Self

SWEEPS = 10
"""Jacobi sweeps of an SVD; convergence is quadratic, so this is enough for float64."""


class LinalgMixin(RearrangeMixin):
    """`qr svd newton_schulz`."""

    __slots__ = ()

    def _require_matrices(self, name: str) -> tuple[int, int]:
        rows, columns = self.shape[-2:] if self.ndim > 1 else (None, None)
        if not isinstance(rows, int) or not isinstance(columns, int):
            raise ShapeError(f"{name}: expected matrices, found shape {shape_text(self.shape)}")
        if not dtypes.is_float(self.dtype):
            raise DTypeError(f"{name}: expected a float dtype, found {self.dtype.name}")
        return rows, columns

    def _column(self, number: int) -> Self:
        return self.shrink([*[None] * (self.ndim - 1), (number, number + 1)])

    def qr(self) -> tuple[Self, Self]:
        """Return Q with orthonormal columns and upper triangular R, whose product is self.

        Raises:
            ShapeError: self is no matrix.
            DTypeError: self is no float.
        """
        rows, columns = self._require_matrices("qr")
        rest = self._wide()
        basis = self.eye(rows, dtype=rest.dtype)._broadcast_to((*self.shape[:-2], rows, rows))
        below = self._counting(rows, dtypes.int32).reshape((rows, 1))
        for step in range(min(rows - 1, columns)):
            column = (below >= step).where(rest._column(step), 0.0)
            norm = column.square().sum(-2, keepdim=True).sqrt()
            pivot = below.eq(step)
            head = pivot.where(column, 0.0).sum(-2, keepdim=True)
            # reflect away from the head, so that nothing cancels
            mirror = column + pivot.where((head < 0.0).where(-norm, norm), 0.0)
            length = mirror.square().sum(-2, keepdim=True)
            scale = length.eq(0.0).where(0.0, 2.0 / length.eq(0.0).where(1.0, length))
            rest = (rest - mirror * ((mirror * rest).sum(-2, keepdim=True) * scale)).contiguous()
            swept = (basis * mirror.transpose(-1, -2)).sum(-1, keepdim=True)
            basis = (basis - swept * (mirror.transpose(-1, -2) * scale)).contiguous()
        size = min(rows, columns)
        return (
            basis._leading(self.ndim - 1, size)._as(self.dtype),
            rest._leading(self.ndim - 2, size).triu()._as(self.dtype),
        )

    def svd(self, full_matrices: bool = True) -> tuple[Self, Self, Self]:
        """Return U, the singular values in falling order, and V^T.

        Args:
            full_matrices: complete U and V^T to square matrices.

        Raises:
            ShapeError: self is no matrix.
            DTypeError: self is no float.
        """
        rows, columns = self._require_matrices("svd")
        if rows < columns:
            left, values, right = self.transpose(-1, -2).svd(full_matrices)
            return right.transpose(-1, -2), values, left.transpose(-1, -2)
        work = self._wide().contiguous()
        turned = self.eye(columns, dtype=work.dtype)._broadcast_to(
            (*self.shape[:-2], columns, columns)
        )
        padded = columns + columns % 2
        if padded != columns:
            grow = [(0, 0)] * (self.ndim - 1)
            work = work._pad_zeros([*grow, (0, 1)])
            turned = turned._pad_zeros([*grow, (0, 1)])
        for _ in range(SWEEPS * max(padded - 1, 0)):
            work, turned = _rotate_pairs(work, turned)
        # a padded column has no direction, and goes last
        lost = turned.square().sum(-2).eq(0.0)
        values = lost.where(-1.0, work.square().sum(-2).sqrt())
        order = (
            values.argsort(-1, descending=True)._as(dtypes.int32)._leading(self.ndim - 2, columns)
        )
        values = values.gather(self.ndim - 2, order)
        spread = order.unsqueeze(-2)
        left = work.gather(self.ndim - 1, spread._broadcast_to((*self.shape[:-2], rows, columns)))
        right = turned.gather(
            self.ndim - 1, spread._broadcast_to((*self.shape[:-2], columns, columns))
        )
        row = values.unsqueeze(-2)
        left = (left / row.eq(0.0).where(1.0, row))._completed(rows if full_matrices else columns)
        return (
            left._as(self.dtype),
            values._as(self.dtype),
            right.transpose(-1, -2)._as(self.dtype),
        )

    def _completed(self, count: int) -> Self:
        """Return orthonormal columns, some of which may be zero, as `count` orthonormal ones."""
        rows, columns = self._require_matrices("svd")
        lead = self.shape[:-2]
        extra = self.eye(rows, dtype=self.dtype)._broadcast_to((*lead, rows, rows))
        basis, triangle = self.cat(extra, dim=-1).qr()
        heads = triangle._leading(self.ndim - 1, rows).diagonal(0, self.ndim - 2, self.ndim - 1)
        # a reflection may have turned a column around; the completing ones are free
        own = self._counting(rows, dtypes.int32) < columns
        signs = ((heads < 0.0) & own).where(-1.0, 1.0).unsqueeze(-2)
        return (basis * signs)._leading(self.ndim - 1, count)

    def newton_schulz(self, steps: int, params: tuple[float, ...], eps: float = 1e-07) -> Self:
        """Return self moved toward the nearest orthogonal matrix by an odd polynomial.

        Args:
            steps: how often the polynomial is applied.
            params: its coefficients, that of the first power first.
            eps: added to the norm that self is divided by.

        Raises:
            ShapeError: self is no matrix.
        """
        rows, columns = self._require_matrices("newton_schulz")
        value = self.transpose(-1, -2) if rows > columns else self
        norm = value.square().sum((-2, -1), keepdim=True).sqrt()
        value = value / (norm + eps)
        for _ in range(steps):
            gram = value @ value.transpose(-1, -2)
            total = value * params[-1]
            for factor in reversed(params[:-1]):
                total = gram @ total + value * factor
            value = total
        return value.transpose(-1, -2) if rows > columns else value


def _rotate_pairs(work: Any, turned: Any) -> tuple[Any, Any]:
    """Make column i of the first half orthogonal to column i of the second, then pair anew.

    One-sided Jacobi (Hestenes 1958) on all pairs of a round at once; rounds follow the circle
    method, so after `columns - 1` of them every pair has met.
    """
    half = work.shape[-1] // 2
    (low, high), (low_turned, high_turned) = work.split(half, -1), turned.split(half, -1)
    first = low.square().sum(-2, keepdim=True)
    second = high.square().sum(-2, keepdim=True)
    shared = (low * high).sum(-2, keepdim=True)
    done = shared.eq(0.0)
    ratio = (second - first) / done.where(1.0, 2.0 * shared)
    size = 1.0 / (ratio.abs() + (ratio.square() + 1.0).sqrt())
    tangent = done.where(0.0, (ratio < 0.0).where(-size, size))
    cosine = (tangent.square() + 1.0).rsqrt()
    sine = cosine * tangent
    results = []
    for left, right in ((low, high), (low_turned, high_turned)):
        top, bottom = left * cosine - right * sine, left * sine + right * cosine
        results.append(_next_round(top, bottom, half).contiguous())
    return results[0], results[1]


def _next_round(top: Any, bottom: Any, half: int) -> Any:
    """Move all columns but the first one place around the table."""
    if half == 1:
        return top.cat(bottom, dim=-1)
    head, middle, tail = top.split([1, half - 2, 1], -1)
    crossing, rest = bottom.split([1, half - 1], -1)
    return head.cat(crossing, middle, rest, tail, dim=-1)
