"""The exponentials of a softmax are computed once, every access checked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from codegen_kernels import SIMD, kernel, load, loop, param, reduce_loop, run
from codegen_samples import SAMPLES

from tg_core.codegen.optimize.api import Opt, OptKind
from tg_core.codegen.optimize.stage_repeated_values import divides_scratch, stage_repeated_values
from tg_core.dtype import dtypes
from tg_core.uop.ops import Ops, UOp

THREADS = replace(SIMD, name="THREADS", has_threads=True, shared_bytes=1 << 16)


@pytest.mark.parametrize(("rows", "columns"), [(12, 64), (7, 33), (3, 700)])
def test_a_softmax(rows: int, columns: int) -> None:
    sample = SAMPLES["softmax"](rows, columns, 0)
    assert stage_repeated_values(sample.sink, THREADS) is not sample.sink
    x = np.random.default_rng(1).normal(0, 2, (rows, columns)).astype(np.float32)
    out = np.full(rows * columns, np.nan, np.float32)
    run(sample.sink, THREADS, out, x.reshape(-1))
    e = np.exp2(x.astype(np.float64) - x.max(1, keepdims=True))
    want = e / e.sum(1, keepdims=True)
    np.testing.assert_allclose(out.reshape(rows, columns), want, rtol=1e-5, atol=1e-7)


def along_columns(rows: int, columns: int) -> UOp:
    """exp2(x) divided by its sum over rows, whose neighbours lie far apart."""
    i, j, k = loop(columns, 0), loop(rows, 1), reduce_loop(rows, 2)
    source = param(1, rows * columns)

    def power(row: UOp) -> UOp:
        return UOp(Ops.EXP2, (load(source, row * columns + i),))

    total = UOp(Ops.REDUCE, (power(k), k), Ops.ADD)
    value = UOp(Ops.FDIV, (power(j), total))
    sink: UOp = kernel(param(0, rows * columns).index(j * columns + i).store(value).end(i, j))
    return sink


def test_lanes_across_the_rows_of_a_sum_share_no_scratch() -> None:
    sink = along_columns(20, 64)
    x = np.random.default_rng(1).normal(0, 1, (20, 64)).astype(np.float32)
    out = np.full(20 * 64, np.nan, np.float32)
    run(sink, THREADS, out, x.reshape(-1))
    e = np.exp2(x.astype(np.float64))
    np.testing.assert_allclose(out.reshape(20, 64), e / e.sum(0), rtol=1e-5)


def test_copies_of_a_loop_around_scratch_are_seen() -> None:
    staged = stage_repeated_values(along_columns(20, 64), THREADS)
    assert divides_scratch(staged, (Opt(OptKind.VECTOR, (0,), 8),))
    assert divides_scratch(staged, (Opt(OptKind.UPCAST, (0,), 2),))
    assert not divides_scratch(staged, (Opt(OptKind.CHUNK, (0,), 8), Opt(OptKind.VECTOR, (1,), 4)))


def test_cheap_values_and_other_targets_are_left_alone() -> None:
    i, j, k = loop(8, 0), loop(64, 1), reduce_loop(64, 2)
    source = param(1, 512)
    total = UOp(Ops.REDUCE, (load(source, i * 64 + k), k), Ops.ADD)
    value = load(source, i * 64 + j) * total + UOp.const(1.0, dtypes.float32)
    cheap = kernel(param(0, 512).index(i * 64 + j).store(value).end(i, j))
    assert stage_repeated_values(cheap, THREADS) is cheap
    softmax = SAMPLES["softmax"](8, 64, 0).sink
    assert stage_repeated_values(softmax, replace(THREADS, shared_bytes=0)) is softmax
    assert stage_repeated_values(softmax, replace(THREADS, shared_bytes=64)) is softmax
