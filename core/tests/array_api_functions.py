"""The table of the array API judge: what arguments each function gets and how results compare."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from array_api_cases import (
    ALL,
    BOOL,
    FLOATS,
    INTS,
    NUMBERS,
    SIGNED,
    UNSIGNED,
    Case,
    D,
    Draw,
    Exact,
    Scaled,
    Ulps,
    array,
    axes_of,
    axis_of,
    element,
    partner_dtype,
    partner_shape,
    shape_of,
)
from hypothesis import strategies as st

Args = tuple[tuple[Any, ...], dict[str, Any]]
Arguments = Callable[[Draw], Args]
Compare = Exact | Ulps | Scaled

FUNCTIONS: dict[str, tuple[Arguments, Compare]] = {}


def pick(draw: Draw, names: tuple[str, ...]) -> str:
    return str(draw(st.sampled_from(names)))


def add(names: str, arguments: Arguments, compare: Compare) -> None:
    for name in names.split():
        FUNCTIONS[name] = (arguments, compare)


# Elementwise functions.


def unary(dtypes: tuple[str, ...], low: float = -8, high: float = 8) -> Arguments:
    def arguments(draw: Draw) -> Args:
        return (array(draw, pick(draw, dtypes), shape_of(draw), True, low, high),), {}

    return arguments


def binary(
    dtypes: tuple[str, ...],
    low: float = -8,
    high: float = 8,
    special: bool = True,
    scalars: bool = True,
) -> Arguments:
    def arguments(draw: Draw) -> Args:
        dtype, shape = pick(draw, dtypes), shape_of(draw)
        first = array(draw, dtype, shape, special, low, high)
        choice = draw(st.integers(0, 5)) if scalars else 5
        if choice < 2:
            least = max(low, 0) if dtype in UNSIGNED else low
            number = element(draw, dtype, special and dtype in FLOATS, least, high)
            if dtype in FLOATS and draw(st.booleans()):
                number = draw(st.integers(max(1, int(low)), int(high)))
            return ((first, number) if choice else (number, first)), {}
        other = partner_dtype(draw, dtype, dtypes)
        return (first, array(draw, other, partner_shape(draw, shape), special, low, high)), {}

    return arguments


def shifts(draw: Draw) -> Args:
    dtype, shape = pick(draw, INTS), shape_of(draw)
    first = array(draw, dtype, shape)
    other = partner_dtype(draw, dtype, INTS)
    amounts = array(draw, other, partner_shape(draw, shape), False, 0, 7)
    return (first, int(draw(st.integers(0, 7))) if draw(st.booleans()) else amounts), {}


def divisions(draw: Draw) -> Args:
    """Integer division by zero is left open by the standard."""
    args, _ = binary(NUMBERS, low=-8, high=8)(draw)
    left, right = args
    kind = np.asarray(left if isinstance(left, np.ndarray) else right).dtype.kind
    if kind != "f":
        if isinstance(right, np.ndarray):
            right = np.where((right == 0) | (right == -1), right.dtype.type(3), right)
        elif right in (0, -1):
            right = 3
    return (left, right), {}


def powers(draw: Draw) -> Args:
    if draw(st.booleans()):
        return binary(FLOATS)(draw)
    return binary(INTS, low=0, high=5, special=False)(draw)


def clips(draw: Draw) -> Args:
    dtype, shape = pick(draw, NUMBERS), shape_of(draw)
    value = array(draw, dtype, shape)
    limits: list[Any] = []
    for low, high in ((-6, 0), (1, 6)):
        choice = draw(st.integers(0, 2))
        if choice == 0:
            limits.append(None)
        elif choice == 1:
            limits.append(
                element(draw, dtype, False, max(low, 0) if dtype in UNSIGNED else low, high)
            )
        else:
            limits.append(array(draw, dtype, partner_shape(draw, shape), False, low, high))
    if draw(st.booleans()):
        return (value, *limits), {}
    return (value,), {"min": limits[0], "max": limits[1]}


def wheres(draw: Draw) -> Args:
    (first, second), _ = binary(ALL)(draw)
    shape = first.shape if isinstance(first, np.ndarray) else second.shape
    return (array(draw, "bool", partner_shape(draw, shape)), first, second), {}


add("abs negative positive", unary(NUMBERS), Exact())
add("sign square", unary(NUMBERS), Exact())
add("ceil floor trunc round", unary(NUMBERS), Exact())
add("conj real", unary(FLOATS), Exact())
add("signbit", unary(FLOATS), Exact())
add("isfinite isinf isnan", unary(NUMBERS), Exact())
add("logical_not", unary(BOOL), Exact())
add("bitwise_invert", unary(BOOL + INTS), Exact())
add("reciprocal sqrt", unary(FLOATS), Ulps(1))
add("exp expm1 log log1p log2 log10", unary(FLOATS), Ulps(4))
add("acos asin atanh", unary(FLOATS, -1, 1), Ulps(4))
add("acosh asinh atan cosh sinh tanh", unary(FLOATS), Ulps(4))
add("cos sin tan", unary(FLOATS), Ulps(4))
add("add multiply subtract", binary(NUMBERS), Exact())
add("divide", binary(FLOATS), Ulps(1))
add("floor_divide remainder", divisions, Ulps(1))
add("pow", powers, Ulps(4))
add("equal not_equal", binary(ALL), Exact())
add("greater greater_equal less less_equal", binary(NUMBERS), Exact())
add("logical_and logical_or logical_xor", binary(BOOL), Exact())
add("bitwise_and bitwise_or bitwise_xor", binary(BOOL + INTS), Exact())
add("bitwise_left_shift bitwise_right_shift", shifts, Exact())
add("maximum minimum", binary(NUMBERS), Exact(zeros=False))
add("copysign nextafter", binary(FLOATS), Exact())
add("hypot logaddexp atan2", binary(FLOATS), Ulps(4))
add("clip", clips, Exact(zeros=False))
add("where", wheres, Exact())

# Creation functions.


def dtype_or_none(draw: Draw, dtypes: tuple[str, ...] = NUMBERS) -> Any:
    return D(pick(draw, dtypes)) if draw(st.booleans()) else None


def asarrays(draw: Draw) -> Args:
    choice = draw(st.integers(0, 3))
    if choice == 0:
        return (element(draw, pick(draw, ("bool", "int8", "float32")), False, -8, 8),), {}
    if choice == 1:
        kind = pick(draw, ("bool", "int8", "float32"))
        return (array(draw, kind, shape_of(draw, 1, empty=False), False).tolist(),), {}
    value = array(draw, pick(draw, ALL), shape_of(draw))
    return (value,), {"copy": draw(st.sampled_from((None, True)))}


def aranges(draw: Draw) -> Args:
    numbers = draw(st.lists(st.integers(-6, 12), min_size=1, max_size=2))
    kwargs = {"dtype": dtype_or_none(draw, SIGNED + FLOATS)}
    if len(numbers) == 2 and draw(st.booleans()):
        return (*numbers, draw(st.sampled_from((1, 2, -1, -3, 5)))), kwargs
    if draw(st.booleans()):
        floats = [number / 2 for number in numbers]
        return tuple(floats), {"dtype": dtype_or_none(draw, FLOATS)}
    return tuple(numbers), kwargs


def shape_argument(draw: Draw) -> Any:
    shape = shape_of(draw)
    return shape[0] if len(shape) == 1 and draw(st.booleans()) else shape


def shaped(draw: Draw) -> Args:
    return (shape_argument(draw),), {"dtype": dtype_or_none(draw, ALL)}


def shaped_like(draw: Draw) -> Args:
    value = array(draw, pick(draw, ALL), shape_of(draw), False)
    return (value,), {"dtype": dtype_or_none(draw, ALL)}


def fulls(draw: Draw) -> Args:
    kind = pick(draw, ("bool", "int8", "float32"))
    value = element(draw, kind, False, 0, 8)
    kinds = {"bool": BOOL, "int8": INTS, "float32": FLOATS}[kind]
    return (shape_argument(draw), value), {"dtype": dtype_or_none(draw, kinds)}


def fulls_like(draw: Draw) -> Args:
    dtype = pick(draw, ALL)
    value = array(draw, dtype, shape_of(draw), False)
    return (value, element(draw, dtype, False, 0, 8)), {}


def eyes(draw: Draw) -> Args:
    kwargs = {"k": draw(st.integers(-4, 4)), "dtype": dtype_or_none(draw)}
    sizes = draw(st.lists(st.integers(0, 4), min_size=1, max_size=2))
    return tuple(sizes), kwargs


def linspaces(draw: Draw) -> Args:
    number = st.one_of(st.integers(-9, 9), st.floats(-9, 9, width=32, allow_subnormal=False))
    kwargs = {"endpoint": draw(st.booleans()), "dtype": dtype_or_none(draw, FLOATS)}
    return (draw(number), draw(number), draw(st.sampled_from((0, 1, 2, 5)))), kwargs


def meshgrids(draw: Draw) -> Args:
    dtype = pick(draw, NUMBERS)
    vectors = [
        array(draw, dtype, (draw(st.sampled_from((1, 3, 4))),))
        for _ in range(draw(st.integers(1, 3)))
    ]
    return tuple(vectors), {"indexing": draw(st.sampled_from(("xy", "ij")))}


def triangles(draw: Draw) -> Args:
    return (array(draw, pick(draw, ALL), shape_of(draw, 2)),), {"k": draw(st.integers(-3, 3))}


add("asarray", asarrays, Exact())
add("arange", aranges, Ulps(2))
add("empty zeros ones", shaped, Exact())
add("empty_like zeros_like ones_like", shaped_like, Exact())
add("full", fulls, Exact())
add("full_like", fulls_like, Exact())
add("eye", eyes, Exact())
add("linspace", linspaces, Scaled(2))
add("meshgrid", meshgrids, Exact())
add("tril triu", triangles, Exact())

# Data types.


def casts(draw: Draw) -> Args:
    """Values that the target cannot hold are left open by the standard."""
    source, target = pick(draw, ALL), pick(draw, ALL)
    low = 0 if target in UNSIGNED else -8
    special = (source in FLOATS and target in (*FLOATS, "bool")) or source in BOOL
    return (array(draw, source, shape_of(draw), special, low), D(target)), {}


def cast_checks(draw: Draw) -> Args:
    source = pick(draw, ALL)
    given: Any = D(source) if draw(st.booleans()) else array(draw, source, (1,), False)
    return (given, D(pick(draw, ALL))), {}


def result_types(draw: Draw) -> Args:
    first = pick(draw, ALL)
    given: list[Any] = []
    for _ in range(draw(st.integers(1, 3))):
        name = partner_dtype(draw, first, ALL)
        given.append(D(name) if draw(st.booleans()) else array(draw, name, (1,), False))
    if draw(st.booleans()):
        given.append({"b": True, "i": 1, "u": 1, "f": 0.5}[np.dtype(first).kind])
    return tuple(given), {}


def kinds(draw: Draw) -> Args:
    names = (
        "bool",
        "signed integer",
        "unsigned integer",
        "integral",
        "real floating",
        "complex floating",
        "numeric",
    )
    choices = [*names, *(D(name) for name in ALL)]
    found = tuple(draw(st.lists(st.sampled_from(choices), min_size=1, max_size=3)))
    return (D(pick(draw, ALL)), found[0] if len(found) == 1 else found), {}


add("astype", casts, Exact())
add("can_cast", cast_checks, Exact())
add("result_type", result_types, Exact())
add("isdtype", kinds, Exact())
add("finfo", lambda draw: ((D(pick(draw, FLOATS)),), {}), Exact())
add("iinfo", lambda draw: ((D(pick(draw, INTS)),), {}), Exact())

# Indexing, manipulation, searching, sets and sorting.


def takes(draw: Draw) -> Args:
    value = array(draw, pick(draw, ALL), shape_of(draw, 1, empty=False))
    axis = axis_of(draw, value.ndim)
    size = value.shape[axis]
    places = np.array(draw(st.lists(st.integers(0, size - 1), min_size=3, max_size=3)))
    kwargs = {} if value.ndim == 1 and draw(st.booleans()) else {"axis": axis}
    return (value, places.astype(pick(draw, ("int32", "int64", "uint8")))), kwargs


def takes_along(draw: Draw) -> Args:
    value = array(draw, pick(draw, ALL), shape_of(draw, 1, empty=False))
    axis = axis_of(draw, value.ndim)
    shape = list(value.shape)
    shape[axis] = 2
    size = value.shape[axis]
    return (value, array(draw, "int64", tuple(shape), False, 0, size - 1)), {"axis": axis}


def several(draw: Draw, stacked: bool) -> Args:
    dtype, shape = pick(draw, ALL), shape_of(draw, 0 if stacked else 1)
    count = draw(st.integers(1, 3))
    arrays = [array(draw, partner_dtype(draw, dtype, ALL), shape) for _ in range(count)]
    if stacked:
        return (arrays,), {"axis": axis_of(draw, len(shape) + 1)}
    axis = None if draw(st.integers(0, 3)) == 0 else axis_of(draw, len(shape))
    return (arrays,), {"axis": axis}


def moved(draw: Draw) -> Args:
    value = array(draw, pick(draw, NUMBERS), shape_of(draw, 1))
    if draw(st.booleans()):
        return (value, axis_of(draw, value.ndim), axis_of(draw, value.ndim)), {}
    count = draw(st.integers(1, value.ndim))
    places = [tuple(draw(st.permutations(range(value.ndim)))[:count]) for _ in range(2)]
    return (value, *places), {}


def permuted(draw: Draw) -> Args:
    value = array(draw, pick(draw, NUMBERS), shape_of(draw))
    return (value, tuple(draw(st.permutations(range(value.ndim))))), {}


def one_axis(least: int = 1, dtypes: tuple[str, ...] = ALL, empty: bool = True) -> Arguments:
    def arguments(draw: Draw) -> Args:
        value = array(draw, pick(draw, dtypes), shape_of(draw, least, empty=empty))
        return (value,), {"axis": axis_of(draw, value.ndim)}

    return arguments


def broadcasts(draw: Draw) -> Args:
    shape = shape_of(draw)
    return (array(draw, pick(draw, ALL), partner_shape(draw, shape)), shape), {}


def broadcast_pairs(draw: Draw) -> Args:
    (first, second), _ = binary(ALL, scalars=False)(draw)
    return (first, second), {}


def expansions(draw: Draw) -> Args:
    value = array(draw, pick(draw, ALL), shape_of(draw))
    return (value,), {"axis": axis_of(draw, value.ndim + 1)}


def flips(draw: Draw) -> Args:
    value = array(draw, pick(draw, ALL), shape_of(draw))
    return (value,), {"axis": axes_of(draw, value.ndim)}


def repeats(draw: Draw) -> Args:
    value = array(draw, pick(draw, ALL), shape_of(draw, 1, empty=False))
    axis = None if draw(st.booleans()) else axis_of(draw, value.ndim)
    if draw(st.booleans()):
        return (value, draw(st.integers(0, 3))), {"axis": axis}
    size = value.size if axis is None else value.shape[axis]
    return (value, array(draw, "int64", (size,), False, 0, 3)), {"axis": axis}


def reshapes(draw: Draw) -> Args:
    value = array(draw, pick(draw, ALL), shape_of(draw))
    targets = [(value.size,), (1, value.size), (-1,), (value.size, 1, 1)]
    kwargs = {"copy": True} if draw(st.booleans()) else {}
    return (value, draw(st.sampled_from(targets))), kwargs


def rolls(draw: Draw) -> Args:
    value = array(draw, pick(draw, ALL), shape_of(draw, 1))
    if value.ndim > 1 and draw(st.booleans()):
        return (value, (draw(st.integers(-4, 4)), 1)), {"axis": (0, 1)}
    axis = None if draw(st.booleans()) else axis_of(draw, value.ndim)
    return (value, draw(st.integers(-5, 5))), {"axis": axis}


def squeezes(draw: Draw) -> Args:
    value = array(draw, pick(draw, ALL), shape_of(draw, 1))
    fitting = [axis for axis, size in enumerate(value.shape) if size == 1]
    return (value, draw(st.sampled_from([*fitting, tuple(fitting)]))), {}


def tiles(draw: Draw) -> Args:
    value = array(draw, pick(draw, ALL), shape_of(draw))
    return (value, tuple(draw(st.lists(st.integers(0, 3), max_size=3)))), {}


def unstacks(draw: Draw) -> Args:
    value = array(draw, pick(draw, ALL), shape_of(draw, 1, empty=False))
    return (value,), {"axis": axis_of(draw, value.ndim)}


def extremes(draw: Draw) -> Args:
    value = array(draw, pick(draw, NUMBERS), shape_of(draw, empty=False))
    axis = None if not value.ndim or draw(st.booleans()) else axis_of(draw, value.ndim)
    return (value,), {"axis": axis, "keepdims": draw(st.booleans())}


def nonzeros(draw: Draw) -> Args:
    return (array(draw, pick(draw, ALL), shape_of(draw, 1), False, -1, 1),), {}


def insertions(draw: Draw) -> Args:
    dtype = pick(draw, NUMBERS)
    places = np.sort(array(draw, dtype, (draw(st.sampled_from((0, 1, 4))),)))
    kwargs: dict[str, Any] = {"side": draw(st.sampled_from(("left", "right")))}
    if draw(st.booleans()):
        order = np.array(draw(st.permutations(range(len(places)))), dtype=np.int64)
        unsorted = np.empty_like(places)
        unsorted[order] = places
        places, kwargs["sorter"] = unsorted, order
    return (places, array(draw, dtype, shape_of(draw))), kwargs


def uniques(draw: Draw) -> Args:
    return (array(draw, pick(draw, ALL), shape_of(draw), draw(st.booleans()), 0, 2),), {}


def sorts(draw: Draw) -> Args:
    """Where NaN goes is left open by the standard."""
    dtype, shape = pick(draw, NUMBERS), shape_of(draw, 1)
    value = array(draw, dtype, shape, dtype not in FLOATS, -3, 3)
    return (value,), {"axis": axis_of(draw, value.ndim), "descending": draw(st.booleans())}


add("take", takes, Exact())
add("take_along_axis", takes_along, Exact())
add("concat", lambda draw: several(draw, False), Exact())
add("stack", lambda draw: several(draw, True), Exact())
add("moveaxis", moved, Exact())
add("permute_dims", permuted, Exact())
add("broadcast_to", broadcasts, Exact())
add("broadcast_arrays", broadcast_pairs, Exact())
add("expand_dims", expansions, Exact())
add("flip", flips, Exact())
add("repeat", repeats, Exact())
add("reshape", reshapes, Exact())
add("roll", rolls, Exact())
add("squeeze", squeezes, Exact())
add("tile", tiles, Exact())
add("unstack", unstacks, Exact())
add("argmax argmin", extremes, Exact())
add("count_nonzero", lambda draw: reduced(ALL)(draw), Exact())
add("nonzero", nonzeros, Exact())
add("searchsorted", insertions, Exact())
add("unique_all unique_counts unique_inverse unique_values", uniques, Exact(zeros=False))
add("argsort", sorts, Exact())
add("sort", sorts, Exact(zeros=False))

# Statistics and utilities.


def reduced(dtypes: tuple[str, ...], empty: bool = True, low: float = -8, **more: Any) -> Arguments:
    def arguments(draw: Draw) -> Args:
        dtype = pick(draw, dtypes)
        special = more.get("special", True) and draw(st.booleans())
        value = array(draw, dtype, shape_of(draw, empty=empty), special, low)
        kwargs: dict[str, Any] = {
            "axis": axes_of(draw, value.ndim),
            "keepdims": draw(st.booleans()),
        }
        if "targets" in more and draw(st.booleans()):
            kwargs["dtype"] = D(partner_dtype(draw, dtype, more["targets"]))
        if more.get("correction"):
            kwargs["correction"] = draw(st.sampled_from((0.0, 1.0, 0, 1, 0.5)))
        return (value,), kwargs

    return arguments


def runnings(draw: Draw) -> Args:
    dtype = pick(draw, NUMBERS)
    value = array(draw, dtype, shape_of(draw, 1), False, -3, 3)
    kwargs: dict[str, Any] = {"include_initial": draw(st.booleans())}
    if value.ndim > 1 or draw(st.booleans()):
        kwargs["axis"] = axis_of(draw, value.ndim)
    if draw(st.booleans()):
        kwargs["dtype"] = D(partner_dtype(draw, dtype, NUMBERS))
    return (value,), kwargs


def differences(draw: Draw) -> Args:
    dtype = pick(draw, NUMBERS)
    value = array(draw, dtype, shape_of(draw, 1, empty=False))
    axis = axis_of(draw, value.ndim)
    kwargs: dict[str, Any] = {"axis": axis, "n": draw(st.integers(0, 2))}
    for name in ("prepend", "append"):
        if draw(st.booleans()):
            shape = list(value.shape)
            shape[axis] = 2
            kwargs[name] = array(draw, dtype, tuple(shape))
    return (value,), kwargs


add("sum prod", reduced(NUMBERS, targets=NUMBERS), Scaled(16))
add("mean", reduced(FLOATS), Scaled(8))
add("std var", reduced(FLOATS, empty=False, correction=True, special=False), Scaled(16))
add("max min", reduced(NUMBERS, empty=False), Exact(zeros=False))
add("all any", reduced(ALL), Exact())
add("cumulative_sum cumulative_prod", runnings, Scaled(16))
add("diff", differences, Exact())

# Products and linear algebra.


def products(draw: Draw) -> Args:
    dtype = pick(draw, NUMBERS)
    left, right = draw(
        st.sampled_from(
            (
                ((3,), (3,)),
                ((2, 3), (3,)),
                ((2,), (2, 3)),
                ((2, 3), (3, 2)),
                ((2, 2, 3), (3, 2)),
                ((0, 3), (3, 2)),
                ((2, 0), (0, 3)),
            )
        )
    )
    other = partner_dtype(draw, dtype, NUMBERS)
    return (array(draw, dtype, left, False), array(draw, other, right, False)), {}


def vector_products(draw: Draw) -> Args:
    dtype = pick(draw, NUMBERS)
    left, right, axis = draw(
        st.sampled_from(
            (((3,), (3,), -1), ((2, 3), (3,), -1), ((2, 3), (2, 3), -2), ((2, 1, 3), (2, 1, 3), -1))
        )
    )
    other = partner_dtype(draw, dtype, NUMBERS)
    return (array(draw, dtype, left, False), array(draw, other, right, False)), {"axis": axis}


def tensor_products(draw: Draw) -> Args:
    dtype = pick(draw, NUMBERS)
    left, right, axes = draw(
        st.sampled_from(
            (
                ((2, 3), (3, 2), 1),
                ((2, 3), (2, 3), 2),
                ((2, 3), (3,), 0),
                ((2, 1, 3), (3, 1), ((2, 1), (0, 1))),
                ((2, 3), (4, 2), ((0,), (1,))),
            )
        )
    )
    return (array(draw, dtype, left, False), array(draw, dtype, right, False)), {"axes": axes}


def crosses(draw: Draw) -> Args:
    dtype = pick(draw, NUMBERS)
    left, right, axis = draw(
        st.sampled_from((((3,), (3,), -1), ((2, 3), (1, 3), -1), ((3, 2), (3, 2), -2)))
    )
    return (array(draw, dtype, left, False), array(draw, dtype, right, False)), {"axis": axis}


def outers(draw: Draw) -> Args:
    dtype = pick(draw, NUMBERS)
    other = partner_dtype(draw, dtype, NUMBERS)
    return (array(draw, dtype, (draw(st.sampled_from((0, 3, 4))),)), array(draw, other, (3,))), {}


def matrices(draw: Draw) -> Args:
    return (array(draw, pick(draw, ALL), shape_of(draw, 2)),), {}


def offsets(dtypes: tuple[str, ...]) -> Arguments:
    def arguments(draw: Draw) -> Args:
        value = array(draw, pick(draw, dtypes), shape_of(draw, 2), False)
        return (value,), {"offset": draw(st.integers(-2, 3))}

    return arguments


MATRICES = ((3, 3), (2, 2, 2), (1, 1))


def well_conditioned(draw: Draw, shape: tuple[int, ...]) -> np.ndarray:
    dtype = pick(draw, FLOATS)
    value = array(draw, dtype, shape, False, -2, 2)
    return (value + np.asarray(6 * np.eye(shape[-2], shape[-1]), dtype)).astype(dtype)


def square(draw: Draw) -> Args:
    return (well_conditioned(draw, draw(st.sampled_from(MATRICES))),), {}


def symmetric(draw: Draw) -> Args:
    value = array(draw, pick(draw, FLOATS), draw(st.sampled_from(MATRICES)), False, -2, 2)
    return (value + value.swapaxes(-2, -1),), {}


def positive_definite(draw: Draw) -> Args:
    (value,), _ = square(draw)
    return ((value @ value.swapaxes(-2, -1)).astype(value.dtype),), {"upper": draw(st.booleans())}


def rectangular(draw: Draw) -> Args:
    shape = draw(st.sampled_from(((3, 3), (4, 2), (2, 3), (2, 2, 2))))
    return (array(draw, pick(draw, FLOATS), shape, False, -4, 4),), {}


def factored(option: str, choices: tuple[Any, ...]) -> Arguments:
    def arguments(draw: Draw) -> Args:
        args, _ = rectangular(draw)
        return args, {option: draw(st.sampled_from(choices))}

    return arguments


def full_rank(draw: Draw) -> Args:
    shape = draw(st.sampled_from(((3, 3), (4, 2), (2, 3), (2, 2, 2))))
    return (well_conditioned(draw, shape),), {}


def ranks(draw: Draw) -> Args:
    (value,), _ = full_rank(draw)
    if draw(st.booleans()):
        value = np.concatenate([value[..., :1]] * value.shape[-1], axis=-1)
    return (value,), {}


def equations(draw: Draw) -> Args:
    (value,), _ = square(draw)
    sides = [(value.shape[-1],), (*value.shape[:-1], 2)]
    return (value, array(draw, value.dtype.name, draw(st.sampled_from(sides)), False)), {}


def matrix_powers(draw: Draw) -> Args:
    args, _ = square(draw)
    return (*args, draw(st.integers(-2, 3))), {}


def matrix_norms(draw: Draw) -> Args:
    args, _ = rectangular(draw)
    orders = ("fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf)
    return args, {"ord": draw(st.sampled_from(orders)), "keepdims": draw(st.booleans())}


def vector_norms(draw: Draw) -> Args:
    value = array(draw, pick(draw, FLOATS), shape_of(draw, empty=False), False)
    orders = (2, 1, 0, math.inf, -math.inf, 3, 0.5, -1)
    kwargs = {"ord": draw(st.sampled_from(orders)), "axis": axes_of(draw, value.ndim)}
    return (value,), {**kwargs, "keepdims": draw(st.booleans())}


add("matmul linalg.matmul", products, Scaled(16))
add("vecdot linalg.vecdot", vector_products, Scaled(16))
add("tensordot linalg.tensordot", tensor_products, Scaled(16))
add("matrix_transpose linalg.matrix_transpose", matrices, Exact())
add("linalg.cross", crosses, Scaled(8))
add("linalg.outer", outers, Exact())
add("linalg.diagonal", offsets(ALL), Exact())
add("linalg.trace", offsets(NUMBERS), Scaled(8))
add("linalg.cholesky", positive_definite, Scaled(64))
add("linalg.det", square, Scaled(64))
add("linalg.inv", square, Scaled(64))
add("linalg.slogdet", square, Scaled(64))
add("linalg.solve", equations, Scaled(64))
add("linalg.eigh", symmetric, Scaled(64))
add("linalg.eigvalsh", symmetric, Scaled(64))
add("linalg.qr", factored("mode", ("reduced", "complete")), Scaled(64))
add("linalg.svd", factored("full_matrices", (True, False)), Scaled(64))
add("linalg.svdvals", rectangular, Scaled(64))
add("linalg.matrix_rank", ranks, Exact())
add("linalg.pinv", full_rank, Scaled(64))
add("linalg.matrix_power", matrix_powers, Scaled(64))
add("linalg.matrix_norm", matrix_norms, Scaled(64))
add("linalg.vector_norm", vector_norms, Scaled(64))


def frequencies(draw: Draw) -> Args:
    kwargs = {"d": draw(st.sampled_from((1.0, 0.5, 3.0))), "dtype": dtype_or_none(draw, FLOATS)}
    return (draw(st.integers(1, 6)),), kwargs


def frequency_shifts(draw: Draw) -> Args:
    value = array(draw, pick(draw, FLOATS), shape_of(draw, 1))
    return (value,), {"axes": axes_of(draw, value.ndim)}


add("fft.fftfreq fft.rfftfreq", frequencies, Ulps(1))
add("fft.fftshift fft.ifftshift", frequency_shifts, Exact())

# The array object: operators, conversions, indexing.

OPERATORS = {
    "abs": "abs",
    "add": "add",
    "and": "bitwise_and",
    "eq": "equal",
    "floordiv": "floor_divide",
    "ge": "greater_equal",
    "gt": "greater",
    "invert": "bitwise_invert",
    "le": "less_equal",
    "lshift": "bitwise_left_shift",
    "lt": "less",
    "matmul": "matmul",
    "mod": "remainder",
    "mul": "multiply",
    "ne": "not_equal",
    "neg": "negative",
    "or": "bitwise_or",
    "pos": "positive",
    "pow": "pow",
    "rshift": "bitwise_right_shift",
    "sub": "subtract",
    "truediv": "divide",
    "xor": "bitwise_xor",
}
for operator_name, function_name in OPERATORS.items():
    FUNCTIONS[f"operator.{operator_name}"] = FUNCTIONS[function_name]


def conversions(draw: Draw) -> Args:
    return (array(draw, pick(draw, ALL), (), False, 0, 8),), {}


def integers(draw: Draw) -> Args:
    return (array(draw, pick(draw, INTS), (), False, 0, 8),), {}


def any_array(draw: Draw) -> Args:
    return (array(draw, pick(draw, ALL), shape_of(draw)),), {}


def basic_index(draw: Draw, shape: tuple[int, ...]) -> Any:
    entries: list[Any] = []
    for size in shape:
        if size and draw(st.booleans()):
            entries.append(draw(st.integers(-size, size - 1)))
        else:
            start = draw(st.one_of(st.none(), st.integers(-size, size)))
            stop = draw(st.one_of(st.none(), st.integers(-size, size)))
            entries.append(slice(start, stop, draw(st.sampled_from((None, 1, 2)))))
    if draw(st.booleans()):
        entries.insert(draw(st.integers(0, len(entries))), None)
    elif len(entries) > 1 and draw(st.booleans()):
        entries[draw(st.integers(0, len(entries) - 1)) :] = [Ellipsis]
    return tuple(entries)


def reads(draw: Draw) -> Args:
    value = array(draw, pick(draw, ALL), shape_of(draw))
    choice = draw(st.integers(0, 3))
    if choice == 0:
        return (value, array(draw, "bool", value.shape)), {}
    if choice == 1 and value.ndim and 0 not in value.shape:
        places = [array(draw, "int64", (2,), False, 0, size - 1) for size in value.shape]
        places[0] = places[0] if draw(st.booleans()) else places[0][:1].reshape(())
        return (value, tuple(places)), {}
    return (value, basic_index(draw, value.shape)), {}


def writes(draw: Draw) -> Args:
    dtype = pick(draw, ALL)
    value = array(draw, dtype, shape_of(draw))
    written = element(draw, dtype, False, 0, 8)
    if draw(st.integers(0, 2)) == 0:
        return (value, array(draw, "bool", value.shape), written), {}
    index = tuple(entry for entry in basic_index(draw, value.shape) if entry is not None)
    part = value[index]
    if draw(st.booleans()):
        return (value, index, array(draw, dtype, np.shape(part))), {}
    return (value, index, written), {}


def in_place(name: str) -> Arguments:
    """Return arguments whose result fits in the first."""

    def arguments(draw: Draw) -> Args:
        args, _ = FUNCTIONS[OPERATORS[name]][0](draw)
        value, other = args
        if not isinstance(value, np.ndarray) or 0 in value.shape:
            value = np.ones(
                (4,), "int32" if name in ("and", "or", "xor", "lshift", "rshift") else "float32"
            )
            other = 2
        if isinstance(other, np.ndarray):
            other = np.resize(other.astype(value.dtype), value.shape)
        return (value, other), {}

    return arguments


add("array.__bool__ array.__int__ array.__float__ array.__complex__", conversions, Exact())
add("array.__index__", integers, Exact())
add("array.T array.mT", lambda draw: ((array(draw, pick(draw, ALL), (2, 3)),), {}), Exact())
add("array.shape array.size array.ndim array.dtype", any_array, Exact())
add("array.__getitem__", reads, Exact())
add("array.__setitem__", writes, Exact())
for operator_name in [
    "add",
    "and",
    "floordiv",
    "lshift",
    "mod",
    "mul",
    "or",
    "pow",
    "rshift",
    "sub",
    "xor",
]:
    FUNCTIONS[f"operator.i{operator_name}"] = (
        in_place(operator_name),
        FUNCTIONS[OPERATORS[operator_name]][1],
    )
FUNCTIONS["operator.itruediv"] = (in_place("truediv"), Ulps(1))

__all__ = ["FUNCTIONS", "Case"]
