"""Constant folding and identities that hold for every dtype, NaN, infinities and -0.0 included."""

from __future__ import annotations

import math

from tg_core.dtype import DType, Invalid, dtypes, truncate
from tg_core.uop.opcodes import GroupOp, Ops
from tg_core.uop.pattern import PatternMatcher, UPat
from tg_core.uop.symbolic.fold import cast_value, fold_alu
from tg_core.uop.uop import UOp

_INTEGRAL = (dtypes.bool, *dtypes.ints, dtypes.weakint)
_INT = (*dtypes.ints, dtypes.weakint)
_FLOATS = (*dtypes.floats, dtypes.weakfloat)

x, y = UPat.var("x"), UPat.var("y")
x_int = UPat.var("x", _INT)
x_bool = UPat.var("x", dtypes.bool)
x_float = UPat.var("x", _FLOATS)


def same_value(result: UOp, u: UOp) -> UOp | None:
    """Let `result` stand for `u`: cast to its dtype, or declined when it has another shape.

    Args:
        result: a source of `u` with its value.
        u: the node to be replaced.

    Returns:
        A node of the dtype and shape of `u`, or None.
    """
    if result.shape != u.shape:
        return None
    return result if result.dtype is u.dtype else UOp(Ops.CAST, (result,), u.dtype)


def same_const(value: bool | int | float, u: UOp) -> UOp | None:
    """Let a constant stand for `u`, unless `u` has a shape that the constant would lose."""
    return None if u.shape else UOp.const(value, u.dtype)


def fold_constants(u: UOp) -> UOp | None:
    """`op(constants) -> constant`, evaluated at the width of the result."""
    value = fold_alu(u)
    return None if value is None else UOp.const(value, u.dtype)


def fold_cast(u: UOp) -> UOp | None:
    """`cast(constant)` -> the constant as the dtype stores it, in canonical form."""
    source = u.src[0]
    if source.op is Ops.CONST:
        value = source.arg
        if type(value) is float and u.dtype.kind == "float":
            return None
    elif source.op is Ops.CAST:
        value = source.const_value
    else:
        return None
    if value is None or value is Invalid:
        return value if value is None else source
    stored = cast_value(value, u.dtype)
    result = UOp.const(stored, u.dtype)
    return None if result is u else result


def drop_same_cast(u: UOp, x: UOp) -> UOp | None:
    """`cast(x) -> x` where x already has the dtype."""
    return x if x.dtype is u.dtype else None


def merge_casts(u: UOp) -> UOp | None:
    """`cast(cast(x, a), b) -> cast(x, b)` where `a` holds every value of x.

    Also where all three are integers and b is no wider than a: both ways keep the low bits of x.
    """
    inner = u.src[0]
    source = inner.src[0]
    if _holds(source, inner.dtype) or _keeps_low_bits(source, inner, u):
        return source if source.dtype is u.dtype else UOp(Ops.CAST, (source,), u.dtype)
    return None


def _keeps_low_bits(source: UOp, inner: UOp, outer: UOp) -> bool:
    kinds = ("int", "uint")
    return (
        source.dtype.kind in ("int", "uint", "weakint")
        and inner.dtype.kind in kinds
        and outer.dtype.kind in kinds
        and outer.dtype.bits <= inner.dtype.bits
    )


def _holds(source: UOp, dtype: DType) -> bool:
    """Whether a cast of `source` to `dtype` loses nothing."""
    from_dtype = source.dtype
    if from_dtype is dtypes.bool:
        return not dtypes.is_bool(dtype)
    if dtypes.is_int(from_dtype):
        if dtype is dtypes.weakint:
            return True
        if dtypes.is_int(dtype):
            low, high = source.bounds
            return dtypes.min(dtype) <= low and high <= dtypes.max(dtype)
        if dtype.kind == "float":
            exact = 1 << (dtype.bits - dtype.exponent_bits)
            low, high = source.bounds
            # within the mantissa, and within the exponents of the narrowest floats
            return -exact <= low and high <= exact <= dtype.finite_max
        return False
    if dtypes.is_float(from_dtype):
        if dtype is dtypes.weakfloat:
            return True
        return dtype.kind == "float" and dtype in _WIDER_FLOATS.get(from_dtype, ())
    return False


