"""Constants at their width, and identities that NaN, infinities and -0.0 allow."""

from __future__ import annotations

import math
import struct

import numpy as np
import pytest

from tg_core.dtype import DType, dtypes, to_numpy
from tg_core.uop.ops import Ops, UOp, graph_rewrite
from tg_core.uop.printer import render
from tg_core.uop.symbolic import symbolic, symbolic_simple

F, I = dtypes.float32, dtypes.int32
x = UOp.param(0, F, (4,)).index(UOp.const(0)).load()
k = UOp.param(1, I, (4,)).index(UOp.const(0)).load()
b = UOp.param(2, dtypes.bool, (4,)).index(UOp.const(0)).load()


def simple(node: UOp) -> UOp:
    return graph_rewrite(node, symbolic_simple)


def const(value: float, dtype: DType = F) -> UOp:
    return UOp.const(value, dtype)


@pytest.mark.parametrize("dtype", dtypes.ints, ids=[d.name for d in dtypes.ints])
@pytest.mark.parametrize("op", [Ops.ADD, Ops.SUB, Ops.MUL, Ops.MAX, Ops.AND, Ops.OR, Ops.XOR])
def test_integer_constants_wrap_as_numpy(op: Ops, dtype: DType) -> None:
    numpy_op = {
        Ops.ADD: np.add, Ops.SUB: np.subtract, Ops.MUL: np.multiply, Ops.MAX: np.maximum,
        Ops.AND: np.bitwise_and, Ops.OR: np.bitwise_or, Ops.XOR: np.bitwise_xor,
    }[op]  # fmt: skip
    low, high = int(dtypes.min(dtype)), int(dtypes.max(dtype))
    for p in (low, low + 3, -1 if low else 1, 0, 77, high):
        for q in (low, 5, high - 1, high):
            with np.errstate(over="ignore"):
                expected = numpy_op(np.array(p, to_numpy(dtype)), np.array(q, to_numpy(dtype)))
            folded = simple(UOp(op, (const(p, dtype), const(q, dtype))))
            assert folded is const(int(expected), dtype), (p, q)


@pytest.mark.parametrize("op", [Ops.ADD, Ops.SUB, Ops.MUL, Ops.FDIV])
def test_float_constants_round_as_numpy(op: Ops) -> None:
    numpy_op = {Ops.ADD: np.add, Ops.SUB: np.subtract, Ops.MUL: np.multiply, Ops.FDIV: np.divide}[
        op
    ]
    values = [0.1, -0.0, 3.0, 1e38, 1e-45, -7.5, math.inf, math.nan]
    for p in values:
        for q in values:
            with np.errstate(all="ignore"):
                expected = float(numpy_op(np.float32(p), np.float32(q)))
            value = simple(UOp(op, (const(p), const(q)))).const_value
            assert isinstance(value, float)
            same = math.isnan(value) if math.isnan(expected) else value == expected
            assert same, (p, q)
            assert math.copysign(1, value) == math.copysign(1, expected) or math.isnan(expected)


def test_integer_to_float_rounds_once() -> None:
    """2^60 + 2^36 + 1 is just above a tie of float32, which a detour over float64 would hit."""
    value = 2**60 + 2**36 + 1
    expected = float(np.int64(value).astype(np.float32))
    assert simple(UOp(Ops.CAST, (const(value, dtypes.int64),), F)).const_value == expected


CASTS = [
    (300, dtypes.int32, dtypes.int8, 44),
    (-1, dtypes.int32, dtypes.uint32, 2**32 - 1),
    (-2.75, F, dtypes.int32, -2),
    (-2.75, F, dtypes.uint8, 254),
    (math.nan, F, dtypes.bool, True),
    (0.0, F, dtypes.bool, False),
    (True, dtypes.bool, F, 1.0),
    (65520.0, F, dtypes.float16, math.inf),
    (500.0, F, dtypes.fp8e4m3, 448.0),
]


@pytest.mark.parametrize(("value", "source", "target", "expected"), CASTS)
def test_cast_of_a_constant(value: float, source: DType, target: DType, expected: float) -> None:
    assert simple(UOp(Ops.CAST, (const(value, source),), target)).const_value == expected


def test_unspecified_values_are_not_folded() -> None:
    for op in (Ops.FLOORDIV, Ops.FLOORMOD, Ops.CDIV, Ops.CMOD):
        node = UOp(op, (const(7, I), const(0, I)))
        assert simple(node) is node
    shift = UOp(Ops.SHL, (const(1, I), const(40, I)))
    assert simple(shift) is shift


KEPT = [
    ("x + 0.0 loses -0.0", x + const(0.0)),
    ("x - -0.0 loses -0.0", x - const(-0.0)),
    ("x * 0 may be NaN", x * const(0.0)),
    ("x - x may be NaN", UOp(Ops.SUB, (x, x))),
    ("x / x may be NaN", UOp(Ops.FDIV, (x, x))),
    ("x != x is the NaN test", UOp(Ops.CMPNE, (x, x))),
    ("x == x", UOp(Ops.CMPEQ, (x, x))),
    ("!(x < y) is not y <= x", UOp(Ops.CMPNE, (UOp(Ops.CMPLT, (x, const(1.0))), UOp.const(True)))),
    ("(x + 1) + 2 rounds twice", x + const(1.0) + const(2.0)),
    ("x / 3", UOp(Ops.FDIV, (x, const(3.0)))),
    ("(x*2)*3", x * const(2.0) * const(3.0)),
    ("half loses bits", UOp(Ops.CAST, (UOp(Ops.CAST, (x,), dtypes.float16),), F)),
    ("int32 to float32 loses bits", UOp(Ops.CAST, (UOp(Ops.CAST, (k,), F),), dtypes.float64)),
]


