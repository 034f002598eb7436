"""Decoding the attributes of a node."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tg_core.errors import FileFormatError, UnsupportedModel
from tg_core.onnx.graph import AttributeRef, Graph

__all__ = ["KINDS", "decode_attribute"]

KINDS: Mapping[int, str] = {
    1: "f",
    2: "i",
    3: "s",
    4: "t",
    5: "g",
    6: "floats",
    7: "ints",
    8: "strings",
    9: "tensors",
    10: "graphs",
    11: "sparse_tensor",
    12: "sparse_tensors",
    13: "tp",
    14: "type_protos",
}
"""`AttributeProto.AttributeType`: the field that holds the value."""


def decode_attribute(
    proto: Any,
    what: str,
    tensor: Callable[[Any], Any],
    graph: Callable[[Any], Graph],
) -> Any:
    """Return the value of an attribute.

    Args:
        proto: the `AttributeProto`.
        what: the node, for errors.
        tensor: decodes a `TensorProto`.
        graph: decodes a `GraphProto`.

    Raises:
        FileFormatError: the kind is unknown or a string is no text.
        UnsupportedModel: the kind is not supported.
    """
    if proto.ref_attr_name:
        return AttributeRef(proto.ref_attr_name)
    kind = KINDS.get(proto.type)
    name = f"onnx: {what}: attribute {proto.name!r}"
    if kind is None:
        raise FileFormatError(f"{name}: unknown kind {proto.type}")
    if kind in ("f", "i"):
        return getattr(proto, kind)
    if kind in ("floats", "ints"):
        return tuple(getattr(proto, kind))
    if kind == "t":
        return tensor(proto.t)
    if kind == "g":
        return graph(proto.g)
    if kind == "tp":
        return proto.tp
    if kind in ("s", "strings"):
        try:
            if kind == "s":
                return proto.s.decode()
            return tuple(text.decode() for text in proto.strings)
        except UnicodeDecodeError as error:
            raise FileFormatError(f"{name}: {error}") from error
    raise UnsupportedModel(f"{name}: {kind} are not supported")
