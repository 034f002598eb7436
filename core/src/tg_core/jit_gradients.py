"""Gradients that a captured function found on tensors from outside.

Which tensor `grad` is decides what `backward` and optimizers compute, so it is a part of what a
capture depends on, like the form of its arguments.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

from tg_core.tensor.registry import live_tensors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg_core.tensor import Tensor

__all__ = ["Found", "Gradients", "gradients_now"]

Found = tuple["Tensor", "Tensor | None"]
"""A tensor that takes gradients, and the one that it had before a call."""


def gradients_now() -> list[Found]:
    """Return the live tensors that take gradients, each with the one that it has."""
    return [(tensor, tensor.grad) for tensor in live_tensors() if tensor.is_param]


class Gradients:
    """The gradients that replays must find as the captured call found them.

    Those are the ones that the function went on with, and the places of those that it made. One
    that it threw away for its own does not matter.

    Args:
        before: what there was before the captured call, which is over.
    """

    def __init__(self, before: Sequence[Found]) -> None:
        self._wanted: list[tuple[weakref.ref[Tensor], weakref.ref[Tensor] | None]] = []
        for tensor, found in before:
            left = tensor.grad
            if found is None and left is not None:
                self._wanted.append((weakref.ref(tensor), None))
            elif found is not None and (left is found or left is None):
                self._wanted.append((weakref.ref(tensor), weakref.ref(found)))

    def __bool__(self) -> bool:
        return bool(self._wanted)

    def are_as_found(self) -> bool:
        """Tell whether tensors have the gradients that the captured call found on them."""
        for entry, wanted in self._wanted:
            tensor = entry()
            if tensor is not None and tensor.grad is not (None if wanted is None else wanted()):
                return False
        return True
