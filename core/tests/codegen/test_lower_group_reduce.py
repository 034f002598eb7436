"""Reductions shared by the work items of a group, executed by the interpreter."""

from __future__ import annotations

import numpy as np
import pytest
from codegen_kernels import GROUPS, run
from codegen_samples import SAMPLES

from tg_core.codegen import Opt, OptKind, lower_kernel
from tg_core.codegen.lower_group_reduce import lower_group_reduce
from tg_core.errors import CompileError
from tg_core.uop.ops import AddrSpace, AxisType, KernelInfo, Ops, UOp


def shared_row_sum(items: int, *more: Opt) -> UOp:
    opts = (Opt(OptKind.GROUP, (1,), items), *more, Opt(OptKind.CHUNK, (0,), 1))
    return SAMPLES["row_sum"](4, 64, 0).sink.replace(arg=KernelInfo("", opts))


def row_sums(sink: UOp) -> tuple[UOp, np.ndarray, np.ndarray]:
    x = np.random.default_rng(0).normal(0, 1, 256).astype(np.float32)
    out = np.zeros(4, np.float32)
    return run(sink, GROUPS, out, x), out, x.reshape(4, 64).sum(1)


@pytest.mark.parametrize("items", [2, 16, 64])
def test_row_sum(items: int) -> None:
    linear, got, want = row_sums(shared_row_sum(items))
    np.testing.assert_allclose(got, want, rtol=1e-5)
    ops = [n.op for n in linear.src]
    assert ops.count(Ops.BARRIER) == 1
    locals_ = [n for n in linear.src if n.op is Ops.BUFFER and n.arg.addrspace is AddrSpace.LOCAL]
    assert [n.arg.size for n in locals_] == [items]


def test_local_outputs_have_their_own_part_of_the_storage() -> None:
    linear, got, want = row_sums(shared_row_sum(8, Opt(OptKind.LOCAL, (0,), 2)))
    np.testing.assert_allclose(got, want, rtol=1e-5)
    locals_ = [n for n in linear.src if n.op is Ops.BUFFER and n.arg.addrspace is AddrSpace.LOCAL]
    assert [n.arg.size for n in locals_] == [16]


def test_one_work_item_stores() -> None:
    program = lower_kernel(shared_row_sum(16), GROUPS)
    assert program.arg.local_size == (16, 1, 1)
    stores = [
        n for n in program.src[1].src if n.op is Ops.STORE and n.src[0].src[0].op is Ops.PARAM
    ]
    assert len(stores) == 1
    assert len(stores[0].src) == 3


def test_a_loop_around_waits_before_it_writes_again() -> None:
    opts = (Opt(OptKind.GROUP, (1,), 16),)
    linear, got, want = row_sums(
        SAMPLES["row_sum"](4, 64, 0).sink.replace(arg=KernelInfo("", opts))
    )
    np.testing.assert_allclose(got, want, rtol=1e-5)
    assert [n.op for n in linear.src].count(Ops.BARRIER) == 2


def test_two_shared_ranges_are_refused() -> None:
    r, s = (UOp.range(4, i, AxisType.GROUP_REDUCE) for i in range(2))
    value = (
        UOp.param(1, SAMPLES["add"](4, 0, 0).sink.src[0].src[0].src[0].dtype, (16,))
        .index(r * 4 + s)
        .load()
    )
    sink = UOp.sink(UOp.param(0, value.dtype, (1,)).index(0).store(value.reduce(Ops.ADD, r, s)))
    with pytest.raises(CompileError, match="two ranges"):
        lower_group_reduce(sink)
