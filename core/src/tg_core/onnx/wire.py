"""Where the encoding of a file breaks, which the decoder does not say.

Source: protobuf.dev, "Encoding": a message is a sequence of fields, each a tag (field number and
wire type) and a payload.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["find_fault"]

_NESTED: Mapping[str, Mapping[int, str]] = {
    "model": {7: "graph", 25: "function"},
    "graph": {1: "node", 5: "tensor", 11: "value", 12: "value", 13: "value"},
    "function": {7: "node"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph"},
}
"""The fields of messages that are messages themselves, from onnx.proto."""

_VARINT, _LENGTH = 0, 2
_FIXED: Mapping[int, int] = {1: 8, 5: 4}
MAX_VARINT_BYTES = 10


def find_fault(data: bytes) -> tuple[int, str] | None:
    """Return the offset at which an encoded model stops making sense, and why; None if it does."""
    spans = [(0, len(data), "model")]
    while spans:
        at, end, message = spans.pop()
        nested = _NESTED.get(message, {})
        while at < end:
            start = at
            tag, at = _varint(data, at, end)
            number, kind = tag >> 3, tag & 7
            if at < 0 or number == 0:
                return start, f"no field of a {message} starts here"
            if kind == _VARINT:
                _, at = _varint(data, at, end)
                if at < 0:
                    return start, f"field {number} of a {message} does not end"
            elif kind in _FIXED:
                at += _FIXED[kind]
            elif kind == _LENGTH:
                length, begin = _varint(data, at, end)
                if begin < 0 or begin + length > end:
                    return (
                        start,
                        f"field {number} of a {message} takes {length} bytes, found "
                        f"{max(end - max(begin, at), 0)}",
                    )
                at = begin + length
                if number in nested:
                    spans += [(at, end, message), (begin, at, nested[number])]
                    break
            else:
                return start, f"field {number} of a {message} has the unknown wire type {kind}"
        else:
            if at > end:
                return end, f"the last field of a {message} is cut off"
    return None


def _varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """Return a number and where it ends; -1 where it does not."""
    value = 0
    for count in range(MAX_VARINT_BYTES):
        if at + count >= end:
            break
        byte = data[at + count]
        value |= (byte & 0x7F) << (7 * count)
        if byte < 0x80:
            return value, at + count + 1
    return value, -1
