"""The pass over an index, run by the interpreter of kernels."""

from __future__ import annotations

import numpy as np
import pytest

from tg_core import Tensor
from tg_core.dtype import dtypes
from tg_core.schedule.scatter_kernel import MOST_LANES, Scatter, scatter_kernel
from tg_core.uop.ops import Ops, UOp

RNG = np.random.default_rng(0)
COMBINE = {Ops.ADD: np.add, Ops.MUL: np.multiply, Ops.MAX: np.maximum}


@pytest.mark.parametrize("op", COMBINE)
@pytest.mark.parametrize("depends", [True, False])
def test_values_reach_their_places(op: Ops, depends: bool) -> None:
    """Axes: outer, index, place, index, inner; the index has the outer axis or has not."""
    shape = (3, 4, 9, 2, 24)
    scatter = Scatter(shape, 2, (1, 3), (3 if depends else 1, 4, 1, 2, 1), op)
    assert scatter.value_shape == (3, 4, 1, 2, 24)
    assert scatter.result_shape == (3, 1, 9, 1, 24)
    index = RNG.integers(-1, 10, scatter.index_shape).astype(np.int32)
    values = RNG.standard_normal(scatter.value_shape).astype(np.float32)
    start = RNG.standard_normal(scatter.result_shape).astype(np.float32)
    wanted = start.copy()
    every = np.broadcast_to(index, scatter.value_shape)
    for a, b, _, c, d in np.ndindex(*scatter.value_shape):
        place = every[a, b, 0, c, d]
        if 0 <= place < 9:
            cell = (a, 0, place, 0, d)
            wanted[cell] = COMBINE[op](wanted[cell], values[a, b, 0, c, d])
    result = Tensor(start).flatten().clone()
    got = result.custom_kernel(
        Tensor(index).flatten().clone(),
        Tensor(values).flatten().clone(),
        fxn=lambda r, i, v: scatter_kernel(scatter, r, i, v),
    )[0]
    np.testing.assert_array_equal(got.numpy().reshape(wanted.shape), wanted)


def test_values_that_count() -> None:
    scatter = Scatter((6, 5), 1, (0,), (6, 1), Ops.MAX)
    loops = [UOp.range(6, 0), UOp.range(5, 1)]
    start = Tensor(np.full(5, -1, np.int32)).clone()
    got = start.custom_kernel(
        Tensor([3, 1, 3, 7, -1, 1], dtype=dtypes.int32).clone(),
        fxn=lambda r, i: scatter_kernel(scatter, r, i, loops[0].cast(dtypes.int32), loops),
    )[0]
    assert got.tolist() == [-1, 5, -1, 2, -1]


@pytest.mark.parametrize(("count", "lanes"), [(24, 12), (32, 16), (17, 1), (7, 7)])
def test_work_items_hold_lanes_that_divide_the_rest(count: int, lanes: int) -> None:
    scatter = Scatter((8, 40, count), 1, (0,), (8, 1, 1), Ops.ADD)
    params = [UOp.param(slot, dtypes.float32, (1,)) for slot in (0, 2)]
    index = UOp.param(1, dtypes.int32, (8,))
    body = scatter_kernel(scatter, params[0], index, params[1])
    sizes = [int(r.vmax) + 1 for r in body.src[0].src[1:]]
    assert sizes == [1, count // lanes, 8, lanes] and lanes <= MOST_LANES
