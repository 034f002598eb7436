"""Graphs as they are executed: checked names, decoded attributes and constants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from tg_core.onnx.registry import Operator
from tg_core.onnx.values import Value

__all__ = ["AttributeRef", "Body", "FunctionKey", "Graph", "Node", "Signature"]

FunctionKey: TypeAlias = tuple[str, str, str]
"""Domain, name and overload of a function."""


@dataclass(frozen=True)
class AttributeRef:
    """Stands for an attribute of the function that a node is in."""

    name: str


@dataclass(frozen=True)
class Node:
    """One operator applied to named values; an empty name is an absent optional."""

    name: str
    op: str
    domain: str
    overload: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]
    """Decoded: numbers, strings, tuples of them, `Value`, `Graph`, `AttributeRef`."""
    operator: Operator | None = None
    """What implements it; None for a function of the model or of the standard."""
    version: int = 0
    """The version of its domain."""
    proto: Any = None
    """The encoded node, where its definition is asked for."""
    opsets: Mapping[str, int] = field(default_factory=dict)
    """The versions of all domains, in the same case."""

    def __str__(self) -> str:
        shown = self.name or ", ".join(filter(None, self.outputs))
        domain = f"{self.domain}." if self.domain else ""
        return f"node {shown!r} ({domain}{self.op})"


@dataclass(frozen=True)
class Signature:
    """What a model says about one of its inputs or outputs."""

    name: str
    element: int
    """The number of the element type; 0 where it is not a tensor or not said."""
    shape: tuple[int | str | None, ...] | None
    """Sizes, names of sizes, None where nothing is said; None altogether where the rank is open."""


@dataclass(frozen=True)
class Graph:
    """Nodes in the order of execution, with the values that are there before."""

    name: str
    inputs: tuple[Signature, ...]
    """Without those that only declare an initializer."""
    outputs: tuple[str, ...]
    nodes: tuple[Node, ...]
    constants: Mapping[str, Value] = field(default_factory=dict)
    """The initializers."""
    results: tuple[Signature, ...] = ()
    """What is said about the outputs; nothing for those of functions."""
    defaulted: tuple[Signature, ...] = ()
    """The inputs that have an initializer."""


@dataclass(frozen=True)
class Body:
    """A function: an operator defined by a graph of others."""

    graph: Graph
    """Its inputs are the inputs of the operator."""
    defaults: Mapping[str, Any]
    """Attributes with the value that they have unless given."""
    required: tuple[str, ...] = ()
    """Attributes without such a value; references to absent ones are absent."""
