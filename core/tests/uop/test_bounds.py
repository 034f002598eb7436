"""The table of `spec/ir.md` section 3, and interval arithmetic against enumeration."""

from __future__ import annotations

import itertools
import math

import pytest
from uop_fuzz import Unspecified, evaluate

from tg_core.dtype import DType, dtypes, truncate
from tg_core.uop.ops import AxisType, Invalid, Ops, UOp

INT8 = (-128, 127)
INT32 = (-(2**31), 2**31 - 1)


def variable(low: float, high: float, dtype: DType) -> UOp:
    return UOp.variable("x", low, high, dtype)


TABLE = [
    ("float constant 4.5 cast to int", UOp.const(4.5).cast(dtypes.int32), (4, 4)),
    (
        "int x cast to float, bounds on the destination's grid",
        variable(2**24 + 1, 2**24 + 3, dtypes.int32).cast(dtypes.float32),
        (float(2**24), float(2**24 + 4)),
    ),
    (
        "float variable in [2e9, 3e9] cast to int32",
        variable(2e9, 3e9, dtypes.float32).cast(dtypes.int32),
        (2000000000, 2147483647),
    ),
    (
        "float variable in [3e9, 4e9] cast to int32",
        variable(3e9, 4e9, dtypes.float32).cast(dtypes.int32),
        INT32,
    ),
    (
        "float variable in [-4e9, -3e9] cast to int32",
        variable(-4e9, -3e9, dtypes.float32).cast(dtypes.int32),
        INT32,
    ),
    (
        "int variable in [200, 300] cast to int8",
        variable(200, 300, dtypes.int32).cast(dtypes.int8),
        INT8,
    ),
    ("constant 300 at int8", UOp.const(300, dtypes.int8), INT8),
    ("inf cast to int32", UOp.const(math.inf).cast(dtypes.int32), INT32),
    ("NaN constant", UOp.const(math.nan), (-math.inf, math.inf)),
    (
        "int variable in [5, 7] cast to weakfloat",
        variable(5, 7, dtypes.int32).cast(dtypes.weakfloat),
        (5, 7),
    ),
    (
        "unsigned destination, source within it",
        variable(3, 200, dtypes.int32).cast(dtypes.uint8),
        (3, 200),
    ),
]


@pytest.mark.parametrize(
    ("node", "expected"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE]
)
def test_required_result(node: UOp, expected: tuple[float, float]) -> None:
    assert node.bounds == expected


def test_out_of_range_floats_are_never_assumed_to_fit() -> None:
    """Devices wrap them: int32(3e9) is 3e9 - 2**32, which the clamped interval does not contain."""
    value = variable(0, 3_000_000_000, dtypes.int64)
    for source in (value.cast(dtypes.float64), value.cast(dtypes.float64) * 1.0):
        assert source.cast(dtypes.int32).bounds == INT32
    inside = variable(0, 2_000_000_000, dtypes.int64).cast(dtypes.float64)
    assert inside.cast(dtypes.int32).bounds == (0, 2_000_000_000)
    assert variable(-5, 5, dtypes.int32).cast(dtypes.float32).cast(dtypes.uint8).bounds == (0, 255)


_FLOAT_ENDS = (-3e19, -5e9, -(2.0**31), -70000.5, -129.0, -0.5, 0.0, 127.9, 300.0, 2.0**31, 2e19)


@pytest.mark.parametrize("dtype", dtypes.ints, ids=[d.name for d in dtypes.ints])
def test_bounds_contain_what_a_converted_float_becomes(dtype: DType) -> None:
    """Truncation and wrapping, for every interval between some ends, none of it of a variable."""
    inner = [x + d for x in _FLOAT_ENDS for d in (-1.25, 0.0, 1.25)]
    for low, high in itertools.combinations(_FLOAT_ENDS, 2):
        source = variable(low, high, dtypes.float64) * 1.0
        least, most = source.cast(dtype).bounds
        for value in inner:
            if low <= value <= high:
                assert least <= truncate(value, dtype) <= most, (low, high, value)


def test_no_program_takes_a_float_variable() -> None:
    """That is what lets the interval of one mean the part that fits."""
    with pytest.raises(ValueError, match="expected an integer variable, found PARAM of float32"):
        variable(2e9, 3e9, dtypes.float32).bind(2_500_000_000)


_DIVISIONS = (Ops.FLOORDIV, Ops.FLOORMOD, Ops.CDIV, Ops.CMOD)
_OTHERS = (Ops.ADD, Ops.SUB, Ops.MUL, Ops.MAX, Ops.AND, Ops.OR, Ops.XOR, Ops.CMPLT, Ops.CMPNE)
_ENDS = (-7, -4, -1, 0, 1, 3, 6)
_INTERVALS = [(a, b) for a, b in itertools.product(_ENDS, _ENDS) if a <= b]


@pytest.mark.parametrize("dtype", [dtypes.weakint, dtypes.int32, dtypes.int8])
@pytest.mark.parametrize("op", _DIVISIONS + _OTHERS)
def test_binary_bounds_contain_every_value(op: Ops, dtype: DType) -> None:
    """Every sign combination and zero crossing, by enumeration."""
    for (low_a, high_a), (low_b, high_b) in itertools.product(_INTERVALS, _INTERVALS):
        a = UOp.variable("a", low_a, high_a, dtype)
        b = UOp.variable("b", low_b, high_b, dtype)
        node = UOp(op, (a, b))
        low, high = node.bounds
        for x, y in itertools.product(range(low_a, high_a + 1), range(low_b, high_b + 1)):
            try:
                value = evaluate(node, {a: x, b: y})
            except Unspecified:
                continue
            assert low <= value <= high, (op, (low_a, high_a), (low_b, high_b), x, y)


