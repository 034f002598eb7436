"""Widths of weak operands, and of the integers they become."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from codegen_kernels import GRID, kernel, load, loop, param, run

from tg_core.codegen.commit_weak_operands import commit_weak_operands
from tg_core.codegen.lower_weak_to_ints import lower_weak_to_ints
from tg_core.config import Context
from tg_core.dtype import DType, dtypes
from tg_core.uop.ops import GroupOp, Ops, UOp


def stored(value: UOp, dtype: DType) -> UOp:
    i = loop(4, 0)
    return kernel(param(0, 4, dtype).index(i).store(value).end(i))


def arithmetic(sink: UOp) -> list[DType]:
    return [n.dtype for n in sink.toposort() if n.op in GroupOp.ALU]


@pytest.mark.parametrize(
    "dtype", [dtypes.float16, dtypes.float64, dtypes.int8, dtypes.int64], ids=str
)
def test_a_weak_constant_adapts(dtype: DType) -> None:
    x = load(param(1, 4, dtype), UOp.const(0))
    weak = UOp.const(2.5) if dtypes.is_float(dtype) else UOp.const(2)
    sink = commit_weak_operands(stored(UOp(Ops.MUL, (x, weak)), dtype))
    product = next(n for n in sink.toposort() if n.op is Ops.MUL)
    assert [s.dtype for s in product.src] == [dtype, dtype]


def test_weak_float_arithmetic_follows_a_wider_cast() -> None:
    weak = UOp(Ops.MUL, (UOp.const(0.1), UOp.const(3.0)))
    assert arithmetic(
        commit_weak_operands(stored(UOp(Ops.CAST, (weak,), dtypes.float64), dtypes.float64))
    ) == [dtypes.float64]


def test_a_narrower_cast_does_not_narrow_the_arithmetic() -> None:
    weak = UOp(Ops.MUL, (UOp.const(0.1), UOp.const(3.0)))
    assert arithmetic(
        commit_weak_operands(stored(UOp(Ops.CAST, (weak,), dtypes.float16), dtypes.float16))
    ) == [dtypes.float32]


def test_a_stored_weak_value_takes_the_destination() -> None:
    weak = UOp(Ops.MUL, (UOp.const(0.1), UOp.const(3.0)))
    assert arithmetic(commit_weak_operands(stored(weak, dtypes.float64))) == [dtypes.float64]


def test_a_double_constant_keeps_its_digits() -> None:
    out = np.zeros(4)
    run(
        stored(load(param(1, 4, dtypes.float64), UOp.const(0)) * 0.1, dtypes.float64),
        GRID,
        out,
        np.full(4, 3.0),
    )
    assert out.tolist() == [3.0 * 0.1] * 4


def test_an_integer_operand_meets_a_weak_float_at_the_default_width() -> None:
    x = load(param(1, 4, dtypes.int64), UOp.const(0))
    sink = commit_weak_operands(stored(UOp(Ops.MUL, (x, UOp.const(0.5))), dtypes.float32))
    assert arithmetic(sink) == [dtypes.float32]


def test_a_range_adapts_to_a_loaded_integer() -> None:
    i = loop(4, 0)
    value = UOp(Ops.ADD, (load(param(1, 4, dtypes.uint8), i), i))
    out = np.zeros(4, np.uint8)
    run(
        kernel(param(0, 4, dtypes.uint8).index(i).store(value).end(i)),
        GRID,
        out,
        np.full(4, 254, np.uint8),
    )
    assert out.tolist() == [254, 255, 0, 1]


def test_the_default_float_decides_what_nothing_else_does() -> None:
    weak = UOp(Ops.MUL, (UOp(Ops.CAST, (loop(4, 0),), dtypes.weakfloat), UOp.const(0.5)))
    with Context(DEFAULT_FLOAT="float64"):
        sink = commit_weak_operands(stored(UOp(Ops.CAST, (weak,), dtypes.int32), dtypes.int32))
    assert dtypes.float64 in arithmetic(sink)


@pytest.mark.parametrize(
    ("factor", "width"), [(1 << 20, dtypes.int32), (1 << 30, dtypes.int64)], ids=str
)
def test_bounds_decide_the_width_of_indices(factor: int, width: DType) -> None:
    i = loop(4, 0)
    sink = lower_weak_to_ints(
        kernel(param(0, 4).index(i).store(load(param(1, 1 << 33), i * factor)).end(i)), GRID
    )
    assert [n.dtype for n in sink.toposort() if n.op is Ops.MUL] == [width]
    assert not any(dtypes.is_weak(n.dtype) and n.op is not Ops.CONST for n in sink.toposort())


def test_a_small_result_of_large_operands_is_computed_wide() -> None:
    i = loop(4, 0)
    index = UOp(Ops.CMOD, (i * (1 << 31), UOp.const(7)))
    sink = kernel(param(0, 4).index(i).store(load(param(1, 7), index)).end(i))
    sink = lower_weak_to_ints(sink, GRID)
    assert [n.dtype for n in sink.toposort() if n.op is Ops.CMOD] == [dtypes.int64]


def test_a_target_with_wide_indices_keeps_only_lanes_narrow() -> None:
    i = loop(4, 0)
    lanes = UOp(Ops.STACK, tuple(UOp.const(n) for n in range(4)))
    inside = UOp(Ops.CMPLT, (UOp(Ops.ADD, (lanes, i * 3)), UOp.const(9)))
    target = param(0, 16).index(i * 4)
    wide = UOp(Ops.INDEX, target.src, 4)
    value = UOp(Ops.WHERE, (inside, UOp.const(1.0, dtypes.float32), UOp.const(0.0, dtypes.float32)))
    sink = kernel(UOp(Ops.STORE, (wide, value)).end(i))
    lowered = lower_weak_to_ints(sink, replace(GRID, index_bits=64))
    scalars = {n.dtype for n in lowered.toposort() if n.op is Ops.MUL}
    vectors = {n.dtype for n in lowered.toposort() if n.op is Ops.ADD and n.shape}
    assert (scalars, vectors) == ({dtypes.int64}, {dtypes.int32})
