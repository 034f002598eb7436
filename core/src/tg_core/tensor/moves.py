"""Giving live tensors new nodes, once what they stood for is computed."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from tg_core.tensor.registry import live_tensors
from tg_core.tensor.states import is_realized
from tg_core.uop.graph import substitute_many
from tg_core.uop.ops import UOp

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tg_core.tensor.tensor import Tensor

__all__ = ["Move", "apply_moves", "moves_of_live"]

Move = tuple["Tensor", UOp, UOp]
"""A live tensor, the node it has, and the one it is to get."""


def moves_of_live(replaced: Mapping[UOp, UOp]) -> list[Move]:
    """Return what replacing nodes in all live tensors changes."""
    if not replaced:
        return []
    lazy = [(t, node) for t, node in ((t, t.uop) for t in live_tensors()) if not is_realized(node)]
    after = substitute_many([node for _, node in lazy], replaced)
    return [(t, old, new) for (t, old), new in zip(lazy, after, strict=True) if new is not old]


def apply_moves(moves: Iterable[Move], *others: tuple[Any, str, Any]) -> None:
    """Let live tensors see what was computed, except for those that changed meanwhile.

    No interrupt comes in between: it finds all tensors moved, or none.

    Args:
        moves: of tensors.
        others: further attributes to set in the same moment, as arguments of `setattr`.
    """
    changes = [(tensor, "uop", after) for tensor, before, after in moves if tensor.uop is before]
    changes.extend(others)
    if changes:
        # without an instruction of the interpreter between them
        deque(map(setattr, *zip(*changes, strict=True)), maxlen=0)
