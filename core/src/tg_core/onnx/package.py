"""The `onnx` package, which decodes the files; it comes with an extra."""

from __future__ import annotations

from typing import Any

from tg_core.errors import MissingExtra

__all__ = ["NEWEST_OPSET", "decode_error", "onnx_package"]

NEWEST_OPSET = 28
"""The newest opset of the standard domain whose operators are known here."""


def onnx_package() -> Any:
    """Return the package.

    Raises:
        MissingExtra: it is not installed.
    """
    try:
        import onnx
    except ImportError as error:
        raise MissingExtra(
            "onnx: the package is not installed; pip install 'tg-core[onnx]'"
        ) from error
    return onnx


def decode_error() -> type[Exception]:
    """Return what the package raises for a file that it cannot decode."""
    from google.protobuf import message

    found: type[Exception] = message.DecodeError
    return found
