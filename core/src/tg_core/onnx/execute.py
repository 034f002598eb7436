"""Executing a graph: one pass over its nodes, from named values to named values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tg_core.errors import FileFormatError, OutOfMemory, TGError, UnsupportedModel
from tg_core.onnx.build import Builder, opsets_of
from tg_core.onnx.context import Context
from tg_core.onnx.fold import fold
from tg_core.onnx.forms import in_form
from tg_core.onnx.graph import AttributeRef, Body, FunctionKey, Graph, Node
from tg_core.onnx.registry import Operator
from tg_core.onnx.standard_functions import encoded_node, standard_defaults, standard_function
from tg_core.onnx.values import Anything, Value
from tg_core.tensor import Tensor

__all__ = ["Program", "Scope"]

MAX_CALLS = 64
"""How deep graphs and functions may execute in each other."""


MAX_EXECUTED = 5_000_000
"""How many nodes one call may execute, loops included."""


@dataclass(frozen=True)
class Scope:
    """Names and what they stand for, in a graph and in those around it."""

    values: dict[str, Anything]
    outer: Scope | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)
    """The attributes of the function that is executed."""
    depth: int = 0

    def find(self, name: str) -> Anything:
        """Return what a name stands for."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.values:
                return scope.values[name]
            scope = scope.outer
        raise FileFormatError(f"onnx: {name!r} has no value")


class Program:
    """A model that can be executed.

    Args:
        graph: the graph of the model.
        functions: the functions of the model.
    """

    def __init__(self, graph: Graph, functions: Mapping[FunctionKey, Body]) -> None:
        self.graph = graph
        self.functions = functions
        self.defined: dict[Any, Body] = {}
        self.executed = 0

    def run(self, values: Mapping[str, Anything]) -> list[Anything]:
        """Return the outputs of the model for the values of its inputs and initializers."""
        self.executed = 0
        return self.outputs(self.graph, Scope(dict(values)))

    def outputs(self, graph: Graph, scope: Scope) -> list[Anything]:
        """Return the outputs of a graph whose inputs and constants are in the scope."""
        if scope.depth > MAX_CALLS:
            raise FileFormatError(f"onnx: graphs execute in each other deeper than {MAX_CALLS}")
        self.executed += 1 + len(graph.nodes)
        if self.executed > MAX_EXECUTED:
            raise FileFormatError(f"onnx: the model executes more than {MAX_EXECUTED} nodes")
        for node in graph.nodes:
            inputs = [scope.find(name) if name else None for name in node.inputs]
            results = self._results(node, inputs, scope)
            for name, result in zip(node.outputs, results, strict=False):
                if name:
                    scope.values[name] = result
            for name in node.outputs[len(results) :]:
                if name:
                    raise FileFormatError(f"onnx: {node}: has no output {name!r}")
        return [scope.find(name) for name in graph.outputs]

    def _results(self, node: Node, inputs: list[Anything], scope: Scope) -> list[Anything]:
        try:
            attributes = _resolved(node, scope)
            folded = fold(node, inputs, attributes)
            if folded is not None:
                return list(folded)
            if node.operator is not None:
                return self._apply(node.operator, node, inputs, attributes, scope)
            return self._call(node, inputs, attributes, scope)
        except TGError as error:
            if str(error).startswith("onnx: "):
                raise
            raise type(error)(f"onnx: {node}: {error}") from error
        except MemoryError as error:
            raise OutOfMemory(f"onnx: {node}: needs more memory than there is") from error
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise FileFormatError(
                f"onnx: {node}: its inputs and attributes do not fit: {error}"
            ) from error

    def _apply(
        self,
        operator: Operator,
        node: Node,
        inputs: list[Anything],
        attributes: dict[str, Any],
        scope: Scope,
    ) -> list[Anything]:
        arguments = [
            in_form(value, entry) for value, entry in zip(inputs, operator.inputs, strict=False)
        ]
        if operator.more is not None:
            arguments += [in_form(value, operator.more) for value in inputs[len(arguments) :]]
        keywords = {name: attributes[name] for name in operator.attributes if name in attributes}
        for name, attribute in operator.attributes.items():
            if attribute.kind == "bool" and name in keywords:
                keywords[name] = bool(keywords[name])
        if operator.wants_context:

            def run(graph: Graph, values: Sequence[Anything]) -> list[Anything]:
                return self._subgraph(graph, values, scope)

            keywords["context"] = Context(node, run)
        result = operator.function(*arguments, **keywords)
        results = result if isinstance(result, tuple) else (result,)
        kept = inputs[0] if operator.keeps_type and inputs else None
        return [_as_value(entry, kept) for entry in results]

    def _subgraph(self, graph: Graph, values: Sequence[Anything], scope: Scope) -> list[Anything]:
        if len(values) != len(graph.inputs):
            raise FileFormatError(
                f"graph {graph.name!r} has {len(graph.inputs)} inputs, found {len(values)} values"
            )
        named: dict[str, Anything] = dict(graph.constants)
        named.update(zip((entry.name for entry in graph.inputs), values, strict=True))
        return self.outputs(graph, Scope(named, scope, scope.attributes, scope.depth + 1))

    def _call(
        self, node: Node, inputs: list[Anything], attributes: dict[str, Any], scope: Scope
    ) -> list[Anything]:
        body = self.functions.get((node.domain, node.op, node.overload))
        if body is None:
            body = self._standard(node, inputs, attributes)
        names = [entry.name for entry in body.graph.inputs]
        if len(inputs) > len(names):
            raise FileFormatError(f"{len(inputs)} inputs, the function has {len(names)}")
        given: dict[str, Anything] = dict.fromkeys(names)
        given.update(zip(names, inputs, strict=False))
        bound = {**body.defaults, **attributes}
        return self.outputs(body.graph, Scope(given, None, bound, scope.depth + 1))

    def _standard(self, node: Node, inputs: list[Anything], attributes: dict[str, Any]) -> Body:
        encoded = encoded_node(node, attributes)
        key = (
            encoded,
            node.version,
            tuple(
                (entry.element.code, entry.shape) if isinstance(entry, Value) else None
                for entry in inputs
            ),
        )
        if key not in self.defined:
            proto = standard_function(node, encoded, inputs)
            opsets = {**node.opsets, **opsets_of(proto.opset_import)}
            builder = Builder(None, opsets, ())
            body = builder.function(proto, partial=True)
            body = replace(body, defaults={**standard_defaults(node), **body.defaults})
            if builder.problems:
                raise UnsupportedModel(f"{builder.problems[0]} (in the definition of {node.op})")
            self.defined[key] = body
        return self.defined[key]


def _resolved(node: Node, scope: Scope) -> dict[str, Any]:
    """Return the attributes with references replaced by the values in the function."""
    resolved = {}
    for name, value in node.attributes.items():
        if isinstance(value, AttributeRef):
            if value.name not in scope.attributes:
                continue
            value = scope.attributes[value.name]
        resolved[name] = value
    return resolved


def _as_value(result: Any, kept: Anything) -> Anything:
    if isinstance(result, np.ndarray):
        return Value(None, result)
    if not isinstance(result, Tensor):
        return result if isinstance(result, (Value, list)) else None
    if isinstance(kept, Value) and kept.element.is_narrow and kept.dtype is result.dtype:
        return Value(result, element=kept.element)
    return Value(result)
