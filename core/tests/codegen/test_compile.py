"""Programs: names, launch information, estimates, and the cache of compiled kernels."""

from __future__ import annotations

import sys

import pytest
from codegen_kernels import (
    GRID,
    SIMD,
    DescribedTarget,
    elementwise,
    kernel,
    load,
    loop,
    param,
    reduce_loop,
)
from codegen_samples import SAMPLES

from tg_core.codegen import clear_compiled, compile_program, compile_programs, lower_kernel
from tg_core.codegen.describe_program import name_kernel
from tg_core.codegen.estimate_work import estimate_work
from tg_core.config import Context
from tg_core.dtype import dtypes
from tg_core.errors import CompileError
from tg_core.renderer import Target
from tg_core.uop.ops import KernelInfo, Ops, UOp


def add_one(x: UOp) -> UOp:
    return x + 1


def test_names_tell_kind_and_sizes() -> None:
    assert lower_kernel(SAMPLES["matmul"](4, 5, 6).sink, SIMD).arg.name.startswith("r_4_5_6_")
    assert lower_kernel(SAMPLES["add"](64, 0, 0).sink, SIMD).arg.name.startswith("E_64_")


def test_loops_that_are_not_left_are_neither_named_nor_counted() -> None:
    # the sum of (j < i) over j is i
    i, j = loop(64, 0), reduce_loop(64, 1)
    ones = (j < i).where(UOp.const(1, dtypes.int32), UOp.const(0, dtypes.int32))
    sink = kernel(param(0, 64, dtypes.int32).index(i).store(ones.reduce(Ops.ADD, j)).end(i))
    info = lower_kernel(sink, SIMD).arg
    assert info.name.startswith("E_64_")
    assert info.estimates.flops <= 64
    assert info.estimates.bytes == 64 * 4


def test_a_given_name_is_made_an_identifier() -> None:
    sink = SAMPLES["add"](8, 0, 0).sink.replace(arg=KernelInfo("my kernel: 2"))
    assert name_kernel(sink, sink).startswith("my_kernel__2_")
    assert name_kernel(sink, sink).isidentifier()


def test_different_kernels_have_different_names() -> None:
    names = {
        lower_kernel(SAMPLES[n](8, 8, 8).sink, SIMD).arg.name
        for n in ("add", "matmul", "matmul_transposed", "transpose")
    }
    assert len(names) == 4


def test_launch_information_of_a_grid() -> None:
    info = lower_kernel(SAMPLES["matmul"](4, 5, 6).sink, GRID).arg
    assert info.global_size == (5, 4, 1)
    assert info.local_size == (1, 1, 1)
    assert (info.params, info.outs, info.ins) == ((0, 1, 2), (0,), (1, 2))


def test_an_argument_that_is_never_read_is_not_passed() -> None:
    i = loop(4, 0)
    unused = load(param(1, 4, dtypes.int32), i) * 0
    sink = kernel(
        param(0, 4, dtypes.int32).index(i).store(unused + load(param(2, 4, dtypes.int32), i)).end(i)
    )
    assert lower_kernel(sink, SIMD).arg.params == (0, 2)


def test_variables_follow_by_slot() -> None:
    i = loop(UOp.variable("b", 1, 8, slot=5), 0)
    index = i + UOp.variable("a", 0, 3, slot=4)
    info = lower_kernel(
        kernel(param(0, 8).index(i).store(load(param(1, 16), index)).end(i)), SIMD
    ).arg
    assert [v.arg.name for v in info.variables] == ["a", "b"]


def test_estimates_count_operations_and_bytes() -> None:
    work = estimate_work(SAMPLES["matmul"](4, 5, 6).sink)
    assert work.flops == 2 * 4 * 5 * 6
    assert work.bytes == 4 * (20 + 24 + 30)


def test_equal_kernels_are_compiled_once() -> None:
    first = elementwise(add_one, 16, dtypes.float32, output=dtypes.float32)
    other = first.substitute(
        {n: UOp(Ops.RANGE, n.src, (9, n.arg[-1])) for n in first.toposort() if n.op is Ops.RANGE}
    )
    assert compile_program(first, SIMD) is compile_program(other, SIMD)


def test_another_target_or_setting_is_another_program() -> None:
    sink = elementwise(add_one, 64, dtypes.float32, output=dtypes.float32)
    program = compile_program(sink, SIMD)
    assert compile_program(sink, GRID) is not program
    with Context(NOOPT=1):
        assert compile_program(sink, SIMD) is not program
    assert [n.op for n in program.src] == [Ops.SINK, Ops.LINEAR, Ops.SOURCE, Ops.BINARY]


class _Refusing(DescribedTarget):
    """A target whose compiler refuses one kernel; a source is the kernel's name."""

    def render(self, name: str, linear: UOp) -> str:
        del linear
        return name

    def compile(self, source: str) -> bytes:
        if source.startswith("E_96_"):
            raise CompileError("refused")
        return source.encode()


def sized(*sizes: int) -> list[UOp]:
    return [elementwise(add_one, n, dtypes.int32, output=dtypes.int32) for n in sizes]


def test_many_kernels_are_compiled_as_each_alone() -> None:
    clear_compiled()
    kernels = sized(32, 48, 32, 80)
    programs = compile_programs([(k, SIMD) for k in kernels])
    assert programs[0] is programs[2]
    assert [compile_program(k, SIMD) for k in kernels] == programs
    assert compile_programs([]) == []


def test_a_refused_kernel_among_many_is_an_error() -> None:
    clear_compiled()
    target = _Refusing(device_type="TEST", name="REFUSING", target=Target("simd"))
    before = sys.getswitchinterval()
    with pytest.raises(CompileError, match="refused"):
        compile_programs([(k, target) for k in sized(32, 96, 80)])
    assert sys.getswitchinterval() == before
