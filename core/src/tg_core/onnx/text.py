"""Names in a decoded file, which the decoder accepts even if they are no text."""

from __future__ import annotations

from typing import Any

from tg_core.errors import FileFormatError

__all__ = ["check_text"]

STRING, MESSAGE = 9, 11
"""`FieldDescriptorProto.Type` of descriptor.proto."""


def check_text(proto: Any) -> None:
    """Check that every string of a message and of those in it is text.

    Raises:
        FileFormatError: one is not; the decoder then gives bytes.
    """
    pending = [proto]
    while pending:
        message = pending.pop()
        for field, value in message.ListFields():
            if field.type not in (STRING, MESSAGE):
                continue
            single = isinstance(value, (str, bytes)) or hasattr(value, "ListFields")
            entries = (value,) if single else value
            if field.type == MESSAGE:
                pending.extend(entries)
                continue
            for entry in entries:
                if isinstance(entry, bytes):
                    raise FileFormatError(f"onnx: {field.full_name} {entry!r:.80} is no text")
