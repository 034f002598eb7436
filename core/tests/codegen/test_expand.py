"""Expansion into copies and lanes."""

from __future__ import annotations

from collections import Counter

import pytest
from codegen_kernels import LEAN, SIMD, kernel, load, param

from tg_core.codegen.expand_copies import expand_copies
from tg_core.codegen.expand_vectors import combine_lanes, expand_vectors
from tg_core.codegen.lower_reduce_to_accumulators import lower_reduce_to_accumulators, unchain
from tg_core.dtype import Invalid, dtypes
from tg_core.errors import CompileError
from tg_core.uop.ops import AxisType, Ops, UOp


def ops(sink: UOp) -> Counter[Ops]:
    return Counter(n.op for n in sink.toposort())


def test_an_upcast_output_stores_every_copy() -> None:
    i = UOp.range(3, 0, AxisType.UPCAST)
    sink = expand_copies(kernel(param(0, 3).index(i).store(load(param(1, 3), i)).end(i)))
    assert ops(sink)[Ops.STORE] == 3
    assert ops(sink)[Ops.RANGE] == 0
    assert sorted(
        n.src[1].arg for n in sink.toposort() if n.op is Ops.INDEX and n.src[0].arg.slot == 1
    ) == [0, 1, 2]


def test_an_unrolled_reduction_adds_in_order() -> None:
    r = UOp.range(4, 0, AxisType.UNROLL)
    value = load(param(1, 4), r).reduce(Ops.ADD, r)
    sink = expand_copies(kernel(param(0, 1).index(0).store(value)))
    parts = unchain(Ops.ADD, sink.src[0].src[1])
    assert [p.src[0].src[1].arg for p in parts] == [0, 1, 2, 3]


def test_an_upcast_reduction_combines_neighbours_first() -> None:
    r = UOp.range(4, 0, AxisType.UPCAST)
    value = load(param(1, 4), r).reduce(Ops.ADD, r)
    total = expand_copies(kernel(param(0, 1).index(0).store(value))).src[0].src[1]
    pairs = [tuple(leaf.src[0].src[1].arg for leaf in half.src) for half in total.src]
    assert pairs == [(0, 1), (2, 3)]


def test_copies_of_a_reduction_share_its_loop() -> None:
    i, r = UOp.range(3, 0, AxisType.UPCAST), UOp.range(8, 1, AxisType.REDUCE)
    value = load(param(1, 24), i * 8 + r).reduce(Ops.ADD, r)
    sink = lower_reduce_to_accumulators(
        expand_copies(kernel(param(0, 3).index(i).store(value).end(i))), SIMD
    )
    assert ops(sink)[Ops.END] == 1
    assert ops(sink)[Ops.BUFFER] == 3


@pytest.mark.parametrize(("renderer", "fused"), [(SIMD, True), (LEAN, False)], ids=["simd", "lean"])
def test_products_are_fused_where_the_target_can(renderer: object, fused: bool) -> None:
    r = UOp.range(8, 0, AxisType.REDUCE)
    value = (load(param(1, 8), r) * load(param(2, 8), r)).reduce(Ops.ADD, r)
    sink = lower_reduce_to_accumulators(kernel(param(0, 1).index(0).store(value)), renderer)  # type: ignore[arg-type]  # a parameter
    assert (ops(sink)[Ops.MULACC] == 1) is fused


def vector_kernel(index: UOp, lanes: UOp, size: int = 64) -> UOp:
    return kernel(param(0, 8).index(lanes).store(load(param(1, size), index)).end(lanes))


def test_consecutive_elements_are_one_access() -> None:
    v = UOp.range(8, 0, AxisType.VECTOR)
    sink = expand_vectors(vector_kernel(v + 3, v), SIMD)
    assert [n.arg for n in sink.toposort() if n.op is Ops.INDEX] == [8, 8]
    assert ops(sink)[Ops.LOAD] == 1


def test_other_strides_are_one_access_per_lane() -> None:
    v = UOp.range(8, 0, AxisType.VECTOR)
    sink = expand_vectors(vector_kernel(v * 2, v), SIMD)
    assert ops(sink)[Ops.LOAD] == 8


def test_the_same_element_is_loaded_once() -> None:
    v = UOp.range(8, 0, AxisType.VECTOR)
    sink = expand_vectors(vector_kernel(UOp.const(5), v), SIMD)
    loads = [n for n in sink.toposort() if n.op is Ops.LOAD]
    assert [n.shape for n in loads] == [()]


def test_a_gate_per_lane_needs_masked_accesses() -> None:
    v = UOp.range(8, 0, AxisType.VECTOR)
    place = param(1, 8).index(v)
    value = UOp(
        Ops.LOAD, (place, UOp.const(0.0, dtypes.float32), UOp(Ops.CMPLT, (v, UOp.const(5))))
    )
    sink = kernel(param(0, 8).index(v).store(value).end(v))
    assert ops(expand_vectors(sink, SIMD))[Ops.LOAD] == 1
    assert ops(expand_vectors(sink, LEAN))[Ops.LOAD] == 8


def test_two_vector_ranges_in_one_value_are_an_error() -> None:
    v, w = (UOp.range(4, i, AxisType.VECTOR) for i in range(2))
    value = load(param(1, 4), v) + load(param(2, 4), w)
    with pytest.raises(CompileError, match="two vector ranges"):
        expand_vectors(kernel(param(0, 4).index(v).store(value).end(v, w)), SIMD)


def test_lanes_combine_halves_and_carry_the_odd_one() -> None:
    parts = [UOp.variable(f"x{i}", 0, 9) for i in range(5)]
    total = combine_lanes(Ops.ADD, UOp(Ops.STACK, tuple(parts)), 5)
    leaves = [n for n in total.toposort() if n in parts]
    assert len(leaves) == 5
    assert total.shape == ()


def test_a_fully_masked_load_is_its_alternative() -> None:
    from tg_core.codegen.move_masks_to_gates import move_masks_to_gates

    i = UOp.range(4, 0, AxisType.LOOP)
    sink = kernel(param(0, 4).index(i).store(load(param(1, 4), UOp.const(Invalid))).end(i))
    assert ops(move_masks_to_gates(sink))[Ops.LOAD] == 0
