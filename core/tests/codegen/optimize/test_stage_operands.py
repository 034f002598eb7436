"""Staging an operand of a product, and masked lanes."""

from __future__ import annotations

import numpy as np
import pytest
from codegen_kernels import SIMD, run
from codegen_samples import SAMPLES

from tg_core.codegen import Opt, OptKind
from tg_core.codegen.optimize import apply_opts, choose_opts
from tg_core.errors import CompileError
from tg_core.uop.ops import AddrSpace, KernelInfo, Ops, UOp

LANES = Opt(OptKind.VECTOR, (1,), 8)
COPIES = Opt(OptKind.UPCAST, (0,), 3)
STAGE = Opt(OptKind.STAGE, (2,))


def product(rows: int, columns: int, steps: int, *opts: Opt) -> UOp:
    sample = SAMPLES["matmul"](rows, columns, steps)
    rng = np.random.default_rng(1)
    a = rng.normal(0, 1, (rows, steps)).astype(np.float32)
    b = rng.normal(0, 1, (steps, columns)).astype(np.float32)
    out = np.full(rows * columns, np.nan, np.float32)
    sink = sample.sink.replace(arg=KernelInfo("", opts))
    linear = run(sink, SIMD, out, a.reshape(-1), b.reshape(-1))
    np.testing.assert_allclose(out.reshape(rows, columns), a @ b, rtol=1e-4, atol=1e-5)
    return linear


def test_the_panel_is_filled_once_for_all_rows() -> None:
    linear = product(12, 16, 10, LANES, COPIES, STAGE)
    panels = [n for n in linear.src if n.op is Ops.BUFFER and n.arg.addrspace is AddrSpace.LOCAL]
    assert [n.arg.size for n in panels] == [80]
    place = {n: i for i, n in enumerate(linear.src)}
    fill = next(n for n in linear.src if n.op is Ops.STORE and n.src[0].src[0] is panels[0])
    opened = [n for n in linear.src[: place[fill]] if n.op is Ops.RANGE]
    closed = [n.src[1] for n in linear.src[: place[fill]] if n.op is Ops.END]
    # two: the columns and the steps; the rows come later
    assert next(r.arg[0] for r in opened if r not in closed) == 1
    assert len(opened) - len(closed) == 2


@pytest.mark.parametrize("rows", [12, 13, 2])
def test_rows_left_over_are_computed_too(rows: int) -> None:
    copies = (COPIES,) if rows > 3 else ()
    product(rows, 16, 10, LANES, *copies, STAGE)


@pytest.mark.parametrize("columns", [16, 17, 23, 5])
def test_columns_beyond_the_size_are_masked(columns: int) -> None:
    linear = product(12, columns, 10, Opt(OptKind.PAD, (1,), 8), LANES, COPIES, STAGE)
    gated = [n for n in linear.src if n.op is Ops.STORE and len(n.src) > 2]
    assert bool(gated) is (columns % 8 != 0)


def test_it_is_chosen_for_rows_far_apart() -> None:
    far = [o.kind for o in choose_opts(SAMPLES["matmul"](96, 512, 128).sink, SIMD)]
    assert OptKind.STAGE in far
    near = [o.kind for o in choose_opts(SAMPLES["matmul"](96, 64, 128).sink, SIMD)]
    assert OptKind.STAGE not in near


def test_a_reduction_without_lanes_has_nothing_to_stage() -> None:
    with pytest.raises(CompileError, match="nothing to stage"):
        apply_opts(SAMPLES["row_sum"](8, 16, 0).sink, (Opt(OptKind.STAGE, (1,)),))


def test_an_unknown_reduction_is_an_error() -> None:
    with pytest.raises(CompileError, match="no reduction"):
        apply_opts(SAMPLES["add"](8, 0, 0).sink, (Opt(OptKind.STAGE, (1,)),))
