"""From the decoded file to graphs that can be executed, with every name and size checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tg_core.errors import FileFormatError, UnsupportedModel
from tg_core.onnx import ops  # noqa: F401 - registers the operators
from tg_core.onnx.attributes import decode_attribute
from tg_core.onnx.element_types import CODES, LEFT_OUT
from tg_core.onnx.graph import Body, FunctionKey, Graph, Node, Signature
from tg_core.onnx.package import NEWEST_OPSET
from tg_core.onnx.problems import Problem, attribute_problems, input_problems
from tg_core.onnx.registry import find_operator, versions
from tg_core.onnx.standard_functions import has_standard_function
from tg_core.onnx.tensor_data import read_tensor
from tg_core.onnx.values import Value

__all__ = ["Builder", "domain_of", "opsets_of"]

MAX_DEPTH = 32
"""How deep graphs may be nested in attributes; encoded files cannot nest deeper."""


def domain_of(name: str) -> str:
    """Return a domain by the one of its names that is used here."""
    return "" if name == "ai.onnx" else name


def opsets_of(imports: Iterable[Any]) -> dict[str, int]:
    """Return the versions of domains that a model or function imports."""
    return {domain_of(entry.domain): entry.version for entry in imports}


class Builder:
    """Builds the graphs of one model.

    Args:
        folder: where external data may be; None refuses it.
        opsets: the versions of the domains.
        functions: the functions of the model.

    Attributes:
        problems: what is not supported, in the order of the file.
    """

    def __init__(
        self, folder: Path | None, opsets: Mapping[str, int], functions: Iterable[FunctionKey]
    ) -> None:
        self.folder = folder
        self.opsets = opsets
        self.functions = frozenset(functions)
        self.problems: list[Problem] = []

    def graph(self, proto: Any, outer: tuple[set[str], ...] = ()) -> Graph:
        """Return a graph.

        Args:
            proto: the `GraphProto`.
            outer: the names that the graphs around it define.

        Raises:
            FileFormatError: a name is defined twice or used before its definition, or data does
                not fit.
        """
        if len(outer) > MAX_DEPTH:
            raise FileFormatError(f"onnx: graphs are nested deeper than {MAX_DEPTH}")
        what = f"graph {proto.name!r}"
        constants: dict[str, Value] = {}
        for tensor in proto.initializer:
            if not tensor.name or tensor.name in constants:
                raise FileFormatError(f"onnx: {what}: initializer {tensor.name!r} appears twice")
            constants[tensor.name] = self.tensor(tensor)
        for sparse in proto.sparse_initializer:
            self.problem("type", sparse.values.name, "sparse initializers are not supported")
        inputs = [self.signature(info) for info in proto.input]
        names = [entry.name for entry in inputs]
        if len(set(names)) != len(names) or "" in names:
            raise FileFormatError(f"onnx: {what}: inputs {names} are not distinct")
        results = tuple(self.signature(info) for info in proto.output)
        nodes = self.nodes(proto.node, {*names, *constants}, outer, what)
        outputs = tuple(info.name for info in proto.output)
        defined = {*names, *constants, *(name for node in nodes for name in node.outputs)}
        for name in outputs:
            if not any(name in scope for scope in (defined, *outer)):
                raise FileFormatError(f"onnx: {what}: output {name!r} is produced by no node")
        free = tuple(entry for entry in inputs if entry.name not in constants)
        given = tuple(entry for entry in inputs if entry.name in constants)
        return Graph(proto.name, free, outputs, nodes, constants, results, given)

    def function(self, proto: Any, partial: bool = False) -> Body:
        """Return a function of the model, or of the standard.

        Args:
            proto: the `FunctionProto`.
            partial: whether outputs that no node produces are absent, rather than an error.

        Raises:
            FileFormatError: see `graph`.
        """
        what = f"function {proto.name!r}"
        if len(set(proto.input)) != len(proto.input):
            raise FileFormatError(f"onnx: {what}: inputs {list(proto.input)} are not distinct")
        nodes = self.nodes(proto.node, set(proto.input), (), what)
        defined = {*proto.input, *(name for node in nodes for name in node.outputs)}
        missing = [name for name in proto.output if name not in defined]
        if missing and not partial:
            raise FileFormatError(f"onnx: {what}: outputs {missing} are produced by no node")
        for name in missing:
            nodes += (
                Node("", "Optional", "", "", (), (name,), {}, find_operator("", "Optional", 15)),
            )
        inputs = tuple(Signature(name, 0, None) for name in proto.input)
        graph = Graph(proto.name, inputs, tuple(proto.output), nodes)
        defaults = {
            entry.name: decode_attribute(entry, what, self.tensor, self.graph)
            for entry in proto.attribute_proto
        }
        return Body(graph, defaults, tuple(proto.attribute))

    def nodes(
        self, protos: Iterable[Any], defined: set[str], outer: tuple[set[str], ...], what: str
    ) -> tuple[Node, ...]:
        """Return nodes whose inputs are all defined before them.

        Args:
            protos: the `NodeProto` of a graph or function.
            defined: what is defined before the first.
            outer: what is defined around the graph.
            what: the graph, for errors.

        Raises:
            FileFormatError: a name is defined twice or used before its definition.
        """
        protos = list(protos)
        known = set(defined)
        result = []
        for proto in protos:
            name = f"node {proto.name or ', '.join(proto.output)!r} ({proto.op_type})"
            for used in proto.input:
                if used and not any(used in scope for scope in (known, *outer)):
                    later = any(used in other.output for other in protos)
                    why = "by a later node or itself (a cycle)" if later else "by nothing"
                    raise FileFormatError(f"onnx: {what}: {name}: input {used!r} is produced {why}")
            result.append(self.node(proto, name, (known, *outer)))
            for made in proto.output:
                if made and made in known:
                    raise FileFormatError(f"onnx: {what}: {name}: output {made!r} is defined twice")
                known.add(made)
            known.discard("")
        return tuple(result)

    def node(self, proto: Any, name: str, outer: tuple[set[str], ...]) -> Node:
        """Return a node with what implements it; what is missing becomes a problem."""

        def subgraph(inner: Any) -> Graph:
            return self.graph(inner, outer)

        attributes: dict[str, Any] = {}
        for entry in proto.attribute:
            if entry.name in attributes:
                raise FileFormatError(f"onnx: {name}: attribute {entry.name!r} appears twice")
            try:
                attributes[entry.name] = decode_attribute(entry, name, self.tensor, subgraph)
            except UnsupportedModel as error:
                self.problem("attribute", name, str(error).removeprefix("onnx: "))
        domain = domain_of(proto.domain)
        version = self.opsets.get(domain, 0)
        inputs = tuple(proto.input)
        key = (domain, proto.op_type, proto.overload)
        found = None if key in self.functions else find_operator(domain, proto.op_type, version)
        node = Node(
            proto.name,
            proto.op_type,
            domain,
            proto.overload,
            inputs,
            tuple(proto.output),
            attributes,
            found,
            version,
            None if found else proto,
            {} if found else self.opsets,
        )
        if key in self.functions:
            return node
        if found is not None:
            self.problems += attribute_problems(found, attributes, name)
            self.problems += input_problems(found, inputs, name)
        elif not has_standard_function(domain, proto.op_type, version):
            self._missing(domain, proto.op_type, version, name)
        return node

    def _missing(self, domain: str, op: str, version: int, where: str) -> None:
        since = versions(domain, op)
        if version < 1 and domain in self.opsets:
            return  # which is a problem of its own
        if version < 1:
            message = f"domain {domain!r} is not imported by the model, and {op} is no function"
        elif since:
            message = f"{op} is supported from version {since[0]} on, the model uses {version}"
        else:
            message = f"{domain}.{op} is not supported" if domain else f"{op} is not supported"
        self.problem("operator", where, message)

    def tensor(self, proto: Any) -> Value:
        """Return a tensor; 0 in place of one whose type is not supported, which is a problem."""
        try:
            return read_tensor(proto, self.folder)
        except UnsupportedModel as error:
            self.problem("type", proto.name, str(error).removeprefix("onnx: "))
            return _PLACEHOLDER

    def signature(self, info: Any) -> Signature:
        """Return what the file says about an input or output."""
        if info.type.WhichOneof("value") != "tensor_type":
            return Signature(info.name, 0, None)
        kind = info.type.tensor_type
        if kind.elem_type not in CODES and kind.elem_type != 0:
            why = LEFT_OUT.get(kind.elem_type, f"unknown element type {kind.elem_type}")
            self.problem("type", info.name, why)
        if not kind.HasField("shape"):
            return Signature(info.name, kind.elem_type, None)
        shape = tuple(_said(size) for size in kind.shape.dim)
        return Signature(info.name, kind.elem_type, shape)

    def opset_problems(self) -> None:
        """Note the versions of domains that do not exist or are newer than what is known."""
        for domain, version in self.opsets.items():
            if version < 1:
                self.problem("opset", domain or "ai.onnx", f"version {version} does not exist")
            elif not domain and version > NEWEST_OPSET:
                message = f"version {version} is newer than {NEWEST_OPSET}"
                self.problem("opset", "ai.onnx", message)

    def problem(self, kind: str, where: str, message: str) -> None:
        """Note something that is not supported."""
        self.problems.append(Problem(kind, where, message))


def _said(size: Any) -> int | str | None:
    """Return what a file says about a size: exporters write -1 or a question mark for nothing."""
    if size.HasField("dim_value"):
        number: int = size.dim_value
        return number if number >= 0 else None
    name: str = size.dim_param
    return name if name.strip("?") else None


_PLACEHOLDER = Value(None, np.zeros((), np.float32))
