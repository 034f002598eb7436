"""Immutable records that cost a process little to declare.

`dataclasses.dataclass(frozen=True)` compiles six functions for each class, which for the records
that every process loads adds up to a tenth of the time to a first result. Here only the constructor
is compiled; the other methods are closures over the names of the fields.
"""

from __future__ import annotations

from dataclasses import FrozenInstanceError, field, make_dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, dataclass_transform

if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import Field

__all__ = ["frozen", "frozen_identity"]

T = TypeVar("T")


@dataclass_transform(frozen_default=True)
def frozen(cls: type[T]) -> type[T]:
    """Make a class a frozen dataclass: immutable, compared and hashed by its class and fields.

    `dataclasses.fields`, `replace` and `asdict` take its instances. A method that the class defines
    itself is kept. Fields have no options, and a derived class adds none.

    Args:
        cls: a class whose annotations are its fields, those with a default last; defaults are
            immutable. `__post_init__`, if there is one, runs at the end of the constructor.
    """
    values = _values_of(tuple(cls.__annotations__))

    def __eq__(self: Any, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        same: bool = values(self) == values(other)
        return same

    def __hash__(self: Any) -> int:
        return hash(values(self))

    _add(cls, __eq__)
    _add(cls, __hash__)
    return frozen_identity(cls)


@dataclass_transform(frozen_default=True, eq_default=False)
def frozen_identity(cls: type[T]) -> type[T]:
    """Make a class a frozen dataclass whose instances are equal to nothing but themselves; as
    `frozen` in all else.
    """
    names = tuple(cls.__annotations__)

    def __repr__(self: Any) -> str:
        shown = ", ".join([f"{name}={getattr(self, name)!r}" for name in names])
        return f"{type(self).__qualname__}({shown})"

    def __setattr__(self: Any, name: str, value: object) -> NoReturn:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self: Any, name: str) -> NoReturn:
        raise FrozenInstanceError(f"cannot delete field {name!r}")

    for method in (_constructor(cls, names), __repr__, __setattr__, __delattr__):
        _add(cls, method)
    for name, value in (("__match_args__", names), ("__dataclass_fields__", _Fields(cls, names))):
        setattr(cls, name, value)
    return cls


def _add(cls: type, method: Callable[..., Any]) -> None:
    # a class that defines `__eq__` alone has `__hash__ = None`
    if vars(cls).get(method.__name__) is None:
        method.__qualname__ = f"{cls.__qualname__}.{method.__name__}"
        setattr(cls, method.__name__, method)


def _values_of(names: tuple[str, ...]) -> Callable[[Any], Any]:
    if len(names) > 1:
        return attrgetter(*names)

    def values(record: Any) -> tuple[Any, ...]:
        return tuple([getattr(record, name) for name in names])

    return values


def _constructor(cls: type, names: tuple[str, ...]) -> Callable[..., None]:
    """Compile `__init__`, so that its calls are as fast, and their errors as clear, as any
    other's.
    """
    own = vars(cls)
    scope = {f"default_{name}": own[name] for name in names if name in own}
    parameters = [f"{name}=default_{name}" if name in own else name for name in names]
    body = [f"assign(self, {name!r}, {name})" for name in names]
    if "__post_init__" in own:
        body.append("self.__post_init__()")
    text = f"def __init__({', '.join(('self', *parameters))}): {'; '.join(body) or 'pass'}"
    scope["assign"] = object.__setattr__
    exec(text, scope)
    made: Callable[..., None] = scope["__init__"]
    made.__module__ = cls.__module__
    made.__annotations__ = {**cls.__annotations__, "return": None}
    return made


class _Fields:
    """The fields as `dataclasses` describes them, made when something asks for them."""

    def __init__(self, cls: type, names: tuple[str, ...]) -> None:
        self._cls = cls
        self._names = names

    def __get__(self, record: object, owner: type) -> dict[str, Field[Any]]:
        own = vars(self._cls)
        described = [
            (name, self._cls.__annotations__[name], field(default=own[name]))
            if name in own
            else (name, self._cls.__annotations__[name])
            for name in self._names
        ]
        twin: Any = make_dataclass(self._cls.__name__, described)
        found: dict[str, Field[Any]] = twin.__dataclass_fields__
        changed: Any = self._cls
        changed.__dataclass_fields__ = found
        return found
