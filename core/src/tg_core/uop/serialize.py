"""Graphs as JSON text and back, for files that outlive the process.

Only the types listed here are written or read, so a file can name nothing that runs code.
"""

from __future__ import annotations

import binascii
import json
from dataclasses import fields
from enum import Enum
from typing import TYPE_CHECKING, Any

from tg_core.dtype import DType, Invalid, InvalidType, to_dtype
from tg_core.errors import FileFormatError
from tg_core.uop.args import (
    BufferArg,
    CallInfo,
    Dim,
    Estimates,
    KernelInfo,
    MultiArg,
    ParamArg,
    ProgramInfo,
)
from tg_core.uop.graph import toposort
from tg_core.uop.opcodes import AddrSpace, AxisType, Ops
from tg_core.uop.uop import UOp

if TYPE_CHECKING:
    from collections.abc import Sequence

_RECORDS: dict[str, type] = {
    cls.__name__: cls
    for cls in (
        BufferArg,
        CallInfo,
        Dim,
        Estimates,
        KernelInfo,
        MultiArg,
        ParamArg,
        ProgramInfo,
    )
}
_ENUMS: dict[str, type[Enum]] = {cls.__name__: cls for cls in (AddrSpace, AxisType)}
FORMAT = 1


class Writer:
    """Writes nodes as rows that refer to earlier rows."""

    def __init__(self) -> None:
        self.rows: list[Any] = []
        self.number: dict[UOp, int] = {}

    def add(self, root: UOp) -> int:
        """Write a graph; return the number of its root."""
        for node in toposort((root,), lambda n: n not in self.number):
            if node not in self.number:
                arg, tag = self.encode(node.arg), self.encode(node.tag)
                row = [node.op.name, [self.number[s] for s in node.src], arg, tag]
                while len(row) > 2 and row[-1] is None:
                    row.pop()
                self.number[node] = len(self.rows)
                self.rows.append(row)
        return self.number[root]

    def encode(self, value: Any) -> Any:
        """Return a value as JSON that says its type."""
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return {"float": value.hex()}
        if type(value) is tuple:
            return [self.encode(v) for v in value]
        if type(value) is list:
            return {"list": [self.encode(v) for v in value]}
        if type(value) is dict:
            return {"dict": [[self.encode(k), self.encode(v)] for k, v in value.items()]}
        if type(value) is bytes:
            return {"bytes": binascii.b2a_base64(value, newline=False).decode()}
        if isinstance(value, DType):
            return {"dtype": value.name}
        if isinstance(value, Ops):
            return {"op": value.name}
        if isinstance(value, InvalidType):
            return {"invalid": 1}
        if isinstance(value, UOp):
            return {"node": self.add(value)}
        name = type(value).__name__
        if isinstance(value, Enum) and _ENUMS.get(name) is type(value):
            return {name: value.name}
        if _RECORDS.get(name) is type(value):
            record: Any = value
            return {name: [self.encode(getattr(value, f.name)) for f in fields(record)]}
        raise TypeError(f"serialize: {name} has no written form")


class Reader:
    """Reads the rows that a Writer wrote."""

    def __init__(self, rows: Sequence[Any]) -> None:
        self.nodes: list[UOp] = []
        for row in rows:
            op, src = row[0], row[1]
            arg = self.decode(row[2]) if len(row) > 2 else None
            tag = self.decode(row[3]) if len(row) > 3 else None
            self.nodes.append(UOp(Ops[op], tuple([self.nodes[i] for i in src]), arg, tag))

    def decode(self, value: Any) -> Any:
        """Return what `Writer.encode` wrote."""
        if isinstance(value, list):
            return tuple([self.decode(v) for v in value])
        if not isinstance(value, dict):
            return value
        ((kind, content),) = value.items()
        if kind == "float":
            return float.fromhex(content)
        if kind == "list":
            return [self.decode(v) for v in content]
        if kind == "dict":
            return {self.decode(k): self.decode(v) for k, v in content}
        if kind == "bytes":
            return binascii.a2b_base64(content)
        if kind == "dtype":
            return to_dtype(content)
        if kind == "op":
            return Ops[content]
        if kind == "invalid":
            return Invalid
        if kind == "node":
            return self.nodes[content]
        if kind in _ENUMS:
            return _ENUMS[kind][content]
        return _RECORDS[kind](*[self.decode(v) for v in content])


def dump_value(value: Any) -> bytes:
    """Return a nested structure of nodes, records and plain values as bytes.

    Raises:
        TypeError: a part is of a type that has no written form.
    """
    writer = Writer()
    encoded = writer.encode(value)
    return json.dumps([FORMAT, encoded, writer.rows], separators=(",", ":")).encode()


def load_value(data: bytes) -> Any:
    """Return what `dump_value` wrote.

    Raises:
        FileFormatError: the bytes are something else.
    """
    try:
        version, encoded, rows = json.loads(data)
        if version != FORMAT:
            raise FileFormatError(f"graph file: format {version}, expected {FORMAT}")
        return Reader(rows).decode(encoded)
    except FileFormatError:
        raise
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        raise FileFormatError(
            f"graph file: not what was written: {type(error).__name__}: {error}"
        ) from error


def dump_uop(root: UOp) -> bytes:
    """Return a graph as bytes.

    Raises:
        TypeError: an argument is of a type that has no written form.
    """
    return dump_value(root)


def load_uop(data: bytes) -> UOp:
    """Return the graph that `dump_uop` wrote.

    Raises:
        FileFormatError: the bytes are something else.
    """
    found = load_value(data)
    if not isinstance(found, UOp):
        raise FileFormatError(f"graph file: holds {type(found).__name__}, no graph")
    return found
