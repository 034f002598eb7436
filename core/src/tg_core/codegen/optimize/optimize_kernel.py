"""The pass that chooses and applies optimisations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.codegen.optimize.accumulate_rows import accumulate_rows, plan_rows
from tg_core.codegen.optimize.api import Opt
from tg_core.codegen.optimize.apply_opts import apply_opts
from tg_core.codegen.optimize.choose_opts import choose_opts
from tg_core.codegen.optimize.pack_operands import pack_operands
from tg_core.codegen.optimize.plan_packing import plan_packing
from tg_core.codegen.optimize.split_border import split_border
from tg_core.codegen.optimize.stage_repeated_values import divides_scratch, stage_repeated_values
from tg_core.config import NOOPT
from tg_core.uop.ops import KernelInfo, UOp

if TYPE_CHECKING:
    from tg_core.renderer import Renderer


def optimize_kernel(sink: UOp, renderer: Renderer) -> UOp:
    """Return the kernel with its loops divided: as `KernelInfo.opts` says, else as the heuristics
    choose.

    Args:
        sink: a kernel whose ranges each belong to one loop.
        renderer: the target.

    Raises:
        CompileError: an option fixed by the kernel does not fit it.
    """
    fixed = sink.arg.opts if isinstance(sink.arg, KernelInfo) else None
    if fixed is None and not NOOPT.value:
        rows = plan_rows(sink, renderer)
        if rows is not None:
            return accumulate_rows(sink, rows, renderer)
        split = split_border(sink)
        inside, border = (sink, None) if split is None else split
        plan = plan_packing(inside, renderer)
        if plan is not None:
            return pack_operands(inside, plan, border)
        staged = stage_repeated_values(sink, renderer)
        chosen = choose_opts(staged, renderer)
        if staged is sink or not divides_scratch(staged, chosen):
            return apply_opts(staged, chosen)
    opts = (
        choose_opts(sink, renderer)
        if fixed is None
        else tuple(o for o in fixed if isinstance(o, Opt))
    )
    return apply_opts(sink, opts)