_WIDER_FLOATS = {
    dtypes.float32: (dtypes.float64,),
    dtypes.float16: (dtypes.float32, dtypes.float64),
    dtypes.bfloat16: (dtypes.float32, dtypes.float64),
    **dict.fromkeys(dtypes.fp8s, (dtypes.float32, dtypes.float64)),
}


def bool_cast_as_comparison(u: UOp, x: UOp) -> UOp | None:
    """`cast(cast(b, int), bool) -> b`, `cast(x, bool) -> x != 0` for integers x."""
    if u.arg is not dtypes.bool or x.shape or not dtypes.is_int(x.dtype):
        return None
    return UOp(Ops.CMPNE, (x, UOp.const(0, x.dtype)))


def drop_bitcast(u: UOp, x: UOp) -> UOp | None:
    """`bitcast(x) -> x` where x already has the dtype."""
    return x if x.dtype is u.dtype else None


def merge_bitcasts(u: UOp, x: UOp) -> UOp | None:
    """`bitcast(bitcast(x)) -> bitcast(x)` between dtypes of one size."""
    if x.dtype.bits != u.dtype.bits or u.src[0].dtype.bits != u.dtype.bits:
        return None
    return x if x.dtype is u.dtype else UOp(Ops.BITCAST, (x,), u.dtype)


def keep_x(u: UOp, x: UOp) -> UOp | None:
    """`u -> x` where the operation does nothing to x."""
    return same_value(x, u)


def subtract_positive_zero(u: UOp, x: UOp, c: UOp) -> UOp | None:
    """`x - 0.0 -> x` and `x + -0.0 -> x` for floats: the zeros that keep the sign of a zero x."""
    value = c.const_value
    if not isinstance(value, (int, float)) or value != 0:
        return None
    negative = math.copysign(1.0, float(value)) < 0
    return same_value(x, u) if negative is (u.op is Ops.ADD) else None


def product_with_zero(u: UOp) -> UOp | None:
    """`x * 0 -> 0`, `x & 0 -> 0` for integers and bools, where no NaN or infinity can be."""
    return same_const(0, u)


def zero_of_difference(u: UOp) -> UOp | None:
    """`x - x -> 0`, `x ^ x -> 0` for integers and bools."""
    return same_const(0, u)


def all_ones(u: UOp) -> UOp | None:
    """`x | -1 -> -1` for integers."""
    return same_const(truncate(-1, u.dtype), u)


def always_true(u: UOp) -> UOp | None:
    """`b | True -> True`."""
    return same_const(True, u)


def divide_by_power_of_two(u: UOp, x: UOp, c: UOp) -> UOp | None:
    """`x / 2^k -> x * 2^-k` for floats: scaling by a power of two rounds the same way both ways.

    The dtype must hold the reciprocal exactly.
    """
    value = c.const_value
    if not isinstance(value, (int, float)) or value == 0 or not math.isfinite(value):
        return None
    reciprocal = 1.0 / value
    if abs(math.frexp(value)[0]) != 0.5 or truncate(reciprocal, u.dtype) != reciprocal:
        return None
    return UOp(Ops.MUL, (x, UOp.const(reciprocal, u.dtype)))


def power_of_one(u: UOp, x: UOp) -> UOp | None:
    """`x ** 1 -> x`."""
    return same_value(x, u)


def power_of_zero(u: UOp) -> UOp | None:
    """`x ** 0 -> 1`, NaN included, as IEEE 754 defines pow."""
    return same_const(1, u)


def choose_constant(u: UOp, c: UOp, x: UOp, y: UOp) -> UOp | None:
    """`where(True, x, y) -> x`, `where(False, x, y) -> y`."""
    value = c.const_value
    if value is Invalid or value is None:
        return None
    return same_value(x if value else y, u)


def where_same(u: UOp, x: UOp) -> UOp | None:
    """`where(c, x, x) -> x`."""
    return same_value(x, u)


def where_of_bools(u: UOp, c: UOp, x: UOp, y: UOp) -> UOp | None:
    """`where(c, True, False) -> c`, `where(c, False, True) -> !c`."""
    if x.arg is True and y.arg is False:
        return same_value(c, u)
    if x.arg is False and y.arg is True and not u.shape:
        return UOp(Ops.CMPNE, (c, UOp.const(True)))
    return None


def where_negated(c: UOp, x: UOp, y: UOp) -> UOp | None:
    """`where(!c, x, y) -> where(c, y, x)`; not where y is Invalid, which stays on the right."""
    return None if _is_invalid(y) else UOp(Ops.WHERE, (c, y, x))


