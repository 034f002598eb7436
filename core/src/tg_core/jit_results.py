"""What a replay returns: the results of the capture over the storage of this run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg_core.tensor import Tensor
from tg_core.tensor.structure import rebuild
from tg_core.uop.ops import Ops, UOp

if TYPE_CHECKING:
    from collections.abc import Sequence


class Results:
    """A structure of nodes over placeholders, made ready to be filled in.

    Args:
        structure: nested containers with a node in the place of each tensor.
        placeholders: the node that stands for the storage of each slot.
    """

    def __init__(self, structure: Any, placeholders: Sequence[UOp]) -> None:
        self.structure = structure
        self.placeholders = tuple(placeholders)
        self._slots = {node: slot for slot, node in enumerate(placeholders)}
        self._single = isinstance(structure, UOp)

    def fill(self, nodes: Sequence[UOp], variables: Sequence[UOp]) -> Any:
        """Return the structure with tensors.

        Args:
            nodes: the BUFFER of each slot.
            variables: bound variables.
        """

        def tensor(node: UOp) -> Tensor:
            return Tensor._from_uop(self._filled(node, nodes, variables))

        if self._single:
            return tensor(self.structure)
        return rebuild(self.structure, UOp, tensor)

    def _filled(self, node: UOp, nodes: Sequence[UOp], variables: Sequence[UOp]) -> UOp:
        slots = self._slots
        slot = slots.get(node)
        if slot is not None:
            return nodes[slot]
        if node.op is Ops.RESHAPE and len(node.src) == 1:
            slot = slots.get(node.src[0])
            if slot is not None:
                return UOp(Ops.RESHAPE, (nodes[slot],), node.arg)
        filled = dict(zip(self.placeholders, nodes, strict=True))
        filled.update((bound.src[0], bound) for bound in variables)
        return node.substitute(filled)
