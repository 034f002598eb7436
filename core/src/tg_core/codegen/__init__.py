"""One kernel to a linear program: optimisation choices, expansion, decomposition, linearization.

Input: a kernel SINK (`docs/ir.md`, A kernel) and a renderer. Output: PROGRAM.
"""

from tg_core.codegen.compile import (
    clear_compiled,
    compile_program,
    compile_programs,
    lower_kernel,
)
from tg_core.codegen.optimize import Opt, OptKind
from tg_core.codegen.pipeline import pipeline

__all__ = [
    "Opt",
    "OptKind",
    "clear_compiled",
    "compile_program",
    "compile_programs",
    "lower_kernel",
    "pipeline",
]