@pytest.mark.parametrize("node", [c[1] for c in KEPT], ids=[c[0] for c in KEPT])
def test_not_folded(node: UOp) -> None:
    assert graph_rewrite(node, symbolic) is node


not_b = UOp(Ops.CMPNE, (b, UOp.const(True)))
FOLDED = [
    ("x - 0.0", UOp(Ops.SUB, (x, const(0.0))), x),
    ("x + -0.0", UOp(Ops.ADD, (x, const(-0.0))), x),
    ("x * 1", UOp(Ops.MUL, (x, const(1.0))), x),
    ("1 * x", UOp(Ops.MUL, (const(1.0), x)), x),
    ("x / 1", UOp(Ops.FDIV, (x, const(1.0))), x),
    ("x / 4", UOp(Ops.FDIV, (x, const(4.0))), UOp(Ops.MUL, (x, const(0.25)))),
    ("x ** 1", UOp(Ops.POW, (x, const(1.0))), x),
    ("x ** 0", UOp(Ops.POW, (x, const(0.0))), const(1.0)),
    ("max(x, x)", UOp(Ops.MAX, (x, x)), x),
    ("x < x", UOp(Ops.CMPLT, (x, x)), UOp.const(False)),
    ("k + 0", UOp(Ops.ADD, (k, const(0, I))), k),
    ("k * 0", UOp(Ops.MUL, (k, const(0, I))), const(0, I)),
    ("k - k", UOp(Ops.SUB, (k, k)), const(0, I)),
    ("k ^ k", UOp(Ops.XOR, (k, k)), const(0, I)),
    ("k & -1", UOp(Ops.AND, (k, const(-1, I))), k),
    ("k | 0", UOp(Ops.OR, (k, const(0, I))), k),
    ("k << 0", UOp(Ops.SHL, (k, const(0, I))), k),
    ("!!b", UOp(Ops.CMPNE, (not_b, UOp.const(True))), b),
    ("b & !b", UOp(Ops.AND, (b, not_b)), UOp.const(False)),
    ("b | !b", UOp(Ops.OR, (not_b, b)), UOp.const(True)),
    ("b == True", UOp(Ops.CMPEQ, (b, UOp.const(True))), b),
    ("b == False", UOp(Ops.CMPEQ, (b, UOp.const(False))), not_b),
    ("!(x == 1)", UOp(Ops.CMPNE, (UOp(Ops.CMPEQ, (x, const(1.0))), UOp.const(True))), UOp(Ops.CMPNE, (x, const(1.0)))),
    ("where(b, x, x)", UOp(Ops.WHERE, (b, x, x)), x),
    ("where(True, x, 0)", UOp(Ops.WHERE, (UOp.const(True), x, const(0.0))), x),
    ("where(b, True, False)", UOp(Ops.WHERE, (b, UOp.const(True), UOp.const(False))), b),
    ("where(!b, x, 0)", UOp(Ops.WHERE, (not_b, x, const(0.0))), UOp(Ops.WHERE, (b, const(0.0), x))),
    ("cast to itself", UOp(Ops.CAST, (x,), F), x),
    ("widen and back", UOp(Ops.CAST, (UOp(Ops.CAST, (x,), dtypes.float64),), F), x),
    ("bool to int and back", UOp(Ops.CAST, (UOp(Ops.CAST, (b,), I),), dtypes.bool), b),
    ("narrow through a wider int", UOp(Ops.CAST, (UOp(Ops.CAST, (k,), dtypes.int64),), dtypes.int8), UOp(Ops.CAST, (k,), dtypes.int8)),
]  # fmt: skip


@pytest.mark.parametrize(("node", "expected"), [c[1:] for c in FOLDED], ids=[c[0] for c in FOLDED])
def test_folded(node: UOp, expected: UOp) -> None:
    assert render(simple(node)) == render(expected)
    assert simple(node) is expected


def test_shapes_are_kept() -> None:
    """A constant has no shape, so it does not stand for a vector."""
    lanes = UOp(Ops.STACK, (k, k + 1))
    for node in (UOp(Ops.MUL, (lanes, const(0, I))), UOp(Ops.CMPLT, (lanes, lanes))):
        assert graph_rewrite(node, symbolic).shape == (2,)
    picked = UOp(Ops.WHERE, (UOp.const(True), k, lanes))
    assert graph_rewrite(picked, symbolic).shape == (2,)


def test_division_by_a_power_of_two_is_exact() -> None:
    for exponent in (-149, -127, -126, -1, 1, 126, 127):
        divisor = 2.0**exponent
        node = simple(UOp(Ops.FDIV, (x, const(divisor))))
        if node.op is Ops.MUL:
            factor = node.src[1].const_value
            assert isinstance(factor, float)
            packed = struct.unpack("f", struct.pack("f", factor))[0]
            assert packed * divisor == 1.0
