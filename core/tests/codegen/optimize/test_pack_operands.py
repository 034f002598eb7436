"""Products out of packed operands: which kernels, what size, and the same values, every access
checked.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from codegen_kernels import SIMD, kernel, load, loop, param, reduce_loop, run
from codegen_samples import SAMPLES

from tg_core.codegen.optimize.choose_blocks import Shape, choose_blocks, choose_depth
from tg_core.codegen.optimize.find_product import find_product
from tg_core.codegen.optimize.pack_operands import pack_operands
from tg_core.codegen.optimize.plan_packing import plan_packing
from tg_core.uop.ops import AddrSpace, Ops, UOp

SCRATCH = 1 << 16
THREADS = replace(SIMD, name="THREADS", has_threads=True, shared_bytes=SCRATCH)


def scratch_bytes(linear: UOp) -> int:
    return sum(
        n.arg.size * n.dtype.itemsize
        for n in linear.src
        if n.op is Ops.BUFFER and n.arg.addrspace is AddrSpace.LOCAL
    )


@pytest.mark.parametrize("layout", ["matmul", "matmul_transposed"])
@pytest.mark.parametrize(
    ("rows", "columns", "steps"),
    [(36, 48, 32), (37, 50, 33), (30, 21, 61), (64, 9, 70), (9, 12, 700)],
)
def test_values_are_those_of_the_product(rows: int, columns: int, steps: int, layout: str) -> None:
    sample = SAMPLES[layout](rows, columns, steps)
    random = np.random.default_rng(1)
    a = random.normal(0, 1, (rows, steps)).astype(np.float32)
    b = random.normal(0, 1, (steps, columns)).astype(np.float32)
    out = np.full(rows * columns, np.nan, np.float32)
    assert plan_packing(sample.sink, THREADS) is not None, "too small to be packed"
    stored = b.T.copy() if layout == "matmul_transposed" else b
    linear = run(sample.sink, THREADS, out, a.reshape(-1), stored.reshape(-1))
    np.testing.assert_allclose(out.reshape(rows, columns), a @ b, rtol=1e-4, atol=1e-5)
    assert 0 < scratch_bytes(linear) <= SCRATCH


@pytest.mark.parametrize(("swapped", "copies"), [(False, 2), (True, 3)])
def test_rows_in_the_order_of_the_reduction_are_read_where_they_are(
    swapped: bool, copies: int
) -> None:
    n, m, k = 36, 48, 64
    i, j, r = loop(n, 0), loop(m, 1), reduce_loop(k, 2)
    left = load(param(1, n * k), r * n + i if swapped else i * k + r)
    value = (left * load(param(2, k * m), r * m + j)).reduce(Ops.ADD, r)
    sink = kernel(param(0, n * m).index(i * m + j).store(value).end(i, j))
    random = np.random.default_rng(2)
    a = random.normal(0, 1, (n, k)).astype(np.float32)
    b = random.normal(0, 1, (k, m)).astype(np.float32)
    out = np.zeros(n * m, np.float32)
    linear = run(sink, THREADS, out, (a.T if swapped else a).reshape(-1), b.reshape(-1))
    np.testing.assert_allclose(out.reshape(n, m), a @ b, rtol=1e-4, atol=1e-5)
    scratch = [n for n in linear.src if n.op is Ops.BUFFER and n.arg.addrspace is AddrSpace.LOCAL]
    # the columns, the results, and the rows only where they are not in order
    assert len(scratch) == copies


def test_the_plan_depends_on_the_kernel_and_the_target_alone() -> None:
    sink = SAMPLES["matmul"](100, 100, 100).sink
    plan = plan_packing(sink, THREADS)
    assert plan is not None
    assert plan == plan_packing(sink, THREADS)
    assert pack_operands(sink, plan) is pack_operands(sink, plan)


@pytest.mark.parametrize(
    ("sample", "sizes"),
    [
        ("add", (4096, 0, 0)),
        ("row_sum", (64, 4096, 0)),
        ("softmax", (64, 4096, 0)),
        ("outer_product", (512, 512, 0)),
        ("matmul", (1, 512, 512)),
        ("matmul", (16, 16, 16)),
        ("matmul_transposed", (8, 256, 256)),
    ],
)
def test_other_kernels_are_left_alone(sample: str, sizes: tuple[int, int, int]) -> None:
    assert plan_packing(SAMPLES[sample](*sizes).sink, THREADS) is None


def test_a_target_without_scratch_memory_packs_nothing() -> None:
    sink = SAMPLES["matmul"](64, 64, 64).sink
    assert plan_packing(sink, replace(THREADS, shared_bytes=0)) is None
    assert plan_packing(sink, replace(THREADS, has_threads=False)) is None


def test_columns_are_what_the_output_is_contiguous_along() -> None:
    product = find_product(SAMPLES["matmul"](64, 96, 32).sink, 128)
    assert product is not None
    assert (product.rows.size, product.columns.size) == (64, 96)
    assert product.columns.contiguous
    assert not product.rows.contiguous


def shape(rows: int, columns: int, depth: int, registers: int = 16, lanes: int = 8) -> Shape:
    return Shape(1, rows, columns, depth, 4, lanes, registers, 1, lanes)


@pytest.mark.parametrize(("registers", "lanes"), [(16, 8), (32, 16), (32, 4)])
@pytest.mark.parametrize("size", [7, 64, 100, 1000])
def test_a_tile_fits_the_registers(size: int, registers: int, lanes: int) -> None:
    blocks = choose_blocks(shape(size, size, size, registers, lanes), 1, size, 1 << 19)
    assert blocks is not None
    vectors = blocks.tile_columns // lanes
    assert blocks.tile_rows * vectors + vectors + 1 <= registers
    assert blocks.rows % blocks.tile_rows == blocks.columns % blocks.tile_columns == 0
    assert blocks.scratch(4) <= 1 << 19


def test_large_products_use_the_tile_of_most_reuse() -> None:
    blocks = choose_blocks(shape(960, 960, 512), 1, 512, 1 << 19)
    assert blocks is not None
    assert blocks.tile_rows * blocks.tile_columns == 12 * 8, "12 accumulators of 8 lanes"


def test_however_long_a_side_is_there_are_blocks() -> None:
    blocks = choose_blocks(shape(64, 1_000_003, 768), 1, 768, 1 << 19)
    assert blocks is not None
    assert blocks.scratch(4) <= 1 << 19


def stores_of_vectors(linear: UOp, lanes: int) -> int:
    """Count the stores of so many lanes into scratch memory that take them out of shuffles."""
    return sum(
        n.op is Ops.STORE
        and n.src[0].arg == lanes
        and n.src[0].src[0].op is Ops.BUFFER
        and n.src[0].src[0].arg.addrspace is AddrSpace.LOCAL
        and n.src[1].op in (Ops.STACK, Ops.INDEX)
        and n.src[1].src[0].op is not Ops.CAST
        for n in linear.src
    )


@pytest.mark.parametrize(("columns", "steps"), [(32, 160), (20, 161), (20, 403)])
def test_rows_that_lie_along_the_reduction_are_packed_crosswise(columns: int, steps: int) -> None:
    rows = 12
    random = np.random.default_rng(6)
    a = random.normal(0, 1, (rows, steps)).astype(np.float32)
    b = random.normal(0, 1, (columns, steps)).astype(np.float32)
    out = np.full(rows * columns, np.nan, np.float32)
    sink = SAMPLES["matmul_transposed"](rows, columns, steps).sink
    linear = run(sink, THREADS, out, a.reshape(-1), b.reshape(-1))
    np.testing.assert_allclose(out.reshape(rows, columns), a @ b.T, rtol=1e-4, atol=1e-4)
    assert stores_of_vectors(linear, 4) >= 4


def test_no_blocks_where_nothing_fits() -> None:
    assert choose_blocks(shape(64, 64, 64), 1, 64, 100) is None


@pytest.mark.parametrize(("size", "depth"), [(100, 100), (384, 384), (512, 256), (768, 384)])
def test_blocks_of_the_reduction_are_even(size: int, depth: int) -> None:
    assert choose_depth(size, 16, 4) == depth
