"""Updates of layer state that wait for the next optimizer step.

A layer that keeps statistics writes them lazily. Computed together with the step that the same
batch leads to, they share its forward pass; left alone, each batch would hang on the one before.
"""

from __future__ import annotations

import weakref

from tg_core.tensor import Tensor

__all__ = ["note", "take"]

_noted: dict[int, weakref.ref[Tensor]] = {}


def note(tensor: Tensor) -> None:
    """Remember a tensor whose pending write should be part of the next step."""
    _noted[id(tensor)] = weakref.ref(tensor)


def take() -> list[Tensor]:
    """Return the remembered tensors that still live, in order, and forget them."""
    living = [tensor for tensor in (ref() for ref in _noted.values()) if tensor is not None]
    _noted.clear()
    return living
