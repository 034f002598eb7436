from __future__ import annotations

import random

import pytest

from tg_core.errors import CompileError
from tg_core.hcq.launch_size import LaunchSize
from tg_core.uop.ops import Ops, UOp

N = UOp.variable("n", 0, 1000)
M = UOp.variable("m", 1, 50)


@pytest.mark.parametrize("n", [0, 1, 7, 31, 32, 33, 999])
def test_sizes_follow_the_variables(n: int) -> None:
    m = 1 + n % 50
    values = {N: n, M: m}
    cases = {
        (N + 31) // 32: (n + 31) // 32,
        N % 7 + M * 3: n % 7 + m * 3,
        (N < 32).where(N, UOp.const(32)): min(n, 32),
        N.maximum(M): max(n, m),
        (N - M).alu(Ops.CDIV, UOp.const(4)): int((n - m) / 4),
        (N - M).alu(Ops.CMOD, UOp.const(4)): (n - m) - 4 * int((n - m) / 4),
        UOp.const(5): 5,
    }
    for size, expected in cases.items():
        assert LaunchSize(size).value(values) == expected, size


def test_other_operations_are_an_error() -> None:
    with pytest.raises(CompileError, match="SQRT is no arithmetic of integers"):
        LaunchSize(UOp(Ops.SQRT, (N,)))


def test_deep_expressions_need_no_recursion() -> None:
    rng, size, expected = random.Random(1), N, 5
    for _ in range(20_000):
        step = rng.randint(-3, 4)
        size, expected = size + step, expected + step
    assert LaunchSize(size).value({N: 5}) == expected
