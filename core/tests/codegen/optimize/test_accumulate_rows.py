"""Reductions of far rows through scratch memory, every access checked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from codegen_kernels import SIMD, run
from codegen_samples import SAMPLES

from tg_core.codegen.optimize.accumulate_rows import plan_rows

THREADS = replace(SIMD, name="THREADS", has_threads=True, shared_bytes=1 << 16)


@pytest.mark.parametrize(
    ("rows", "columns", "steps"),
    [(1, 300, 120), (2, 257, 66), (3, 300, 40), (4, 290, 32), (10, 261, 28)],
)
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
    ("rows", "copies"), [(1, 1), (3, 3), (4, 4), (5, 5), (6, 3), (7, 7), (14, 2), (16, 4)]
)
def test_a_few_output_rows_are_computed_at_once(rows: int, copies: int) -> None:
    plan = plan_rows(SAMPLES["matmul"](rows, 300, 128).sink, THREADS)
    assert plan is not None
    assert plan.copies == copies


def test_two_cores_share_what_is_worth_it() -> None:
    chunks = []
    for columns in (64, 1024, 4096, 16384):
        plan = plan_rows(SAMPLES["matmul"](1, columns, 1024).sink, THREADS)
        chunks.append(0 if plan is None else -(-columns // plan.columns))
    assert chunks == [0, 2, 4, 8]


@pytest.mark.parametrize(
    ("sample", "sizes"),
    [
        ("add", (4096, 0, 0)),
        ("row_sum", (64, 4096, 0)),
        ("matmul", (64, 512, 64)),
        ("matmul", (11, 512, 64)),
        ("matmul", (17, 512, 64)),
        ("matmul", (1, 16, 4096)),
        ("matmul_transposed", (1, 512, 512)),
    ],
)
def test_other_kernels_are_left_alone(sample: str, sizes: tuple[int, int, int]) -> None:
    assert plan_rows(SAMPLES[sample](*sizes).sink, THREADS) is None


def test_a_target_without_scratch_memory_is_left_alone() -> None:
    sink = SAMPLES["matmul"](1, 512, 512).sink
    assert plan_rows(sink, replace(THREADS, shared_bytes=0)) is None
