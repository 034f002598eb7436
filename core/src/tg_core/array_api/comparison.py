"""Elementwise comparison, logic, selection and limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg_core.array_api.data_types import result_type
from tg_core.array_api.operands import SCALARS, array_of, as_dtype, fresh, pair, plain
from tg_core.dtype import dtypes
from tg_core.errors import DTypeError, ShapeError

if TYPE_CHECKING:
    from tg_core.tensor import Tensor

Scalar = bool | int | float


def equal(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Return where both are equal; NaN equals nothing."""
    left, right = pair(x1, x2, "equal")
    return left.eq(right)


def not_equal(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Return where both differ; NaN differs from everything."""
    left, right = pair(x1, x2, "not_equal")
    return left.ne(right)


def greater(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Return where x1 is greater."""
    left, right = pair(x1, x2, "greater")
    return left > right


def greater_equal(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Return where x1 is greater or both are equal."""
    left, right = pair(x1, x2, "greater_equal")
    return left >= right


def less(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Return where x1 is less."""
    left, right = pair(x1, x2, "less")
    return left < right


def less_equal(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Return where x1 is less or both are equal."""
    left, right = pair(x1, x2, "less_equal")
    return left <= right


def _truths(x1: Any, x2: Any, name: str) -> tuple[Tensor, Tensor]:
    if isinstance(plain(x1), SCALARS) and isinstance(plain(x2), SCALARS):
        raise DTypeError(f"{name}: expected at least one array, found two Python scalars")
    return as_dtype(x1, dtypes.bool, name), as_dtype(x2, dtypes.bool, name)


def logical_and(x1: Tensor | bool, x2: Tensor | bool, /) -> Tensor:
    """Return where both are true."""
    left, right = _truths(x1, x2, "logical_and")
    return left & right


def logical_not(x: Tensor, /) -> Tensor:
    """Return where x is false."""
    return array_of(x, "logical_not").logical_not()


def logical_or(x1: Tensor | bool, x2: Tensor | bool, /) -> Tensor:
    """Return where one of both is true."""
    left, right = _truths(x1, x2, "logical_or")
    return left | right


def logical_xor(x1: Tensor | bool, x2: Tensor | bool, /) -> Tensor:
    """Return where exactly one of both is true."""
    left, right = _truths(x1, x2, "logical_xor")
    return left ^ right


def maximum(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Return the greater of both, NaN where either is NaN."""
    left, right = pair(x1, x2, "maximum")
    return left.maximum(right)


def minimum(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Return the smaller of both, NaN where either is NaN."""
    left, right = pair(x1, x2, "minimum")
    return left.minimum(right)


def clip(
    x: Tensor,
    /,
    min: Tensor | Scalar | None = None,
    max: Tensor | Scalar | None = None,
) -> Tensor:
    """Return x limited to `[min, max]`, in the dtype of x; NaN in any of the three gives NaN.

    Args:
        x: the array.
        min: the lower limit, a scalar or an array that broadcasts to the shape of x.
        max: the upper limit.

    Raises:
        ShapeError: a limit has a shape beyond that of x.
    """
    value = array_of(x, "clip")
    result = value if min is None else _limited(value, min, True)
    result = result if max is None else _limited(result, max, False)
    if result.shape != value.shape:
        raise ShapeError(f"clip: limits of shape {result.shape} for values of shape {value.shape}")
    return fresh(result, value)


def _limited(value: Tensor, limit: Any, from_below: bool) -> Tensor:
    dtype, limit = value.dtype, plain(limit)
    if isinstance(limit, SCALARS):
        other = value._operand(value._within(limit), "clip")._commit().cast(dtype)
    else:
        # in the common dtype first: a limit may be beyond the range of the values
        common = result_type(value, array_of(limit, "clip"))
        value, other = value.cast(common), limit.cast(common)
    result = value.maximum(other) if from_below else value.minimum(other)
    return result.cast(dtype)


def where(condition: Tensor, x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Return x1 where the condition is true and x2 elsewhere.

    Args:
        condition: a bool array.
        x1: an array or a Python scalar, broadcast with the others.
        x2: an array or a Python scalar.
    """
    chosen = array_of(condition, "where").cast(dtypes.bool)
    dtype = result_type(x1, x2)
    return chosen.where(as_dtype(x1, dtype, "where"), as_dtype(x2, dtype, "where"))
