"""Which reductions are lookups, and what is found in them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tg_core import Tensor
from tg_core.dtype import dtypes
from tg_core.schedule import find_lookup as module
from tg_core.schedule.find_lookup import Lookup, counted, depends_on, find_lookup
from tg_core.schedule.prepare_graph import prepare_graph
from tg_core.uop.ops import Ops, UOp

N, M = 7, 5


@pytest.fixture(autouse=True)
def every_size(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(module, "LEAST_PAIRS", 1)
    monkeypatch.setattr(module, "LEAST_POSITIONS", 2)
    return iter(())


def index(*shape: int) -> Tensor:
    return Tensor(np.zeros(shape, np.int64)).realize()


def vector(*shape: int) -> Tensor:
    return Tensor(np.ones(shape, np.float32)).realize()


def hits(places: Tensor, count: int = N) -> Tensor:
    return places._matches(count)


def found(value: Tensor, op: Ops = Ops.ADD, axis: int = 0) -> Lookup | None:
    return find_lookup(prepare_graph(value._reduce(op, (axis,), True).uop))


def test_a_sum_of_values_by_index() -> None:
    lookup = found(hits(index(M)).where(vector(M, 1), 0.0))
    assert lookup is not None
    assert lookup.positions == 1 and lookup.index_axes == (0,)
    assert lookup.mask.shape == lookup.index.shape == lookup.value.shape == (M, N)
    assert not depends_on(lookup.value, lookup.loops, 1)
    assert depends_on(lookup.value, lookup.loops, 0)


def test_a_count_is_a_sum_of_a_constant() -> None:
    lookup = found(hits(index(M)).cast(dtypes.int32))
    assert lookup is not None and lookup.value.const_value == 1


def test_values_that_depend_on_the_position() -> None:
    lookup = found((hits(index(M)) & (vector(M, 1) < vector(N))).cast(dtypes.int32))
    assert lookup is not None and depends_on(lookup.value, lookup.loops, 1)


def test_the_order_of_an_index() -> None:
    order = Tensor._counting(M, dtypes.int32).unsqueeze(-1)
    lookup = found(hits(index(M)).where(order, dtypes.min(dtypes.int32)), Ops.MAX)
    assert lookup is not None
    assert counted(lookup.value, lookup.loops) is lookup.loops[0].cast(dtypes.int32)
    assert counted(lookup.index, lookup.loops) is None


def test_axes_that_come_and_go() -> None:
    mask = hits(index(M)).reshape(1, M, N, 1).expand(3, M, N, 4).permute(2, 0, 3, 1)
    value = vector(3, M, 1, 4).expand(3, M, N, 4).permute(2, 0, 3, 1)
    lookup = found(mask.where(value, 0.0), axis=3)
    assert lookup is not None
    assert lookup.positions == 0 and lookup.index_axes == (3,)


def two_ways(places: Tensor) -> Tensor:
    square = hits(places, M)
    return square.where(1.0, 0.0) + square.transpose(0, 1).where(1.0, 0.0)


@pytest.mark.parametrize(
    ("make", "op", "axis"),
    [
        (lambda: hits(index(M)).where(vector(M, 1), 1.0), Ops.ADD, 0),
        (lambda: hits(index(M)).where(vector(M, 1), 0.0), Ops.MUL, 0),
        (lambda: hits(index(M)).where(vector(M, 1), 0.0), Ops.MAX, 0),
        (lambda: hits(index(M)).cast(dtypes.float32) * vector(M, 1), Ops.ADD, 0),
        (lambda: hits(index(M)).where(vector(N), 0.0), Ops.ADD, 1),
        (lambda: hits(Tensor.arange(M)).where(vector(M, 1), 0.0), Ops.ADD, 0),
        (lambda: (index(M, N) == Tensor.arange(N)).where(vector(M, 1), 0.0), Ops.ADD, 0),
        (lambda: (index(M, 1) < Tensor.arange(N)).where(vector(M, 1), 0.0), Ops.ADD, 0),
        (lambda: two_ways(index(M)), Ops.ADD, 0),
        (lambda: vector(M, N), Ops.ADD, 0),
    ],
    ids=[
        "something where it is missed", "no identity of a product", "no identity of a maximum",
        "floats times zero", "looked up, not written", "positions as an index",
        "an index that depends on the position", "an order", "a condition read in two ways",
        "no condition",
    ],
)  # fmt: skip
def test_no_lookup(make: Any, op: Ops, axis: int) -> None:
    assert found(make(), op, axis) is None


def test_few_pairs_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    value = hits(index(M)).where(vector(M, 1), 0.0)
    monkeypatch.setattr(module, "LEAST_PAIRS", N * M)
    assert found(value) is not None
    monkeypatch.setattr(module, "LEAST_PAIRS", N * M + 1)
    assert found(value) is None
    monkeypatch.setattr(module, "LEAST_PAIRS", 1)
    monkeypatch.setattr(module, "LEAST_POSITIONS", N + 1)
    assert found(value) is None


def test_symbolic_sizes_are_tried() -> None:
    size = UOp.variable("n", 1, M).bind(3)
    value = hits(index(M)).where(vector(M, 1), 0.0).shrink(((0, size), (0, N)))
    assert found(value) is None
