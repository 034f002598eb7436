"""The forms of inputs that operators name in their signatures, beside `Tensor` and `Value`.

Such inputs must be known while the graph is built; if a device computes them, they are realized.
"""

from __future__ import annotations

from typing import TypeAlias

from tg_core.onnx.values import Value

__all__ = ["Float", "Floats", "Int", "Ints", "Items"]

Int: TypeAlias = int
"""One integer."""
Ints: TypeAlias = tuple[int, ...]
"""All integers of a tensor, in row-major order."""
Float: TypeAlias = float
"""One number."""
Floats: TypeAlias = tuple[float, ...]
"""All numbers of a tensor, in row-major order."""
Items: TypeAlias = list[Value]
"""A sequence of tensors."""
