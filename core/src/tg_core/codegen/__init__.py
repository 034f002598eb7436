"""One kernel to a linear program: optimisation choices, expansion, decomposition, linearization.

Input: a kernel SINK (`docs/ir.md`, A kernel) and a renderer. Output: PROGRAM.
"""

from typing import TYPE_CHECKING

from tg_core.codegen.compile import (
    clear_compiled,
    compile_program,
    compile_programs,
    lower_kernel,
)
from tg_core.support.lazy import lazy_names

if TYPE_CHECKING:
    from tg_core.codegen.optimize import Opt, OptKind

__getattr__, __dir__ = lazy_names(
    __name__, {"Opt": "tg_core.codegen.optimize", "OptKind": "tg_core.codegen.optimize"}
)

__all__ = [
    "Opt",
    "OptKind",
    "clear_compiled",
    "compile_program",
    "compile_programs",
    "lower_kernel",
]
