"""What a model needs that is missing here, found before anything runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tg_core.onnx.element_types import CODES, LEFT_OUT
from tg_core.onnx.graph import AttributeRef, Graph
from tg_core.onnx.registry import ATTRIBUTE_KINDS, Attribute, Operator
from tg_core.onnx.values import Value

__all__ = ["Problem", "attribute_problems", "input_problems"]

IGNORED_ATTRIBUTES = frozenset(("consumed_inputs", "doc_string"))
"""Attributes that mean nothing for the result. Source: Operators.md, versions 1 of operators."""


_OF_RESULTS = ("dtype", "output_datatype", "output_dtype", "to")
_OF_STEPS = ("precision", "softmax_precision", "stash_type")
ELEMENT_ATTRIBUTES = frozenset((*_OF_RESULTS, *_OF_STEPS))
"""Attributes that are the number of an element type."""


@dataclass(frozen=True)
class Problem:
    """One thing that a model needs and that is not supported."""

    kind: str
    """`operator`, `attribute`, `type` or `opset`."""
    where: str
    """The node or value, by name."""
    message: str
    """What is missing."""

    def __str__(self) -> str:
        return f"{self.kind}: {self.where}: {self.message}"


def attribute_problems(
    operator: Operator, attributes: Mapping[str, Any], where: str
) -> list[Problem]:
    """Return what an operator cannot take of the attributes of a node."""
    problems = []
    for name, value in attributes.items():
        if name in IGNORED_ATTRIBUTES:
            continue
        known = operator.attributes.get(name)
        if known is None:
            message = f"attribute {name!r} is not known since version {operator.since}"
        elif not _has_kind(value, known):
            message = f"attribute {name!r} is {value!r:.60}, expected {known.kind}"
        elif known.choices and isinstance(value, str) and value not in known.choices:
            message = f"attribute {name!r} is {value!r}, expected one of {', '.join(known.choices)}"
        elif name in ELEMENT_ATTRIBUTES and isinstance(value, int) and not _is_type(value, known):
            why = LEFT_OUT.get(value, "unknown")
            message = f"attribute {name!r} is the element type {value}, {why}"
        else:
            continue
        problems.append(Problem("attribute", where, message))
    for name, attribute in operator.attributes.items():
        if attribute.required and name not in attributes:
            problems.append(Problem("attribute", where, f"attribute {name!r} is missing"))
    return problems


def _is_type(code: int, attribute: Attribute) -> bool:
    """Tell whether a number is that of an element type, or 0 where that stands for none."""
    return code in CODES or (code == 0 and not attribute.required)


def _has_kind(value: Any, attribute: Attribute) -> bool:
    accepted = ATTRIBUTE_KINDS[attribute.kind]
    return not accepted or value is None or _kind(value) in ("reference", "any", *accepted)


def _kind(value: Any) -> str:
    if isinstance(value, AttributeRef):
        return "reference"
    if isinstance(value, Graph):
        return "Graph"
    if isinstance(value, Value):
        return "Value"
    if isinstance(value, tuple):
        return f"{_kind(value[0])}s" if value else "any"
    return type(value).__name__


def input_problems(operator: Operator, names: tuple[str, ...], where: str) -> list[Problem]:
    """Return what does not fit of the number of inputs of a node."""
    problems = []
    if len(names) > len(operator.inputs) and operator.more is None:
        message = f"{len(names)} inputs, version {operator.since} has {len(operator.inputs)}"
        problems.append(Problem("operator", where, message))
    for number, entry in enumerate(operator.inputs):
        if not entry.optional and (number >= len(names) or not names[number]):
            message = f"input {number} ({entry.name}) is missing"
            problems.append(Problem("operator", where, message))
    return problems
