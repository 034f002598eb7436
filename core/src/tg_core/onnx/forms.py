"""Bringing values into the form in which the function of an operator takes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tg_core.errors import FileFormatError, ShapeError
from tg_core.onnx.registry import Input
from tg_core.onnx.tensor_data import FOLDED_SIZE
from tg_core.onnx.values import Anything, Value

__all__ = ["in_form"]


def in_form(value: Anything, entry: Input) -> Any:
    """Return a value as an input of an operator takes it.

    Raises:
        FileFormatError: a sequence is where a tensor is needed, or the reverse.
        ShapeError: more than one value is where one is needed.
    """
    if entry.form == "Anything":
        return value
    if value is None:
        if entry.optional:
            return None
        raise FileFormatError(f"input {entry.name} is absent")
    if (entry.form == "Items") != isinstance(value, list):
        kind = "a sequence" if isinstance(value, list) else "a tensor"
        raise FileFormatError(f"input {entry.name} is {kind}")
    return _FORMS[entry.form](value, entry.name)


def _tensor(value: Value, name: str) -> Any:
    return value.tensor


def _as_it_is(value: Any, name: str) -> Any:
    return value


def _numbers(value: Value, name: str) -> list[Any]:
    known = value.array()
    if known.size > FOLDED_SIZE:
        raise ShapeError(f"input {name} has {known.size} numbers, expected {FOLDED_SIZE} at most")
    found: list[Any] = known.reshape(-1).tolist()
    return found


def _ints(value: Value, name: str) -> tuple[int, ...]:
    return tuple(int(number) for number in _numbers(value, name))


def _floats(value: Value, name: str) -> tuple[float, ...]:
    return tuple(float(number) for number in _numbers(value, name))


def _one(value: Value, name: str) -> Any:
    found = _numbers(value, name)
    if len(found) != 1:
        raise ShapeError(f"input {name} has {len(found)} numbers, expected one")
    return found[0]


def _int(value: Value, name: str) -> int:
    return int(_one(value, name))


def _float(value: Value, name: str) -> float:
    return float(_one(value, name))


_FORMS: Mapping[str, Callable[[Any, str], Any]] = {
    "Tensor": _tensor,
    "Value": _as_it_is,
    "Items": _as_it_is,
    "Ints": _ints,
    "Floats": _floats,
    "Int": _int,
    "Float": _float,
}
