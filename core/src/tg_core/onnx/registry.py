"""The operators, each registered with the version of its domain from which on it holds.

The signature of the function that implements an operator says all there is to know about it: its
positional parameters are the inputs, its keyword parameters the attributes with their defaults. The
annotation of an input says in which form the function takes it.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from tg_core.errors import DTypeError

__all__ = [
    "INPUT_FORMS",
    "Attribute",
    "Input",
    "Operator",
    "find_operator",
    "operator",
    "operator_names",
    "versions",
]

INPUT_FORMS = ("Tensor", "Value", "Ints", "Floats", "Int", "Float", "Items", "Anything")
"""A tensor; with its type; numbers that must be known; one such number; a sequence; whatever."""

ATTRIBUTE_KINDS: Mapping[str, tuple[str, ...]] = {
    "int": ("int",),
    "bool": ("int",),
    "float": ("float", "int"),
    "str": ("str",),
    "Value": ("Value",),
    "Graph": ("Graph",),
    "tuple[int, ...]": ("ints",),
    "tuple[float, ...]": ("floats",),
    "tuple[str, ...]": ("strs",),
    "object": (),
}
"""Annotations of attributes, and the kinds of values that they take; `object` takes all."""

CONTEXT = "context"
"""The keyword parameter that gets the `Context` of the node."""

Function: TypeAlias = Callable[..., Any]
Decorated = TypeVar("Decorated", bound=Function)


@dataclass(frozen=True)
class Input:
    """An input of an operator."""

    name: str
    form: str
    optional: bool


@dataclass(frozen=True)
class Attribute:
    """An attribute of an operator."""

    kind: str
    required: bool
    choices: tuple[str, ...] = ()
    """The strings that are supported, where there are few."""


@dataclass(frozen=True)
class Operator:
    """An implementation of an operator."""

    domain: str
    name: str
    since: int
    function: Function
    inputs: tuple[Input, ...]
    more: Input | None
    """The form of any number of further inputs."""
    attributes: Mapping[str, Attribute]
    wants_context: bool
    keeps_type: bool
    """Whether the result has the element type of the first input, narrow or not."""


_OPERATORS: dict[tuple[str, str], list[Operator]] = {}


def operator(
    *names: str, since: int = 1, domain: str = "", keeps_type: bool = False
) -> Callable[[Decorated], Decorated]:
    """Register the decorated function as an operator.

    Args:
        *names: what nodes call it.
        since: the first version of the domain with these semantics.
        domain: whose operator it is.
        keeps_type: whether values only move, so that a narrow type stays what it is.

    Raises:
        DTypeError: the signature has a parameter of unknown form.
    """

    def register(function: Decorated) -> Decorated:
        for name in names:
            entry = _described(domain, name, since, function, keeps_type)
            known = _OPERATORS.setdefault((domain, name), [])
            known.append(entry)
            known.sort(key=_since)
        return function

    return register


def find_operator(domain: str, name: str, version: int) -> Operator | None:
    """Return the implementation that holds in a version of the domain."""
    found = [entry for entry in _OPERATORS.get((domain, name), ()) if entry.since <= version]
    return found[-1] if found else None


def versions(domain: str, name: str) -> tuple[int, ...]:
    """Return the versions from which on implementations of an operator hold."""
    return tuple(entry.since for entry in _OPERATORS.get((domain, name), ()))


def operator_names() -> list[tuple[str, str]]:
    """Return domain and name of every operator, in order."""
    return sorted(_OPERATORS)


def _since(entry: Operator) -> int:
    return entry.since


def _described(
    domain: str, name: str, since: int, function: Function, keeps_type: bool
) -> Operator:
    inputs: list[Input] = []
    more: Input | None = None
    attributes: dict[str, Attribute] = {}
    wants_context = False
    for parameter in inspect.signature(function).parameters.values():
        text = str(parameter.annotation)
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
            if parameter.name == CONTEXT:
                wants_context = True
            else:
                attributes[parameter.name] = _attribute(name, parameter, text)
        elif parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            more = _input(name, parameter.name, text)
        else:
            inputs.append(_input(name, parameter.name, text))
    return Operator(
        domain,
        name,
        since,
        function,
        tuple(inputs),
        more,
        attributes,
        wants_context,
        keeps_type,
    )


def _input(operator_name: str, name: str, text: str) -> Input:
    form = text.removesuffix(" | None")
    if form not in INPUT_FORMS:
        raise DTypeError(f"onnx: {operator_name}: input {name!r} has the unknown form {text}")
    return Input(name, form, form != text)


def _attribute(operator_name: str, parameter: inspect.Parameter, text: str) -> Attribute:
    required = parameter.default is inspect.Parameter.empty
    text = text.removesuffix(" | None")
    if text.startswith("Literal["):
        choices = ast.literal_eval(f"({text[8:-1]},)")
        return Attribute("str", required, choices)
    if text not in ATTRIBUTE_KINDS:
        raise DTypeError(
            f"onnx: {operator_name}: attribute {parameter.name!r} has the unknown form {text}"
        )
    return Attribute(text, required)
