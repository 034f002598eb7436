"""Level 2: reductions, products of matrices, and movement of data."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tg_conformance.bench import repeated, upload
from tg_conformance.checking import check_exact, check_form, describe
from tg_conformance.oracles.integers import wrap
from tg_conformance.oracles.ulp import EPSILON_BITS, spacing
from tg_conformance.oracles.values import DTYPES, FLOATS, INTEGERS, encode_cells, values_of

if TYPE_CHECKING:
    from tg_core import Tensor

pytestmark = [pytest.mark.tg_level(2), pytest.mark.tg_needs("PROGRAMS")]

Array = np.ndarray[Any, Any]
CORE_DTYPES = ("int32", "float32")
SHAPE = (6, 37, 5)


def cases(operations: tuple[str, ...], dtypes: tuple[str, ...]) -> list[Any]:
    """Return operations by dtypes; those on dtypes of the core are mandatory."""
    return [
        pytest.param(
            operation,
            dtype,
            id=f"{operation}-{dtype}",
            marks=[pytest.mark.tg_core] if dtype in CORE_DTYPES else [],
        )
        for operation in operations
        for dtype in dtypes
    ]


def numbers(dtype: str, shape: tuple[int, ...], seed: int = 0) -> Array:
    """Return cells of moderate size."""
    random = np.random.default_rng(seed)
    if dtype in FLOATS:
        return encode_cells(random.standard_normal(shape) * 2, dtype)
    if dtype == "bool":
        return random.integers(0, 2, shape).astype(bool)
    return random.integers(-40 if dtype.startswith("i") else 0, 40, shape).astype(dtype)


def sum_dtype(dtype: str) -> str:
    """Return the dtype of a sum: narrow integers widen to 32 bits, everything else stays."""
    if dtype in ("bool", "int8", "int16"):
        return "int32"
    return "uint32" if dtype in ("uint8", "uint16") else dtype


def check_sum(what: str, got: Array, terms: Array, axis: int, dtype: str) -> None:
    """Check a float sum of exact terms: one rounding to the dtype, and those of the additions.

    Sums of formats below float32 are formed in float32.
    """
    exact = terms.sum(axis, np.longdouble)
    size = np.abs(terms).sum(axis)
    working = max(EPSILON_BITS[dtype], 23)
    allowed = spacing(exact, dtype) + terms.shape[axis] * 2.0**-working * size
    values = values_of(got, dtype)
    wrong = ~(np.abs(values - exact) <= allowed)
    assert not wrong.any(), describe(what, wrong, values, exact, ())


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize(("operation", "dtype"), cases(("sum",), DTYPES))
def test_sums(tg_device: str, operation: str, dtype: str, axis: int) -> None:
    """Sums over each axis."""
    cells = numbers(dtype, SHAPE)
    what = f"{operation} of {dtype} over axis {axis} on {tg_device}"
    result, got = repeated(what, lambda: upload(tg_device, cells, dtype).sum(axis))
    shape = SHAPE[:axis] + SHAPE[axis + 1 :]
    check_form(what, result, sum_dtype(dtype), shape)
    if dtype in FLOATS:
        check_sum(what, got, values_of(cells, dtype), axis, dtype)
        return
    wide = cells.astype(object).sum(axis)
    wanted = [wrap(int(n), sum_dtype(dtype)) for n in wide.ravel()]
    check_exact(what, got, np.array(wanted, sum_dtype(dtype)).reshape(shape), sum_dtype(dtype))


@pytest.mark.parametrize(("operation", "dtype"), cases(("max", "min"), DTYPES))
def test_extrema(tg_device: str, operation: str, dtype: str) -> None:
    """The largest and the least value over the middle axis, and of all."""
    cells = numbers(dtype, SHAPE, 1)
    function: Callable[..., Array] = np.max if operation == "max" else np.min
    for axis in (1, None):
        what = f"{operation} of {dtype} over axis {axis} on {tg_device}"

        def reduced(over: int | None = axis) -> Tensor:
            tensor = upload(tg_device, cells, dtype)
            return tensor.max(over) if operation == "max" else tensor.min(over)

        result, got = repeated(what, reduced)
        wanted = np.asarray(function(values_of(cells, dtype), axis))
        check_form(what, result, dtype, wanted.shape)
        check_exact(what, got.reshape(wanted.shape), encode_cells(wanted, dtype), dtype)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_extrema_keep_nan(tg_device: str, dtype: str) -> None:
    """A NaN anywhere makes the maximum NaN."""
    values = np.arange(200.0)
    values[131] = np.nan
    cells = encode_cells(values, dtype)
    _, got = repeated(f"max of {dtype}", lambda: upload(tg_device, cells, dtype).max())
    value = values_of(got.reshape(1), dtype)[0]
    assert np.isnan(value), f"max of {dtype} with a NaN on {tg_device}: got {value}, expected NaN"


@pytest.mark.parametrize(("operation", "dtype"), cases(("prod",), (*INTEGERS, *FLOATS)))
def test_products(tg_device: str, operation: str, dtype: str) -> None:
    """Products of powers of two and signs, which no format rounds."""
    random = np.random.default_rng(2)
    values = random.choice([1.0, 2.0, 1.0, -1.0, 1.0, 0.5] if dtype in FLOATS else [1, 3, 1, 2], 40)
    cells = encode_cells(values, dtype)
    what = f"{operation} of {dtype} on {tg_device}"
    result, got = repeated(what, lambda: upload(tg_device, cells, dtype).prod())
    wanted: Any = np.prod(values)
    if dtype not in FLOATS:
        product = 1
        for value in values:
            product *= int(value)
        wanted = wrap(product, result.dtype.name)
    check_exact(what, got.reshape(1), encode_cells([wanted], result.dtype.name), result.dtype.name)


@pytest.mark.parametrize("size", [1, 2, 31, 256, 257, 4096, 70001])
@pytest.mark.tg_core
def test_sums_of_every_length(tg_device: str, size: int) -> None:
    """A sum counts each element once, however it is split."""
    cells = np.ones(size, np.int32)
    _, got = repeated(f"sum of {size}", lambda: upload(tg_device, cells, "int32").sum())
    assert int(got) == size, f"sum of {size} ones on {tg_device}: got {int(got)}"


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 5, 7), (16, 16, 16), (33, 65, 17), (64, 100, 48)])
@pytest.mark.parametrize(
    ("operation", "dtype"),
    cases(("matmul",), ("int32", "float16", "bfloat16", "float32", "float64")),
)
def test_matrices(tg_device: str, operation: str, dtype: str, shape: tuple[int, int, int]) -> None:
    """Products of matrices, each element a sum of products."""
    rows, inner, columns = shape
    a, b = numbers(dtype, (rows, inner), 3), numbers(dtype, (inner, columns), 4)
    what = f"{operation} of {dtype} {rows}x{inner}x{columns} on {tg_device}"
    result, got = repeated(what, lambda: upload(tg_device, a, dtype) @ upload(tg_device, b, dtype))
    check_form(what, result, dtype, (rows, columns))
    x, y = values_of(a, dtype), values_of(b, dtype)
    if dtype in FLOATS:
        check_sum(what, got, x[:, :, None] * y[None], 1, dtype)
    else:
        check_exact(what, got, x @ y, dtype)


MOVES: dict[str, tuple[Callable[[Tensor], Tensor], Callable[[Array], Array]]] = {
    "permute": (lambda t: t.permute(2, 0, 1), lambda x: x.transpose(2, 0, 1)),
    "reshape": (lambda t: t.reshape(37, 30), lambda x: x.reshape(37, 30)),
    "flip": (lambda t: t.flip((0, 2)), lambda x: x[::-1, :, ::-1]),
    "shrink": (lambda t: t[1:5, 3:30, 2:4], lambda x: x[1:5, 3:30, 2:4]),
    "stride": (lambda t: t[::2, 1::3, ::-1], lambda x: x[::2, 1::3, ::-1]),
    "expand": (
        lambda t: t[:, :1].expand(6, 9, 5),
        lambda x: np.broadcast_to(x[:, :1], (6, 9, 5)),
    ),
    "pad": (
        lambda t: t.pad(((1, 2), (0, 3), (4, 0))),
        lambda x: np.pad(x, ((1, 2), (0, 3), (4, 0))),
    ),
    "cat": (lambda t: t.cat(t, dim=1), lambda x: np.concatenate([x, x], 1)),
    "gather": (lambda t: t[:, [36, 0, 7, 7]], lambda x: x[:, [36, 0, 7, 7]]),
}


@pytest.mark.parametrize(("operation", "dtype"), cases(tuple(MOVES), DTYPES))
def test_movement(tg_device: str, operation: str, dtype: str) -> None:
    """Data is moved without a change of its bits."""
    cells = numbers(dtype, SHAPE, 5)
    move, oracle = MOVES[operation]
    what = f"{operation} of {dtype} on {tg_device}"

    def compute() -> Tensor:
        # gathering through a sum of masked values has no zero of its own sign
        return move(upload(tg_device, cells, dtype))

    result, got = repeated(what, compute)
    wanted = np.ascontiguousarray(oracle(cells))
    check_form(what, result, dtype, wanted.shape)
    check_exact(what, got, wanted, dtype)
