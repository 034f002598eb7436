"""Fields of structures -> those that linking writes, and stores that the program makes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tg_core.dtype import dtypes
from tg_core.hcq.external.structs import FIELD
from tg_core.uop.ops import GroupOp, Ops, UOp

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Field", "placeholders_in", "split_fields", "storage_of"]

_KNOWN = GroupOp.ALU | {Ops.CONST, Ops.CAST, Ops.GETADDR}


class Field(NamedTuple):
    """A field that linking writes."""

    offset: int
    nbytes: int
    value: UOp
    """An unsigned number: arithmetic on constants and on addresses (`GETADDR`)."""


def storage_of(node: UOp) -> UOp:
    """Return the storage that AFTERs are about."""
    while node.op is Ops.AFTER:
        node = node.src[0]
    return node


def split_fields(body: UOp) -> tuple[UOp, dict[UOp, list[Field]]]:
    """Take out what is known about structures before a program runs.

    Before: `AFTER(memory, INS(memory, value)...)`; after: the memory alone, or AFTER the stores of
    the values that only the program knows. Sound because nothing else writes the memory before the
    program begins.

    Args:
        body: of a host program.

    Returns:
        The body without such fields, and for each structure, those of structures that only others
        point to included, what linking writes.
    """
    fields: dict[UOp, list[Field]] = {}
    known: dict[UOp, bool] = {}
    new: dict[UOp, UOp] = {}
    effects: dict[UOp, tuple[UOp, ...]] = {}
    for node in body.toposort():
        known[node] = node.op in _KNOWN and all(
            known[s] or node.op is Ops.GETADDR for s in node.src
        )
        src = tuple([new[s] for s in node.src])
        if node.op is Ops.INS and isinstance(node.arg, tuple) and node.arg[0] == FIELD:
            effects[node] = _field(node, src, known[node.src[1]], fields)
            new[node] = node
        elif node.op is Ops.AFTER:
            left = [e for s, n in zip(node.src[1:], src[1:]) for e in effects.get(s, (n,))]
            new[node] = src[0].after(*left) if left else src[0]
        else:
            new[node] = node if src == node.src else node.replace(src=src)
    return new[body], fields


def _field(
    node: UOp, src: tuple[UOp, ...], known: bool, fields: dict[UOp, list[Field]]
) -> tuple[UOp, ...]:
    """Return what a reader of a field must come after."""
    memory, value = src
    _, offset, nbytes = node.arg
    if known:
        addresses = [n for n in value.toposort() if n.op is Ops.GETADDR and n.src]
        bare = {n: n.replace(src=(storage_of(n.src[0]),)) for n in addresses}
        found = fields.setdefault(storage_of(memory), [])
        field = Field(offset, nbytes, value.substitute(bare))
        if field not in found:
            found.append(field)
        # whoever reads the structure may follow the address
        behind = [n.src[0] for n in addresses if n.src[0].op is Ops.AFTER]
        return tuple([dep for after in behind for dep in _effects(after)])
    stores = []
    for byte in range(nbytes):
        part = value.alu(Ops.SHR, UOp.const(8 * byte, value.dtype)) if byte else value
        target = memory.index(UOp.const(offset + byte))
        stores.append(target.store(part.cast(dtypes.uint8)))
    return tuple(stores)


def _effects(after: UOp) -> Iterable[UOp]:
    while after.op is Ops.AFTER:
        yield from after.src[1:]
        after = after.src[0]


def placeholders_in(nodes: Iterable[UOp]) -> list[UOp]:
    """Return the memory that nodes name by a tag, each once, in the order of a walk."""
    found: dict[UOp, None] = {}
    for root in nodes:
        for node in root.toposort():
            if node.op is Ops.PARAM and node.tag is not None and node.shape != ():
                found.setdefault(node)
    return list(found)
