"""Operators that the standard itself defines by others, used where there is no operator here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tg_core.errors import UnsupportedModel
from tg_core.onnx.attributes import decode_attribute
from tg_core.onnx.graph import Node
from tg_core.onnx.package import onnx_package
from tg_core.onnx.values import Anything, Value

__all__ = ["encoded_node", "has_standard_function", "standard_defaults", "standard_function"]


def has_standard_function(domain: str, name: str, version: int) -> bool:
    """Tell whether the standard defines an operator by others."""
    schema = _schema(domain, name, version)
    return schema is not None and bool(schema.has_function or schema.has_context_dependent_function)


def encoded_node(node: Node, attributes: Mapping[str, Any]) -> bytes:
    """Return a node encoded with the attributes that it has, in place of references to them.

    Raises:
        UnsupportedModel: such an attribute is neither a number nor a string.
    """
    onnx = onnx_package()
    proto = onnx.NodeProto()
    proto.CopyFrom(node.proto)
    for position in reversed(range(len(proto.attribute))):
        name = proto.attribute[position].name
        if not proto.attribute[position].ref_attr_name:
            continue
        del proto.attribute[position]
        if name in attributes:
            value = attributes[name]
            if not isinstance(value, (int, float, str, tuple)):
                raise UnsupportedModel(f"onnx: {node}: attribute {name!r} is no number or string")
            proto.attribute.append(onnx.helper.make_attribute(name, value))
    encoded: bytes = proto.SerializeToString()
    return encoded


def standard_function(node: Node, encoded: bytes, inputs: Sequence[Anything]) -> Any:
    """Return the `FunctionProto` that defines an operator for inputs of given types and shapes.

    Args:
        node: the node.
        encoded: see `encoded_node`.
        inputs: its inputs.

    Raises:
        UnsupportedModel: the definition does not cover them.
    """
    schema = _schema(node.domain, node.op, node.version)
    assert schema is not None
    onnx = onnx_package()
    if schema.has_function:
        return schema.function_body
    types = []
    for entry in inputs:
        kind = onnx.TypeProto()
        if isinstance(entry, Value):
            kind = onnx.helper.make_tensor_type_proto(entry.element.code, entry.shape)
        types.append(kind.SerializeToString())
    found = schema.get_context_dependent_function(encoded, types)
    if not found:
        raise UnsupportedModel(f"onnx: {node}: the standard has no definition for these inputs")
    function = onnx.FunctionProto()
    function.ParseFromString(found)
    return function


def standard_defaults(node: Node) -> dict[str, Any]:
    """Return the attributes of an operator of the standard that have a value unless given."""
    schema = _schema(node.domain, node.op, node.version)
    found = {
        name: attribute.default_value
        for name, attribute in schema.attributes.items()
        if attribute.default_value.name
    }
    return {
        name: decode_attribute(proto, str(node), _no_tensor, _no_tensor)
        for name, proto in found.items()
    }


def _no_tensor(proto: Any) -> Any:
    raise UnsupportedModel("onnx: a default that is a tensor or graph is not supported")


def _schema(domain: str, name: str, version: int) -> Any:
    defs = onnx_package().defs
    if version < 1:
        return None
    try:
        return defs.get_schema(name, version, domain)
    except defs.SchemaError:
        return None
