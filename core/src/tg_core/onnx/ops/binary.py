"""Arithmetic of two or more tensors that broadcast."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from tg_core.dtype import dtypes, promote
from tg_core.errors import ShapeError
from tg_core.onnx.axes import place_of
from tg_core.onnx.registry import operator
from tg_core.tensor import Tensor

__all__ = ["ARITHMETIC", "aligned_from"]

Binary = Callable[[Tensor, Tensor], Tensor]


def _divide(a: Tensor, b: Tensor) -> Tensor:
    return a / b if dtypes.is_float(a.dtype) else a.div(b, rounding_mode="trunc")


def _power(a: Tensor, b: Tensor) -> Tensor:
    """Raise to a power, in the common type; the result has the type of the base."""
    if a.dtype is b.dtype:
        return a.pow(b)
    common = promote(a.dtype, b.dtype)
    # a float as wide as the exponent need not hold an integer
    exact = dtypes.is_int(a.dtype) and not dtypes.is_int(b.dtype)
    wide = dtypes.float64 if exact or dtypes.is_weak(common) else common
    return a.cast(wide).pow(b.cast(wide)).cast(a.dtype)


ARITHMETIC: Mapping[str, Binary] = {
    "Add": Tensor.add,
    "And": Tensor.bitwise_and,
    "Div": _divide,
    "Equal": Tensor.eq,
    "Greater": Tensor.__gt__,
    "Less": Tensor.__lt__,
    "Mul": Tensor.mul,
    "Or": Tensor.bitwise_or,
    "Pow": _power,
    "Sub": Tensor.sub,
    "Xor": Tensor.bitwise_xor,
}
"""Operators that broadcast on request before version 7, always from then on."""

ALWAYS_BROADCAST: Mapping[str, tuple[int, Binary]] = {
    "BitwiseAnd": (18, Tensor.bitwise_and),
    "BitwiseOr": (18, Tensor.bitwise_or),
    "BitwiseXor": (18, Tensor.bitwise_xor),
    "GreaterOrEqual": (12, Tensor.__ge__),
    "LessOrEqual": (12, Tensor.__le__),
}


def aligned_from(x: Tensor, other: Tensor, axis: int | None) -> Tensor:
    """Return `other` shaped to broadcast with its first axis at `axis` of x, as before version 7.

    Raises:
        ShapeError: it has too many axes.
    """
    if axis is None:
        return other
    first = place_of(axis, x.ndim)
    behind = x.ndim - first - other.ndim
    if behind < 0:
        raise ShapeError(f"shape {other.shape} does not broadcast from axis {axis} of {x.shape}")
    return other.reshape((*other.shape, *(1,) * behind))


def _register(name: str, function: Binary, since: int) -> None:
    @operator(name, since=since)
    def apply(a: Tensor, b: Tensor) -> Tensor:
        return function(a, b)


def _register_legacy(name: str, function: Binary) -> None:
    @operator(name, since=1)
    def apply(a: Tensor, b: Tensor, *, axis: int | None = None, broadcast: bool = False) -> Tensor:
        return function(a, aligned_from(a, b, axis) if broadcast else b)


for _name, _function in ARITHMETIC.items():
    _register_legacy(_name, _function)
    _register(_name, _function, 7)
for _name, (_since, _function) in ALWAYS_BROADCAST.items():
    _register(_name, _function, _since)


@operator("Mod", since=10)
def mod(a: Tensor, b: Tensor, *, fmod: bool = False) -> Tensor:
    """Return the remainder, with the sign of the divisor; with `fmod` that of the dividend."""
    return a.fmod(b) if fmod else a % b


@operator("BitShift", since=11)
def bit_shift(x: Tensor, y: Tensor, *, direction: Literal["LEFT", "RIGHT"]) -> Tensor:
    """Return the bits of x moved by y."""
    return x << y if direction == "LEFT" else x >> y


@operator("Max")
def maximum(first: Tensor, *others: Tensor) -> Tensor:
    """Return the greatest of all."""
    for other in others:
        first = first.maximum(other)
    return first


@operator("Min")
def minimum(first: Tensor, *others: Tensor) -> Tensor:
    """Return the smallest of all."""
    for other in others:
        first = first.minimum(other)
    return first


@operator("Sum")
def total(first: Tensor, *others: Tensor) -> Tensor:
    """Return the sum of all."""
    for other in others:
        first = first + other
    return first


@operator("Mean")
def mean(first: Tensor, *others: Tensor) -> Tensor:
    """Return the mean of all."""
    return total(first, *others) / (len(others) + 1)


@operator("Where", since=9)
def where(condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Return x where the condition holds, y elsewhere."""
    return condition.where(x, y)
