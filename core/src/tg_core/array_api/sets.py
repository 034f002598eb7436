"""The distinct values of an array.

The shapes of the results depend on the values, which are computed. NaN differs from itself, so
each one is a value of its own; -0 and 0 are the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tg_core.array_api.operands import array_of
from tg_core.array_api.searching import nonzero
from tg_core.dtype import dtypes

if TYPE_CHECKING:
    from tg_core.tensor import Tensor


class UniqueAllResult(NamedTuple):
    """What `unique_all` returns."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCountsResult(NamedTuple):
    """What `unique_counts` returns."""

    values: Tensor
    counts: Tensor


class UniqueInverseResult(NamedTuple):
    """What `unique_inverse` returns."""

    values: Tensor
    inverse_indices: Tensor


def unique_all(x: Tensor, /) -> UniqueAllResult:
    """Return the distinct values in order, where each is first, which each value is, how many."""
    value = array_of(x, "unique_all")
    default = dtypes.default_int()
    flat = value.flatten()
    size = flat._int_shape()[0]
    if size == 0:
        nothing = flat.const_like(0, default)
        return UniqueAllResult(flat, nothing, nothing.reshape(value.shape), nothing)
    ordered, order = flat.sort()
    ordered, order = ordered.contiguous(), order.contiguous()
    begins = (ordered[1:].ne(ordered[:-1])).pad([(1, 0)], value=True).contiguous()
    starts = nonzero(begins)[0]
    number = begins.cast(default).cumsum().cast(default) - 1
    # position i of the order is the place order[i] of x
    inverse = number[order.argsort()]
    ends = starts[1:].pad([(0, 1)], value=size)
    return UniqueAllResult(
        ordered[starts], order[starts].cast(default), inverse.reshape(value.shape), ends - starts
    )


def unique_counts(x: Tensor, /) -> UniqueCountsResult:
    """Return the distinct values in order, and how often each occurs."""
    found = unique_all(x)
    return UniqueCountsResult(found.values, found.counts)


def unique_inverse(x: Tensor, /) -> UniqueInverseResult:
    """Return the distinct values in order, and which of them each value is."""
    found = unique_all(x)
    return UniqueInverseResult(found.values, found.inverse_indices)


def unique_values(x: Tensor, /) -> Tensor:
    """Return the distinct values in order."""
    return unique_all(x).values
