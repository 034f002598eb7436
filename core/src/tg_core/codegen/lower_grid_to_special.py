"""Turn GLOBAL and LOCAL ranges into the indices of work items.

Input: a kernel SINK with GLOBAL and LOCAL ranges. Output: they are SPECIALs. The ranges of one END,
    innermost last, become
`gidx0` (innermost), `gidx1`, `gidx2`; more than the target's axes are merged into the last by
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


def _assign(ranges: list[UOp], name: str, axes: int) -> dict[UOp, UOp]:
    """Return the value of each range in terms of SPECIALs; `ranges` are innermost first."""
    values: dict[UOp, UOp] = {}
    for axis, rng in enumerate(ranges[: axes - 1]):
        values[rng] = UOp.special(rng.src[0], f"{name}{axis}")
    rest = ranges[axes - 1 :]
    if len(rest) == 1:
        values[rest[0]] = UOp.special(rest[0].src[0], f"{name}{axes - 1}")
    elif rest:
        total = rest[0].src[0]
        for rng in rest[1:]:
            total = total * rng.src[0]
        bound = total.vmax if total.vmin == total.vmax else None
        remaining = UOp.special(total if bound is None else int(bound), f"{name}{axes - 1}")
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
    mapping: dict[UOp, tuple[UOp, tuple[UOp, ...]]] = {}
    sizes: dict[str, UOp] = {}
    for node in sink.toposort():
        if node.op is not Ops.END:
            continue
        for kind, name in _NAMES.items():
            ranges = [r for r in reversed(closed_ranges(node)) if axis_type(r) is kind]
            for rng, value in _assign(ranges, name, axes).items():
                for special in value.toposort():
                    if (
                        special.op is Ops.SPECIAL
                        and sizes.setdefault(special.arg, special) is not special
                    ):
                        raise CompileError(
                            f"grid: {special.arg} has sizes {sizes[special.arg].src[0]}"
                            f" and {special.src[0]}"
                        )
                mapping[rng] = (value, ())
    return replace_ranges(sink, mapping) if mapping else sink
