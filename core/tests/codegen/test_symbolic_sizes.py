"""Kernels whose loops run over a variable, and indices beyond 32 bits."""

from __future__ import annotations

import numpy as np
import pytest
from codegen_kernels import GRID, LEAN, SIMD, kernel, load, loop, param, reduce_loop, run

from tg_core.codegen import lower_kernel
from tg_core.dtype import Invalid, dtypes
from tg_core.renderer.api import Renderer
from tg_core.uop.ops import Ops, UOp

TARGETS = pytest.mark.parametrize("renderer", [SIMD, LEAN, GRID], ids=["simd", "lean", "grid"])


def variable() -> UOp:
    return UOp.variable("n", 1, 64, slot=9)


@TARGETS
@pytest.mark.parametrize("count", [1, 7, 8, 33, 64])
def test_elementwise_up_to_a_variable(renderer: Renderer, count: int) -> None:
    i = loop(variable(), 0)
    sink = kernel(param(0, 64).index(i).store(load(param(1, 64), i) + load(param(1, 64), i)).end(i))
    x = np.arange(64, dtype=np.float32)
    out = np.full(64, -1, np.float32)
    run(sink, renderer, out, x, values=(count,))
    assert np.array_equal(out, np.where(np.arange(64) < count, 2 * x, -1))


@TARGETS
@pytest.mark.parametrize("count", [1, 5, 31, 32, 64])
def test_sum_up_to_a_variable(renderer: Renderer, count: int) -> None:
    i, r = loop(3, 0), reduce_loop(variable(), 1)
    sink = kernel(
        param(0, 3).index(i).store(load(param(1, 192), i * 64 + r).reduce(Ops.ADD, r)).end(i)
    )
    x = np.arange(192, dtype=np.float32)
    out = np.zeros(3, np.float32)
    run(sink, renderer, out, x, values=(count,))
    assert np.array_equal(out, x.reshape(3, 64)[:, :count].sum(1))


@TARGETS
@pytest.mark.parametrize("count", [1, 6, 64])
def test_rows_of_a_variable_length(renderer: Renderer, count: int) -> None:
    n = variable()
    i, j, r = loop(n, 0), loop(n, 1), reduce_loop(n, 2)
    x = param(1, 64 * 64)
    value = load(x, i * n + j) - load(x, i * n + r).reduce(Ops.MAX, r)
    sink = kernel(param(0, 64 * 64).index(i * n + j).store(value).end(i, j))
    data = np.random.default_rng(0).normal(0, 1, 64 * 64).astype(np.float32)
    out = np.zeros(64 * 64, np.float32)
    run(sink, renderer, out, data, values=(count,))
    rows = data[: count * count].reshape(count, count)
    assert np.array_equal(
        out[: count * count].reshape(count, count), rows - rows.max(1, keepdims=True)
    )


@TARGETS
def test_an_index_computed_from_a_variable(renderer: Renderer) -> None:
    i = loop(4, 0)
    n = variable()
    index = UOp(Ops.WHERE, ((i + n) < 64, i + n, UOp.const(Invalid)))
    sink = kernel(param(0, 4).index(i).store(load(param(1, 64), index)).end(i))
    out = np.zeros(4, np.float32)
    run(sink, renderer, out, np.arange(64, dtype=np.float32), values=(62,))
    assert out.tolist() == [62, 63, 0, 0]


@TARGETS
def test_a_variable_as_a_value(renderer: Renderer) -> None:
    i = loop(5, 0)
    value = load(param(1, 5), i) + variable().cast(dtypes.float32)
    sink = kernel(param(0, 5).index(i).store(value).end(i))
    out = np.zeros(5, np.float32)
    run(sink, renderer, out, np.arange(5, dtype=np.float32), values=(40,))
    assert out.tolist() == [40, 41, 42, 43, 44]


def test_indices_beyond_32_bits_are_64_wide() -> None:
    i = loop(4, 0)
    sink = kernel(param(0, 4).index(i).store(load(param(1, 1 << 33), i * (1 << 31))).end(i))
    linear = lower_kernel(sink, LEAN).src[1]
    loads = [n for n in linear.src if n.op is Ops.LOAD]
    assert [n.src[0].src[1].dtype for n in loads] == [dtypes.int64]
    stores = [n for n in linear.src if n.op is Ops.STORE]
    assert [n.src[0].src[1].dtype for n in stores] == [dtypes.int32]
