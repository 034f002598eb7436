"""Lazy tensors with automatic differentiation."""

from tg_core.tensor.tensor import Tensor

__all__ = ["Tensor"]
