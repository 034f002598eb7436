"""What a replay returns: the results of the capture over the storage of this run."""

from __future__ import annotations

from dataclasses import is_dataclass, replace
from typing import TYPE_CHECKING, Any

from tg_core.tensor import Tensor
from tg_core.uop.ops import Ops, UOp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tg_core.device.recycled import Block

    Make = Callable[[UOp], Any]
    Fill = Callable[[Make], Any]


class Results:
    """A structure of nodes over placeholders, made ready to be filled in.

    Args:
        structure: nested containers with a node in the place of each tensor.
        placeholders: the node that stands for the storage of each slot; inputs come first.
    """

    def __init__(self, structure: Any, placeholders: Sequence[UOp]) -> None:
        self.structure = structure
        self.placeholders = tuple(placeholders)
        self._slots = {node: slot for slot, node in enumerate(placeholders)}
        self._fill: Fill | None = None if isinstance(structure, UOp) else _filler(structure)

    def fill(self, nodes: Sequence[UOp], blocks: Sequence[Block], variables: Sequence[UOp]) -> Any:
        """Return the structure with tensors.

        Args:
            nodes: the BUFFER of each input.
            blocks: the storage of each output.
            variables: bound variables.
        """

        def tensor(node: UOp) -> Tensor:
            return Tensor._from_uop(self._filled(node, nodes, blocks, variables))

        if self._fill is None:
            return tensor(self.structure)
        return self._fill(tensor)

    def _filled(
        self, node: UOp, nodes: Sequence[UOp], blocks: Sequence[Block], variables: Sequence[UOp]
    ) -> UOp:
        slots = self._slots
        slot = slots.get(node)
        if slot is not None:
            return nodes[slot] if slot < len(nodes) else blocks[slot - len(nodes)].node
        if node.op is Ops.RESHAPE and len(node.src) == 1:
            slot = slots.get(node.src[0])
            if slot is not None and slot >= len(nodes):
                return blocks[slot - len(nodes)].view(node.arg)
        storage = (*nodes, *[block.node for block in blocks])
        filled = dict(zip(self.placeholders, storage, strict=True))
        filled.update((bound.src[0], bound) for bound in variables)
        return node.substitute(filled)


def _filler(value: Any) -> Fill:
    """Return a function that makes a structure anew, with what is made of each node in its place.

    What kind a container is is found out here, once, and not for every result.
    """
    if isinstance(value, UOp):
        return _Leaf(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return _Items(value._make, value)  # type: ignore[attr-defined]  # a named tuple
    if isinstance(value, (list, tuple)):
        return _Items(type(value), value)
    if isinstance(value, dict):
        return _Entries(value)
    if is_dataclass(value) and not isinstance(value, type):
        return _Fields(value)
    return _Constant(value)


class _Leaf:
    def __init__(self, node: UOp) -> None:
        self.node = node

    def __call__(self, make: Make) -> Any:
        return make(self.node)


class _Constant:
    def __init__(self, value: Any) -> None:
        self.value = value

    def __call__(self, make: Make) -> Any:
        return self.value


class _Items:
    def __init__(self, kind: Callable[[list[Any]], Any], items: Iterable[Any]) -> None:
        self.kind = kind
        self.items = [_filler(item) for item in items]

    def __call__(self, make: Make) -> Any:
        return self.kind([item(make) for item in self.items])


class _Entries:
    def __init__(self, entries: dict[Any, Any]) -> None:
        self.entries = [(key, _filler(item)) for key, item in entries.items()]

    def __call__(self, make: Make) -> Any:
        return {key: item(make) for key, item in self.entries}


class _Fields:
    def __init__(self, value: Any) -> None:
        self.value = value
        self.fields = {n: _filler(getattr(value, n)) for n in value.__dataclass_fields__}

    def __call__(self, make: Make) -> Any:
        return replace(self.value, **{name: item(make) for name, item in self.fields.items()})
