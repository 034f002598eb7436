"""CMOD, FLOORMOD and FLOORDIV of floats from arithmetic: remainders are exact for every operand.

With mantissas m and exponents e as integers, a = ma * 2^ea and b = mb * 2^eb, the remainder is
(ma * 2^(ea - eb) mod mb) * 2^eb. The power of two comes from repeated squaring modulo mb; residues
are kept within half of mb in size, so that floats hold them, quotients and differences exactly.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Final

from tg_core.codegen.decompositions.error_free import Pair, exact_product, fused_product
from tg_core.codegen.decompositions.utils import (
    LAYOUTS,
    choose,
    is_equal,
    is_nan,
    less,
    lit,
    magnitude,
    negate,
    power_of_two,
    shift_right,
)
from tg_core.dtype import InvalidType, dtypes
from tg_core.uop.ops import Ops, PatternMatcher, UOp, UPat

Product = Callable[[UOp, UOp], Pair]

# how many of the lowest bits of the difference of exponents are left to squaring: what is above
# them is less than the number of mantissa bits, so that the power of two is a whole float
_SQUARINGS: Final = {dtypes.float32: 4, dtypes.float64: 6}


def _whole_part(x: UOp) -> tuple[UOp, UOp]:
    """Return a positive finite float as (whole float, exponent field): the value is
    `whole * 2^(field - bias - mantissa bits)`.
    """
    layout = LAYOUTS[x.dtype]
    bits = x.bitcast(layout.integer)
    field = shift_right(bits, layout.mantissa_bits)
    fraction = bits & lit((1 << layout.mantissa_bits) - 1, bits)
    one = layout.bias + layout.mantissa_bits << layout.mantissa_bits
    whole = (fraction | lit(one, bits)).bitcast(x.dtype)
    subnormal = is_equal(field, 0)
    hidden = lit(2.0**layout.mantissa_bits, x)
    return choose(subnormal, whole - hidden, whole), choose(subnormal, lit(1, field), field)


def _nearest_whole(x: UOp) -> UOp:
    """Return a float below half of 2^(mantissa bits) rounded to a whole one, either at a tie."""
    half = lit(0.5, x)
    return UOp(Ops.TRUNC, (x + choose(less(x, lit(0.0, x)), lit(-0.5, x), half),))


def _centered(x: UOp, modulus: UOp) -> UOp:
    """Return `x` or its neighbour one modulus away, at most half a modulus from zero."""
    half = modulus * lit(0.5, modulus)
    lowered = choose(less(half, x), x - modulus, x)
    return choose(less(x, half * lit(-1.0, half)), x + modulus, lowered)


def _reduced(value: Pair, modulus: UOp, product: Product) -> UOp:
    """Return a whole number, given as a sum of two floats, modulo another, less than it in size."""
    quotient = _nearest_whole(value[0] / modulus)
    back, error = product(quotient, modulus)
    return (value[0] - back) + (value[1] - error)


def _remainder_of_sizes(a: UOp, b: UOp, product: Product) -> UOp:
    """Return the remainder of positive finite floats with `a >= b`."""
    layout, squarings = LAYOUTS[a.dtype], _SQUARINGS[a.dtype]
    (dividend, high), (modulus, low) = _whole_part(a), _whole_part(b)
    distance = high - low
    zero = lit(0.0, a)
    power = power_of_two(shift_right(distance, squarings), a.dtype)
    power = _centered(_reduced((power, zero), modulus, product), modulus)
    for bit in reversed(range(squarings)):
        power = _centered(_reduced(product(power, power), modulus, product), modulus)
        is_set = negate(is_equal(distance & lit(1 << bit, distance), 0))
        power = choose(is_set, _centered(power + power, modulus), power)
    dividend = _centered(_reduced((dividend, zero), modulus, product), modulus)
    rest = _reduced(product(dividend, power), modulus, product)
    rest = choose(less(rest, zero), rest + modulus, rest)
    # in two steps, since the least power of two is no normal number
    scale = low - lit(layout.bias + layout.mantissa_bits, low)
    half = shift_right(scale, 1)
    return rest * power_of_two(half, a.dtype) * power_of_two(scale - half, a.dtype)


def _with_sign_of(size: UOp, signed: UOp) -> UOp:
    layout = LAYOUTS[size.dtype]
    bits = signed.bitcast(layout.unsigned)
    sign = bits & lit(1 << (size.dtype.bits - 1), bits)
    return (size.bitcast(layout.unsigned) | sign).bitcast(size.dtype)


def _easy_divisor(b: UOp) -> bool:
    """Tell whether this is a constant power of two that no quotient overflows by."""
    value = b.const_value
    if value is None or isinstance(value, InvalidType) or not 1.0 <= abs(value) < 2.0**100:
        return False
    return math.frexp(value)[0] in (0.5, -0.5)


def truncated_remainder(a: UOp, b: UOp, product: Product = exact_product) -> UOp:
    """CMOD(a, b) of floats -> a - trunc(a / b) * b without rounding, with the sign of `a`.

    NaN for an infinite dividend and a zero divisor; the dividend itself for an infinite divisor.
    """
    if _easy_divisor(b):
        rest = a - UOp(Ops.TRUNC, (a / b,)) * b
        return _with_sign_of(magnitude(rest), a)
    dividend, divisor = magnitude(a), magnitude(b)
    infinity = lit(math.inf, a)
    rest = _remainder_of_sizes(dividend, divisor, product)
    rest = choose(less(dividend, divisor), dividend, rest)
    invalid = is_equal(divisor, 0.0) | negate(less(dividend, infinity)) | is_nan(b)
    return _with_sign_of(choose(invalid, lit(math.nan, a), rest), a)


def _is_negative(x: UOp) -> UOp:
    return less(x, lit(0.0, x))


def _has_other_sign(rest: UOp, x: UOp) -> UOp:
    nonzero = negate(is_equal(rest, 0.0))
    return nonzero & UOp(Ops.CMPNE, (_is_negative(rest), _is_negative(x)))


def floor_remainder(a: UOp, b: UOp, product: Product = exact_product) -> UOp:
    """FLOORMOD(a, b) of floats -> CMOD(a, b), plus b where it has the other sign than b; a zero has
    the sign of b, too.
    """
    rest = truncated_remainder(a, b, product)
    moved = choose(_has_other_sign(rest, b), rest + b, rest)
    return _with_sign_of(magnitude(moved), b)


def floor_quotient(a: UOp, b: UOp, product: Product = exact_product) -> UOp:
    """FLOORDIV(a, b) of floats -> the quotient of `a` without its remainder, which is whole.

    So a quotient that would round up to the next whole number does not count; an infinite dividend
    gives NaN, as its remainder is, and a zero divisor what division gives.
    """
    rest = truncated_remainder(a, b, product)
    quotient = (a - rest) / b
    quotient = choose(_has_other_sign(rest, b), quotient - lit(1.0, a), quotient)
    # the division rounds: the whole number next to its result is meant
    whole = UOp(Ops.TRUNC, (quotient,))
    floor = choose(less(quotient, whole), whole - lit(1.0, a), whole)
    floor = choose(less(lit(0.5, a), quotient - floor), floor + lit(1.0, a), floor)
    plain = a / b
    floor = choose(is_equal(quotient, 0.0), _with_sign_of(lit(0.0, a), plain), floor)
    return choose(is_equal(b, 0.0), plain, floor)


@cache
def float_division_rules(fused: bool) -> PatternMatcher:
    """Return the rules, for targets with or without a MULACC that rounds once."""
    product = fused_product if fused else exact_product

    def remainder(a: UOp, b: UOp) -> UOp:
        return truncated_remainder(a, b, product)

    def floored_remainder(a: UOp, b: UOp) -> UOp:
        return floor_remainder(a, b, product)

    def floored_quotient(a: UOp, b: UOp) -> UOp:
        return floor_quotient(a, b, product)

    operands, floats = (UPat.var("a"), UPat.var("b")), tuple(LAYOUTS)
    return PatternMatcher(
        [
            (UPat(Ops.CMOD, operands, dtype=floats), remainder),
            (UPat(Ops.FLOORMOD, operands, dtype=floats), floored_remainder),
            (UPat(Ops.FLOORDIV, operands, dtype=floats), floored_quotient),
        ]
    )