def _is_invalid(u: UOp) -> bool:
    return u.op is Ops.CONST and u.arg is Invalid


def where_nested_same(u: UOp, c: UOp, a: UOp, d: UOp) -> UOp | None:
    """`where(c, where(c, a, b), d) -> where(c, a, d)`."""
    return same_value(UOp(Ops.WHERE, (c, a, d)), u)


def where_nested_else(u: UOp, c: UOp, a: UOp, d: UOp) -> UOp | None:
    """`where(c, a, where(c, b, d)) -> where(c, a, d)`."""
    return same_value(UOp(Ops.WHERE, (c, a, d)), u)


def where_both(c: UOp, d: UOp, a: UOp, b: UOp) -> UOp:
    """`where(c, where(d, a, b), b) -> where(c & d, a, b)`."""
    return UOp(Ops.WHERE, (UOp(Ops.AND, (c, d)), a, b))


def negation_of_negation(x: UOp) -> UOp:
    """`!!b -> b`."""
    return x


def negated_equality(x: UOp, y: UOp) -> UOp:
    """`!(x == y) -> x != y`, which holds for NaN as well."""
    return UOp(Ops.CMPNE, (x, y))


def negated_inequality(x: UOp, y: UOp) -> UOp:
    """`!(x != y) -> x == y`, which holds for NaN as well; negations themselves are left alone."""
    return UOp(Ops.CMPEQ, (x, y))


def compare_bool_with_constant(u: UOp, x: UOp, c: UOp) -> UOp | None:
    """`b == True -> b`, `b != False -> b`, `b == False -> !b`, with `!b` written `b != True`."""
    if c.arg is Invalid:
        return None
    keeps = bool(c.arg) is (u.op is Ops.CMPEQ)
    if keeps:
        return same_value(x, u)
    if u.op is Ops.CMPEQ or u.src[0] is c:
        return UOp(Ops.CMPNE, (x, UOp.const(True)))
    return None


def compare_with_itself(u: UOp, x: UOp) -> UOp | None:
    """`x < x -> False` for every dtype; `x != x -> False`, `x == x -> True` where no NaN can be."""
    if u.op is not Ops.CMPLT and dtypes.is_float(x.dtype):
        return None
    return same_const(u.op is Ops.CMPEQ, u)


def contradiction(u: UOp) -> UOp | None:
    """`b & !b -> False`."""
    return same_const(False, u)


def tautology(u: UOp) -> UOp | None:
    """`b | !b -> True`."""
    return same_const(True, u)


def constant_to_the_right(u: UOp, c: UOp, x: UOp) -> UOp | None:
    """`c op x -> x op c` for commutative operations."""
    return UOp(u.op, (x, c)) if x.op is not Ops.CONST and x.const_value is None else None


def shift_nothing(u: UOp, x: UOp) -> UOp | None:
    """`x << 0 -> x`, `x >> 0 -> x`."""
    return same_value(x, u)


_not_x = UPat(Ops.CMPNE, (x_bool, UPat.const(True)))
_c, _c_bool = UPat.var("c"), UPat.var("c", dtypes.bool)
_const_c, _const_x, _const_y = (UPat(Ops.CONST, name=n) for n in "cxy")
_equality = (Ops.CMPNE, Ops.CMPEQ)
_commutative = tuple(sorted(GroupOp.Commutative))

constant_folding = PatternMatcher(
    [
        (UPat(GroupOp.Unary, (UPat.cvar(),), name="u"), fold_constants),
        (UPat(GroupOp.Binary, (UPat.cvar(), UPat.cvar()), name="u"), fold_constants),
        (UPat(GroupOp.Ternary, (UPat.cvar(), UPat.cvar(), UPat.cvar()), name="u"), fold_constants),
        (UPat(Ops.CAST, name="u"), fold_cast),
    ]
)
"""Operations on constants."""

integer_identities = PatternMatcher(
    [
        (UPat((Ops.ADD, Ops.SUB), (x_int, UPat.const(0)), name="u"), keep_x),
        (UPat(Ops.MUL, (x_int, UPat.const(0)), name="u", dtype=_INT), product_with_zero),
        (UPat(Ops.SUB, (x_int, x_int), name="u"), zero_of_difference),
    ]
)
"""Identities of integers that canonical sums and products include."""

