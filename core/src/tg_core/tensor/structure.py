"""Nested structures of tensors: lists, tuples, dicts and dataclass instances."""

from __future__ import annotations

from dataclasses import is_dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FROZEN = (bool, int, float, complex, str, bytes, type(None))
"""Types of arguments whose value is compiled in."""


def leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield what nested lists, tuples, dicts and dataclass instances hold, with the Python
    expression that reaches it.
    """
    if isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            yield from leaves(item, f"{path}[{i}]")
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, f"{path}[{key!r}]")
    elif is_dataclass(value) and not isinstance(value, type):
        for name in value.__dataclass_fields__:
            yield from leaves(getattr(value, name), f"{path}.{name}")
    else:
        yield path, value


def skeleton(value: Any) -> Any:
    """Return the containers of a nested structure without what they hold, to compare and hash."""
    if isinstance(value, (list, tuple)):
        return (type(value), *map(skeleton, value))
    if isinstance(value, dict):
        return (type(value), *((key, skeleton(item)) for key, item in value.items()))
    if is_dataclass(value) and not isinstance(value, type):
        fields = value.__dataclass_fields__
        return (type(value), *(skeleton(getattr(value, name)) for name in fields))
    return None


def frozen_key(value: Any) -> Any:
    """Return what tells plain values apart that are compiled in: type and bits."""
    if isinstance(value, float):
        return (type(value), float(value).hex())
    if isinstance(value, complex):
        return (type(value), value.real.hex(), value.imag.hex())
    return (type(value), value)


def rebuild(value: Any, kind: type | tuple[type, ...], function: Callable[[Any], Any]) -> Any:
    """Return a copy of a nested structure with every instance of a kind replaced by what `function`
    makes of it.
    """
    if isinstance(value, kind):
        return function(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(rebuild(item, kind, function) for item in value))
    if isinstance(value, (list, tuple)):
        return type(value)(rebuild(item, kind, function) for item in value)
    if isinstance(value, dict):
        return {key: rebuild(item, kind, function) for key, item in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        fields = {
            name: rebuild(getattr(value, name), kind, function)
            for name in value.__dataclass_fields__
        }
        return replace(value, **fields)
    return value
