"""Functions of one tensor, element by element."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tg_core.dtype import dtypes
from tg_core.onnx.registry import operator
from tg_core.tensor import Tensor

__all__ = ["UNARY"]


def _sign(x: Tensor) -> Tensor:
    """Return the sign; unsigned integers have no negative to ask for."""
    return x.ne(0).cast(x.dtype) if dtypes.is_unsigned(x.dtype) else x.sign()


def _abs(x: Tensor) -> Tensor:
    return x if dtypes.is_unsigned(x.dtype) else x.abs()


UNARY: Mapping[str, Callable[[Tensor], Tensor]] = {
    "Abs": _abs,
    "Acos": Tensor.acos,
    "Acosh": Tensor.acosh,
    "Asin": Tensor.asin,
    "Asinh": Tensor.asinh,
    "Atan": Tensor.atan,
    "Atanh": Tensor.atanh,
    "BitwiseNot": Tensor.bitwise_not,
    "Ceil": Tensor.ceil,
    "Cos": Tensor.cos,
    "Cosh": Tensor.cosh,
    "Erf": Tensor.erf,
    "Exp": Tensor.exp,
    "Floor": Tensor.floor,
    "HardSwish": Tensor.hardswish,
    "IsNaN": Tensor.isnan,
    "Log": Tensor.log,
    "Mish": Tensor.mish,
    "Neg": Tensor.neg,
    "Not": Tensor.logical_not,
    "Reciprocal": Tensor.reciprocal,
    "Relu": Tensor.relu,
    "Round": Tensor.round,
    "Sigmoid": Tensor.sigmoid,
    "Sign": _sign,
    "Sin": Tensor.sin,
    "Sinh": Tensor.sinh,
    "Softplus": Tensor.softplus,
    "Softsign": Tensor.softsign,
    "Sqrt": Tensor.sqrt,
    "Tan": Tensor.tan,
    "Tanh": Tensor.tanh,
}
"""Operators that are a method of tensors, in every version."""


def _register(name: str, function: Callable[[Tensor], Tensor]) -> None:
    @operator(name)
    def apply(x: Tensor) -> Tensor:
        return function(x)


for _name, _function in UNARY.items():
    _register(_name, _function)


@operator("IsInf", since=10)
def is_inf(x: Tensor, *, detect_negative: bool = True, detect_positive: bool = True) -> Tensor:
    """Tell where values are infinite, of the signs asked for."""
    return x.isinf(detect_positive, detect_negative)
