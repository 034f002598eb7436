"""What the heuristics choose, and how amounts are picked."""

from __future__ import annotations

import pytest
from codegen_kernels import GRID, GROUPS, LEAN, SIMD, kernel, load, loop, param, reduce_loop
from codegen_samples import SAMPLES

from tg_core.codegen import Opt, OptKind
from tg_core.codegen.optimize import apply_opts, choose_opts
from tg_core.codegen.optimize.analyze_kernel import analyze_kernel
from tg_core.codegen.optimize.choose_amounts import choose_chunk, choose_copies, choose_lanes
from tg_core.codegen.optimize.choose_vectors import choose_vectors
from tg_core.config import Context
from tg_core.dtype import DType, dtypes
from tg_core.errors import CompileError
from tg_core.renderer.api import Renderer
from tg_core.uop.ops import AxisType, Ops, UOp


def kinds(opts: tuple[Opt, ...]) -> dict[tuple[OptKind, int], int]:
    return {(o.kind, o.axis[0]): o.amount for o in opts}


def test_a_product_of_matrices_fills_the_registers() -> None:
    chosen = kinds(choose_opts(SAMPLES["matmul"](96, 64, 64).sink, SIMD))
    assert chosen[OptKind.VECTOR, 1] == 16
    assert chosen[OptKind.UPCAST, 0] == 6


def test_the_contiguous_reduce_range_becomes_lanes() -> None:
    chosen = kinds(choose_opts(SAMPLES["row_sum"](64, 256, 0).sink, SIMD))
    assert chosen == {(OptKind.VECTOR, 1): 32}


def test_both_operands_of_a_transposed_product_are_shared() -> None:
    chosen = kinds(choose_opts(SAMPLES["matmul_transposed"](12, 12, 64).sink, SIMD))
    assert chosen == {(OptKind.VECTOR, 2): 8, (OptKind.UPCAST, 0): 4, (OptKind.UPCAST, 1): 3}


def test_every_loop_of_a_softmax_has_its_own_lanes() -> None:
    vectors = choose_vectors(analyze_kernel(_separated(SAMPLES["softmax"](8, 64, 0).sink)), SIMD)
    assert len(vectors.ranges) == 3


def _separated(sink: UOp) -> UOp:
    from tg_core.codegen.separate_reused_ranges import separate_reused_ranges

    return separate_reused_ranges(sink)


def test_chunks_depend_on_shape_alone() -> None:
    i = loop(1 << 20, 0)
    sink = kernel(param(0, 1 << 20).index(i).store(load(param(1, 1 << 20), i) * 2).end(i))
    threaded = _with_threads(SIMD)
    opts = choose_opts(sink, threaded)
    assert opts == choose_opts(sink, threaded)
    assert [o.kind for o in opts] == [OptKind.CHUNK, OptKind.VECTOR]


def test_little_work_is_not_divided() -> None:
    opts = choose_opts(SAMPLES["add"](512, 0, 0).sink, _with_threads(SIMD))
    assert OptKind.CHUNK not in [o.kind for o in opts]


def _with_threads(renderer: Renderer) -> Renderer:
    from dataclasses import replace

    return replace(renderer, has_threads=True)


def test_no_options_without_lanes_or_when_switched_off() -> None:
    sink = SAMPLES["matmul"](32, 32, 32).sink
    assert choose_opts(sink, LEAN) == ()
    with Context(NOOPT=1):
        assert choose_opts(sink, SIMD) == ()


def test_output_ranges_become_the_grid() -> None:
    opts = choose_opts(SAMPLES["matmul"](32, 32, 32).sink, GRID)
    assert [(o.kind, o.axis, o.amount) for o in opts] == [
        (OptKind.CHUNK, (0,), 1),
        (OptKind.CHUNK, (1,), 1),
    ]


def test_a_range_no_reduction_depends_on_stays_a_loop_of_the_grid() -> None:
    opts = choose_opts(_separated(SAMPLES["softmax"](8, 64, 0).sink), GRID)
    assert [o.axis for o in opts] == [(0,)]


