"""Integer division in floor and truncating form against Python's integers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from codegen_kernels import LEAN_GRID, SIMD, apply

from tg_core.dtype import DType, dtypes, to_numpy
from tg_core.renderer.api import Renderer
from tg_core.uop.ops import Ops, UOp

TARGETS = pytest.mark.parametrize("renderer", [SIMD, LEAN_GRID], ids=["simd", "lean"])
VALUES = [-100, -9, -8, -7, -4, -3, -2, -1, 0, 1, 2, 3, 4, 7, 8, 9, 100, 127]


def divide(op: Ops, renderer: Renderer, dtype: DType, x: list[int], y: list[int]) -> list[int]:
    def function(a: UOp, b: UOp) -> UOp:
        return UOp(op, (a, b))

    kind = to_numpy(dtype)
    return apply(
        function, renderer, dtype, (np.array(x, kind), dtype), (np.array(y, kind), dtype)
    ).tolist()


@TARGETS
@pytest.mark.parametrize("dtype", [dtypes.int8, dtypes.int32, dtypes.int64], ids=str)
def test_floor_forms_follow_python(renderer: Renderer, dtype: DType) -> None:
    x = [a for a in VALUES for b in VALUES if b]
    y = [b for _ in VALUES for b in VALUES if b]
    assert divide(Ops.FLOORDIV, renderer, dtype, x, y) == [
        a // b for a, b in zip(x, y, strict=True)
    ]
    assert divide(Ops.FLOORMOD, renderer, dtype, x, y) == [a % b for a, b in zip(x, y, strict=True)]


@TARGETS
@pytest.mark.parametrize("divisor", [1, 2, 8, 64, 3, 7, -1, -2, -4, -7])
def test_constant_divisors(renderer: Renderer, divisor: int) -> None:
    def quotient(a: UOp) -> UOp:
        return UOp(Ops.FLOORDIV, (a, UOp.const(divisor, dtypes.int32)))

    def remainder(a: UOp) -> UOp:
        return UOp(Ops.FLOORMOD, (a, UOp.const(divisor, dtypes.int32)))

    x = np.array([*VALUES, -(2**31) + 1, 2**31 - 1], np.int32)
    assert apply(quotient, renderer, dtypes.int32, (x, dtypes.int32)).tolist() == [
        int(a) // divisor for a in x
    ]
    assert apply(remainder, renderer, dtypes.int32, (x, dtypes.int32)).tolist() == [
        int(a) % divisor for a in x
    ]


@TARGETS
def test_unsigned_powers_of_two_reach_the_last_bit(renderer: Renderer) -> None:
    def quotient(a: UOp) -> UOp:
        return UOp(Ops.FLOORDIV, (a, UOp.const(2, dtypes.uint64)))

    x = np.array([2**63 + 5, 2**64 - 1, 3], np.uint64)
    assert apply(quotient, renderer, dtypes.uint64, (x, dtypes.uint64)).tolist() == [
        4611686018427387906,
        2**63 - 1,
        1,
    ]


@TARGETS
def test_division_by_zero_is_zero(renderer: Renderer) -> None:
    assert divide(Ops.FLOORDIV, renderer, dtypes.int32, [5, -5, 0], [0, 0, 0]) == [0, 0, 0]


@TARGETS
def test_floor_division_of_floats(renderer: Renderer) -> None:
    x = np.array([7.5, -7.5, 7.5, -7.5, 0.5, -0.5, 6.0], np.float32)
    y = np.array([2.0, 2.0, -2.0, -2.0, 2.0, 2.0, 3.0], np.float32)

    def quotient(a: UOp, b: UOp) -> UOp:
        return UOp(Ops.FLOORDIV, (a, b))

    def remainder(a: UOp, b: UOp) -> UOp:
        return UOp(Ops.FLOORMOD, (a, b))

    operands = (x, dtypes.float32), (y, dtypes.float32)
    assert apply(quotient, renderer, dtypes.float32, *operands).tolist() == [
        math.floor(a / b) for a, b in zip(x, y, strict=True)
    ]
    assert apply(remainder, renderer, dtypes.float32, *operands).tolist() == np.mod(x, y).tolist()
