"""Simplify the expressions of a kernel.

Input and output: a kernel SINK, before optimisation (`simplify_kernel`) and after expansion
(`fold_expanded`).
"""

from __future__ import annotations

from tg_core.codegen.move_masks_to_gates import settle_gates
from tg_core.uop.ops import UOp, graph_rewrite
from tg_core.uop.symbolic import symbolic, symbolic_full

_expanded = symbolic + settle_gates


def simplify_kernel(sink: UOp) -> UOp:
    """Return the kernel with indices, masks and values in canonical form, and reductions in closed
    form where there is one.
    """
    return graph_rewrite(sink, symbolic_full, name="simplify kernel")


def fold_expanded(sink: UOp) -> UOp:
    """Return the kernel with what became constant in copies folded, gates included."""
    return graph_rewrite(sink, _expanded, name="fold expanded")