def test_few_outputs_share_a_long_reduction() -> None:
    opts = choose_opts(SAMPLES["row_sum"](4, 512, 0).sink, GROUPS)
    assert (OptKind.GROUP, 1) in kinds(opts)


def test_outputs_of_different_grids_run_as_loops() -> None:
    assert choose_opts(SAMPLES["row_and_column_sums"](4, 8, 0).sink, GRID) == ()


@pytest.mark.parametrize(
    ("size", "most", "lanes"),
    [(4, 2, 0), (8, 2, 0), (16, 2, 0), (64, 2, 16), (64, 1, 8), (24, 1, 8), (None, 2, 8)],
)
def test_lanes(size: int | None, most: int, lanes: int) -> None:
    assert choose_lanes(size, 8, most) == lanes


@pytest.mark.parametrize(
    ("size", "most", "copies"),
    [(1, 6, 1), (5, 6, 5), (96, 6, 6), (100, 6, 5), (None, 4, 4), (64, 1, 1)],
)
def test_copies(size: int | None, most: int, copies: int) -> None:
    assert choose_copies(size, most) == copies


def test_chunks_divide_evenly_where_a_divisor_is_near() -> None:
    assert choose_chunk(1000, 1, 1 << 30) in (20, 25)
    assert 1024 % choose_chunk(1024, 16, 1 << 30) == 0
    assert choose_chunk(7, 1, 100) == 7


def test_an_option_for_a_range_that_is_not_there_is_an_error() -> None:
    with pytest.raises(CompileError, match="no range"):
        apply_opts(SAMPLES["add"](8, 0, 0).sink, (Opt(OptKind.VECTOR, (9,), 4),))


def test_more_than_a_range_has_is_an_error() -> None:
    with pytest.raises(CompileError, match="more than"):
        apply_opts(SAMPLES["add"](8, 0, 0).sink, (Opt(OptKind.VECTOR, (0,), 16),))


def test_a_remainder_is_a_second_loop() -> None:
    sink = apply_opts(SAMPLES["add"](19, 0, 0).sink, (Opt(OptKind.VECTOR, (0,), 8),))
    sizes = sorted(int(n.src[0].vmax) for n in sink.toposort() if n.op is Ops.RANGE)
    assert sizes == [2, 3, 8]
    assert [n.op for n in sink.toposort()].count(Ops.STORE) == 2


def test_the_last_chunk_is_shorter() -> None:
    sink = apply_opts(SAMPLES["add"](19, 0, 0).sink, (Opt(OptKind.CHUNK, (0,), 8),))
    grid = next(n for n in sink.toposort() if n.op is Ops.RANGE and n.arg[-1] is AxisType.GLOBAL)
    inner = next(n for n in sink.toposort() if n.op is Ops.RANGE and n.arg[-1] is AxisType.LOOP)
    assert grid.src[0].const_value == 3
    assert (inner.src[0].vmin, inner.src[0].vmax) == (3, 8)


def test_a_separated_remainder_keeps_reductions_apart() -> None:
    i, r = loop(7, 0), reduce_loop(5, 1)
    sink = kernel(
        param(0, 7).index(i).store(load(param(1, 35), i * 5 + r).reduce(Ops.ADD, r)).end(i)
    )
    divided = apply_opts(sink, (Opt(OptKind.UPCAST, (0,), 3),))
    assert [n.op for n in divided.toposort()].count(Ops.REDUCE) == 2


@pytest.mark.parametrize("dtype", [dtypes.float32, dtypes.int64])
@pytest.mark.parametrize("rows", [60, 64, 1024])
def test_lanes_and_copies_of_a_transposition_share_no_range(rows: int, dtype: DType) -> None:
    i, j = loop(rows, 0), loop(1500, 1)
    value = (load(param(1, rows * 1500, dtype), j * rows + i) * 2).cast(dtypes.float64)
    sink = kernel(param(0, rows * 1500, dtypes.float64).index(i * 1500 + j).store(value).end(i, j))
    opts = choose_opts(sink, _with_threads(SIMD))
    moved = [o.axis for o in opts if o.kind in (OptKind.VECTOR, OptKind.UPCAST)]
    assert len(moved) == len(set(moved))
    apply_opts(sink, opts)
