"""Running sums, products and extrema."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tg_core.dtype import dtypes, sum_dtype
from tg_core.uop.mixin.activation import ActivationMixin
from tg_core.uop.mixin.reduce import accumulation_dtype
from tg_core.uop.mixin.shape_utils import resolve_axis
from tg_core.uop.opcodes import Ops
from tg_core.uop.sizes import static_size

if TYPE_CHECKING:
    from typing import Self

BLOCK = 256
"""Axes up to this size are scanned in one step, longer ones in blocks of it."""


class ScanMixin(ActivationMixin):
    """`cumsum cumprod cummax cummin logcumsumexp`."""

    __slots__ = ()

    def _scan(
        self,
        axis: int,
        identity: Any,
        reduce: Callable[[Any], Any],
        combine: Callable[[Any, Any], Any],
    ) -> Self:
        """Return the running reduction along `axis`.

        Args:
            axis: the axis, counted from the front.
            identity: the value that changes nothing.
            reduce: reduces the last axis of a tensor and drops it.
            combine: reduces two tensors elementwise.
        """
        if not self.ndim or self.shape[axis] == 0:
            return self
        last = self.ndim - 1
        scanned = self.transpose(axis, last)._scan_last(identity, reduce, combine)
        return scanned.transpose(axis, last)

    def _scan_last(
        self, identity: Any, reduce: Callable[[Any], Any], combine: Callable[[Any, Any], Any]
    ) -> Self:
        size, lead = static_size(self.shape[-1], "scan"), [(0, 0)] * (self.ndim - 1)
        if size <= BLOCK:
            padded = self.pad([*lead, (size - 1, 0)], value=identity)
            scanned: Self = reduce(padded._windows((size,), (1,), (1,)))
            return scanned
        blocks = -(-size // BLOCK)
        grown = self.pad([*lead, (0, blocks * BLOCK - size)], value=identity)
        inner = grown.unflatten(-1, (blocks, BLOCK))._scan_last(identity, reduce, combine)
        totals = inner.shrink([*[None] * (inner.ndim - 1), (BLOCK - 1, BLOCK)]).squeeze(-1)
        running = totals._scan_last(identity, reduce, combine)
        before = running._leading(running.ndim - 1, blocks - 1).pad([*lead, (1, 0)], value=identity)
        joined: Self = combine(inner, before.unsqueeze(-1))
        return joined.flatten(-2, -1)._leading(self.ndim - 1, size)

    def cumsum(self, axis: int = 0) -> Self:
        """Return the running sum along `axis`, with the dtype of `sum`."""
        where = resolve_axis("cumsum", axis, self.ndim)
        wide = self._as(accumulation_dtype(self.dtype))
        return wide._scan(where, 0, _sum_last, _add)._as(sum_dtype(self.dtype))

    def cumprod(self, axis: int) -> Self:
        """Return the running product along `axis`, with the dtype of `prod`."""
        where = resolve_axis("cumprod", axis, self.ndim)
        wide = self._as(accumulation_dtype(self.dtype))
        return wide._scan(where, 1, _prod_last, _mul)._as(sum_dtype(self.dtype))

    def cummax(self, axis: int = 0) -> tuple[Self, Self]:
        """Return the running maximum along `axis` and where it is, the last place of several."""
        where = resolve_axis("cummax", axis, self.ndim)
        values = self._scan(where, dtypes.min(self.dtype), _max_last, _maximum)
        return values, self._positions_of(values, where)

    def cummin(self, axis: int = 0) -> tuple[Self, Self]:
        """Return the running minimum along `axis` and where it is, the last place of several."""
        where = resolve_axis("cummin", axis, self.ndim)
        flipped = self._reverse_order(self.dtype)
        values = flipped._scan(where, dtypes.min(self.dtype), _max_last, _maximum)
        return values._reverse_order(self.dtype), flipped._positions_of(values, where)

    def _positions_of(self, running: Self, axis: int) -> Self:
        """Return for each place where the running maximum was met last."""
        if not self.ndim:
            return self._const(0, dtypes.default_int())
        met = self.eq(running) | self.isnan()
        places = met.where(self._positions(axis), 0)
        return places._scan(axis, 0, _max_last, _maximum)._as(dtypes.default_int())

    def logcumsumexp(self, axis: int = 0) -> Self:
        """Return the logarithm of the running sum of exponentials along `axis`."""
        where = resolve_axis("logcumsumexp", axis, self.ndim)
        wide = self._wide()
        return wide._scan(where, -math.inf, _logsumexp_last, _logaddexp)._narrow(self)


def _sum_last(x: Any) -> Any:
    return x._reduce(Ops.ADD, (x.ndim - 1,), False)


def _prod_last(x: Any) -> Any:
    return x._reduce(Ops.MUL, (x.ndim - 1,), False)


def _max_last(x: Any) -> Any:
    return x._reduce(Ops.MAX, (x.ndim - 1,), False)


def _logsumexp_last(x: Any) -> Any:
    return x.logsumexp(x.ndim - 1)


def _add(x: Any, y: Any) -> Any:
    return x + y


def _mul(x: Any, y: Any) -> Any:
    return x * y


def _maximum(x: Any, y: Any) -> Any:
    return x.maximum(y)


def _logaddexp(x: Any, y: Any) -> Any:
    return x.logaddexp(y)
