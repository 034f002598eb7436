"""Replace the ops a target lacks.

Input: a kernel SINK with committed dtypes, before expansion. Output: only ops in `native_ops`, but
for integer division, which `lower_divisions` treats after indices are final.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from tg_core.codegen.decompositions import (
    decompose_cos,
    decompose_exp,
    decompose_exp2,
    decompose_log,
    decompose_log2,
    decompose_pow,
    decompose_sin,
    decompose_threefry,
)
from tg_core.codegen.decompositions.decompose_missing_ops import missing_op_rules
from tg_core.codegen.decompositions.decompose_tan import tangent_rules
from tg_core.codegen.decompositions.lower_integer_division import division_rules
from tg_core.dtype import dtypes
from tg_core.uop.ops import Ops, PatternMatcher, UOp, graph_rewrite

if TYPE_CHECKING:
    from tg_core.renderer import Renderer


@cache
def _rules(renderer: Renderer) -> PatternMatcher:
    double = dtypes.float64 in renderer.native_dtypes
    by_op = {
        Ops.THREEFRY: decompose_threefry.rules,
        Ops.POW: decompose_pow.rules_with_double if double else decompose_pow.rules,
        Ops.SIN: (
            decompose_cos.rules_with_double + decompose_sin.rules_with_double
            if double
            else decompose_cos.rules + decompose_sin.rules
        ),
        Ops.EXP2: decompose_exp.rules + decompose_exp2.rules,
        Ops.LOG2: decompose_log2.rules,
    }
    rules = missing_op_rules(renderer)
    for op, own in by_op.items():
        if op not in renderer.native_ops:
            rules = rules + own
    return rules


@cache
def _composed_rules(renderer: Renderer) -> PatternMatcher:
    """Return the rules for what the front end writes with two transcendental ops or with one and an
    op after it: applied before those ops are replaced.
    """
    rules = PatternMatcher([])
    if Ops.SIN not in renderer.native_ops:
        double = dtypes.float64 in renderer.native_dtypes
        rules = rules + tangent_rules(double, Ops.MULACC in renderer.native_ops)
    if Ops.LOG2 not in renderer.native_ops:
        rules = rules + decompose_log.rules
    return rules


@cache
def _late_rules(renderer: Renderer) -> PatternMatcher:
    return missing_op_rules(renderer) + division_rules(renderer)


def decompose_ops(sink: UOp, renderer: Renderer) -> UOp:
    """Return the kernel with native ops only.

    Args:
        sink: a kernel of scalar values.
        renderer: says which ops are native.
    """
    sink = graph_rewrite(sink, _composed_rules(renderer), name="decompose composed functions")
    return graph_rewrite(sink, _rules(renderer), name="decompose ops")


def lower_divisions(sink: UOp, renderer: Renderer) -> UOp:
    """Return the kernel with integer division in native forms, and what later passes created (MAX
    of a reduction) as well.

    Args:
        sink: a kernel after expansion, whose indices are final.
        renderer: says which ops are native.
    """
    return graph_rewrite(sink, _late_rules(renderer), name="lower divisions")
