"""Reductions of far rows through scratch memory, every access checked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from codegen_kernels import SIMD, run
from codegen_samples import SAMPLES

from tg_core.codegen.optimize.accumulate_rows import plan_rows

THREADS = replace(SIMD, name="THREADS", has_threads=True, shared_bytes=1 << 16)


@pytest.mark.parametrize(("rows", "columns", "steps"), [(1, 300, 120), (2, 257, 66), (3, 300, 40)])
def test_a_few_rows_times_a_matrix(rows: int, columns: int, steps: int) -> None:
    sample = SAMPLES["matmul"](rows, columns, steps)
    assert plan_rows(sample.sink, THREADS) is not None
    random = np.random.default_rng(1)
    a = random.normal(0, 1, (rows, steps)).astype(np.float32)
    b = random.normal(0, 1, (steps, columns)).astype(np.float32)
    out = np.full(rows * columns, np.nan, np.float32)
    run(sample.sink, THREADS, out, a.reshape(-1), b.reshape(-1))
    np.testing.assert_allclose(out.reshape(rows, columns), a @ b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("sample", "sizes"),
    [
        ("add", (4096, 0, 0)),
        ("row_sum", (64, 4096, 0)),
        ("matmul", (64, 512, 64)),
        ("matmul", (1, 16, 4096)),
        ("matmul_transposed", (1, 512, 512)),
    ],
)
def test_other_kernels_are_left_alone(sample: str, sizes: tuple[int, int, int]) -> None:
    assert plan_rows(SAMPLES[sample](*sizes).sink, THREADS) is None


def test_a_target_without_scratch_memory_is_left_alone() -> None:
    sink = SAMPLES["matmul"](1, 512, 512).sink
    assert plan_rows(sink, replace(THREADS, shared_bytes=0)) is None
