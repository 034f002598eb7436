"""Vectors stored crosswise: which stores, and the same values as one by one."""

from __future__ import annotations

import numpy as np
import pytest
from codegen_kernels import SIMD, kernel, load, loop, param, run

from tg_core.codegen.expand_copies import expand_copies
from tg_core.codegen.transpose_lanes import neighbouring_stores, transposed
from tg_core.codegen.utils import axis_type
from tg_core.dtype import DType, dtypes
from tg_core.uop.ops import AxisType, Ops, UOp


def numbers(vectors: list[UOp], origins: list[UOp], width: int) -> list[list[int]]:
    """Return each lane as the number of the vector it comes from times the width, plus the lane."""
    found: dict[UOp, list[int]] = {
        origin: [at * width + lane for lane in range(width)] for at, origin in enumerate(origins)
    }
    for root in vectors:
        for node in root.toposort():
            if node.op is Ops.STACK:
                found[node] = [found[s.src[0]][s.src[1].arg] for s in node.src]
            elif node.op is Ops.INDEX and node.arg is not None and node.src[0] in found:
                first = node.src[1].arg
                found[node] = found[node.src[0]][first : first + node.arg]
    return [found[root] for root in vectors]


@pytest.mark.parametrize("width", [2, 4, 8])
@pytest.mark.parametrize("count", [2, 4, 8, 16])
def test_every_lane_goes_where_it_belongs(count: int, width: int) -> None:
    origins = [UOp(Ops.INDEX, (param(at, 64), UOp.const(0)), width).load() for at in range(count)]
    rows = transposed(origins, width)
    assert numbers(rows, origins, width) == [
        [at * width + lane for at in range(count)] for lane in range(width)
    ]


@pytest.mark.parametrize("width", [2, 4, 8])
def test_shuffles_take_lanes_of_two_vectors(width: int) -> None:
    origins = [UOp(Ops.INDEX, (param(at, 64), UOp.const(0)), width).load() for at in range(8)]
    for row in transposed(origins, width):
        for node in row.toposort():
            if node.op is Ops.STACK:
                assert len({s.src[0] for s in node.src}) <= 2, f"{len(node.src)} lanes"


def transposing(rows: int, lanes: int, copies: int, stride: int, dtype: DType) -> UOp:
    """Return a kernel that stores a row of `lanes` along columns `stride` apart, for `copies`."""
    i, j = loop(rows, 0), UOp.range(copies, 1, AxisType.UPCAST)
    v = UOp.range(lanes, 2, AxisType.VECTOR)
    value = load(param(1, rows * copies * lanes, dtype), (i * copies + j) * lanes + v)
    target = param(0, rows * lanes * stride, dtype).index((i * lanes + v) * stride + j)
    return kernel(target.store(value + value).end(i, j, v), opts=())


@pytest.mark.parametrize("dtype", [dtypes.float32, dtypes.float16, dtypes.float64, dtypes.int8])
@pytest.mark.parametrize(
    ("lanes", "copies", "stride"),
    [(4, 8, 8), (4, 16, 16), (4, 6, 6), (8, 5, 9), (2, 3, 3), (3, 4, 4)],
)
def test_values_are_those_of_single_stores(
    lanes: int, copies: int, stride: int, dtype: DType
) -> None:
    rows, code = 3, np.dtype(dtype.name)
    source = np.random.default_rng(1).integers(-50, 50, (rows, copies, lanes)).astype(code)
    want = np.zeros((rows * lanes, stride), code)
    want[:, :copies] = 2 * source.transpose(0, 2, 1).reshape(rows * lanes, copies)
    out = np.zeros_like(want).reshape(-1)
    run(transposing(rows, lanes, copies, stride, dtype), SIMD, out, source.reshape(-1))
    np.testing.assert_array_equal(out.reshape(want.shape), want)


def runs_of(sink: UOp, most: int = 8) -> list[int]:
    vector = next(
        n for n in sink.toposort() if n.op is Ops.RANGE and axis_type(n) is AxisType.VECTOR
    )
    group = next(n for n in expand_copies(sink).toposort() if n.op is Ops.GROUP)
    size = vector.src[0].const_value
    assert isinstance(size, int)
    return [len(run) for run in neighbouring_stores(group, vector, size, most)]


@pytest.mark.parametrize(
    ("copies", "stride", "runs"),
    [(16, 16, [8, 8]), (6, 6, [4, 2]), (5, 9, [4]), (7, 2, [2, 2, 2]), (4, 1, [])],
)
def test_a_power_of_two_of_neighbours_is_stored_together(
    copies: int, stride: int, runs: list[int]
) -> None:
    assert runs_of(transposing(2, 4, copies, stride, dtypes.float32)) == runs


def test_lanes_that_are_no_power_of_two_are_stored_one_by_one() -> None:
    assert runs_of(transposing(2, 3, 4, 4, dtypes.float32)) == []
