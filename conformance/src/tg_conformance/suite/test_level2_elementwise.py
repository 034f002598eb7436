"""Level 2: every elementwise op on every dtype, against oracles in plain Python and numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tg_conformance.bench import repeated, upload
from tg_conformance.checking import check_exact, check_form, check_within
from tg_conformance.oracles import floats, integers
from tg_conformance.oracles.formats import FORMATS
from tg_conformance.oracles.values import (
    FLOATS,
    INTEGERS,
    edge_values,
    encode_cells,
    pairs,
    values_of,
)
from tg_conformance.suite.points import points

if TYPE_CHECKING:
    from tg_core import Tensor

pytestmark = [pytest.mark.tg_level(2), pytest.mark.tg_needs("PROGRAMS")]

Array = np.ndarray[Any, Any]
OPERATORS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "truncdiv": lambda a, b: a.div(b, rounding_mode="trunc"),
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "eq": lambda a, b: a.eq(b),
    "ne": lambda a, b: a.ne(b),
}
"""Operations that are no method of the same name."""

CORE_DTYPES = ("bool", "int32", "uint8", "int64", "float32")
"""Dtypes of the mandatory core."""


def mark(operation: str, dtype: str, core: bool = True) -> Any:
    """Return a case; it is mandatory where the operation is and the dtype is of the core."""
    marks = [pytest.mark.tg_core] if core and dtype in CORE_DTYPES else []
    return pytest.param(operation, dtype, marks=marks, id=f"{operation}-{dtype}")


def apply(operation: str, a: Tensor, b: Tensor) -> Tensor:
    """Apply a binary operation by name."""
    function = OPERATORS.get(operation)
    result: Tensor = function(a, b) if function is not None else getattr(a, operation)(b)
    return result


def run_binary(device: str, operation: str, dtype: str, a: Array, b: Array) -> tuple[Tensor, Array]:
    """Run a binary operation several times on new storage."""

    def compute() -> Tensor:
        return apply(operation, upload(device, a, dtype), upload(device, b, dtype))

    return repeated(f"{operation} of {dtype} on {device}", compute)


@pytest.mark.parametrize(
    ("operation", "dtype"),
    [mark(op, d, f.mandatory) for op, f in floats.FUNCTIONS.items() for d in FLOATS],
)
def test_float_functions(tg_device: str, operation: str, dtype: str) -> None:
    """Functions of one float, within the bound that the oracle states for each."""
    function = floats.FUNCTIONS[operation]
    cells = points(dtype, function.domain)
    what = f"{operation} of {dtype} on {tg_device}"
    result, got = repeated(what, lambda: getattr(upload(tg_device, cells, dtype), operation)())
    check_form(what, result, dtype, cells.shape)
    values = values_of(cells, dtype)
    with np.errstate(all="ignore"):
        exact = function.exact(values.astype(np.longdouble))
    check_within(what, got, exact, dtype, bound_of(function, dtype), values)


def bound_of(function: floats.Function, dtype: str) -> float:
    """Return the error allowed for a dtype, in units in the last place."""
    if dtype in FORMATS:
        return function.bounds[2]
    return function.bounds[0 if dtype == "float64" else 1]


@pytest.mark.parametrize(
    ("operation", "dtype"), [mark(op, d) for op in floats.EXACT_BINARY for d in FLOATS]
)
def test_float_arithmetic(tg_device: str, operation: str, dtype: str) -> None:
    """Sums, products and quotients are rounded correctly; NaN, infinities and zeros as in IEEE."""
    a, b = pairs(dtype)
    what = f"{operation} of {dtype} on {tg_device}"
    result, got = run_binary(tg_device, operation, dtype, a, b)
    check_form(what, result, dtype, a.shape)
    x, y = values_of(a, dtype), values_of(b, dtype)
    with np.errstate(all="ignore"):
        wanted = encode_cells(floats.EXACT_BINARY[operation](x, y), dtype)
    if operation in ("maximum", "minimum"):
        # either zero may be taken for the larger one
        both = (x == 0) & (y == 0)
        wanted = np.where(both, got, wanted)
    check_exact(what, got, wanted, dtype, x, y)


@pytest.mark.parametrize("dtype", [pytest.param(d, id=d) for d in FLOATS])
def test_float_powers(tg_device: str, dtype: str) -> None:
    """Powers of positive bases, and of any base to whole exponents, within 4 units."""
    base, exponent = pairs(dtype)
    x, y = values_of(base, dtype), values_of(exponent, dtype)
    what = f"pow of {dtype} on {tg_device}"
    result, got = run_binary(tg_device, "pow", dtype, base, exponent)
    check_form(what, result, dtype, base.shape)
    with np.errstate(all="ignore"):
        exact = np.power(x.astype(np.longdouble), y.astype(np.longdouble))
    check_within(what, got, exact, dtype, 4, x, y)


@pytest.mark.parametrize(
    ("operation", "dtype"), [mark(op, d) for op in integers.BINARY for d in INTEGERS]
)
def test_integer_arithmetic(tg_device: str, operation: str, dtype: str) -> None:
    """Integers wrap at their width; division by zero gives 0."""
    check_integers(tg_device, operation, dtype, integers.BINARY[operation])


@pytest.mark.parametrize(
    ("operation", "dtype"), [mark(op, d) for op in integers.SHIFTS for d in INTEGERS]
)
def test_shifts(tg_device: str, operation: str, dtype: str) -> None:
    """Shifts by any amount, also by the width and more."""
    function = integers.SHIFTS[operation](np.iinfo(dtype).bits)
    check_integers(tg_device, operation, dtype, function)


def check_integers(
    device: str, operation: str, dtype: str, function: Callable[[int, int], int]
) -> None:
    """Check a binary operation of integers on all pairs of edge values."""
    a, b = pairs(dtype)
    what = f"{operation} of {dtype} on {device}"
    result, got = run_binary(device, operation, dtype, a, b)
    check_form(what, result, dtype, a.shape)
    wanted = [integers.wrap(function(int(x), int(y)), dtype) for x, y in zip(a, b)]
    check_exact(what, got, np.array(wanted, dtype), dtype, a, b)


@pytest.mark.parametrize(
    ("operation", "dtype"), [mark(op, d) for op in integers.UNARY for d in INTEGERS]
)
def test_integer_functions(tg_device: str, operation: str, dtype: str) -> None:
    """Functions of one integer, wrapped at the width."""
    cells = edge_values(dtype, 64)
    what = f"{operation} of {dtype} on {tg_device}"
    result, got = repeated(what, lambda: getattr(upload(tg_device, cells, dtype), operation)())
    check_form(what, result, dtype, cells.shape)
    wanted = [integers.wrap(integers.UNARY[operation](int(x)), dtype) for x in cells]
    check_exact(what, got, np.array(wanted, dtype), dtype, cells)


@pytest.mark.tg_core
@pytest.mark.parametrize(
    "operation", ["bitwise_and", "bitwise_or", "bitwise_xor", "mul", "maximum", "add"]
)
def test_bool_operations(tg_device: str, operation: str) -> None:
    """Booleans: sums are or, products are and."""
    a, b = np.array([False, False, True, True]), np.array([False, True, False, True])
    what = f"{operation} of bool on {tg_device}"
    result, got = run_binary(tg_device, operation, "bool", a, b)
    check_form(what, result, "bool", a.shape)
    functions = {"bitwise_and": np.logical_and, "mul": np.logical_and, "bitwise_xor": np.not_equal}
    wanted = functions.get(operation, np.logical_or)(a, b)
    check_exact(what, got, wanted, "bool", a, b)


@pytest.mark.parametrize(
    ("operation", "dtype"),
    [mark(op, d) for op in integers.COMPARISONS for d in ("bool", *INTEGERS, *FLOATS)],
)
def test_comparisons(tg_device: str, operation: str, dtype: str) -> None:
    """Comparisons of all pairs; NaN compares unequal to everything."""
    a, b = pairs(dtype)
    what = f"{operation} of {dtype} on {tg_device}"
    result, got = run_binary(tg_device, operation, dtype, a, b)
    check_form(what, result, "bool", a.shape)
    x, y = values_of(a, dtype).tolist(), values_of(b, dtype).tolist()
    wanted = np.array([integers.COMPARISONS[operation](p, q) for p, q in zip(x, y)])
    check_exact(what, got, wanted, "bool", np.array(x), np.array(y))


@pytest.mark.parametrize(
    ("operation", "dtype"), [mark("where", d) for d in ("bool", *INTEGERS, *FLOATS)]
)
def test_choice(tg_device: str, operation: str, dtype: str) -> None:
    """WHERE passes the bits of what it chooses."""
    a, b = pairs(dtype)
    flags = np.random.default_rng(3).integers(0, 2, len(a)).astype(bool)
    what = f"{operation} of {dtype} on {tg_device}"

    def compute() -> Tensor:
        condition = upload(tg_device, flags, "bool")
        return condition.where(upload(tg_device, a, dtype), upload(tg_device, b, dtype))

    result, got = repeated(what, compute)
    check_form(what, result, dtype, a.shape)
    check_exact(what, got, np.where(flags, a, b), dtype, flags, a, b)


@pytest.mark.parametrize(
    "length", [1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 65, 255, 257, 4099]
)
@pytest.mark.tg_core
def test_every_length(tg_device: str, length: int) -> None:
    """Loops end where the data ends: no element is left out, none beyond is written."""
    values = np.arange(length, dtype=np.int32)
    what = f"3 x - 1 of {length} elements on {tg_device}"
    result, got = repeated(what, lambda: upload(tg_device, values, "int32") * 3 - 1)
    check_form(what, result, "int32", values.shape)
    check_exact(what, got, values * 3 - 1, "int32", values)
