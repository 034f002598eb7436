"""Make the operands of every vector operation vectors.

Input: a kernel SINK where scalars broadcast. Output: a scalar that meets an `n`-lane vector is
    `STACK(x, ..., x)`; the gate of a
vector access may stay one bool.
"""

from __future__ import annotations

from tg_core.codegen.utils import map_graph, with_sources
from tg_core.uop.ops import GroupOp, Ops, UOp
from tg_core.uop.sizes import static_size


def splat(value: UOp, count: int) -> UOp:
    """Return a value as `count` lanes."""
    return value if value.shape else UOp(Ops.STACK, (value,) * count)


def _broadcast(node: UOp, src: tuple[UOp, ...]) -> UOp:
    if node.op in GroupOp.ALU:
        count = max([static_size(s.shape[0]) if s.shape else 0 for s in src], default=0)
        if count:
            src = tuple([splat(s, count) for s in src])
    elif node.op is Ops.STORE and src[0].shape:
        src = (src[0], splat(src[1], static_size(src[0].shape[0])), *src[2:])
    elif node.op is Ops.LOAD and len(src) > 1 and src[0].shape:
        src = (src[0], splat(src[1], static_size(src[0].shape[0])), src[2])
    return with_sources(node, src)


def broadcast_scalars_to_vectors(sink: UOp) -> UOp:
    """Return the kernel without mixed scalar and vector operands."""
    return map_graph(sink, _broadcast)
