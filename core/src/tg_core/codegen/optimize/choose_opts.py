"""Choose the options of a kernel by heuristics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.codegen.optimize.choose_opts_grid import choose_opts_grid
from tg_core.codegen.optimize.choose_opts_simd import choose_opts_simd
from tg_core.config import NOOPT

if TYPE_CHECKING:
    from tg_core.codegen.optimize.api import Opt
    from tg_core.renderer import Renderer
    from tg_core.uop.ops import UOp


def choose_opts(sink: UOp, renderer: Renderer) -> tuple[Opt, ...]:
    """Return what to do with the ranges of a kernel; a function of the kernel and the target alone.

    Args:
        sink: a kernel whose ranges each belong to one loop.
        renderer: the target.
    """
    if renderer.has_global:
        return choose_opts_grid(sink, renderer)
    if NOOPT.value or renderer.vector_bytes == 0:
        return ()
    return choose_opts_simd(sink, renderer)
