"""The inside of a padded output, and its border, every access checked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from codegen_kernels import SIMD, kernel, load, loop, param, reduce_loop, run

from tg_core.codegen.optimize.plan_packing import plan_packing
from tg_core.codegen.optimize.split_border import split_border
from tg_core.codegen.utils import closed_ranges, constant_size
from tg_core.dtype import Invalid, dtypes
from tg_core.uop.ops import Ops, UOp

THREADS = replace(SIMD, name="THREADS", has_threads=True, shared_bytes=1 << 16)


def padded_product(rows: int, columns: int, steps: int, before: int, after: int) -> UOp:
    """A product whose columns are padded with the value 7."""
    width = columns + before + after
    i, j, k = loop(rows, 0), loop(width, 1), reduce_loop(steps, 2)
    inside = UOp(Ops.AND, (UOp.const(before - 1) < j, j < width - after))

    def masked(index: UOp) -> UOp:
        return UOp(Ops.WHERE, (inside, index, UOp.const(Invalid)))

    a = load(param(1, rows * steps), masked(i * steps + k))
    b = load(param(2, steps * columns), masked(k * columns + j - before))
    total = UOp(Ops.REDUCE, (a * b, k), Ops.ADD)
    value = UOp(Ops.WHERE, (inside, total, UOp.const(7.0, dtypes.float32)))
    sink: UOp = kernel(param(0, rows * width).index(i * width + j).store(value).end(i, j))
    return sink


@pytest.mark.parametrize(
    ("rows", "columns", "before", "after"), [(20, 40, 1, 1), (33, 29, 2, 3), (6, 100, 0, 4)]
)
def test_the_inside_is_a_product_and_the_border_is_filled(
    rows: int, columns: int, before: int, after: int
) -> None:
    steps = 64
    sink = padded_product(rows, columns, steps, before, after)
    split = split_border(sink)
    assert split is not None
    assert [constant_size(r) for r in closed_ranges(split[0].src[0])] == [rows, columns]
    assert plan_packing(split[0], THREADS) is not None
    random = np.random.default_rng(1)
    a = random.normal(0, 1, (rows, steps)).astype(np.float32)
    b = random.normal(0, 1, (steps, columns)).astype(np.float32)
    out = np.full(rows * (columns + before + after), np.nan, np.float32)
    run(sink, THREADS, out, a.reshape(-1), b.reshape(-1))
    want = np.pad(a @ b, ((0, 0), (before, after)), constant_values=7.0)
    np.testing.assert_allclose(out.reshape(want.shape), want, rtol=1e-4, atol=1e-5)


def test_other_masks_are_left_alone() -> None:
    i, k = loop(64, 0), reduce_loop(64, 1)
    total = UOp(Ops.REDUCE, (load(param(1, 4096), i * 64 + k), k), Ops.ADD)
    odd = UOp(Ops.CMPNE, (i % 2, UOp.const(0)))
    for mask in (odd, UOp(Ops.AND, (odd, i < 60))):
        value = UOp(Ops.WHERE, (mask, total, UOp.const(0.0, dtypes.float32)))
        assert split_border(kernel(param(0, 64).index(i).store(value).end(i))) is None
    assert split_border(kernel(param(0, 64).index(i).store(total).end(i))) is None
