"""Which arguments of a schedule its calls write."""

from __future__ import annotations

from tg_core.hcq.arguments import parse_argument
from tg_core.uop.ops import Ops, UOp


def written_slots(linear: UOp) -> set[int]:
    """Return the parameter slots of the schedule's arguments that its kernels and copies write."""
    found: set[int] = set()
    for call in linear.src:
        for position in _written_positions(call):
            base = parse_argument(call.src[1 + position]).base
            if base.op is Ops.PARAM:
                found.add(base.arg.slot)
    return found


def _written_positions(call: UOp) -> list[int]:
    body = call.src[0]
    if body.op is Ops.COPY:
        return [0]
    if body.op is Ops.PROGRAM:
        return list(body.arg.outs)
    stores = (node for node in body.toposort() if node.op is Ops.STORE)
    return sorted({_param_of(store).arg.slot for store in stores})


def _param_of(store: UOp) -> UOp:
    node = store.src[0]
    while node.op is not Ops.PARAM:
        node = node.src[0]
    return node
