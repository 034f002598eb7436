"""The matcher that codegen uses on kernels: algebra, masks and closed forms of reductions."""

from __future__ import annotations

from tg_core.uop.pattern import PatternMatcher
from tg_core.uop.symbolic.masked_values import masked_values
from tg_core.uop.symbolic.reductions import reductions
from tg_core.uop.symbolic.simplify import symbolic
from tg_core.uop.symbolic.valid import valid_indices

symbolic_full = PatternMatcher(
    (symbolic + reductions + valid_indices + masked_values).rules, mark="_final_symbolic_full"
)
"""`symbolic`, masked indices, and reductions in closed form."""
