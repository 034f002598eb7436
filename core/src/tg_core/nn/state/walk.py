"""Finding the tensors of a model by walking its attributes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import FunctionType, MethodType, ModuleType

from tg_core.tensor import Tensor

__all__ = ["get_parameters", "get_state_dict"]


_OPAQUE = (
    type(None),
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    type,
    FunctionType,
    MethodType,
    ModuleType,
)
"""Kinds of values that are never entered."""


@dataclass(frozen=True)
class _Leave:
    """Marks, on the walk's stack, the end of what lies below one object."""

    identity: int


def get_state_dict(obj: object, prefix: str = "") -> dict[str, Tensor]:
    """Return the tensors that an object holds, by dotted path.

    Attributes, dictionaries, lists and tuples are entered; names are those of the attributes, keys
    and positions on the way, as in `layers.0.weight`. A tensor held in two places has two names. An
    object that holds itself is entered once.

    Args:
        obj: a tensor, a container, or any object with attributes.
        prefix: put before every name.

    Returns:
        Tensors by name, in the order in which the attributes were set.
    """
    found: dict[str, Tensor] = {}
    entered: set[int] = set()
    stack: list[tuple[str, object]] = [(prefix, obj)]
    while stack:
        name, value = stack.pop()
        if isinstance(value, _Leave):
            entered.discard(value.identity)
        elif isinstance(value, Tensor):
            found[name.strip(".")] = value
        elif id(value) not in entered:
            children = list(_children(value))
            if children:
                entered.add(id(value))
                stack.append(("", _Leave(id(value))))
                base = name if not name or name.endswith(".") else f"{name}."
                stack.extend((f"{base}{key}", child) for key, child in reversed(children))
    return found


def get_parameters(obj: object) -> list[Tensor]:
    """Return each tensor that an object holds, once, in the order of `get_state_dict`.

    Statistics and counters of layers are included; an optimizer passes over them.
    """
    return list({id(tensor): tensor for tensor in get_state_dict(obj).values()}.values())


def _children(value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, _OPAQUE):
        return
    if isinstance(value, Mapping):
        yield from ((str(key), child) for key, child in value.items())
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        yield from zip(value._fields, value)
    elif isinstance(value, (list, tuple)):
        yield from ((str(position), child) for position, child in enumerate(value))
    else:
        yield from getattr(value, "__dict__", {}).items()
        for kind in type(value).__mro__:
            slots = kind.__dict__.get("__slots__", ())
            for slot in (slots,) if isinstance(slots, str) else slots:
                if slot not in ("__dict__", "__weakref__") and hasattr(value, slot):
                    yield slot, getattr(value, slot)
