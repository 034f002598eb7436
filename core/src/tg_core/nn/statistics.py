"""State that layers keep beside their parameters: running means, variances and counts.

It is saved with a model but not trained. A layer writes it lazily: computed together with the
optimizer step that the same batch leads to, the update shares its forward pass; left alone, each
batch would hang on the one before.
"""

from __future__ import annotations

import functools
import weakref

from tg_core.tensor import Tensor

__all__ = ["declare", "is_declared", "note_write", "take_writes"]

_declared: dict[int, weakref.ref[Tensor]] = {}
_written: dict[int, weakref.ref[Tensor]] = {}


def declare(tensor: Tensor) -> Tensor:
    """Mark a tensor as statistics, which no optimizer trains, and return it."""
    key = id(tensor)
    _declared[key] = weakref.ref(tensor, functools.partial(_forget, key))
    return tensor


def is_declared(tensor: Tensor) -> bool:
    """Tell whether a layer declared the tensor as statistics."""
    reference = _declared.get(id(tensor))
    return reference is not None and reference() is tensor


def note_write(tensor: Tensor) -> None:
    """Remember a tensor whose pending write should be part of the next step."""
    _written[id(tensor)] = weakref.ref(tensor)


def take_writes() -> list[Tensor]:
    """Return the remembered tensors that still live, in order, and forget them."""
    living = [tensor for tensor in (ref() for ref in _written.values()) if tensor is not None]
    _written.clear()
    return living


def _forget(key: int, reference: weakref.ref[Tensor]) -> None:
    if _declared.get(key) is reference:
        del _declared[key]