@pytest.mark.parametrize("op", _DIVISIONS)
def test_division_bounds_by_a_constant_are_tight_enough(op: Ops) -> None:
    """A non-negative dividend and a positive divisor give the exact interval."""
    for high, divisor in itertools.product(range(40), range(1, 12)):
        a = UOp.variable("a", 0, high)
        values = [evaluate(UOp(op, (a, UOp.const(divisor))), {a: x}) for x in range(high + 1)]
        assert UOp(op, (a, UOp.const(divisor))).bounds == (min(values), max(values))


@pytest.mark.parametrize("dtype", [dtypes.int8, dtypes.uint8, dtypes.int16])
def test_arithmetic_that_may_wrap_knows_nothing(dtype: DType) -> None:
    whole = (dtypes.min(dtype), dtypes.max(dtype))
    x = UOp.variable("x", 100, 120, dtype)
    assert (x + UOp.const(1, dtype)).bounds == (101, 121)
    assert (x * UOp.const(1000, dtypes.int32).cast(dtype)).bounds == whole


def test_shifts() -> None:
    x = UOp.variable("x", -5, 9, dtypes.int32)
    assert UOp(Ops.SHL, (x, UOp.const(2, dtypes.int32))).bounds == (-20, 36)
    assert UOp(Ops.SHR, (x, UOp.const(1, dtypes.int32))).bounds == (-3, 4)
    amount = UOp.variable("s", 0, 40, dtypes.int32)
    assert UOp(Ops.SHR, (x, amount)).bounds == INT32


def test_ranges_specials_and_bound_variables() -> None:
    n = UOp.variable("n", 2, 9)
    assert UOp.range(n, 0).bounds == (0, 8)
    assert UOp.special(16, "gidx0").bounds == (0, 15)
    assert n.bind(5).bounds == (2, 9), "a bound value must not enter the compiled form"
    assert UOp.range(0, 1).bounds == (0, 0)


def test_masks_narrow() -> None:
    r = UOp.range(10, 0)
    assert UOp(Ops.WHERE, (r < 4, r, UOp.const(Invalid))).bounds == (0, 3)
    assert UOp(Ops.WHERE, (UOp.const(6) < r, r, UOp.const(Invalid))).bounds == (7, 9)
    assert UOp(Ops.WHERE, (r < 4, r, UOp.const(2))).bounds == (0, 3)
    assert UOp(Ops.WHERE, (r < 4, UOp.const(1), UOp.const(20))).bounds == (1, 20)


def test_comparisons_decide() -> None:
    r = UOp.range(10, 0)
    assert (r < 10).bounds == (True, True)
    assert (r < 0).bounds == (False, False)
    assert r.ne(10).bounds == (True, True)
    assert r.eq(12).bounds == (False, False)
    assert (r < 5).bounds == (False, True)


def test_unknown_floats_never_decide() -> None:
    x = UOp.param(0, dtypes.float32, (4,)).index(UOp.const(0)).load()
    assert x.bounds == (-math.inf, math.inf)
    assert (x < math.inf).bounds == (False, True)
    assert x.ne(x).bounds == (False, True)
    assert UOp(Ops.MAX, (x, UOp.const(0.0, dtypes.float32))).bounds == (-math.inf, math.inf)
    assert x.sqrt().bounds == (-math.inf, math.inf)


def test_finite_floats() -> None:
    x = UOp.variable("x", 1.0, 4.0, dtypes.float32)
    assert (x + x).bounds == (2.0, 8.0)
    assert x.sqrt().bounds == (1.0, 2.0)
    tenth = UOp.const(0.1, dtypes.float32)
    assert tenth.bounds == (truncate(0.1, dtypes.float32),) * 2


def test_bitcast_between_signs() -> None:
    negative = UOp.variable("c", -128, -113, dtypes.int8)
    assert negative.bitcast(dtypes.uint8).bounds == (128, 143)
    assert UOp.variable("c", -1, 1, dtypes.int8).bitcast(dtypes.uint8).bounds == (0, 255)
    assert UOp.variable("c", 128, 140, dtypes.uint8).bitcast(dtypes.int8).bounds == (-128, -116)


def test_integer_reductions() -> None:
    r = UOp.range(5, 0, AxisType.REDUCE)
    n = UOp.range(UOp.variable("n", 1, 4), 1, AxisType.REDUCE)
    value = UOp.variable("v", -2, 3)
    assert value.reduce(Ops.ADD, r).bounds == (-10, 15)
    assert value.reduce(Ops.ADD, r, n).bounds == (-40, 60)
    assert value.reduce(Ops.MAX, r).bounds == (-2, 3)


def test_long_products_stay_small() -> None:
    """A chain of squarings does not build numbers of a million digits."""
    x = UOp.variable("x", 2, 1000)
    for _ in range(64):
        x = x * x
    assert x.bounds == (-(2**127), 2**127)


def test_flipping_all_bits_of_an_unsigned_value() -> None:
    low, high = UOp.variable("u", 3, 9, dtypes.uint8), UOp.const(-1)
    flipped = UOp(Ops.XOR, (low, high))
    assert (flipped.vmin, flipped.vmax) == (255 - 9, 255 - 3)


@pytest.mark.parametrize("op", [Ops.FLOORDIV, Ops.CDIV, Ops.FLOORMOD, Ops.CMOD])
@pytest.mark.parametrize("divisor", [3.7, -3.7, 0.5])
def test_float_quotients_and_remainders_have_no_integer_bounds(op: Ops, divisor: float) -> None:
    x = variable(0.0, 10.0, dtypes.float32)
    node = x.alu(op, UOp.const(divisor, dtypes.float32))
    assert node.bounds == (-math.inf, math.inf)
