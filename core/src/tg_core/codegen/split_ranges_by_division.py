"""Split a loop whose variable is divided by a constant into two loops.

Input and output: a kernel SINK. `r // c` and `r % c` of a RANGE of size `n`, `c` dividing `n`,
become the variables of two loops of `n / c` and `c`; the indices lose the division.
"""

from __future__ import annotations

from typing import Final

from tg_core.codegen.utils import axis_type, constant_size, replace_ranges
from tg_core.uop.ops import Ops, UOp, graph_rewrite
from tg_core.uop.symbolic import symbolic

_DIVISIONS: Final = frozenset((Ops.FLOORDIV, Ops.FLOORMOD, Ops.CDIV, Ops.CMOD))
_ROUNDS: Final = 16


def _divisors(sink: UOp) -> dict[UOp, int]:
    """Return for each divided RANGE the least constant that divides its size."""
    found: dict[UOp, int] = {}
    for node in sink.toposort():
        if node.op not in _DIVISIONS or node.src[0].op is not Ops.RANGE:
            continue
        rng, divisor = node.src[0], node.src[1].const_value
        size = constant_size(rng)
        if (
            size is None
            or not isinstance(divisor, int)
            or divisor <= 1
            or divisor >= size
            or size % divisor
        ):
            continue
        found[rng] = min(found.get(rng, divisor), divisor)
    return found


def split_ranges_by_division(sink: UOp) -> UOp:
    """Return the kernel with divided loops split.

    Args:
        sink: a kernel whose ranges each belong to one loop.
    """
    for _ in range(_ROUNDS):
        found = _divisors(sink)
        if not found:
            break
        used = {node.arg[:-1] for node in sink.toposort() if node.op is Ops.RANGE}
        mapping: dict[UOp, tuple[UOp, tuple[UOp, ...]]] = {}
        for rng, divisor in found.items():
            size = constant_size(rng)
            assert size is not None
            part = 0
            while (*rng.arg[:-1], part) in used:
                part += 1
            used.update(((*rng.arg[:-1], part), (*rng.arg[:-1], part + 1)))
            outer = UOp.range(size // divisor, (*rng.arg[:-1], part), axis_type(rng))
            inner = UOp.range(divisor, (*rng.arg[:-1], part + 1), axis_type(rng))
            mapping[rng] = (outer * divisor + inner, (outer, inner))
        sink = graph_rewrite(replace_ranges(sink, mapping), symbolic, name="split ranges")
    return sink
