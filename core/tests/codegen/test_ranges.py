"""Passes over the ranges of a kernel: merged, split, separated, numbered."""

from __future__ import annotations

from codegen_kernels import kernel, load, loop, param, reduce_loop
from codegen_samples import SAMPLES

from tg_core.codegen.merge_adjacent_ranges import merge_adjacent_ranges
from tg_core.codegen.normalize_kernel import normalize_kernel
from tg_core.codegen.separate_reused_ranges import separate_reused_ranges
from tg_core.codegen.split_ranges_by_division import split_ranges_by_division
from tg_core.codegen.utils import constant_size, linear_form
from tg_core.dtype import dtypes
from tg_core.uop.ops import Ops, UOp


def sizes(sink: UOp) -> list[int | None]:
    return sorted(constant_size(n) or 0 for n in sink.toposort() if n.op is Ops.RANGE)


def test_contiguous_loops_become_one() -> None:
    i, j = loop(6, 0), loop(7, 1)
    sink = kernel(param(0, 42).index(i * 7 + j).store(load(param(1, 42), i * 7 + j)).end(i, j))
    assert sizes(merge_adjacent_ranges(sink)) == [42]


def test_three_loops_merge_as_far_as_indices_allow() -> None:
    i, j, k = loop(2, 0), loop(3, 1), loop(5, 2)
    index = i * 15 + j * 5 + k
    sink = kernel(param(0, 30).index(index).store(load(param(1, 15), j * 5 + k)).end(i, j, k))
    assert sizes(merge_adjacent_ranges(sink)) == [2, 15]


def test_loops_seen_by_a_value_stay() -> None:
    i, j = loop(6, 0), loop(7, 1)
    sink = kernel(param(0, 42).index(i * 7 + j).store(j.cast(dtypes.float32)).end(i, j))
    assert sizes(merge_adjacent_ranges(sink)) == [6, 7]


def test_transposed_loops_stay() -> None:
    assert sizes(merge_adjacent_ranges(SAMPLES["transpose"](6, 7, 0).sink)) == [6, 7]


def test_reduce_loops_merge() -> None:
    assert sizes(merge_adjacent_ranges(SAMPLES["total"](6, 7, 0).sink)) == [42]


def test_divided_loops_split_until_no_division_is_left() -> None:
    sink = split_ranges_by_division(SAMPLES["divided"](4, 3, 5).sink)
    assert sizes(sink) == [3, 4, 5]
    assert not {Ops.FLOORDIV, Ops.FLOORMOD} & {n.op for n in sink.toposort()}


def test_a_divisor_that_does_not_divide_stays() -> None:
    i = loop(10, 0)
    sink = kernel(param(0, 10).index(i).store(load(param(1, 4), i // 3)).end(i))
    assert split_ranges_by_division(sink) is sink


def test_independent_reductions_share_a_range_and_dependent_ones_do_not() -> None:
    i, r = loop(4, 0), reduce_loop(8, 1)
    x = load(param(1, 32), i * 8 + r)
    peak, total = x.reduce(Ops.MAX, r), x.reduce(Ops.ADD, r)
    shared = separate_reused_ranges(kernel(param(0, 4).index(i).store(peak + total).end(i)))
    assert sizes(shared) == [4, 8]
    spread = (x - peak).reduce(Ops.ADD, r)
    assert sizes(separate_reused_ranges(kernel(param(0, 4).index(i).store(spread).end(i)))) == [
        4,
        8,
        8,
    ]


def test_stores_over_the_same_loops_share_an_end() -> None:
    sink = separate_reused_ranges(SAMPLES["two_outputs"](4, 8, 0).sink)
    assert [s.op for s in sink.src] == [Ops.END]
    assert sink.src[0].src[0].op is Ops.GROUP


def test_ranges_are_numbered_by_first_use() -> None:
    first = SAMPLES["matmul"](4, 5, 6).sink
    other = first.substitute(
        {
            n: UOp(Ops.RANGE, n.src, (n.arg[0] * 3 + 5, n.arg[-1]))
            for n in first.toposort()
            if n.op is Ops.RANGE
        }
    )
    assert other is not first
    assert normalize_kernel(other) is normalize_kernel(first)


def test_linear_form_collects_terms() -> None:
    i, j = loop(4, 0), loop(8, 1)
    form = linear_form((i * 3 + j + 2) * 4 + i - 1)
    assert form.coefficients == {i: 13, j: 4}
    assert form.constant == 7
    assert form.stride(j) == 4
    assert linear_form(i // 2 + j).stride(i) is None
