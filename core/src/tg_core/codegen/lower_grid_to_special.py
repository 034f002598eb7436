"""Turn GLOBAL, LOCAL and GROUP_REDUCE ranges into the indices of work items.

Input: a kernel SINK with such ranges. Output: they are SPECIALs. The GLOBAL ranges of one END
    become
`gidx0` (innermost), `gidx1`, `gidx2`, the LOCAL ones `lidx0..2`, after the GROUP_REDUCE range,
which is `lidx0` where there is one; more than the target's axes are merged into the last by
division. Where several ENDs have grid ranges, they share the indices, so they must agree on the
sizes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.codegen.utils import axis_type, closed_ranges, replace_ranges
from tg_core.errors import CompileError
from tg_core.uop.ops import AxisType, Ops, UOp

if TYPE_CHECKING:
    from tg_core.renderer import Renderer

_NAMES = {AxisType.GLOBAL: "gidx", AxisType.LOCAL: "lidx"}


def _named(size: UOp, name: str, sizes: dict[str, UOp]) -> UOp:
    """Return a SPECIAL, which has one size in the whole kernel."""
    special = UOp.special(size, name)
    if sizes.setdefault(name, special) is not special:
        raise CompileError(f"grid: {name} has sizes {sizes[name].src[0]} and {size}")
    return special


def _assign(
    ranges: list[UOp], name: str, first: int, axes: int, sizes: dict[str, UOp]
) -> dict[UOp, UOp]:
    """Return the value of each range in terms of SPECIALs; `ranges` are innermost first."""
    values: dict[UOp, UOp] = {}
    alone = max(axes - first - 1, 0)
    for axis, rng in enumerate(ranges[:alone]):
        values[rng] = _named(rng.src[0], f"{name}{first + axis}", sizes)
    rest = ranges[alone:]
    if not rest:
        return values
    total = rest[0].src[0]
    for rng in rest[1:]:
        total = total * rng.src[0]
    size = UOp.const(int(total.vmax)) if total.vmin == total.vmax else total
    remaining = _named(size, f"{name}{first + alone}", sizes)
    for rng in rest[:-1]:
        values[rng] = remaining % rng.src[0]
        remaining = remaining // rng.src[0]
    values[rest[-1]] = remaining
    return values


def lower_grid_to_special(sink: UOp, renderer: Renderer) -> UOp:
    """Return the kernel with SPECIALs.

    Args:
        sink: a kernel with grid ranges in the lists of ENDs.
        renderer: a target with a grid has three axes, one with threads has one.

    Raises:
        CompileError: two ENDs need grids of different sizes.
    """
    axes = 3 if renderer.has_global else 1
    nodes = sink.toposort()
    shared = [n for n in nodes if n.op is Ops.RANGE and axis_type(n) is AxisType.GROUP_REDUCE]
    mapping: dict[UOp, tuple[UOp, tuple[UOp, ...]]] = {}
    sizes: dict[str, UOp] = {}
    for rng in shared:
        # reductions one after the other use the same work items
        mapping[rng] = (_named(rng.src[0], "lidx0", sizes), ())
    for node in nodes:
        if node.op is not Ops.END:
            continue
        for kind, name in _NAMES.items():
            ranges = [r for r in reversed(closed_ranges(node)) if axis_type(r) is kind]
            skipped = 1 if shared and kind is AxisType.LOCAL else 0
            for rng, value in _assign(ranges, name, skipped, axes, sizes).items():
                mapping[rng] = (value, ())
    return replace_ranges(sink, mapping) if mapping else sink
