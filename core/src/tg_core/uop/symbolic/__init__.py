"""Symbolic algebra: rewrites that keep the value of an expression and make it canonical."""

from tg_core.uop.symbolic.full import symbolic_full
from tg_core.uop.symbolic.simplify import simplify, symbolic, symbolic_simple

__all__ = ["simplify", "symbolic", "symbolic_full", "symbolic_simple"]
