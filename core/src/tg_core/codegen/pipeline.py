"""The passes from a kernel to a linear program, in order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg_core.codegen.api import Pass, target_independent
from tg_core.codegen.broadcast_scalars_to_vectors import broadcast_scalars_to_vectors
from tg_core.codegen.commit_weak_operands import commit_weak_operands
from tg_core.codegen.decompositions.decompose_ops import decompose_ops, lower_divisions
from tg_core.codegen.decompositions.emulate_narrow_floats import (
    compute_in_float32,
    store_as_integers,
)
from tg_core.codegen.expand_copies import expand_copies
from tg_core.codegen.expand_vectors import expand_vectors
from tg_core.codegen.linearize import linearize
from tg_core.codegen.lower_grid_to_special import lower_grid_to_special
from tg_core.codegen.lower_group_reduce import lower_group_reduce
from tg_core.codegen.lower_reduce_to_accumulators import lower_reduce_to_accumulators
from tg_core.codegen.lower_weak_to_ints import lower_weak_to_ints
from tg_core.codegen.merge_adjacent_ranges import merge_adjacent_ranges
from tg_core.codegen.move_masks_to_gates import move_masks_to_gates
from tg_core.codegen.optimize.optimize_kernel import optimize_kernel
from tg_core.codegen.separate_reused_ranges import separate_reused_ranges
from tg_core.codegen.simplify_kernel import fold_expanded, simplify_kernel
from tg_core.codegen.split_ranges_by_division import split_ranges_by_division
from tg_core.config import CHECK_OOB, SPEC
from tg_core.uop.ops import Ops
from tg_core.uop.record import recorded_pass

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tg_core.renderer import Renderer
    from tg_core.uop.ops import UOp

pipeline: Final[tuple[Pass, ...]] = (
    Pass("simplify-kernel", target_independent(simplify_kernel)),
    Pass("separate-reused-ranges", target_independent(separate_reused_ranges)),
    Pass("split-ranges-by-division", target_independent(split_ranges_by_division)),
    Pass("merge-adjacent-ranges", target_independent(merge_adjacent_ranges)),
    Pass("optimize-kernel", optimize_kernel),
    Pass("move-masks-to-gates", target_independent(move_masks_to_gates)),
    Pass("commit-weak-operands", target_independent(commit_weak_operands)),
    Pass("compute-in-float32", compute_in_float32),
    Pass("decompose-ops", decompose_ops),
    Pass("store-as-integers", store_as_integers),
    Pass("expand-copies", target_independent(expand_copies)),
    Pass("lower-group-reduce", target_independent(lower_group_reduce)),
    Pass("lower-grid-to-special", lower_grid_to_special),
    Pass("expand-vectors", expand_vectors),
    Pass("fold-expanded", target_independent(fold_expanded)),
    Pass("lower-reduce-to-accumulators", lower_reduce_to_accumulators),
    Pass("lower-divisions", lower_divisions),
    Pass("lower-weak-to-ints", lower_weak_to_ints),
    Pass("broadcast-scalars-to-vectors", target_independent(broadcast_scalars_to_vectors)),
    Pass("linearize", target_independent(linearize), "spec_program"),
)
"""Every pass takes and returns a kernel SINK, the last returns LINEAR."""

SIMPLIFICATION: Final = slice(0, 1)
"""The passes that leave the loops and operations a kernel needs, which name and measure it."""

LOWERING: Final = slice(1, None)
"""The passes after `SIMPLIFICATION`."""


def run_pipeline(sink: UOp, renderer: Renderer, part: slice = slice(None)) -> UOp:
    """Return the linear program of a kernel, or what a part of the passes makes of it.

    Args:
        sink: a kernel as `docs/ir.md` defines it, or what the passes before the part returned.
        renderer: the target.
        part: which passes run, all by default.

    Raises:
        CompileError: the kernel cannot be lowered for this target.
        SpecError: a pass produced what its specification forbids (with SPEC set), or an access was
            not shown to stay inside its storage (with CHECK_OOB set).
    """
    node = sink
    for step in pipeline[part]:
        node = recorded_pass(step.name, node, step.run, node, renderer)
        if SPEC.value:
            _verify(node, step)
        if CHECK_OOB.value and step.name == _ACCESSES_CHECKED_AFTER:
            _check_accesses(node, step)
    return node


_ACCESSES_CHECKED_AFTER: Final = "move-masks-to-gates"
"""Here every access is scalar, has its whole gate, and still sees the bounds of reductions, which
accumulators hide later.
"""


def _nodes_of(node: UOp) -> Iterable[UOp]:
    return node.src if node.op is Ops.LINEAR else node.toposort()


def _verify(node: UOp, step: Pass) -> None:
    from tg_core.uop import spec

    spec.type_verify(_nodes_of(node), getattr(spec, step.spec), stage=step.name)


def _check_accesses(node: UOp, step: Pass) -> None:
    from tg_core.uop.validate import require_in_bounds

    require_in_bounds(_nodes_of(node), stage=step.name)
