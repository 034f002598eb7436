"""The matchers of index algebra, from the least to the most, and `simplify`."""

from __future__ import annotations

from tg_core.uop.pattern import PatternMatcher
from tg_core.uop.rewrite import graph_rewrite
from tg_core.uop.symbolic.choice import choices
from tg_core.uop.symbolic.comparison import comparison
from tg_core.uop.symbolic.division import division
from tg_core.uop.symbolic.identities import (
    constant_folding,
    identities,
    integer_identities,
    nested_choices,
)
from tg_core.uop.symbolic.invalid import invalid_operands, invalid_values
from tg_core.uop.symbolic.logic import logic
from tg_core.uop.symbolic.sums import sums
from tg_core.uop.symbolic.truncation import truncation
from tg_core.uop.uop import UOp

symbolic_simple = PatternMatcher(
    (constant_folding + integer_identities + identities).rules, mark="_final_symbolic_simple"
)
"""Constant folding and identities: sound for every dtype, at every stage."""

symbolic = PatternMatcher(
    (
        invalid_operands
        + sums
        + division
        + truncation
        + comparison
        + constant_folding
        + identities
        + invalid_values
        + logic
        + nested_choices
        + choices
    ).rules,
    mark="_final_symbolic",
)
"""`symbolic_simple` and the algebra of integers and bools, which comes first: it decides most."""


def simplify(u: UOp) -> UOp:
    """Bring an expression to canonical form with `symbolic`.

    Args:
        u: any node.

    Returns:
        A node with the same value for every assignment of its ranges and variables.
    """
    return graph_rewrite(u, symbolic, name="simplify")