identities = PatternMatcher(
    [
        (UPat(Ops.CAST, (x,), name="u"), drop_same_cast),
        (UPat(Ops.CAST, (UPat(Ops.CAST),), name="u"), merge_casts),
        (UPat(Ops.CAST, (x,), name="u"), bool_cast_as_comparison),
        (UPat(Ops.BITCAST, (x,), name="u"), drop_bitcast),
        (UPat(Ops.BITCAST, (UPat(Ops.BITCAST, (x,)),), name="u"), merge_bitcasts),
        (UPat(_commutative, (UPat.cvar("c"), x), name="u"), constant_to_the_right),
        (UPat((Ops.ADD, Ops.SUB), (x_float, UPat.cvar("c")), name="u"), subtract_positive_zero),
        (UPat(Ops.MUL, (x, UPat.const(1)), name="u"), keep_x),
        (UPat(Ops.FDIV, (x_float, UPat.const(1)), name="u"), keep_x),
        (UPat(Ops.FDIV, (x_float, UPat.cvar("c")), name="u"), divide_by_power_of_two),
        (UPat((Ops.FLOORDIV, Ops.CDIV), (x_int, UPat.const(1)), name="u"), keep_x),
        (UPat(Ops.POW, (x, UPat.const(1)), name="u"), power_of_one),
        (UPat(Ops.POW, (x, UPat.const(0)), name="u"), power_of_zero),
        (UPat(Ops.MAX, (x, x), name="u"), keep_x),
        (UPat((Ops.SHL, Ops.SHR), (x, UPat.const(0)), name="u"), shift_nothing),
        (UPat((Ops.AND, Ops.OR), (x, x), name="u"), keep_x),
        (UPat(Ops.AND, (x, UPat.const(0)), name="u"), product_with_zero),
        (UPat(Ops.AND, (x_int, UPat.const(-1)), name="u"), keep_x),
        (UPat(Ops.AND, (x_bool, UPat.const(True)), name="u"), keep_x),
        (UPat(Ops.AND, [x_bool, _not_x], name="u"), contradiction),
        (UPat((Ops.OR, Ops.XOR), (x, UPat.const(0)), name="u"), keep_x),
        (UPat(Ops.OR, (x_int, UPat.const(-1)), name="u"), all_ones),
        (UPat(Ops.OR, (x_bool, UPat.const(True)), name="u"), always_true),
        (UPat(Ops.OR, [x_bool, _not_x], name="u"), tautology),
        (UPat(Ops.XOR, (x, x), name="u"), zero_of_difference),
        (UPat((Ops.CMPLT, *_equality), (x, x), name="u"), compare_with_itself),
        (UPat(_equality, [x_bool, _const_c], name="u"), compare_bool_with_constant),
        (UPat(Ops.CMPNE, (_not_x, UPat.const(True))), negation_of_negation),
        (UPat(Ops.CMPNE, (UPat(Ops.CMPEQ, (x, y)), UPat.const(True))), negated_equality),
        (
            UPat(Ops.CMPNE, (UPat(Ops.CMPNE, (x, y)), UPat.const(True))),
            negated_inequality,
        ),
        (UPat(Ops.WHERE, (UPat.cvar("c"), x, y), name="u"), choose_constant),
        (UPat(Ops.WHERE, (UPat.var(), x, x), name="u"), where_same),
        (UPat(Ops.WHERE, (_c, _const_x, _const_y), name="u", dtype=dtypes.bool), where_of_bools),
        (UPat(Ops.WHERE, (UPat(Ops.CMPNE, (_c_bool, UPat.const(True))), x, y)), where_negated),
    ]
)  # fmt: skip
"""Identities without conditions on bounds."""

_d, _a, _b = UPat.var("d"), UPat.var("a"), UPat.var("b")
nested_choices = PatternMatcher(
    [
        (UPat(Ops.WHERE, (_c, UPat(Ops.WHERE, (_c, _a, _b)), _d), name="u"), where_nested_same),
        (UPat(Ops.WHERE, (_c, _a, UPat(Ops.WHERE, (_c, _b, _d))), name="u"), where_nested_else),
        (UPat(Ops.WHERE, (_c, UPat(Ops.WHERE, (_d, _a, _b)), _b)), where_both),
    ]
)  # fmt: skip
"""Choices inside choices."""
